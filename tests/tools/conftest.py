"""Makes the checks in tools/ importable, and small trees for them to look at."""

import pathlib
import sys
from typing import Callable

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> Callable[[dict[str, str]], pathlib.Path]:
    """tree({path: text}) writes the files and returns the folder."""

    def write(files: dict[str, str]) -> pathlib.Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write
