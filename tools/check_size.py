#!/usr/bin/env python3
"""Holds files under 600 lines and functions under 80. usage: check_size.py [ROOT]"""

import ast
import pathlib
import re
import sys
from typing import Iterator, NamedTuple

from repo_files import repo_files, report, root_from_argv

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 80

# In the order in which they are tried; everything that matches becomes blanks, lines are kept.
NOT_CODE = re.compile(
    r'(?P<raw>R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)")'
    r"|//[^\n]*|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|^[ \t]*\#(?:\\\n|[^\n])*"
    r"|^[ \t]*(?:public|protected|private):(?!:)",
    re.DOTALL | re.MULTILINE)
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|alignas\s*\([^()]*\)|__attribute__\s*\(\(.*?\)\)", re.DOTALL)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b(?P<rest>.*)", re.DOTALL)


class Function(NamedTuple):
    line: int
    lines: int
    name: str


def blank_non_code(text: str) -> str:
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def opens_scope(head: str) -> bool:
    """Whether `head {` opens a namespace or type: its braces hold declarations, not statements."""
    head = ATTRIBUTE.sub(" ", head)
    match = SCOPE.search(head)
    return match is not None and "(" not in match["rest"] and "(" not in head[:match.start()]


def cpp_functions(text: str) -> Iterator[Function]:
    """Every outermost brace block that holds statements, from the line its head starts on.

    Raises ValueError where braces do not balance, as they must in code that formats well.
    """
    code = blank_non_code(text)
    head_start = 0
    function = None  # (depth outside it, offset of head, offset of brace)
    depth = 0
    parentheses = 0
    for match in re.finditer(r"[{}();]", code):
        token, at = match[0], match.start()
        if token in "()":
            parentheses += 1 if token == "(" else -1
        elif token == "{":
            if function is None and parentheses == 0 and not opens_scope(code[head_start:at]):
                function = (depth, head_start, at)
            depth += 1
        elif token == "}":
            depth -= 1
            if depth < 0:
                raise ValueError(f"line {code.count(chr(10), 0, at) + 1}: unmatched }}")
            if function and depth == function[0]:
                head = code[function[1]:function[2]]
                if ";" in code[function[2]:at]:
                    first = function[1] + len(head) - len(head.lstrip())
                    yield Function(code.count("\n", 0, first) + 1,
                                   code.count("\n", first, at) + 1,
                                   " ".join(head.split())[:60])
                function = None
        # `member_{0}, ...` and `member_{0} {`: a constructor's head goes on.
        head_goes_on = token == "}" and re.match(r"\s*[,{]", code[at + 1:at + 200])
        if token in "{};" and function is None and parentheses == 0 and not head_goes_on:
            head_start = at + 1
    if depth:
        raise ValueError("braces do not balance (one may open in two branches of an #if)")


def python_functions(text: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(node.lineno, node.end_lineno - node.lineno + 1, node.name)


def check_text(name: str, text: str) -> list[str]:
    lines = text.count("\n")
    problems = []
    if lines >= MAX_FILE_LINES:
        problems.append(f"{name}: {lines} lines; files stay under {MAX_FILE_LINES}")
    functions = python_functions if name.endswith(".py") else cpp_functions
    if not name.endswith((".py", ".cc", ".h", ".cu", ".cuh")):
        return problems
    try:
        problems += [f"{name}:{found.line}: {found.name}: {found.lines} lines; "
                     f"functions stay under {MAX_FUNCTION_LINES}"
                     for found in functions(text) if found.lines >= MAX_FUNCTION_LINES]
    except (SyntaxError, ValueError) as error:
        problems.append(f"{name}: cannot be read: {error}")
    return problems


def check(root: pathlib.Path) -> list[str]:
    paths = repo_files(root, "*.cc", "*.h", "*.cu", "*.cuh", "*.py", "scripts/*", "*.cmake",
                       "*CMakeLists.txt")
    return [problem for path in paths
            for problem in check_text(path.relative_to(root).as_posix(), path.read_text())]


if __name__ == "__main__":
    sys.exit(report("size", check(root_from_argv())))
