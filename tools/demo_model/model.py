"""The demo model: DeepSeek-V3's architecture, written for training on a few CPU cores.

Parameter names are the checkpoint's, except that the routed experts of a layer are stacked:
`experts_gate_up [experts, 2 * width, hidden]` and `experts_down [experts, hidden, width]`.
Formulas: DeepSeek-V3 report (arXiv 2412.19437) and transformers' modeling_deepseek_v3.
"""
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

GROUP = 32  # input columns that share one INT4 scale


@dataclasses.dataclass(frozen=True)
class Config:
    vocab_size: int = 5120
    hidden_size: int = 192
    num_hidden_layers: int = 6
    first_k_dense_replace: int = 1
    intermediate_size: int = 512
    moe_intermediate_size: int = 64
    n_routed_experts: int = 64
    num_experts_per_tok: int = 4
    n_shared_experts: int = 1
    routed_scaling_factor: float = 2.5
    num_attention_heads: int = 6
    q_lora_rank: int = 96
    kv_lora_rank: int = 64
    qk_nope_head_dim: int = 32
    qk_rope_head_dim: int = 32
    v_head_dim: int = 32
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    yarn_factor: float = 4.0
    yarn_original_positions: int = 512
    yarn_beta_fast: float = 32.0
    yarn_beta_slow: float = 1.0
    yarn_mscale: float = 1.0

    @property
    def max_position_embeddings(self):
        return int(self.yarn_factor * self.yarn_original_positions)


def yarn_frequencies(c):
    """Rotation per position of each pair of rope dimensions. [qk_rope_head_dim / 2]"""
    dim = c.qk_rope_head_dim

    def correction(rotations):
        return dim * math.log(c.yarn_original_positions / (2 * math.pi * rotations)) / (
            2 * math.log(c.rope_theta))

    low = max(math.floor(correction(c.yarn_beta_fast)), 0)
    high = min(math.ceil(correction(c.yarn_beta_slow)), dim - 1)
    index = torch.arange(dim // 2, dtype=torch.float32)
    inverse = c.rope_theta ** (-2 * index / dim)
    ramp = ((index - low) / max(high - low, 0.001)).clamp(0, 1)
    return inverse * (1 - ramp) + inverse / c.yarn_factor * ramp


def softmax_scale(c):
    magnitude = 0.1 * c.yarn_mscale * math.log(c.yarn_factor) + 1
    return (c.qk_nope_head_dim + c.qk_rope_head_dim) ** -0.5 * magnitude**2


def rotate(x, cos, sin):
    """Rotates the adjacent pairs (2i, 2i+1) of the last axis. x: [..., positions, heads, dim]"""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def int4_scales(weight):
    """BF16 scale of each group of 32 input columns, as float32. [..., rows, columns / 32]"""
    groups = weight.unflatten(-1, (-1, GROUP))
    scales = (groups.abs().amax(-1) / 7.0).clamp_min(1e-8)
    return scales.to(torch.bfloat16).to(torch.float32)


def int4_round(weight, scales):
    """The INT4 codes in [-8, 7], as float32, in the weight's shape."""
    groups = weight.unflatten(-1, (-1, GROUP)) / scales.unsqueeze(-1)
    return groups.round().clamp(-8, 7).flatten(-2)


def through_int4(weight):
    """The weight as INT4 would store it; the gradient passes straight through."""
    with torch.no_grad():
        scales = int4_scales(weight)
        error = int4_round(weight, scales) * scales.repeat_interleave(GROUP, -1) - weight
    return weight + error


class RmsNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)


def linear(rows, columns, gain=1.0):
    module = nn.Linear(columns, rows, bias=False)
    nn.init.normal_(module.weight, std=gain * columns**-0.5)
    return module


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        heads = c.num_attention_heads
        self.q_a_proj = linear(c.q_lora_rank, c.hidden_size)
        self.q_a_layernorm = RmsNorm(c.q_lora_rank, c.rms_norm_eps)
        self.q_b_proj = linear(heads * (c.qk_nope_head_dim + c.qk_rope_head_dim), c.q_lora_rank)
        self.kv_a_proj_with_mqa = linear(c.kv_lora_rank + c.qk_rope_head_dim, c.hidden_size)
        self.kv_a_layernorm = RmsNorm(c.kv_lora_rank, c.rms_norm_eps)
        self.kv_b_proj = linear(heads * (c.qk_nope_head_dim + c.v_head_dim), c.kv_lora_rank)
        self.o_proj = linear(c.hidden_size, heads * c.v_head_dim,
                             (2 * c.num_hidden_layers) ** -0.5)

    def forward(self, x, cos, sin):
        c, heads = self.c, self.c.num_attention_heads
        batch, length, _ = x.shape
        q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x))).view(batch, length, heads, -1)
        q_nope, q_rope = q.split((c.qk_nope_head_dim, c.qk_rope_head_dim), -1)
        latent, k_rope = self.kv_a_proj_with_mqa(x).split((c.kv_lora_rank, c.qk_rope_head_dim), -1)
        kv = self.kv_b_proj(self.kv_a_layernorm(latent)).view(batch, length, heads, -1)
        k_nope, v = kv.split((c.qk_nope_head_dim, c.v_head_dim), -1)
        k_rope = rotate(k_rope.unsqueeze(2), cos, sin).expand(-1, -1, heads, -1)
        q = torch.cat((q_nope, rotate(q_rope, cos, sin)), -1).transpose(1, 2)
        k = torch.cat((k_nope, k_rope), -1).transpose(1, 2)
        # The fused kernel wants values as wide as keys.
        v = F.pad(v, (0, q.shape[-1] - v.shape[-1])).transpose(1, 2)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=softmax_scale(c))
        return self.o_proj(out[..., :c.v_head_dim].transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, c, width):
        super().__init__()
        self.gate_proj = linear(width, c.hidden_size)
        self.up_proj = linear(width, c.hidden_size)
        self.down_proj = linear(c.hidden_size, width, (2 * c.num_hidden_layers) ** -0.5)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Moe(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        experts, hidden, width = c.n_routed_experts, c.hidden_size, c.moe_intermediate_size
        self.gate = linear(experts, hidden, 0.3)
        self.register_buffer("e_score_correction_bias", torch.zeros(experts))
        self.experts_gate_up = nn.Parameter(torch.randn(experts, 2 * width, hidden) * hidden**-0.5)
        down_std = (2 * c.num_hidden_layers * width) ** -0.5
        self.experts_down = nn.Parameter(torch.randn(experts, hidden, width) * down_std)
        self.shared_experts = Mlp(c, width * c.n_shared_experts)
        self.int4 = False
        self.max_padding = 4.0  # a training step drops what overflows this share of the mean load
        self.load = None  # picks of each expert in the last forward pass
        self.chosen = None  # [tokens, top_k] of the last forward pass

    def route(self, x):
        scores = torch.sigmoid(F.linear(x.float(), self.gate.weight.float()))
        chosen = (scores + self.e_score_correction_bias).topk(self.c.num_experts_per_tok, -1)[1]
        weights = scores.gather(1, chosen)
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        return chosen, weights * self.c.routed_scaling_factor

    def forward(self, x):
        shape, x = x.shape, x.flatten(0, 1)
        tokens, top_k, experts = x.shape[0], self.c.num_experts_per_tok, self.c.n_routed_experts
        chosen, weights = self.route(x)
        gate_up, down = self.experts_gate_up, self.experts_down
        if self.int4:
            gate_up, down = through_int4(gate_up), through_int4(down)

        # Sort the picks by expert, give each expert a row of `capacity` slots, run all as one bmm.
        flat = chosen.flatten()
        self.chosen, self.load = chosen, torch.bincount(flat, minlength=experts)
        capacity = int(self.load.max())
        if self.training:
            capacity = min(capacity, math.ceil(self.max_padding * tokens * top_k / experts))
        order = flat.argsort(stable=True)
        starts = self.load.cumsum(0) - self.load
        rank = torch.empty_like(flat)
        rank[order] = torch.arange(flat.numel()) - starts[flat[order]]
        kept = rank < capacity
        slot = torch.where(kept, flat * capacity + rank, experts * capacity)
        token_of_slot = torch.full((experts * capacity + 1,), tokens)
        token_of_slot[slot] = torch.arange(flat.numel()) // top_k
        padded = torch.cat((x, x.new_zeros(1, x.shape[1])))
        rows = padded.index_select(0, token_of_slot[:-1]).view(experts, capacity, -1)
        gate, up = torch.bmm(rows, gate_up.transpose(1, 2)).chunk(2, -1)
        rows = torch.bmm(F.silu(gate) * up, down.transpose(1, 2)).flatten(0, 1)
        rows = torch.cat((rows, rows.new_zeros(1, rows.shape[1])))
        picked = rows.index_select(0, slot).view(tokens, top_k, -1)
        out = torch.einsum("tkh,tk->th", picked, weights.to(picked.dtype))
        return (out + self.shared_experts(x)).view(shape)


class Block(nn.Module):
    def __init__(self, c, layer):
        super().__init__()
        self.input_layernorm = RmsNorm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = RmsNorm(c.hidden_size, c.rms_norm_eps)
        dense = layer < c.first_k_dense_replace
        self.mlp = Mlp(c, c.intermediate_size) if dense else Moe(c)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        nn.init.normal_(self.embed_tokens.weight, std=1.0 / math.sqrt(c.hidden_size) * 4)
        self.layers = nn.ModuleList(Block(c, i) for i in range(c.num_hidden_layers))
        self.norm = RmsNorm(c.hidden_size, c.rms_norm_eps)
        self.lm_head = linear(c.vocab_size, c.hidden_size, 0.5)
        angles = torch.outer(torch.arange(c.max_position_embeddings).float(), yarn_frequencies(c))
        self.register_buffer("cos", angles.cos()[:, None, :], persistent=False)
        self.register_buffer("sin", angles.sin()[:, None, :], persistent=False)

    def moe_layers(self):
        return [block.mlp for block in self.layers if isinstance(block.mlp, Moe)]

    def set_int4(self, on):
        for layer in self.moe_layers():
            layer.int4 = on

    def hidden(self, tokens):
        x = self.embed_tokens(tokens)
        length = tokens.shape[1]
        for block in self.layers:
            x = block(x, self.cos[:length].to(x.dtype), self.sin[:length].to(x.dtype))
        return self.norm(x)

    def forward(self, tokens):
        return self.lm_head(self.hidden(tokens)).float()
