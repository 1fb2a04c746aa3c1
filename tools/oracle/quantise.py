"""The three checkpoint formats of a linear layer: how each is stored, and the float32 it stands for."""

import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32, unpack_from_int32

FP8_BLOCK = 128
INT4_GROUP = 32


def plain(name: str, weight: torch.Tensor, dtype: torch.dtype):
    """F32, F16 or BF16: the tensors to store and their float32 value."""
    stored = weight.to(dtype)
    return {f"{name}.weight": stored}, stored.float()


def fp8(name: str, weight: torch.Tensor):
    """DeepSeek's FP8: E4M3 with one float32 multiplier per 128 x 128 block."""
    rows, cols = weight.shape
    blocks = (-(-rows // FP8_BLOCK), -(-cols // FP8_BLOCK))
    scale = torch.empty(blocks, dtype=torch.float32)
    stored = torch.empty_like(weight, dtype=torch.float8_e4m3fn)
    value = torch.empty_like(weight)
    for i in range(blocks[0]):
        for j in range(blocks[1]):
            at = (
                slice(i * FP8_BLOCK, min((i + 1) * FP8_BLOCK, rows)),
                slice(j * FP8_BLOCK, min((j + 1) * FP8_BLOCK, cols)),
            )
            scale[i, j] = weight[at].abs().max() / 448.0
            stored[at] = (weight[at] / scale[i, j]).to(torch.float8_e4m3fn)
            value[at] = stored[at].float() * scale[i, j]
    return {f"{name}.weight": stored, f"{name}.weight_scale_inv": scale}, value


def int4(name: str, weight: torch.Tensor):
    """compressed-tensors' pack-quantized INT4, packed by that package itself."""
    rows, cols = weight.shape
    groups = weight.reshape(rows, cols // INT4_GROUP, INT4_GROUP)
    scale = (groups.abs().amax(dim=-1) / 7.5).to(torch.bfloat16)
    levels = torch.clamp(torch.round(groups / scale.float()[..., None]), -8, 7).to(torch.int8)
    packed = pack_to_int32(levels.reshape(rows, cols), 4)
    unpacked = unpack_from_int32(packed, 4, torch.Size([rows, cols]))
    assert torch.equal(unpacked, levels.reshape(rows, cols))
    value = levels.float() * scale.float()[..., None]
    stored = {
        f"{name}.weight_packed": packed,
        f"{name}.weight_scale": scale,
        f"{name}.weight_shape": torch.tensor([rows, cols], dtype=torch.int32),
    }
    return stored, value.reshape(rows, cols)
