import os
import signal
import subprocess
import sys

import pytest

import llama_cpp as peers  # bench/peers/llama_cpp.py, not the package that it measures
import machine
from llama_cpp import Sample


def test_the_ratio_is_the_median_of_the_ratios_within_rounds():
    # The machine slows down threefold in the last round: the ratios do not notice.
    (line,) = peers.compare([
        {"llama.cpp": {"decode 1": Sample(10.0)}, "stoker": {"decode 1": Sample(12.0)}},
        {"llama.cpp": {"decode 1": Sample(10.0)}, "stoker": {"decode 1": Sample(13.0)}},
        {"llama.cpp": {"decode 1": Sample(3.0)}, "stoker": {"decode 1": Sample(4.2)}},
    ])
    assert line.ratio == pytest.approx(1.3)
    assert (line.ratio_low, line.ratio_high) == pytest.approx((1.2, 1.4))


def test_a_figure_that_stoker_lacks_has_no_ratio():
    (line,) = peers.compare([{"llama.cpp": {"load": Sample(5.0)}, "stoker": {}}])
    assert line.stoker is None
    assert line.ratio is None
    assert peers.format_table([line]).splitlines()[1].split() == [
        "load", "5.00", "s", "-", "-", "-", "-", "-", "-", "-..-"]


def test_rows_are_named_by_batch_or_by_prompt_length():
    samples = peers.samples_of({
        "load_s": 2.5,
        "rows": [
            {"batch": 8, "context": 128, "tok_per_s": 40.0, "share_of_peak": 0.9},
            {"tokens": 512, "tok_per_s": 100.0},
        ],
    })
    assert list(samples) == ["load", "decode 8", "prefill 512"]
    assert samples["decode 8"] == Sample(40.0, None, 0.9)


def test_a_measuring_process_that_fails_ends_the_run_with_its_command():
    with pytest.raises(SystemExit, match="failed with 3"):
        peers.run_json([sys.executable, "-c", "raise SystemExit(3)"], {})
    with pytest.raises(SystemExit, match="prints no JSON"):
        peers.run_json([sys.executable, "-c", "print('hello')"], {})


def process_state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def test_a_paused_process_continues_even_when_the_measurement_fails(tmp_path):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        pid_file = tmp_path / "pid"
        pid_file.write_text(f"{sleeper.pid}\n")
        with pytest.raises(RuntimeError), machine.quiet(None, pid_file):
            os.waitpid(sleeper.pid, os.WUNTRACED)
            assert process_state(sleeper.pid) == "T"
            raise RuntimeError
        os.waitpid(sleeper.pid, os.WCONTINUED)
        assert process_state(sleeper.pid) != "T"
    finally:
        sleeper.send_signal(signal.SIGKILL)
        sleeper.wait()
