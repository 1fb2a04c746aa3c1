"""Runs every ```sh block of every document, in order, as a reader would.

Each document has one scratch folder, with `stoker` on the PATH and models/demo in place. A block
fails the test when one of its commands fails. A ```text block right after it says what the block
prints: each of its lines must appear, in order; "..." stands for any text, and a run of spaces
for any other, since columns grow with their figures.
"""

import os
import pathlib
import re
import subprocess
from typing import NamedTuple

import pytest

from repo_files import repo_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n*^```text\n(?P<output>.*?)^```\n)?",
                   re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    commands: str
    output: str


def blocks(document: pathlib.Path) -> list[Block]:
    return [Block(match["commands"], match["output"] or "")
            for match in BLOCK.finditer(document.read_text())]


def missing_line(expected: str, printed: str) -> str | None:
    """The first line of `expected` that `printed` does not hold, in order."""
    at = 0
    for line in filter(str.strip, expected.splitlines()):
        words = line.replace("...", " ... ").split()
        pattern = " +".join(".*?" if word == "..." else re.escape(word) for word in words)
        match = re.compile(pattern).search(printed, at)
        if match is None:
            return line
        at = match.end()
    return None


DOCUMENTS = [path for path in repo_files(ROOT, "*.md") if blocks(path)]


@pytest.mark.parametrize("document", DOCUMENTS,
                         ids=[path.relative_to(ROOT).as_posix() for path in DOCUMENTS])
def test_commands_run_as_written(document, stoker_path, demo_model, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/demo").symlink_to(demo_model)
    environment = {**os.environ, "PATH": f"{stoker_path.parent}:{os.environ['PATH']}"}
    for block in blocks(document):
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", block.commands],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=tmp_path,
                                env=environment, timeout=300)
        assert result.returncode == 0, f"{block.commands}\n{result.stdout}"
        line = missing_line(block.output, result.stdout)
        assert line is None, f"{block.commands}\ndid not print {line!r} but\n{result.stdout}"


@pytest.mark.parametrize("expected, printed, missing", [
    ("a\nb\n", "a\nx\nb\n", None),
    ("b\na\n", "a\nb\n", "a"),
    ("12 ... tok/s\n", "12 (3.5) tok/s\n", None),
    ("x*y\n", "xxy\n", "x*y"),
])
def test_output_blocks_are_compared_in_order(expected, printed, missing):
    assert missing_line(expected, printed) == missing
