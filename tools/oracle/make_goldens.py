#!/usr/bin/env python3
"""Makes tests/golden/oracle: tiny random checkpoints and what transformers' DeepSeek-V3 says of them.

usage: make_goldens.py OUT_DIR        (tests/golden/oracle in the repository)

Each variant is a checkpoint folder that Stoker loads, with golden.safetensors beside it: `tokens`
I32 [sequences, length], `logits` F32 [sequences, length, vocab], `routing_ids` I32 and
`routing_weights` F32 [sequences, MoE layers, length, top_k]. The reference runs in float32 on the
float32 values that the stored weights stand for. Same seeds, same bytes.
"""

import dataclasses
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

import quantise

SEQUENCES, LENGTH = 2, 40


@dataclasses.dataclass
class Variant:
    """One checkpoint: what differs from the defaults below."""

    name: str
    experts_format: str = "bf16"  # f32, f16, bf16, fp8, int4
    rest_format: str = "bf16"
    yarn: bool = True
    nested: bool = False  # text_config and the language_model. prefix, as K2.5 and K2.6
    rope_parameters: bool = False  # transformers 5's spelling of rope_scaling
    shards: int = 1
    changes: dict = dataclasses.field(default_factory=dict)


VARIANTS = [
    Variant("bf16_q_lora_yarn"),
    Variant("bf16_plain_q_no_yarn", yarn=False, changes={"q_lora_rank": None, "n_shared_experts": 2}),
    Variant(
        "bf16_groups",
        changes={"n_routed_experts": 12, "n_group": 4, "topk_group": 2, "num_experts_per_tok": 4},
        shards=2,
    ),
    Variant("f32_rope_parameters", experts_format="f32", rest_format="f32", rope_parameters=True),
    Variant("f16", experts_format="f16", rest_format="f16"),
    Variant(  # whole and partial blocks in both directions
        "fp8",
        experts_format="fp8",
        rest_format="fp8",
        changes={"hidden_size": 144, "moe_intermediate_size": 136, "n_routed_experts": 4,
                 "num_experts_per_tok": 2, "num_hidden_layers": 2},
    ),
    Variant("int4_nested", experts_format="int4", nested=True, shards=2),
]


def text_config(variant: Variant) -> dict:
    """config.json's text part."""
    config = {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "hidden_size": 64,
        "intermediate_size": 96,
        "moe_intermediate_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 3,
        "num_key_value_heads": 3,
        "q_lora_rank": 48,
        "kv_lora_rank": 64,
        "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16,
        "v_head_dim": 32,
        "n_routed_experts": 8,
        "num_experts_per_tok": 3,
        "n_shared_experts": 1,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        "moe_layer_freq": 1,
        "norm_topk_prob": True,
        "routed_scaling_factor": 2.446,
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
        "hidden_act": "silu",
        "vocab_size": 100,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 50000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "eos_token_id": 1,
        "bos_token_id": 0,
        "num_nextn_predict_layers": 0,
    }
    config.update(variant.changes)
    return config


# A small original length, so that positions up to LENGTH cross YaRN's ramp.
YARN = {
    "factor": 8.0,
    "original_max_position_embeddings": 64,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}


def stored_config(variant: Variant) -> dict:
    """config.json as the checkpoint has it."""
    config = text_config(variant)
    if variant.rope_parameters:
        config["rope_parameters"] = {
            "rope_type": "yarn",
            "rope_theta": config.pop("rope_theta"),
            **YARN,
        }
    else:
        config["rope_scaling"] = {"type": "yarn", **YARN} if variant.yarn else None
    if variant.experts_format == "fp8":
        config["quantization_config"] = {
            "quant_method": "fp8",
            "fmt": "e4m3",
            "activation_scheme": "dynamic",
            "weight_block_size": [128, 128],
        }
    if variant.experts_format == "int4":
        weights = {
            "num_bits": 4,
            "type": "int",
            "symmetric": True,
            "strategy": "group",
            "group_size": 32,
            "dynamic": False,
        }
        config["quantization_config"] = {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "quantization_status": "compressed",
            "config_groups": {
                "group_0": {
                    "targets": ["Linear"],
                    "weights": weights,
                    "input_activations": None,
                    "output_activations": None,
                }
            },
            "ignore": [
                "lm_head",
                "re:.*self_attn.*",
                "re:.*shared_experts.*",
                "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
            ],
        }
    if not variant.nested:
        return config
    config["model_type"] = "kimi_k2"
    return {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "text_config": config,
        "eos_token_id": 1,
    }


def reference_model(variant: Variant) -> DeepseekV3ForCausalLM:
    """transformers' model of this shape, in float32."""
    config = text_config(variant)
    theta = config.pop("rope_theta")
    rope = {"rope_type": "yarn", **YARN} if variant.yarn else {"rope_type": "default"}
    config["rope_parameters"] = {**rope, "rope_theta": theta}
    for key in ("architectures", "model_type", "moe_layer_freq", "scoring_func", "topk_method"):
        config.pop(key)
    model = DeepseekV3ForCausalLM(DeepseekV3Config(**config, attn_implementation="eager"))
    return model.float().eval()


def store_linear(name: str, weight: torch.Tensor, kind: str):
    """The tensors of one linear layer in format `kind`, and its float32 value."""
    if kind == "fp8":
        return quantise.fp8(name, weight)
    if kind == "int4":
        return quantise.int4(name, weight)
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[kind]
    return quantise.plain(name, weight, dtype)


def linears(config: dict) -> dict[str, tuple[int, int]]:
    """Every linear layer's checkpoint name and shape."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    q_rows = heads * (config["qk_nope_head_dim"] + config["qk_rope_head_dim"])
    kv_rows = heads * (config["qk_nope_head_dim"] + config["v_head_dim"])
    latent, q_lora = config["kv_lora_rank"], config["q_lora_rank"]
    shapes = {"lm_head": (config["vocab_size"], hidden)}

    def mlp(prefix: str, width: int):
        shapes[f"{prefix}.gate_proj"] = (width, hidden)
        shapes[f"{prefix}.up_proj"] = (width, hidden)
        shapes[f"{prefix}.down_proj"] = (hidden, width)

    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        if q_lora:
            shapes[p + "self_attn.q_a_proj"] = (q_lora, hidden)
            shapes[p + "self_attn.q_b_proj"] = (q_rows, q_lora)
        else:
            shapes[p + "self_attn.q_proj"] = (q_rows, hidden)
        shapes[p + "self_attn.kv_a_proj_with_mqa"] = (latent + config["qk_rope_head_dim"], hidden)
        shapes[p + "self_attn.kv_b_proj"] = (kv_rows, latent)
        shapes[p + "self_attn.o_proj"] = (hidden, heads * config["v_head_dim"])
        if layer < config["first_k_dense_replace"]:
            mlp(p + "mlp", config["intermediate_size"])
            continue
        width = config["moe_intermediate_size"]
        mlp(p + "mlp.shared_experts", width * config["n_shared_experts"])
        for expert in range(config["n_routed_experts"]):
            mlp(p + f"mlp.experts.{expert}", width)
    return shapes


def random_checkpoint(variant: Variant, generator: torch.Generator):
    """Stored tensors and, by the same names, the float32 values they stand for."""
    config = text_config(variant)
    hidden = config["hidden_size"]
    tensors: dict[str, torch.Tensor] = {}
    values: dict[str, torch.Tensor] = {}

    def normal(*shape: int, std: float) -> torch.Tensor:
        return torch.randn(shape, generator=generator) * std

    for name, (rows, cols) in linears(config).items():
        quantised = name != "lm_head"
        kind = variant.experts_format if ".experts." in name else variant.rest_format
        kind = kind if quantised else variant.rest_format.replace("fp8", "bf16")
        stored, value = store_linear(name, normal(rows, cols, std=1.4 / cols**0.5), kind)
        tensors.update(stored)
        values[f"{name}.weight"] = value

    rest = torch.float32 if variant.rest_format == "f32" else torch.bfloat16
    rest = torch.float16 if variant.rest_format == "f16" else rest

    def keep(name: str, value: torch.Tensor, dtype: torch.dtype):
        tensors[name] = value.to(dtype)
        values[name] = tensors[name].float()

    keep("model.embed_tokens.weight", normal(config["vocab_size"], hidden, std=1.0), rest)
    keep("model.norm.weight", 1 + normal(hidden, std=0.1), rest)
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        keep(p + "input_layernorm.weight", 1 + normal(hidden, std=0.1), rest)
        keep(p + "post_attention_layernorm.weight", 1 + normal(hidden, std=0.1), rest)
        keep(p + "self_attn.kv_a_layernorm.weight", 1 + normal(config["kv_lora_rank"], std=0.1), rest)
        if config["q_lora_rank"]:
            keep(p + "self_attn.q_a_layernorm.weight", 1 + normal(config["q_lora_rank"], std=0.1), rest)
        if layer >= config["first_k_dense_replace"]:
            experts = config["n_routed_experts"]
            keep(p + "mlp.gate.weight", normal(experts, hidden, std=1.0 / hidden**0.5), rest)
            keep(p + "mlp.gate.e_score_correction_bias", normal(experts, std=0.05), torch.float32)
    return tensors, values


def fused(values: dict[str, torch.Tensor], config: dict) -> dict[str, torch.Tensor]:
    """The state dict as transformers 5 names it: a layer's experts in two 3-D tensors."""
    state = {name: value for name, value in values.items() if ".experts." not in name}
    for layer in range(config["first_k_dense_replace"], config["num_hidden_layers"]):
        p = f"model.layers.{layer}.mlp.experts."
        experts = range(config["n_routed_experts"])
        gate_up = [
            torch.cat([values[f"{p}{e}.gate_proj.weight"], values[f"{p}{e}.up_proj.weight"]])
            for e in experts
        ]
        state[p + "gate_up_proj"] = torch.stack(gate_up)
        state[p + "down_proj"] = torch.stack([values[f"{p}{e}.down_proj.weight"] for e in experts])
    return state


@torch.no_grad()
def golden(variant: Variant, values: dict[str, torch.Tensor], generator: torch.Generator):
    """Runs the reference and returns the tensors of golden.safetensors."""
    config = text_config(variant)
    model = reference_model(variant)
    missing, unexpected = model.load_state_dict(fused(values, config), strict=False)
    assert not unexpected, unexpected
    assert all("rotary" in name for name in missing), missing
    routing: list[tuple[torch.Tensor, torch.Tensor]] = []
    for layer in model.model.layers[config["first_k_dense_replace"] :]:
        layer.mlp.gate.register_forward_hook(lambda _m, _i, out: routing.append((out[2], out[1])))
    tokens = torch.randint(0, config["vocab_size"], (SEQUENCES, LENGTH), generator=generator)
    logits, ids, weights = [], [], []
    for sequence in tokens:
        routing.clear()
        logits.append(model(sequence[None]).logits[0])
        ids.append(torch.stack([pair[0] for pair in routing]))
        weights.append(torch.stack([pair[1] for pair in routing]))
    return {
        "tokens": tokens.to(torch.int32),
        "logits": torch.stack(logits).float().contiguous(),
        "routing_ids": torch.stack(ids).to(torch.int32).contiguous(),
        "routing_weights": torch.stack(weights).float().contiguous(),
    }


def save_shards(tensors: dict[str, torch.Tensor], shards: int, directory: pathlib.Path):
    """One file, or several with an index, split by name in turn."""
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    if shards == 1:
        save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
        return
    weight_map = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        part = {n: t for i, (n, t) in enumerate(sorted(tensors.items())) if i % shards == shard}
        save_file(part, directory / file, metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(part, file))
    size = sum(t.numel() * t.element_size() for t in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(weight_map.items()))}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def make(variant: Variant, out: pathlib.Path):
    """Writes one variant's folder."""
    directory = out / variant.name
    directory.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(sum(map(ord, variant.name)))
    tensors, values = random_checkpoint(variant, generator)
    if variant.nested:
        tensors = {f"language_model.{name}": tensor for name, tensor in tensors.items()}
        # A vision tensor, which a text engine must pass over.
        tensors["vision_tower.patch_embed.proj.weight"] = torch.zeros(4, 4, dtype=torch.bfloat16)
    save_shards(tensors, variant.shards, directory)
    (directory / "config.json").write_text(json.dumps(stored_config(variant), indent=1) + "\n")
    save_file(golden(variant, values, generator), directory / "golden.safetensors")


def main():
    torch.set_num_threads(1)
    out = pathlib.Path(sys.argv[1])
    for variant in VARIANTS:
        make(variant, out)
        size = sum(f.stat().st_size for f in (out / variant.name).iterdir())
        print(f"{variant.name}: {size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
