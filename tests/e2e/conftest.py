"""The built program and the committed model, for tests that drive Stoker as a user does."""

import os
import pathlib
import subprocess
from typing import Callable

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def stoker_path() -> pathlib.Path:
    """The program under test: the release build, or what STOKER_BINARY names."""
    path = pathlib.Path(os.environ.get("STOKER_BINARY", ROOT / "build/release/src/cli/stoker"))
    assert path.is_file(), f"{path} is missing: build it with cmake --build --preset release"
    return path


@pytest.fixture
def run_stoker(stoker_path: pathlib.Path, tmp_path: pathlib.Path) -> Callable:
    """run_stoker("inspect", model, input="text") runs in a scratch folder and returns the result.

    No exit code is assumed; stdout and stderr are text.
    """

    def run(*arguments: object, input: str = "", timeout_s: float = 120,
            **options: object) -> subprocess.CompletedProcess:
        return subprocess.run([stoker_path, *map(str, arguments)], input=input, text=True,
                              capture_output=True, timeout=timeout_s, cwd=tmp_path, **options)

    return run


@pytest.fixture(scope="session")
def demo_model() -> pathlib.Path:
    """The committed demo checkpoint."""
    path = ROOT / "models/demo"
    if not (path / "config.json").is_file():
        pytest.skip("models/demo is not in this checkout")
    return path
