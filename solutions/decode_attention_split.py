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
    split = tl.program_id(0)
    batch = (tl.program_id(1) // H_KV).to(tl.int64)
    head_kv = (tl.program_id(1) % H_KV).to(tl.int64)
    group = H_Q // H_KV
    offs_g = tl.arange(0, BLOCK_G)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, D)
    mask_g = offs_g < group
    rows = batch * H_Q + head_kv * group + offs_g
    k_row = k_ptr + batch * stride_kb + head_kv * stride_kh
    v_row = v_ptr + batch * stride_vb + head_kv * stride_vh
    # [BLOCK_G, D]: the queries of all heads that share these keys
    q = tl.load(q_ptr + rows[:, None] * D + offs_d[None, :], mask=mask_g[:, None], other=0.0)
    m_i = tl.full([BLOCK_G], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_G], tl.float32)
    acc = tl.zeros([BLOCK_G, D], tl.float32)
    length = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)
    share = tl.cdiv(length, SPLITS)
    end_n = tl.minimum(length, (split + 1) * share)
    for start_n in range(split * share, end_n, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < end_n
        # [BLOCK_N, D]
        k = tl.load(k_row + cols[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=mask_n[:, None], other=0.0)
        # [BLOCK_G, BLOCK_N] = [BLOCK_G, D] @ [D, BLOCK_N]
        s = tl.where(mask_n[None, :], tl.dot(q, tl.trans(k)) * scale, float("-inf"))
        # every tile of the loop holds a key, so m_new is a number
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        # [BLOCK_N, D]
        v = tl.load(v_row + cols[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=mask_n[:, None], other=0.0)
        # [BLOCK_G, D] += [BLOCK_G, BLOCK_N] @ [BLOCK_N, D]
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    part = rows * SPLITS + split
    # [BLOCK_G, D]
    tl.store(o_part_ptr + part[:, None] * D + offs_d[None, :], acc / l_safe[:, None], mask=mask_g[:, None])
    # [BLOCK_G]: -inf + log(1) for a split without keys
    tl.store(lse_part_ptr + part, m_i + tl.log(l_safe), mask=mask_g)
    # your code ends here
