"""The built program and the committed model, for tests that drive Stoker as a user does."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
from typing import Callable

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))  # for the list of the repository's files


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Children can be interrupted, even where the shell started the tests with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def tiny_model(stoker_path: pathlib.Path,
               tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A checkpoint of random weights that runs in no time: only to be read."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    subprocess.run([stoker_path, "make-checkpoint", "--shape", "tiny", "--seed", "1", path],
                   check=True, capture_output=True, timeout=120)
    return path


@pytest.fixture
def broken_model(tiny_model: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the tiny checkpoint, for a test to damage."""
    return pathlib.Path(shutil.copytree(tiny_model, tmp_path / "model"))
