"""FlashAttention, forward, as it is used: batch, heads, grouped K/V heads, causal, ragged lengths, any layout."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_heads_kernel(
    q_ptr,  # [B, H_Q, N_Q, D] queries
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    o_ptr,  # [B, H_Q, N_Q, D] output
    lse_ptr,  # [B, H_Q, N_Q] float32 log-sum-exp of each query's scaled scores, contiguous
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist
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
    IS_CAUSAL: tl.constexpr,  # query i sees key j only if j - i <= key_lengths[b] - N_Q: the ends are aligned
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (i, j) owns query tile i of batch and head j = batch * H_Q + head. No key seen: 0 and -inf."""
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     i, j, length = torch.arange(N_Q)[:, None], torch.arange(N_KV), key_lengths[:, None, None, None]
    #     hidden = (j >= length) | (IS_CAUSAL & (j - i > length - N_Q))
    #     s = (scale * (q @ k.mT)).masked_fill(hidden, -torch.inf)
    #     lse = torch.logsumexp(s, dim=-1)
    #     o = torch.softmax(s, dim=-1).nan_to_num() @ v
    # your code starts here (about 41 lines)
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
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    end_n = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)
    length = end_n
    if IS_CAUSAL:
        # the last query of the tile sees keys up to its own index + length - N_Q: tiles beyond are never loaded
        end_n = tl.minimum(end_n, (pid_m + 1) * BLOCK_M + length - N_Q)
    for start_n in range(0, end_n, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < length
        # [BLOCK_N, D]
        k = tl.load(k_row + cols[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=mask_n[:, None], other=0.0)
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        s = tl.dot(q, tl.trans(k)) * scale
        seen = mask_n[None, :]
        if IS_CAUSAL:
            seen = seen & (cols[None, :] - offs_m[:, None] <= length - N_Q)
        s = tl.where(seen, s, float("-inf"))
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
