"""Which files of the repository the checks in this folder look at."""

import fnmatch
import pathlib
import subprocess
import sys


def repo_files(root: pathlib.Path, *patterns: str) -> list[pathlib.Path]:
    """Files under `root` that match a pattern (`src/*.cc` matches at any depth), sorted.

    In a git checkout: tracked files and new ones that are not ignored. Elsewhere: all files.
    """
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True, text=True).stdout
        names = {name for name in listing.split("\0") if name}
    else:
        names = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    return [root / name for name in sorted(names)
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            and (root / name).is_file()]


def report(what: str, problems: list[str]) -> int:
    """Prints the problems and returns the exit code."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problems" if problems else f"{what}: ok")
    return 1 if problems else 0


def root_from_argv() -> pathlib.Path:
    """The tree to check: the first argument, or the repository this file lies in."""
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1]).resolve()
    return pathlib.Path(__file__).resolve().parent.parent
