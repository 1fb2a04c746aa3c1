#!/usr/bin/env python3
"""Writes the trained model as a Kimi-K2.6 checkpoint: INT4 routed experts, BF16 rest.

The packing is done, and undone again as a check, by the compressed-tensors package itself.
"""
import argparse
import json
import shutil
from pathlib import Path

import torch
from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import save_file

from model import GROUP, Config, Model, int4_round, int4_scales
from tokenizer import Tokenizer

PREFIX = "language_model."
SCHEME = QuantizationScheme(
    targets=["Linear"],
    weights=QuantizationArgs(num_bits=4, type="int", symmetric=True, strategy="group",
                             group_size=GROUP))


def config_json(c, tokenizer):
    """config.json in K2.6's nested form, without the vision part."""
    text = {
        "architectures": ["DeepseekV3ForCausalLM"],
        "attention_bias": False,
        "bos_token_id": tokenizer.specials["[BOS]"],
        "dtype": "bfloat16",
        "eos_token_id": tokenizer.specials["<|im_end|>"],
        "first_k_dense_replace": c.first_k_dense_replace,
        "hidden_act": "silu",
        "hidden_size": c.hidden_size,
        "intermediate_size": c.intermediate_size,
        "kv_lora_rank": c.kv_lora_rank,
        "max_position_embeddings": c.max_position_embeddings,
        "model_type": "kimi_k2",
        "moe_intermediate_size": c.moe_intermediate_size,
        "moe_layer_freq": 1,
        "n_group": 1,
        "n_routed_experts": c.n_routed_experts,
        "n_shared_experts": c.n_shared_experts,
        "norm_topk_prob": True,
        "num_attention_heads": c.num_attention_heads,
        "num_experts_per_tok": c.num_experts_per_tok,
        "num_hidden_layers": c.num_hidden_layers,
        "num_key_value_heads": c.num_attention_heads,
        "num_nextn_predict_layers": 0,
        "pad_token_id": tokenizer.specials["[PAD]"],
        "q_lora_rank": c.q_lora_rank,
        "qk_nope_head_dim": c.qk_nope_head_dim,
        "qk_rope_head_dim": c.qk_rope_head_dim,
        "quantization_config": {
            "config_groups": {
                "group_0": {
                    "input_activations": None,
                    "output_activations": None,
                    "targets": ["Linear"],
                    "weights": {
                        "actorder": None, "dynamic": False, "group_size": GROUP, "num_bits": 4,
                        "strategy": "group", "symmetric": True, "type": "int",
                    },
                },
            },
            "format": "pack-quantized",
            "ignore": [
                "lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
            ],
            "quant_method": "compressed-tensors",
            "quantization_status": "compressed",
        },
        "rms_norm_eps": c.rms_norm_eps,
        "rope_scaling": {
            "beta_fast": c.yarn_beta_fast,
            "beta_slow": c.yarn_beta_slow,
            "factor": c.yarn_factor,
            "mscale": c.yarn_mscale,
            "mscale_all_dim": c.yarn_mscale,
            "original_max_position_embeddings": c.yarn_original_positions,
            "type": "yarn",
        },
        "rope_theta": c.rope_theta,
        "routed_scaling_factor": c.routed_scaling_factor,
        "scoring_func": "sigmoid",
        "tie_word_embeddings": False,
        "topk_group": 1,
        "topk_method": "noaux_tc",
        "v_head_dim": c.v_head_dim,
        "vocab_size": c.vocab_size,
    }
    outer = {key: text[key] for key in ("bos_token_id", "dtype", "eos_token_id", "pad_token_id")}
    return {
        "architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25", **outer,
        "text_config": text,
    }


def packed_expert(name, weight):
    """The three tensors of one expert matrix."""
    scales = int4_scales(weight)
    codes = int4_round(weight, scales)
    values = codes * scales.repeat_interleave(GROUP, -1)
    stored = {"weight": values, "weight_scale": scales.to(torch.bfloat16)}
    stored = PackedQuantizationCompressor.compress(stored, SCHEME)
    back = PackedQuantizationCompressor.decompress(stored, SCHEME)["weight"]
    assert torch.equal(back.float(), values.to(back.dtype).float()), name
    return {
        f"{name}.weight_packed": stored["weight_packed"],
        f"{name}.weight_scale": stored["weight_scale"],
        f"{name}.weight_shape": torch.tensor(weight.shape, dtype=torch.int32),
    }


def checkpoint_tensors(model):
    tensors = {}
    for name, value in model.state_dict().items():
        full = PREFIX + (name if name.startswith("lm_head") else "model." + name)
        if name.endswith("experts_gate_up") or name.endswith("experts_down"):
            base = full.rsplit(".", 1)[0] + ".experts"
            for expert, weight in enumerate(value):
                if name.endswith("experts_down"):
                    tensors |= packed_expert(f"{base}.{expert}.down_proj", weight)
                else:
                    gate, up = weight.chunk(2)
                    tensors |= packed_expert(f"{base}.{expert}.gate_proj", gate)
                    tensors |= packed_expert(f"{base}.{expert}.up_proj", up)
        elif name.endswith("e_score_correction_bias"):
            base = full.rsplit(".", 1)[0]
            tensors[f"{base}.gate.e_score_correction_bias"] = value.float()
        else:
            tensors[full] = value.to(torch.bfloat16)
    return {name: value.contiguous() for name, value in tensors.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(args.work / "tiktoken.model")
    model = Model(Config())
    model.load_state_dict(torch.load(args.work / "model.pt")["model"])
    save_file(checkpoint_tensors(model), args.out / "model.safetensors", {"format": "pt"})
    config = config_json(model.c, tokenizer)
    (args.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    ends = [tokenizer.specials[name] for name in ("<|im_end|>", "[EOS]", "[EOT]")]
    generation = {"bos_token_id": config["bos_token_id"], "eos_token_id": ends,
                  "temperature": 0.6, "top_p": 0.95}
    (args.out / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    for name in ("tiktoken.model", "tokenizer_config.json"):
        shutil.copy(args.work / name, args.out / name)
    shutil.copy(Path(__file__).with_name("chat_template.jinja"), args.out / "chat_template.jinja")


if __name__ == "__main__":
    main()
