"""What is wrong with a model, a prompt or a command line is said in one line."""

import base64
import json
import os
import pathlib
import struct
import subprocess

import pytest


def assert_fails(result, *words: str, code: int = 1) -> None:
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("stoker: error: ")
    for word in words:
        assert word in lines[0]


def edit_json(path: pathlib.Path, edit) -> None:
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def shards(model: pathlib.Path) -> list[pathlib.Path]:
    return sorted(model.glob("*.safetensors"))


class Shard:
    """A safetensors file: its header, and where the data begins."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.data = bytearray(path.read_bytes())
        (self.header_bytes,) = struct.unpack("<Q", self.data[:8])
        self.header = json.loads(self.data[8:8 + self.header_bytes])

    def tensor(self, ending: str) -> str:
        return next(name for name in self.header if name.endswith(ending))

    def overwrite(self, name: str, value: bytes) -> None:
        start = 8 + self.header_bytes + self.header[name]["data_offsets"][0]
        self.data[start:start + len(value)] = value
        self.path.write_bytes(self.data)

    def save_header(self) -> None:
        header = json.dumps(self.header).encode()
        header += b" " * (-len(header) % 8)
        body = self.data[8 + self.header_bytes:]
        self.path.write_bytes(struct.pack("<Q", len(header)) + header + body)


def test_missing_model(run_stoker):
    assert_fails(run_stoker("run", "no/such/model", "-p", "hi"), "no/such/model")


def test_missing_shard(run_stoker, broken_model):
    shard = shards(broken_model)[0]
    shard.unlink()
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), shard.name)


def test_truncated_shard(run_stoker, broken_model):
    shard = shards(broken_model)[0]
    shard.write_bytes(shard.read_bytes()[:-100])
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), shard.name)


def test_index_that_names_a_tensor_its_shard_lacks(run_stoker, broken_model):
    (index,) = broken_model.glob("*.index.json")
    edit_json(index, lambda value: value["weight_map"].update(
        {"model.layers.0.surprise": shards(broken_model)[0].name}))
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), "model.layers.0.surprise")


def test_wrong_shape(run_stoker, broken_model):
    shard = Shard(shards(broken_model)[0])
    name = shard.tensor("kv_a_proj_with_mqa.weight")
    shard.header[name]["shape"].reverse()
    shard.save_header()
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), "kv_a_proj_with_mqa")


def test_nan_scale(run_stoker, broken_model):
    shard = Shard(shards(broken_model)[0])
    name = shard.tensor("weight_scale")
    shard.overwrite(name, struct.pack("<H", 0x7FC0))
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), name.rsplit(".", 1)[0], "scale")


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFF800000], ids=["nan", "minus_infinity"])
@pytest.mark.parametrize("tensor", ["e_score_correction_bias", "kv_a_layernorm.weight"])
def test_non_finite_router_bias_or_norm(run_stoker, broken_model, tensor, bits):
    shard = next(shard for shard in map(Shard, shards(broken_model)) if any(
        name.endswith(tensor) for name in shard.header))
    name = shard.tensor(tensor)
    bytes_each = {"F32": 4, "BF16": 2}[shard.header[name]["dtype"]]
    shard.overwrite(name, struct.pack("<I", bits)[-bytes_each:])
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), name, "not a finite number")


def test_nan_scale_of_a_weight_that_is_taken_apart(run_stoker, tmp_path):
    model = tmp_path / "model"
    made = run_stoker("make-checkpoint", "--shape", "tiny", "--format", "fp8", "--seed", "1", model)
    assert made.returncode == 0, made.stderr
    shard = next(shard for shard in map(Shard, shards(model)) if any(
        "kv_b_proj.weight_scale_inv" in name for name in shard.header))
    name = shard.tensor("kv_b_proj.weight_scale_inv")
    shard.overwrite(name, struct.pack("<f", float("nan")))
    assert_fails(run_stoker("run", model, "-p", "hi"), "kv_b_proj", "not a finite number")


def test_nan_weights_give_no_answer_but_an_error(run_stoker, broken_model):
    shard = Shard(shards(broken_model)[0])
    name = shard.tensor("lm_head.weight")
    begin, end = shard.header[name]["data_offsets"]
    shard.overwrite(name, struct.pack("<H", 0x7FC0) * ((end - begin) // 2))
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), "not finite")


def test_unknown_architecture(run_stoker, broken_model):
    edit_json(broken_model / "config.json", lambda config: config.update(
        architectures=["LlamaForCausalLM"], model_type="llama"))
    for command in (["run", broken_model, "-p", "hi"], ["inspect", broken_model]):
        assert_fails(run_stoker(*command), "LlamaForCausalLM")


@pytest.mark.parametrize("key, value", [
    ("num_hidden_layers", 10**12),
    ("hidden_size", 0),
    ("n_routed_experts", -1),
    ("vocab_size", 2**62),
    ("kv_lora_rank", "many"),
    ("num_experts_per_tok", 10**6),
])
def test_config_with_absurd_numbers(run_stoker, broken_model, key, value):
    edit_json(broken_model / "config.json", lambda config: config.update({key: value}))
    assert_fails(run_stoker("inspect", broken_model), key)
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), key)


def test_config_that_is_no_json(run_stoker, broken_model):
    (broken_model / "config.json").write_text("{")
    assert_fails(run_stoker("inspect", broken_model), "config.json")


def test_duplicate_ranks(run_stoker, broken_model):
    with (broken_model / "tiktoken.model").open("ab") as file:
        file.write(base64.b64encode(b"abc") + b" 7\n")
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), "tiktoken.model")
    assert_fails(run_stoker("tokenize", broken_model, "-p", "hi"), "tiktoken.model")


def test_prompt_longer_than_the_context(run_stoker, tiny_model):
    result = run_stoker("run", tiny_model, "--raw", "--context", "64", "-p", "x" * 100)
    assert_fails(result, "100 tokens", "64", "--context")


def test_context_beyond_the_model(run_stoker, tiny_model):
    assert_fails(run_stoker("run", tiny_model, "--context", 10**9, "-p", "hi"), "--context")


def test_context_that_does_not_fit_in_memory(run_stoker, broken_model):
    context = 1 << 26
    edit_json(broken_model / "config.json",
              lambda config: config.update(max_position_embeddings=context))
    # 4096 sequences of 16 GB each: more than any machine has.
    result = run_stoker("bench", "decode", broken_model, "--batch", 4096, "--context", context - 1)
    assert_fails(result, "does not fit in memory", "KV cache", "--context")


@pytest.mark.parametrize("raw", [[], ["--raw"]], ids=["chat", "raw"])
def test_invalid_utf8(stoker_path, tiny_model, raw):
    result = subprocess.run([stoker_path, "run", tiny_model, *raw], input=b"caf\xe9 au lait",
                            capture_output=True, timeout=60)
    assert result.returncode == 1
    assert result.stderr == (b"stoker: error: the prompt is not UTF-8 text: byte 3 begins no "
                             b"character\n")


@pytest.mark.parametrize("arguments, text", [(["-p", ""], ""), ([], ""), (["-p", "-"], "\n")])
def test_empty_prompt(run_stoker, tiny_model, arguments, text):
    assert_fails(run_stoker("run", tiny_model, *arguments, input=text), "the prompt is empty")


@pytest.mark.parametrize("template", ["{% if %}", "{{ undefined_function() }}",
                                      "{{ raise_exception('no') }}"])
def test_broken_template(run_stoker, broken_model, template):
    (broken_model / "chat_template.jinja").write_text(template)
    assert_fails(run_stoker("run", broken_model, "-p", "hi"), "template")


@pytest.mark.parametrize("arguments, word", [
    (["--temperature", "-1"], "--temperature is -1"),
    (["--top-p", "2"], "--top-p is 2"),
    (["--max-tokens", "many"], "--max-tokens"),
    (["--kv-dtype", "bf61"], "did you mean bf16?"),
    (["--temprature", "1"], "did you mean --temperature?"),
    (["--logit-bias", "x=1"], "--logit-bias"),
    (["--raw", "--system", "x"], "--raw"),
])
def test_usage_errors(run_stoker, tiny_model, arguments, word):
    assert_fails(run_stoker("run", tiny_model, "-p", "hi", *arguments), word, code=2)


def test_a_link_that_leads_to_itself(run_stoker, broken_model):
    (broken_model / "chat_template.jinja").symlink_to("chat_template.jinja")
    assert_fails(run_stoker("run", broken_model, "-p", "hi"))


def test_checkpoints_are_not_written_over(run_stoker, tiny_model):
    result = run_stoker("make-checkpoint", "--shape", "tiny", tiny_model)
    assert_fails(result, str(tiny_model))


def test_unknown_shape(run_stoker):
    assert_fails(run_stoker("make-checkpoint", "--shape", "tyny", "out"), "did you mean tiny?")


@pytest.mark.parametrize("arguments, word", [
    (["-p", "x" * 5000], "5000 tokens"),
    (["-p", "hi", "--logit-bias", "100000=1"], "--logit-bias names token 100000"),
    (["-p", "hi", "--context", "5000"], "--context 5000 is beyond the 4096 positions"),
])
def test_a_request_is_checked_before_weights_are_loaded(run_stoker, broken_model, arguments, word):
    for shard in shards(broken_model):
        shard.unlink()
    assert_fails(run_stoker("run", broken_model, "--raw", *arguments), word)


def test_a_chat_is_checked_before_weights_are_loaded(run_stoker, broken_model):
    for shard in shards(broken_model):
        shard.unlink()
    (broken_model / "generation_config.json").write_text('{"top_k": 1.5}')
    assert_fails(run_stoker("chat", broken_model), "generation_config.json", "top_k is 1.5")
    (broken_model / "generation_config.json").unlink()
    assert_fails(run_stoker("chat", broken_model, "--logit-bias", "100000=1"), "--logit-bias")


@pytest.mark.parametrize("arguments, word", [
    (["decode", "--context", 4096], "--context: 4096"),
    (["decode", "--context", 2**64 - 1], "--context: "),
    (["prefill", "--tokens", "16,4097"], "--tokens: 4097"),
    (["decode", "--whole-model-layers", 1], "--whole-model-layers: 1"),
])
def test_a_bench_names_the_option_that_is_beyond_the_model(run_stoker, broken_model, arguments, word):
    for shard in shards(broken_model):
        shard.unlink()
    command, *options = arguments
    assert_fails(run_stoker("bench", command, broken_model, *options), word)


@pytest.mark.parametrize("ids", ["1000000", "65,1000000"])
def test_ids_that_do_not_exist(run_stoker, tiny_model, ids):
    assert_fails(run_stoker("tokenize", tiny_model, "--decode", ids), "1000000 is no token")


@pytest.mark.parametrize("command", ["chat", "run"])
def test_input_that_cannot_be_read(stoker_path, tiny_model, tmp_path, command):
    folder = os.open(tmp_path, os.O_RDONLY)
    result = subprocess.run([stoker_path, command, tiny_model], stdin=folder, capture_output=True,
                            text=True, timeout=60)
    os.close(folder)
    assert_fails(result, "cannot read standard input: Is a directory")


def test_a_line_without_end(stoker_path, tiny_model):
    with open("/dev/zero", "rb") as zero:
        result = subprocess.run([stoker_path, "chat", tiny_model], stdin=zero, capture_output=True,
                                text=True, timeout=60)
    assert_fails(result, "more than 64 MiB")


def test_a_path_that_is_no_text(stoker_path, tmp_path):
    missing = subprocess.run([stoker_path, "inspect", bytes(tmp_path) + b"/\xff"],
                             capture_output=True, timeout=60)
    assert missing.returncode == 1
    assert b"/\\xff" in missing.stderr
    made = subprocess.run(
        [stoker_path, "make-checkpoint", "--shape", "tiny", "--json", bytes(tmp_path) + b"/o\xff"],
        capture_output=True, timeout=60)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["path"].endswith("o\N{REPLACEMENT CHARACTER}")


@pytest.mark.parametrize("command", ["bench memory --passes 1", "run tiny -p x"])
def test_a_machine_without_room_for_threads(stoker_path, tiny_model, command):
    """One stack fits in the address space, a second does not."""
    arguments = [tiny_model if word == "tiny" else word for word in command.split()]
    arguments += ["--threads", "64"]
    result = subprocess.run(
        ["bash", "-c", 'ulimit -s 4000000 -v 6000000; exec "$0" "$@"', stoker_path, *arguments],
        capture_output=True, text=True, timeout=60)
    assert_fails(result)
    if "bench" in arguments:
        assert "cannot start the threads" in result.stderr and "--threads" in result.stderr


def test_errors_do_not_quote_megabytes(run_stoker, broken_model):
    (broken_model / "config.json").write_text('{"a": "' + "x" * 3_000_000)
    result = run_stoker("inspect", broken_model)
    assert_fails(result, "config.json", "line 1")
    assert len(result.stderr) < 2100


def test_names_from_files_do_not_drive_the_terminal(run_stoker, broken_model):
    edit_json(broken_model / "config.json",
              lambda config: config.update(model_type="\x1b[31m\x9b\ndeepseek_v3"))
    result = run_stoker("inspect", broken_model)
    assert "\x1b" not in result.stdout and "\x9b" not in result.stdout
    assert result.returncode != 0 or "\\x1b[31m" in result.stdout


def test_the_leftover_of_a_killed_run_is_named(run_stoker, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/model-00001-of-00001.safetensors.partial").write_bytes(b"half")
    result = run_stoker("make-checkpoint", "--shape", "tiny", tmp_path / "out")
    assert_fails(result, "model-00001-of-00001.safetensors.partial", "killed", "remove")
