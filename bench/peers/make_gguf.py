#!/usr/bin/env python3
"""Writes a GGUF with random weights that has the shape and the bits of a Stoker checkpoint.

llama.cpp cannot read compressed-tensors checkpoints, so a comparison of speed needs a file of its
own format with as many bytes in the same places: routed experts in Q4_0 (blocks of 32 4-bit values
and one 16-bit scale: 4.5 bits a weight, as INT4 with groups of 32), everything else in BF16, norms
and router in F32, as llama.cpp's own converter writes them. The weights say nothing, but they are
scaled so that activations stay finite and routing is spread evenly over the experts.

usage: make_gguf.py moonlight|k2-layer|PATH/config.json OUT.gguf
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np

GGMLType = gguf.GGMLQuantizationType

_MOONLIGHT: dict[str, Any] = {
    "num_hidden_layers": 27,
    "hidden_size": 2048,
    "vocab_size": 163840,
    "intermediate_size": 11264,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "num_experts_per_tok": 6,
    "n_shared_experts": 2,
    "first_k_dense_replace": 1,
    "routed_scaling_factor": 2.446,
    "num_attention_heads": 16,
    "q_lora_rank": None,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "rope_theta": 50000.0,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 8192,
}

#: The fields of config.json that decide sizes and work, for the shapes that need no file.
SHAPES: dict[str, dict[str, Any]] = {
    "moonlight": _MOONLIGHT,
    "k2-layer": _MOONLIGHT
    | {
        "num_hidden_layers": 2,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 384,
        "num_experts_per_tok": 8,
        "n_shared_experts": 1,
        "routed_scaling_factor": 2.827,
        "num_attention_heads": 64,
        "q_lora_rank": 1536,
    },
}

_Q4_0_BLOCK = 32
_Q4_0_BLOCK_BYTES = 18
_POOL_BYTES = 64 << 20
_NIBBLE_STDDEV = 4.18  # of a uniform integer in -7..7, 0 twice
_BF16_EXPONENT_ONE = 127


@dataclass(frozen=True)
class Tensor:
    """One tensor to write: `shape` is row-major, the last axis is the input of the product."""

    name: str
    shape: tuple[int, ...]
    type: gguf.GGMLQuantizationType
    fill: float | None = None  # F32 only: a constant instead of random values

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape))

    @property
    def size_bytes(self) -> int:
        block, block_bytes = gguf.GGML_QUANT_SIZES[self.type]
        return self.elements // block * block_bytes


def load_config(source: str) -> dict[str, Any]:
    """The config of a named shape, or of a config.json (nested under `text_config` or not)."""
    if source in SHAPES:
        return SHAPES[source]
    path = Path(source)
    if path.is_dir():
        path = path / "config.json"
    if not path.is_file():
        raise SystemExit(f"{source}: neither a file nor one of {', '.join(SHAPES)}")
    config = json.loads(path.read_text(encoding="utf-8"))
    config = config.get("text_config", config)
    missing = [key for key in _MOONLIGHT if key not in config and key != "q_lora_rank"]
    if missing:
        raise SystemExit(f"{path}: misses {', '.join(missing)}")
    return config


def _attention_tensors(config: dict[str, Any], prefix: str) -> Iterator[Tensor]:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    nope, rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    latent, value = config["kv_lora_rank"], config["v_head_dim"]
    q_rank = config.get("q_lora_rank")
    if q_rank:
        yield Tensor(prefix + "attn_q_a.weight", (q_rank, hidden), GGMLType.BF16)
        yield Tensor(prefix + "attn_q_a_norm.weight", (q_rank,), GGMLType.F32, 1.0)
        yield Tensor(
            prefix + "attn_q_b.weight", (heads * (nope + rope), q_rank), GGMLType.BF16
        )
    else:
        yield Tensor(prefix + "attn_q.weight", (heads * (nope + rope), hidden), GGMLType.BF16)
    yield Tensor(prefix + "attn_kv_a_mqa.weight", (latent + rope, hidden), GGMLType.BF16)
    yield Tensor(prefix + "attn_kv_a_norm.weight", (latent,), GGMLType.F32, 1.0)
    # Split per head, keys transposed: what llama.cpp needs for absorbed attention.
    yield Tensor(prefix + "attn_k_b.weight", (heads, latent, nope), GGMLType.BF16)
    yield Tensor(prefix + "attn_v_b.weight", (heads, value, latent), GGMLType.BF16)
    yield Tensor(prefix + "attn_output.weight", (hidden, heads * value), GGMLType.BF16)


def _moe_tensors(config: dict[str, Any], prefix: str) -> Iterator[Tensor]:
    hidden, width = config["hidden_size"], config["moe_intermediate_size"]
    experts, shared = config["n_routed_experts"], config["n_shared_experts"] * width
    yield Tensor(prefix + "ffn_gate_inp.weight", (experts, hidden), GGMLType.F32)
    yield Tensor(prefix + "exp_probs_b.bias", (experts,), GGMLType.F32, 0.0)
    yield Tensor(prefix + "ffn_gate_exps.weight", (experts, width, hidden), GGMLType.Q4_0)
    yield Tensor(prefix + "ffn_up_exps.weight", (experts, width, hidden), GGMLType.Q4_0)
    yield Tensor(prefix + "ffn_down_exps.weight", (experts, hidden, width), GGMLType.Q4_0)
    yield Tensor(prefix + "ffn_gate_shexp.weight", (shared, hidden), GGMLType.BF16)
    yield Tensor(prefix + "ffn_up_shexp.weight", (shared, hidden), GGMLType.BF16)
    yield Tensor(prefix + "ffn_down_shexp.weight", (hidden, shared), GGMLType.BF16)


def list_tensors(config: dict[str, Any]) -> Iterator[Tensor]:
    """Every tensor of the model, in file order."""
    hidden, vocab, dense = config["hidden_size"], config["vocab_size"], config["intermediate_size"]
    yield Tensor("token_embd.weight", (vocab, hidden), GGMLType.BF16)
    yield Tensor("output.weight", (vocab, hidden), GGMLType.BF16)
    yield Tensor("output_norm.weight", (hidden,), GGMLType.F32, 1.0)
    for layer in range(config["num_hidden_layers"]):
        prefix = f"blk.{layer}."
        yield Tensor(prefix + "attn_norm.weight", (hidden,), GGMLType.F32, 1.0)
        yield from _attention_tensors(config, prefix)
        yield Tensor(prefix + "ffn_norm.weight", (hidden,), GGMLType.F32, 1.0)
        if layer < config["first_k_dense_replace"]:
            yield Tensor(prefix + "ffn_gate.weight", (dense, hidden), GGMLType.BF16)
            yield Tensor(prefix + "ffn_up.weight", (dense, hidden), GGMLType.BF16)
            yield Tensor(prefix + "ffn_down.weight", (hidden, dense), GGMLType.BF16)
        else:
            yield from _moe_tensors(config, prefix)


class RandomWeights:
    """Random bytes of each type, from one pool per type read round and round: fast and bounded."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._bytes = rng.integers(0, 256, _POOL_BYTES, np.uint8)
        self._normal = rng.standard_normal(_POOL_BYTES // 64, np.float32)
        self._start = 0

    def make(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The tensor's bytes, with outputs of a product about as large as its inputs."""
        fan_in = tensor.shape[-1]
        if tensor.type == GGMLType.F32:
            if tensor.fill is not None:
                return np.full(tensor.shape, tensor.fill, np.float32)
            return np.resize(self._normal, tensor.shape) * np.float32(fan_in**-0.5)
        if tensor.type == GGMLType.BF16:
            # The embedding starts the residual stream at size one, so that tokens stay apart.
            fan_in = 1 if tensor.name == "token_embd.weight" else fan_in
            return self._make_bf16(tensor.elements, fan_in)
        return self._make_q4_0(tensor.elements, fan_in)

    def _take(self, size_bytes: int) -> np.ndarray[Any, Any]:
        self._start = (self._start + 4099) % _POOL_BYTES  # no two tensors begin alike
        return np.resize(np.roll(self._bytes, -self._start), size_bytes)

    def _make_bf16(self, elements: int, fan_in: int) -> np.ndarray[Any, Any]:
        # Random sign and mantissa, one exponent: values of magnitude 1..2 times 2^exponent.
        exponent = round(np.log2(fan_in**-0.5 / 1.5))
        words = self._take(elements * 2).view(np.uint16)
        words &= np.uint16(0x807F)
        words |= np.uint16((_BF16_EXPONENT_ONE + exponent) << 7)
        return words

    def _make_q4_0(self, elements: int, fan_in: int) -> np.ndarray[Any, Any]:
        blocks = self._take(elements // _Q4_0_BLOCK * _Q4_0_BLOCK_BYTES)
        # Code 0 is -8: as code 8, the value 0, the weights have mean zero. Otherwise their common
        # part grows from layer to layer until all tokens route alike.
        for shift, mask in ((0, 0x0F), (4, 0xF0)):
            blocks[(blocks & mask) == 0] |= np.uint8(8 << shift)
        blocks = blocks.reshape(-1, _Q4_0_BLOCK_BYTES)
        scale = np.float16(fan_in**-0.5 / _NIBBLE_STDDEV)
        blocks[:, :2] = np.frombuffer(scale.tobytes(), np.uint8)
        return blocks


def _add_metadata(writer: gguf.GGUFWriter, config: dict[str, Any], name: str) -> None:
    latent, rope = config["kv_lora_rank"], config["qk_rope_head_dim"]
    writer.add_name(name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_head_count(config["num_attention_heads"])
    # Absorbed attention: one KV head of the latent and the shared rotary part.
    writer.add_head_count_kv(1)
    writer.add_key_length(latent + rope)
    writer.add_value_length(latent)
    writer.add_key_length_mla(config["qk_nope_head_dim"] + rope)
    writer.add_value_length_mla(config["v_head_dim"])
    writer.add_kv_lora_rank(latent)
    if config.get("q_lora_rank"):
        writer.add_q_lora_rank(config["q_lora_rank"])
    writer.add_rope_dimension_count(rope)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    writer.add_expert_count(config["n_routed_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_shared_count(config["n_shared_experts"])
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    writer.add_expert_weights_norm(True)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    writer.add_tokenizer_model("no_vocab")


def write_gguf(config: dict[str, Any], name: str, out: Path, seed: int = 1) -> int:
    """Writes `out`, one tensor in memory at a time; returns the bytes of weights."""
    tensors = list(list_tensors(config))
    for tensor in tensors:
        if tensor.shape[-1] % gguf.GGML_QUANT_SIZES[tensor.type][0]:
            raise SystemExit(f"{tensor.name}: its width {tensor.shape[-1]} is no multiple of 32")
    writer = gguf.GGUFWriter(out, "deepseek2")
    _add_metadata(writer, config, name)
    for tensor in tensors:
        # The dtype is only read when no raw type is given.
        writer.add_tensor_info(
            tensor.name, tensor.shape, np.dtype(np.float32), tensor.size_bytes, tensor.type
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    weights = RandomWeights(seed)
    for tensor in tensors:
        writer.write_tensor_data(weights.make(tensor))
    writer.close()
    return sum(tensor.size_bytes for tensor in tensors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", help=f"{', '.join(SHAPES)}, or a config.json or its folder")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    name = args.source if args.source in SHAPES else Path(args.source).resolve().parent.name
    total_bytes = write_gguf(load_config(args.source), name, args.out, args.seed)
    print(f"{args.out}: {total_bytes / 1e9:.2f} GB of weights")
    return 0


if __name__ == "__main__":
    sys.exit(main())
