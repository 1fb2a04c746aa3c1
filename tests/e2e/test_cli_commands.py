"""Every command does its work, for people and with --json."""

import json
import os
import pathlib
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def reply(result) -> dict:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


# Keeps the tiny checkpoint from ending its answer: [EOS], <|im_end|> and [EOT].
GOES_ON = [word for token in (257, 258, 265) for word in ("--logit-bias", f"{token}=-100")]


@pytest.fixture
def kimi_files() -> pathlib.Path:
    path = ROOT / "../shared/data/kimi-k2.6"
    if not path.is_dir():
        pytest.skip("the published files of Kimi K2.6 are not beside this checkout")
    return path


def test_a_pipe_gets_the_answer_and_nothing_else(run_stoker, tiny_model):
    result = run_stoker("run", tiny_model, "--raw", "-p", "Once", "-n", 8, "--greedy",
                        "--logit-bias", "65=100")
    assert result.returncode == 0
    assert result.stdout == "A" * 8 + "\n"
    assert result.stderr == ""


def test_stats_give_the_summary_line(run_stoker, tiny_model):
    result = run_stoker("run", tiny_model, "--raw", "-p", "Once", "-n", 8, "--stats", *GOES_ON)
    assert result.returncode == 0
    for figure in ("tokens in", "tok/s", "GB/s", "of this machine's"):
        assert figure in result.stderr


def test_the_prompt_comes_from_standard_input_too(run_stoker, tiny_model):
    common = ["--raw", "--greedy", "-n", 8, "--json"]
    given = reply(run_stoker("run", tiny_model, *common, "-p", "Once"))
    for arguments in ([], ["-p", "-"]):
        piped = reply(run_stoker("run", tiny_model, *common, *arguments, input="Once\n"))
        assert piped["token_ids"] == given["token_ids"]


def test_a_seed_gives_the_same_answer_again(run_stoker, tiny_model):
    common = ["run", tiny_model, "--raw", "-p", "Once", "-n", 12, "--temperature", 2, "--json", *GOES_ON]
    first, again, other = (reply(run_stoker(*common, "--seed", seed)) for seed in (7, 7, 8))
    assert first["token_ids"] == again["token_ids"]
    assert first["token_ids"] != other["token_ids"]
    assert first["seed"] == 7


def test_logprobs_are_of_the_likeliest_tokens(run_stoker, tiny_model):
    answer = reply(run_stoker("run", tiny_model, "--raw", "-p", "Once", "-n", 3, "--greedy",
                              "--logprobs", 2, "--json", *GOES_ON))
    assert len(answer["logprobs"]) == len(answer["token_ids"]) == 3
    for entry in answer["logprobs"]:
        first, second = entry["top"]
        assert first["id"] == entry["id"]
        assert second["logprob"] <= first["logprob"] < 0


def test_max_tokens_and_finish_reason(run_stoker, tiny_model):
    answer = reply(run_stoker("run", tiny_model, "--raw", "-p", "Once", "-n", 5, "--json", *GOES_ON))
    assert answer["stats"]["answer_tokens"] == len(answer["token_ids"]) == 5
    assert answer["finish_reason"] == "length"
    # Token 258 is <|im_end|>.
    ended = reply(run_stoker("run", tiny_model, "--raw", "-p", "Once", "-n", 5, "--json", "--greedy",
                             "--logit-bias", "258=100"))
    assert ended["token_ids"] == [258]
    assert ended["text"] == ""
    assert ended["finish_reason"] == "stop"


def test_a_bias_steers_and_a_stop_string_ends(run_stoker, tiny_model):
    # The tiny checkpoint's tokens are bytes: 65 is "A".
    common = ["run", tiny_model, "--raw", "-p", "x", "-n", 20, "--greedy", "--json",
              "--logit-bias", "65=100"]
    assert reply(run_stoker(*common))["text"] == "A" * 20
    stopped = reply(run_stoker(*common, "--stop", "AAA"))
    assert stopped["text"] == ""
    assert stopped["finish_reason"] == "stop"


def test_speed_is_from_token_to_token_and_bandwidth_of_the_steps(run_stoker, tiny_model):
    stats = reply(run_stoker("run", tiny_model, "--raw", "-p", "x", "-n", 20, "--json",
                             "--temperature", 1, *GOES_ON))["stats"]
    assert stats["decode_s"] > stats["decode_step_s"] > 0
    assert stats["decode_tok_per_s"] == pytest.approx(19 / stats["decode_s"])
    assert stats["decode_gb_per_s"] == pytest.approx(
        stats["decode_bytes"] / stats["decode_step_s"] / 1e9)


def test_threads_and_instruction_sets_are_the_users(run_stoker, tiny_model):
    common = ["run", tiny_model, "--raw", "-p", "Once", "-n", 8, "--greedy", "--json", *GOES_ON]
    one = reply(run_stoker(*common, "--threads", 1))
    three = reply(run_stoker(*common, "--threads", 3))
    assert one["token_ids"] == three["token_ids"]
    assert len(one["token_ids"]) == 8
    assert len(reply(run_stoker(*common, "--isa", "ref"))["token_ids"]) == 8


def test_chat_reads_lines_from_a_pipe(run_stoker, tiny_model):
    result = run_stoker("chat", tiny_model, "-n", 4, "--json",
                        input="hello\n\n/stats\n/reset\nagain\n")
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == 2
    assert "context held" in result.stderr
    assert "the conversation is forgotten" in result.stderr
    assert answers[1]["stats"]["cached_tokens"] == 0


def test_a_last_line_that_waits_for_another_is_a_message(run_stoker, tiny_model):
    result = run_stoker("chat", tiny_model, "-n", 4, "--json", input="hello\\\n")
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_a_chat_reads_only_what_is_new(run_stoker, tiny_model):
    result = run_stoker("chat", tiny_model, "-n", 4, "--json", "--greedy",
                        input="hello\nand then?\n")
    first, second = [json.loads(line)["stats"] for line in result.stdout.splitlines()]
    assert first["cached_tokens"] == 0
    assert second["cached_tokens"] >= first["prompt_tokens"] - 1


def test_inspect_knows_kimi_k26(run_stoker, kimi_files):
    facts = reply(run_stoker("inspect", kimi_files / "config.json", "--json"))
    assert round(facts["parameters"] / 1e12, 1) == 1.0
    assert 31.5e9 < facts["active_parameters"] < 33e9
    assert facts["expert_bytes"] == 24_772_608
    assert round(facts["routed_bytes_per_token"] / 1e9, 1) == 11.9
    assert facts["kv_bytes_per_token"] == 70_272
    table = run_stoker("inspect", kimi_files).stdout
    for figure in ("24.77 MB", "11.89 GB", "70272", "routed experts"):
        assert figure in table


def test_inspect_adds_up_what_is_stored(run_stoker, tiny_model):
    facts = reply(run_stoker("inspect", tiny_model, "--json"))
    # The checkpoint also stores the shape of each packed weight.
    assert facts["stored_bytes"] == pytest.approx(facts["bytes"], rel=0.01)
    assert sum(part["parameters"] for part in facts["classes"].values()) == facts["parameters"]


def test_tokenize_gives_kimis_ids_and_back(run_stoker, kimi_files):
    text = "Hello, world!"
    assert run_stoker("tokenize", kimi_files, "-p", text, "--ids").stdout == "19180 11 2695 0\n"
    facts = reply(run_stoker("tokenize", kimi_files, "-p", text, "--json"))
    assert facts["ids"] == [19180, 11, 2695, 0]
    assert "".join(facts["tokens"]) == text
    decoded = run_stoker("tokenize", kimi_files, "--decode", "19180,11 2695, 0")
    assert decoded.stdout == text + "\n"


def test_special_tokens_are_text_unless_asked_for(run_stoker, kimi_files):
    common = ["tokenize", kimi_files, "-p", "<|im_end|>", "--ids"]
    assert run_stoker(*common).stdout == "27 91 348 11129 91 29\n"
    assert run_stoker(*common, "--special").stdout == "163586\n"


@pytest.mark.parametrize("format", ["int4", "fp8", "bf16"])
def test_made_checkpoints_run(run_stoker, tmp_path, format):
    path = tmp_path / format
    made = reply(run_stoker("make-checkpoint", "--shape", "tiny", "--format", format, path,
                            "--json"))
    assert made["bytes"] > 0
    assert reply(run_stoker("run", path, "--raw", "-p", "x", "-n", 2, "--json"))["token_ids"]


def test_the_same_seed_makes_the_same_checkpoint(run_stoker, tiny_model, tmp_path):
    reply(run_stoker("make-checkpoint", "--shape", "tiny", "--seed", 1, tmp_path / "same", "--json"))
    for file in tiny_model.iterdir():
        assert (tmp_path / "same" / file.name).read_bytes() == file.read_bytes()


def test_bench_decode_reports_each_batch(run_stoker, tiny_model):
    report = reply(run_stoker("bench", "decode", tiny_model, "--batch", "1,3", "--context", 20,
                              "--steps", 2, "--threads", 2, "--json"))
    assert [row["batch"] for row in report["rows"]] == [1, 3]
    assert report["threads"] == 2
    assert report["loaded_bytes"] >= report["weight_bytes"] > 0
    for row in report["rows"]:
        assert row["context"] == 20
        assert row["tok_per_s"] == pytest.approx(1e3 * row["batch"] / row["step_ms"])
        assert row["gb_per_s"] == pytest.approx(row["bytes_per_step"] / row["step_ms"] / 1e6)
    assert report["rows"][1]["bytes_per_step"] > report["rows"][0]["bytes_per_step"]


def test_bench_adds_up_a_whole_model(run_stoker, tiny_model):
    report = reply(run_stoker("bench", "decode", tiny_model, "--batch", "1", "--context", 20,
                              "--steps", 3, "--whole-model-layers", 100, "--json"))
    layers = report["whole_model_layers"]
    assert layers["dense"] + layers["moe"] == 100
    (row,) = report["rows"]
    assert row["whole_model"]["bytes_per_step"] > row["bytes_per_step"]
    assert row["whole_model"]["step_ms"] > row["step_ms"]


def test_bench_prefill_and_memory(run_stoker, tiny_model):
    report = reply(run_stoker("bench", "prefill", tiny_model, "--tokens", "16,40", "--repeats", 1,
                              "--json"))
    assert [row["tokens"] for row in report["rows"]] == [16, 40]
    for row in report["rows"]:
        assert row["tok_per_s"] == pytest.approx(row["tokens"] / row["seconds"])
    memory = reply(run_stoker("bench", "memory", "--threads", 2, "--passes", 1, "--json"))
    assert [row["threads"] for row in memory["rows"]] == [1, 2]
    assert memory["peak_gb_per_s"] == max(row["gb_per_s"] for row in memory["rows"])


def test_tables_are_for_people(run_stoker, tiny_model):
    result = run_stoker("bench", "decode", tiny_model, "--batch", "1", "--context", 8, "--steps", 1)
    assert result.returncode == 0
    for heading in ("batch", "tok/s", "ms/step", "bytes a step", "GB/s", "of peak"):
        assert heading in result.stdout


def test_a_full_disk_is_an_error(stoker_path, tiny_model):
    with open("/dev/full", "wb") as full:
        result = subprocess.run([stoker_path, "inspect", tiny_model], stdout=full,
                                stderr=subprocess.PIPE, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stderr == "stoker: error: cannot write to standard output\n"


def test_help_onto_a_full_disk_is_an_error(stoker_path):
    with open("/dev/full", "wb") as full:
        result = subprocess.run([stoker_path, "--help"], stdout=full, stderr=subprocess.PIPE,
                                text=True, timeout=60)
    assert result.returncode == 1
    assert result.stderr == "stoker: error: cannot write to standard output\n"


def test_a_pipe_that_does_not_block_loses_nothing(stoker_path, tiny_model):
    """As programs that run an event loop hand them to their children."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = subprocess.Popen([stoker_path, "tokenize", tiny_model, "--ids"],
                               stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    process.stdin.write(b"x" * 100_000)
    process.stdin.close()
    time.sleep(0.3)  # the pipe, of 64 KiB, is full by now
    with open(reading) as output:
        assert output.read() == "120 " * 99_999 + "120\n"
    assert process.wait(timeout=60) == 0, process.stderr.read()
    process.stderr.close()


@pytest.mark.parametrize("command", ["run", "chat", "inspect", "tokenize", "make-checkpoint",
                                     "bench decode", "bench prefill", "bench memory"])
def test_every_command_explains_itself(run_stoker, command):
    result = run_stoker(*command.split(), "--help")
    assert result.returncode == 0
    for part in (f"usage: stoker {command}", "examples:", "--json", "--threads", "--isa",
                 "--log-level"):
        assert part in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
