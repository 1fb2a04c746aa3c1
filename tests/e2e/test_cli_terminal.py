"""What a person at a terminal sees: the chat, colours, progress, and Ctrl-C at any moment."""

import contextlib
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

import pytest

WAIT_S = 60
CONTROL_C = b"\x03"
CONTROL_D = b"\x04"


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command: list, **options: object) -> None:
        self._fd, child = pty.openpty()
        # A session of its own makes the terminal its controlling one: Ctrl-C then is a signal.
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=child, stdout=child, stderr=child,
            preexec_fn=lambda: self._take_terminal(child), **options)
        os.close(child)
        self.text = ""

    @staticmethod
    def _take_terminal(fd: int) -> None:
        import fcntl
        import termios
        os.setsid()
        fcntl.ioctl(fd, termios.TIOCSCTTY, 0)

    def is_cooked(self) -> bool:
        """Whether the terminal echoes and edits lines, as a shell expects it to."""
        import termios
        cooked = termios.ICANON | termios.ECHO
        return termios.tcgetattr(self._fd)[3] & cooked == cooked

    def send(self, data: bytes) -> None:
        os.write(self._fd, data)

    def _read(self, timeout_s: float) -> bool:
        if not select.select([self._fd], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # the program has gone
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def expect(self, pattern: str) -> str:
        """Waits until what is new on the screen holds the pattern; returns all up to its end."""
        deadline = time.monotonic() + WAIT_S
        while (match := re.search(pattern, self.text)) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text!r}"
            if not self._read(0.1):
                match = re.search(pattern, self.text)
                assert match, f"ended without {pattern!r}: {self.text!r}"
                break
        seen, self.text = self.text[:match.end()], self.text[match.end():]
        return seen

    def wait(self) -> int:
        deadline = time.monotonic() + WAIT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"still running: {self.text!r}"
            self._read(0.05)
        while self._read(0):
            if not select.select([self._fd], [], [], 0)[0]:
                break
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._fd)


@pytest.fixture
def terminal(stoker_path, tmp_path):
    """terminal("chat", model) starts stoker on a terminal."""
    with contextlib.ExitStack() as stack:
        def start(*arguments: object) -> Terminal:
            environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"),
                           "TERM": "xterm", "LC_ALL": "C.UTF-8"}
            started = Terminal([stoker_path, *arguments], cwd=tmp_path, env=environment)
            stack.callback(started.close)
            return started
        yield start


def endless(model: pathlib.Path) -> list:
    """An answer that only Ctrl-C ends: byte 65 is "A"."""
    return [model, "--greedy", "--logit-bias", "65=100", "--context", "4096"]


def test_chat_answers_and_leaves(terminal, tiny_model):
    chat = terminal("chat", *endless(tiny_model), "-n", 5)
    chat.expect("> ")
    chat.send(b"hello\r")
    chat.expect("AAAAA\r\n")
    chat.expect("> ")
    chat.send(b"/stats\r")
    chat.expect("of 4096 tokens of context held")
    chat.expect("tok/s")
    chat.send(b"/rest\r")
    chat.expect("did you mean /reset")
    chat.send(b"/reset\r")
    chat.expect("forgotten")
    chat.send(b"/stats\r")
    chat.expect("0 of 4096(.|\n)*> ")
    chat.send(CONTROL_D)
    assert chat.wait() == 0


def test_exit_leaves_the_chat(terminal, tiny_model):
    chat = terminal("chat", tiny_model)
    chat.expect("> ")
    chat.send(b"/exit\r")
    assert chat.wait() == 0


def test_arrow_keys_bring_back_what_was_typed_before(terminal, tiny_model, tmp_path):
    chat = terminal("chat", *endless(tiny_model), "-n", 3)
    chat.expect("> ")
    chat.send(b"first words\r")
    chat.expect("AAA\r\n")
    chat.send(b"/exit\r")
    assert chat.wait() == 0
    assert (tmp_path / "state/stoker/chat_history").stat().st_mode & 0o077 == 0
    again = terminal("chat", *endless(tiny_model), "-n", 3)
    again.expect("> ")
    again.send(b"\x1b[A\x1b[A")
    again.expect("first words")
    again.send(b"\r")
    again.expect("AAA\r\n")
    again.send(CONTROL_D)


def test_control_c_stops_the_answer_and_not_the_chat(terminal, tiny_model):
    chat = terminal("chat", *endless(tiny_model))
    chat.expect("> ")
    chat.send(b"hello\r")
    chat.expect("AAAAAAAA")
    chat.send(CONTROL_C)
    chat.expect("\r\n> ")
    chat.send(b"/stats\r")
    chat.expect("context held(.|\n)*> ")
    chat.send(CONTROL_D)
    assert chat.wait() == 0


def test_control_c_at_an_empty_prompt_says_how_to_leave(terminal, tiny_model):
    chat = terminal("chat", tiny_model)
    chat.expect("> ")
    chat.send(b"half a line")
    chat.send(CONTROL_C)
    chat.expect("use /exit or Ctrl-D")
    chat.expect("> ")
    chat.send(CONTROL_D)
    assert chat.wait() == 0


def test_no_control_c_among_typed_characters_is_lost(terminal, tiny_model):
    """The signal may come while the editor is between two characters."""
    chat = terminal("chat", tiny_model)
    chat.expect("> ")
    for _ in range(100):
        chat.send(b"abcdefgh" + CONTROL_C)
        chat.expect("use /exit or Ctrl-D")
        chat.expect("> ")
    chat.send("größe 漢字\x15".encode() + CONTROL_D)
    assert chat.wait() == 0


def test_no_control_c_is_lost_while_typed_characters_are_read(terminal, tiny_model):
    """The terminal drops what was typed, be it just when the editor has seen that there is some."""
    chat = terminal("chat", tiny_model)
    chat.expect("> ")
    for _ in range(1000):
        chat.send(b"half a line")
        chat.send(CONTROL_C)
        chat.expect("use /exit or Ctrl-D")
        chat.expect("> ")
    chat.send(CONTROL_D)
    assert chat.wait() == 0


def test_the_summary_and_colours_are_for_terminals(terminal, tiny_model):
    run = terminal("run", tiny_model, "--raw", "-p", "x", "-n", 4, "--greedy", "--logit-bias", "65=100")
    assert run.wait() == 0
    assert "of this machine's" in run.text
    assert "\x1b[2m" in run.text


def test_control_c_ends_run_during_decode(terminal, tiny_model):
    run = terminal("run", *endless(tiny_model), "-p", "hello")
    run.expect("AAAAAAAA")
    run.send(CONTROL_C)
    assert run.wait() == 130


def test_control_c_while_input_is_read(stoker_path, tiny_model):
    process = subprocess.Popen([stoker_path, "run", tiny_model], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=WAIT_S) == 130
    assert process.stderr.read() == b""


@pytest.mark.parametrize("delay_ms", [5, 20, 50, 100, 200])
def test_control_c_at_any_moment(stoker_path, tiny_model, delay_ms):
    """Load, a prompt of many steps, and an answer without end: whatever is interrupted, it ends."""
    process = subprocess.Popen(
        [stoker_path, "run", *endless(tiny_model), "--prefill-chunk", "1", "-p", "x" * 3000],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(delay_ms / 1000)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=WAIT_S)
    # Before the program catches it, the signal itself ends the program.
    assert process.returncode in (130, -signal.SIGINT), error
    assert error == b""
    assert set(output) <= set(b"A\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_at_the_prompt_leaves_the_terminal_as_it_was(terminal, tiny_model, tmp_path,
                                                              number):
    chat = terminal("chat", *endless(tiny_model), "-n", 3)
    chat.expect("> ")
    chat.send(b"first words\r")
    chat.expect("AAA\r\n")
    chat.expect("> ")
    deadline = time.monotonic() + WAIT_S
    while chat.is_cooked():  # the editor takes the terminal just after its prompt
        assert time.monotonic() < deadline
        time.sleep(0.01)
    chat.process.send_signal(number)
    quits = number == signal.SIGQUIT
    assert chat.wait() == (-number if quits else 128 + number)
    assert chat.is_cooked()
    if not quits:
        assert "first" in (tmp_path / "state/stoker/chat_history").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_answer_and_the_chat(terminal, tiny_model, number):
    chat = terminal("chat", *endless(tiny_model))
    chat.expect("> ")
    chat.send(b"hello\r")
    chat.expect("AAAAAAAA")
    chat.process.send_signal(number)
    assert chat.wait() == 128 + number
    assert chat.is_cooked()


def test_a_history_that_is_no_file_is_left_alone(terminal, tiny_model, tmp_path):
    (tmp_path / "state/stoker").mkdir(parents=True)
    os.mkfifo(tmp_path / "state/stoker/chat_history")
    chat = terminal("chat", tiny_model)
    chat.expect("> ")
    chat.send(CONTROL_D)
    assert chat.wait() == 0


@pytest.mark.parametrize("ids", ["27,91,50,74", "194,155,50,74", "155,50,74"])
def test_decoded_tokens_do_not_drive_the_terminal(terminal, tiny_model, ids):
    """ESC [ 2 J, the same in eight bits, and a byte that is no character."""
    decode = terminal("tokenize", tiny_model, "--decode", ids)
    assert decode.wait() == 0
    assert "2J" in decode.text
    assert "\x1b" not in decode.text and "\x9b" not in decode.text


def test_an_answer_does_not_drive_the_terminal_in_eight_bits(terminal, tiny_model):
    run = terminal("run", tiny_model, "--raw", "-p", "x", "-n", 8, "--greedy",
                   "--logit-bias", "194=100", "--logit-bias", "155=99", "--frequency-penalty", 2)
    assert run.wait() == 0
    assert "\N{REPLACEMENT CHARACTER}" in run.text
    assert "\x9b" not in run.text


def test_control_c_ends_a_measurement_of_memory(stoker_path):
    process = subprocess.Popen(
        [stoker_path, "bench", "memory", "--threads", "1", "--passes", "1000"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=20)
    assert process.returncode == 130, error
    assert output + error == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_half_checkpoint(stoker_path, tmp_path, number):
    out = tmp_path / "big"
    process = subprocess.Popen(
        [stoker_path, "make-checkpoint", "--shape", "kimi-linear-like", out],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(number)
    _, error = process.communicate(timeout=WAIT_S)
    assert process.returncode == 128 + number, error
    assert not out.exists() or not list(out.iterdir())


def test_two_checkpoints_in_one_folder_leave_each_other_alone(stoker_path, tmp_path):
    out = tmp_path / "big"
    first = subprocess.Popen(
        [stoker_path, "make-checkpoint", "--shape", "kimi-linear-like", out],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(out.glob("*.partial")):
        assert first.poll() is None
        time.sleep(0.01)
    second = subprocess.run([stoker_path, "make-checkpoint", "--shape", "tiny", out],
                            capture_output=True, text=True, timeout=WAIT_S)
    assert second.returncode == 1
    assert ".partial: another run is writing this file" in second.stderr
    assert list(out.glob("*.partial"))
    first.send_signal(signal.SIGINT)
    _, error = first.communicate(timeout=WAIT_S)
    assert first.returncode == 130, error


def test_a_reader_that_leaves_ends_the_answer(stoker_path, tiny_model):
    process = subprocess.Popen([stoker_path, "run", *endless(tiny_model), "-p", "hello"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    process.stdout.read(4)
    process.stdout.close()
    assert process.wait(timeout=WAIT_S) == -signal.SIGPIPE
