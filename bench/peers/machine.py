"""What a benchmark must know about the machine it ran on: read bandwidth, and how busy it was."""

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

_BUFFER_BYTES = 1 << 30  # larger than a last-level cache
_PASSES = 3  # the fastest counts: the limit is what the machine can do
_SOURCE = Path(__file__).with_name("read_bandwidth.c")


class ReadBandwidth:
    """Reads a huge-page buffer with pinned threads; close it (or use `with`) to free the buffer."""

    def __init__(self, threads: int) -> None:
        self._library = _build_library()
        self._library.stoker_bandwidth_open.restype = ctypes.c_void_p
        self._library.stoker_bandwidth_open.argtypes = [ctypes.c_size_t]
        self._library.stoker_bandwidth_close.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._library.stoker_bandwidth_read.restype = ctypes.c_double
        self._library.stoker_bandwidth_read.argtypes = [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_int),
        ]
        cpus = sorted(os.sched_getaffinity(0))
        self._threads = threads
        self._cpus = (ctypes.c_int * threads)(*(cpus[i % len(cpus)] for i in range(threads)))
        self._data = self._library.stoker_bandwidth_open(_BUFFER_BYTES)
        if not self._data:
            raise MemoryError(f"no {_BUFFER_BYTES} bytes for the bandwidth reader")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.stoker_bandwidth_close(self._data, _BUFFER_BYTES)

    def measure_gb_per_s(self) -> float:
        """The fastest of a few passes over the buffer, each some tens of milliseconds."""
        return max(
            float(
                self._library.stoker_bandwidth_read(
                    self._data, _BUFFER_BYTES, self._threads, self._cpus
                )
            )
            for _ in range(_PASSES)
        )


def _build_library() -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise SystemExit("no C compiler: install gcc to measure the read bandwidth")
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-pthread"]
    with tempfile.TemporaryDirectory(prefix="stoker-bandwidth-") as folder:
        out = Path(folder) / "read_bandwidth.so"
        subprocess.run([compiler, *flags, str(_SOURCE), "-o", str(out)], check=True)
        return ctypes.CDLL(str(out))  # stays mapped when the file is gone


class Busyness:
    """How many CPUs other processes kept busy since it was made."""

    def __init__(self) -> None:
        self._start = self._read()

    @staticmethod
    def _read() -> tuple[float, float, float]:
        user, nice, system, _idle, _wait, irq, softirq, steal = (
            int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
        )
        busy_ticks = user + nice + system + irq + softirq + steal
        own = os.times()
        own_s = own.user + own.system + own.children_user + own.children_system
        return time.monotonic(), busy_ticks / os.sysconf("SC_CLK_TCK"), own_s

    def other_cpus(self) -> float:
        """Mean number of CPUs busy with other work, time stolen by the hypervisor included."""
        wall_s, busy_s, own_s = (
            now - then for now, then in zip(self._read(), self._start, strict=True)
        )
        return max(0.0, (busy_s - own_s) / wall_s) if wall_s > 0 else 0.0


@contextlib.contextmanager
def quiet(lock: Path | None, pause_pid_file: Path | None) -> Iterator[None]:
    """Holds `lock` so that no two measurements overlap, and stops a background process meanwhile.

    `pause_pid_file` holds the id of a process, such as a long training run, that is stopped for
    the time of the measurement and always continued.
    """
    with contextlib.ExitStack() as stack:
        if lock:
            file = stack.enter_context(lock.open("a"))
            fcntl.flock(file, fcntl.LOCK_EX)
        pid = _paused_pid(pause_pid_file)
        if pid:
            os.kill(pid, signal.SIGSTOP)
            stack.callback(os.kill, pid, signal.SIGCONT)
        yield


def _paused_pid(pause_pid_file: Path | None) -> int | None:
    if not pause_pid_file or not pause_pid_file.is_file():
        return None
    text = pause_pid_file.read_text().strip()
    if not text.isdigit() or not Path(f"/proc/{text}").exists():
        return None
    return int(text)


def read_into_page_cache(path: Path) -> None:
    """Reads a file, or every file of a folder, so that loading it does not wait for the disk."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    buffer = bytearray(16 << 20)
    for file in files:
        if not file.is_file():
            continue
        with file.open("rb", buffering=0) as stream:
            while stream.readinto(buffer):
                pass
