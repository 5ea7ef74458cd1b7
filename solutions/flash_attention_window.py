"""FlashAttention over a window: each query sees its own key and the ones just before it, and a sink of its head."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_window_kernel(
    q_ptr,  # [B, H_Q, N_Q, D] queries
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    o_ptr,  # [B, H_Q, N_Q, D] output
    lse_ptr,  # [B, H_Q, N_Q] float32 log-sum-exp of each query's scaled scores and its sink, contiguous
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist
    sinks_ptr,  # [H_Q] float32: the score of one more key without a value, for every query of this head; -inf for none
    stride_qb,  # q: elements from one batch to the next
    stride_qh,  # q: from one head to the next
    stride_qm,  # q: from one query to the next
    stride_qd,  # q: from one number of a row to the next
    stride_kb,  # k: elements from one batch to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_kd,  # k: from one number of a row to the next
    stride_vb,  # v: elements from one batch to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one value to the next
    stride_vd,  # v: from one number of a row to the next
    stride_ob,  # o: elements from one batch to the next
    stride_oh,  # o: from one head to the next
    stride_om,  # o: from one row to the next
    stride_od,  # o: from one number of a row to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    H_Q,  # query heads
    H_KV,  # key and value heads; H_Q is a multiple of it
    N_Q,  # number of queries
    N_KV,  # number of keys in memory
    WINDOW,  # keys a query sees at most: its own, at position i + key_lengths[b] - N_Q, and those just before it
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (i, j) owns query tile i of batch and head j = batch * H_Q + head, and loads no tile in vain."""
    # A query that sees no key gives 0 and the sink; -inf without one
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     i, j, length = torch.arange(N_Q)[:, None], torch.arange(N_KV), key_lengths[:, None, None, None]
    #     ago = i + length - N_Q - j
    #     s = (scale * (q @ k.mT)).masked_fill((ago < 0) | (ago >= WINDOW), -torch.inf)
    #     s = torch.cat([sinks[:, None, None].expand(*s.shape[:3], 1), s], dim=-1)
    #     lse = torch.logsumexp(s, dim=-1)
    #     o = torch.softmax(s, dim=-1).nan_to_num()[..., 1:] @ v
    # your code starts here (about 44 lines)
    pid_m = tl.program_id(0)
    batch = (tl.program_id(1) // H_Q).to(tl.int64)
    head = (tl.program_id(1) % H_Q).to(tl.int64)
    head_kv = head // (H_Q // H_KV)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, D)
    mask_m = offs_m < N_Q
    q_row = q_ptr + batch * stride_qb + head * stride_qh
    k_row = k_ptr + batch * stride_kb + head_kv * stride_kh
    v_row = v_ptr + batch * stride_vb + head_kv * stride_vh
    o_row = o_ptr + batch * stride_ob + head * stride_oh
    # [BLOCK_M, D]
    q = tl.load(q_row + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qd, mask=mask_m[:, None], other=0.0)
    # the sink is a key that every query has seen before the first tile, and its own weight is exp(sink - sink) = 1. Without one,
    # the first rescale makes the sum 0
    m_i = tl.zeros([BLOCK_M], tl.float32) + tl.load(sinks_ptr + head)
    l_i = tl.full([BLOCK_M], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    length = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)
    # the tile's first query is at this position, so it sees no key below first - WINDOW + 1, and its last one none from first + BLOCK_M on
    first = pid_m * BLOCK_M + length - N_Q
    start = tl.maximum(first - WINDOW + 1, 0) // BLOCK_N * BLOCK_N
    for start_n in range(start, tl.minimum(length, first + BLOCK_M), BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < length
        # [BLOCK_N, D]
        k = tl.load(k_row + cols[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=mask_n[:, None], other=0.0)
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        s = tl.dot(q, tl.trans(k)) * scale
        ago = offs_m[:, None] + (length - N_Q) - cols[None, :]
        s = tl.where(mask_n[None, :] & (ago >= 0) & (ago < WINDOW), s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        # a row that has seen nothing yet has m_new = -inf, and -inf - -inf is NaN: subtract 0 there
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)
        p = tl.exp(s - m_safe[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        # [BLOCK_N, D]
        v = tl.load(v_row + cols[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=mask_n[:, None], other=0.0)
        # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    o_ptrs = o_row + offs_m[:, None] * stride_om + offs_d[None, :] * stride_od
    # [BLOCK_M, D]
    tl.store(o_ptrs, acc / l_safe[:, None], mask=mask_m[:, None])
    # [BLOCK_M]: m + log(l), and -inf + log(1) where nothing was seen
    tl.store(lse_ptr + (batch * H_Q + head) * N_Q + offs_m, m_i + tl.log(l_safe), mask=mask_m)
    # your code ends here
