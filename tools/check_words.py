#!/usr/bin/env python3
"""Refuses paths of one machine and marks of unfinished work. usage: check_words.py [ROOT]"""

import pathlib
import re
import sys

from repo_files import repo_files, report, root_from_argv

FORBIDDEN = [
    (re.compile(r"(?<![\w.}/])/(?:work|root|home)/"), "a path of one machine"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b"), "unfinished work: finish it, or say why not"),
]
# Text that others wrote for tests to read is theirs to word.
DATA = ("tests/golden/", "tests/fuzz/corpus/", "models/")


def check_text(name: str, text: str) -> list[str]:
    return [f"{name}:{number}: {match[0]!r} is {why}"
            for number, line in enumerate(text.splitlines(), 1)
            for pattern, why in FORBIDDEN if (match := pattern.search(line))]


def check(root: pathlib.Path) -> list[str]:
    paths = repo_files(root, "*.cc", "*.h", "*.cu", "*.cuh", "*.py", "*.md", "*.cmake", "scripts/*",
                       "*CMakeLists.txt", "*requirements.txt", "CMakePresets.json", ".ci/*")
    problems = []
    for path in paths:
        name = path.relative_to(root).as_posix()
        if not name.startswith(DATA) or name.endswith(".md"):
            problems += check_text(name, path.read_text())
    return problems


if __name__ == "__main__":
    sys.exit(report("words", check(root_from_argv())))
