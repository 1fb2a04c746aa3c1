#!/usr/bin/env python3
"""Checks that what the documents name exists, and how they mark code. usage: check_docs.py [ROOT]

A fence is marked with a language. `sh` holds commands that tests/e2e/test_docs.py runs, `text`
what they print, `console` commands that no test runs.
"""

import glob
import pathlib
import re
import sys

from repo_files import repo_files, report, root_from_argv

FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```\s*$", re.DOTALL | re.MULTILINE)
LANGUAGES = {"sh", "text", "console", "json", "cpp", "cmake", "python", "yaml", "jinja"}
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FOLDERS = "src|tests|tools|scripts|docs|bench|cmake|catalog|models|deploy"
REPO_PATH = re.compile(rf"(?<![\w/.<-])((?:{FOLDERS})/[A-Za-z0-9_./*{{}},-]*)(?![\w<])")
PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]{2,}(?![A-Za-z]|\.md|\.txt)")


def expand_braces(path: str) -> list[str]:
    """a{b,c}d -> abd, acd; the innermost, first pair first."""
    match = re.search(r"\{([^{}]*)\}", path)
    if not match:
        return [path]
    return [result for part in match[1].split(",")
            for result in expand_braces(path[:match.start()] + part + path[match.end():])]


def anchors(text: str) -> set[str]:
    """The anchors that a document's headings make, as GitHub spells them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            for heading in HEADING.findall(FENCE.sub("", text))}


def check_link(root: pathlib.Path, document: pathlib.Path, target: str) -> str | None:
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    file = document.parent / path if path else document
    if not file.exists():
        return f"links to {target}, which does not exist"
    if not file.resolve().is_relative_to(root):
        return f"links to {target}, outside the repository"
    if anchor and anchor not in anchors(file.read_text()):
        return f"links to {target}, but {file.name} has no such heading"
    return None


def check_document(root: pathlib.Path, document: pathlib.Path) -> list[str]:
    text = document.read_text()
    problems = [f"a code fence is marked {language!r}: use one of {', '.join(sorted(LANGUAGES))}"
                for language, _ in FENCE.findall(text) if language not in LANGUAGES]
    prose = FENCE.sub("", text)
    problems += [problem for target in LINK.findall(prose)
                 if (problem := check_link(root, document, target))]
    for path in REPO_PATH.findall(LINK.sub("]", prose)):
        path = path.rstrip(".,")
        if PLACEHOLDER.search(path):
            continue
        problems += [f"names {single}, which does not exist" for single in expand_braces(path)
                     if not glob.glob(single, root_dir=root)]
    return [f"{document.relative_to(root).as_posix()}: {problem}" for problem in problems]


def check(root: pathlib.Path) -> list[str]:
    return [problem for document in repo_files(root, "*.md")
            for problem in check_document(root, document)]


if __name__ == "__main__":
    sys.exit(report("docs", check(root_from_argv())))
