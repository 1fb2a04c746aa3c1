"""Reads an exported checkpoint back as the float32 values that its stored weights stand for."""
import json
from pathlib import Path

import torch
from compressed_tensors.compressors.pack_quantized.helpers import unpack_from_int32
from safetensors.torch import load_file

from export import PREFIX
from model import GROUP


def float32_values(folder):
    """Tensor name, without prefix and packing -> float32 value."""
    stored = load_file(Path(folder) / "model.safetensors")
    values = {}
    for full, tensor in stored.items():
        name = full.removeprefix(PREFIX)
        if name.endswith(".weight_packed"):
            base = full.removesuffix("_packed")
            shape = torch.Size(stored[base + "_shape"].tolist())
            codes = unpack_from_int32(tensor, 4, shape).float()
            scales = stored[base + "_scale"].float().repeat_interleave(GROUP, -1)
            values[name.removesuffix("_packed")] = codes * scales
        elif not name.endswith((".weight_scale", ".weight_shape")):
            values[name] = tensor.float()
    return values


def stacked(values, experts):
    """The same with a layer's routed experts in two 3-D tensors, under their layer's prefix."""
    out = {name: value for name, value in values.items() if ".mlp.experts." not in name}
    layers = {name.split(".experts.")[0] for name in values if ".mlp.experts." in name}
    for layer in layers:
        def all_of(part):
            return torch.stack([values[f"{layer}.experts.{e}.{part}_proj.weight"]
                                for e in range(experts)])
        out[f"{layer}.experts_gate_up"] = torch.cat((all_of("gate"), all_of("up")), 1)
        out[f"{layer}.experts_down"] = all_of("down")
    return out


def own_state(folder, experts):
    """The state dict of model.Model."""
    state = {}
    for name, value in stacked(float32_values(folder), experts).items():
        name = name.removeprefix("model.")
        state[name.replace("gate.e_score_correction_bias", "e_score_correction_bias")] = value
    return state


def transformers_model(folder):
    """transformers' DeepseekV3ForCausalLM in float32 on the same values."""
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    text = json.loads((Path(folder) / "config.json").read_text())["text_config"]
    rope = dict(text.pop("rope_scaling"))
    rope |= {"rope_type": rope.pop("type"), "rope_theta": text.pop("rope_theta")}
    for key in ("architectures", "model_type", "quantization_config", "dtype", "moe_layer_freq",
                "scoring_func", "topk_method"):
        text.pop(key)
    config = DeepseekV3Config(**text, rope_parameters=rope, attn_implementation="eager")
    model = DeepseekV3ForCausalLM(config).float().eval()
    state = {}
    for name, value in stacked(float32_values(folder), text["n_routed_experts"]).items():
        name = name.replace("mlp.experts_gate_up", "mlp.experts.gate_up_proj")
        state[name.replace("mlp.experts_down", "mlp.experts.down_proj")] = value
    model.load_state_dict(state)
    return model
