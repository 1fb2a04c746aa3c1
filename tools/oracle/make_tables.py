#!/usr/bin/env python3
"""Makes tests/golden/tables.safetensors: small tables whose values other packages define.

usage: make_tables.py OUT_FILE        (tests/golden/tables.safetensors in the repository)

`yarn_k26`, `yarn_k2_thinking` F32 [32]: transformers' YaRN frequencies with Kimi's parameters.
`e4m3` F32 [256]: torch's value of every FP8 code (two are NaN).
`int4_packed` I32, `int4_scale` BF16, `int4_values` F32 [20, 96]: a matrix that compressed-tensors
quantised, packed and dequantised; its first row holds every INT4 level.
"""

import sys

import torch
from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import save_file
from transformers import DeepseekV3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

INT4_SCHEME = QuantizationScheme(
    targets=["Linear"],
    weights=QuantizationArgs(
        num_bits=4, type="int", symmetric=True, strategy="group", group_size=32
    ),
)


def yarn_frequencies(beta_fast: float) -> torch.Tensor:
    config = DeepseekV3Config(
        qk_rope_head_dim=64,
        max_position_embeddings=262144,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 50000.0,
            "factor": 64.0,
            "original_max_position_embeddings": 4096,
            "beta_fast": beta_fast,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    )
    frequencies, magnitude = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    assert magnitude == 1.0
    return frequencies.float()


def int4_matrix(rows: int, cols: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    weight = torch.randn(rows, cols, generator=generator)
    weight[0, :32] = torch.arange(32) % 16 - 8.0
    scale = (weight.reshape(rows, cols // 32, 32).abs().amax(-1) / 7.5).to(torch.bfloat16)
    scale[0, 0] = 1.0
    stored = PackedQuantizationCompressor.compress(
        {"weight": weight, "weight_scale": scale.float()}, INT4_SCHEME
    )
    values = PackedQuantizationCompressor.decompress(stored, INT4_SCHEME)["weight"]
    assert values[0, :32].unique().numel() == 16
    return {
        "int4_packed": stored["weight_packed"],
        "int4_scale": scale,
        "int4_values": values.float(),
    }


def main():
    torch.set_num_threads(1)
    tables = {
        "yarn_k26": yarn_frequencies(beta_fast=32.0),
        "yarn_k2_thinking": yarn_frequencies(beta_fast=1.0),
        "e4m3": torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float(),
        **int4_matrix(20, 96),
    }
    save_file(tables, sys.argv[1])


if __name__ == "__main__":
    main()
