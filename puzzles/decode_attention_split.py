"""Decoding: one query of each head against all its keys, which several programs share. Each leaves a part of the output."""

import triton
import triton.language as tl


@triton.jit
def decode_attention_split_kernel(
    q_ptr,  # [B, H_Q, D] one query for each head, contiguous
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    o_part_ptr,  # [B, H_Q, SPLITS, D] float32 output: attention over the keys of each split alone, contiguous
    lse_part_ptr,  # [B, H_Q, SPLITS] float32 output: log-sum-exp of the scores of each split, contiguous
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist
    stride_kb,  # k: elements from one batch to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_kd,  # k: from one number of a row to the next
    stride_vb,  # v: elements from one batch to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one value to the next
    stride_vd,  # v: from one number of a row to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    H_Q,  # query heads
    H_KV,  # key and value heads; H_Q is a multiple of it
    N_KV,  # number of keys in memory
    SPLITS,  # programs that share the keys of a head: each takes ⌈key_lengths[b] / SPLITS⌉, the last ones fewer or none
    BLOCK_G: tl.constexpr,  # a power of two, at least 16 and at least H_Q / H_KV
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (s, j) owns split s of batch and key head j = batch * H_KV + head_kv, for all its query heads."""
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     j, split, length = torch.arange(N_KV), torch.arange(SPLITS)[:, None], key_lengths[:, None, None, None]
    #     share = (length + SPLITS - 1) // SPLITS
    #     hidden = (j < split * share) | (j >= (split + 1) * share) | (j >= length)
    #     s = (scale * (q[:, :, None] @ k.mT)).masked_fill(hidden, -torch.inf)
    #     lse_part = torch.logsumexp(s, dim=-1)
    #     o_part = torch.softmax(s, dim=-1).nan_to_num() @ v
    # your code starts here (about 37 lines)
    # your code ends here
