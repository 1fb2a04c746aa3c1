#!/usr/bin/env python3
"""Holds every #include in src/ to the table in src/layers.txt. usage: check_layers.py [ROOT]"""

import pathlib
import re
import sys
from typing import NamedTuple

from repo_files import repo_files, report, root_from_argv

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
ANGLE_INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)
LAYER_LINE = re.compile(r"^(\d+) ([a-z]+):((?: [a-z]+)*)$")


class Module(NamedTuple):
    layer: int
    deps: frozenset[str]


def read_table(path: pathlib.Path) -> tuple[dict[str, Module], list[str]]:
    """Reads the table; problems are bad lines, unknown modules and edges that do not go down."""
    table: dict[str, Module] = {}
    problems = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = LAYER_LINE.match(line)
        if not match:
            problems.append(f"src/layers.txt:{number}: not 'LAYER MODULE: MODULES'")
            continue
        layer, name, deps = int(match[1]), match[2], match[3].split()
        for dep in deps:
            if dep not in table:
                problems.append(f"src/layers.txt:{number}: {name} uses {dep}, "
                                "which no line above declares")
            elif table[dep].layer >= layer:
                problems.append(f"src/layers.txt:{number}: {name} (layer {layer}) uses {dep} "
                                f"(layer {table[dep].layer}): only lower layers may be used")
        table[name] = Module(layer, frozenset(deps))
    return table, problems


def check_include(name: str, included: str, table: dict[str, Module],
                  src: pathlib.Path) -> str | None:
    """What is wrong with `#include "included"` in the file src/name, if anything."""
    own = name.split("/")[0]
    first = included.split("/")[0]
    if "/" not in included or first in (".", ".."):
        return f'src/{name}: "{included}": write the path from src/'
    if first not in table:
        if (src / first).is_dir():
            return f'src/{name}: "{included}": module {first} is not in src/layers.txt'
        return None  # a library's header
    if not (src / included).is_file():
        return f'src/{name}: "{included}" does not exist'
    if first != own and first not in table[own].deps:
        return f'src/{name}: "{included}": src/layers.txt does not let {own} use {first}'
    return None


def find_cycle(graph: dict[str, list[str]]) -> list[str]:
    """The files of one include cycle, first file repeated at the end; empty when there is none."""
    done: set[str] = set()
    for start in sorted(graph):
        path: list[str] = []
        stack = [(start, iter(graph[start]))]
        while stack:
            node, successors = stack[-1]
            if len(path) < len(stack):
                path.append(node)
            following = next((file for file in successors if file not in done), None)
            if following is None:
                done.add(node)
                stack.pop()
                path.pop()
            elif following in path:
                return path[path.index(following):] + [following]
            else:
                stack.append((following, iter(graph.get(following, []))))
    return []


def check_file(name: str, text: str, table: dict[str, Module], src: pathlib.Path) -> list[str]:
    module = name.split("/")[0]
    if "/" not in name or module not in table:
        return [f"src/{name}: its module is not in src/layers.txt"]
    includes = INCLUDE.findall(text)
    problems = [problem for included in includes
                if (problem := check_include(name, included, table, src))]
    # The compiler finds our own headers either way, this check the quoted ones.
    problems += [f'src/{name}: <{included}>: write "{included}", as of all our own headers'
                 for included in ANGLE_INCLUDE.findall(text)
                 if (src / included).is_file()]
    # A *-inl.h is a part of the source files that include it, one for each instruction set.
    if name.endswith(".h") and not name.endswith("-inl.h"):
        if "#pragma once" not in text:
            problems.append(f"src/{name}: no #pragma once")
        problems += [f'src/{name}: "{included}": only a source file may include a *-inl.h'
                     for included in includes if included.endswith("-inl.h")]
    # With its own header first, a source file proves that the header needs nothing before it.
    header = str(pathlib.PurePosixPath(name).with_suffix(".h"))
    if name.endswith(".cc") and (src / header).is_file() and includes[:1] != [header]:
        problems.append(f'src/{name}: include "{header}" before any other file')
    return problems


def check(root: pathlib.Path) -> list[str]:
    src = root / "src"
    table, problems = read_table(src / "layers.txt")
    graph = {}
    for path in repo_files(root, "src/*.cc", "src/*.h", "src/*.cu", "src/*.cuh"):
        name = path.relative_to(src).as_posix()
        text = path.read_text()
        problems += check_file(name, text, table, src)
        graph[name] = [file for file in INCLUDE.findall(text) if (src / file).is_file()]
    if cycle := find_cycle(graph):
        problems.append("include cycle: " + " -> ".join(cycle))
    return problems


if __name__ == "__main__":
    sys.exit(report("layers", check(root_from_argv())))
