"""Correct. The scale and log2(e) are multiplied into the queries once, before the loop, and rounded with them."""

import triton
import triton.language as tl

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)


@triton.jit
def flash_attention_heads_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    key_lengths_ptr,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_qd,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_kd,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_vd,
    stride_ob,
    stride_oh,
    stride_om,
    stride_od,
    scale,
    H_Q,
    H_KV,
    N_Q,
    N_KV,
    IS_CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
):
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
    q = tl.load(q_row + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qd, mask=mask_m[:, None], other=0.0)
    q = (q * (scale * LOG2_E)).to(q.dtype)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    end_n = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)
    length = end_n
    if IS_CAUSAL:
        end_n = tl.minimum(end_n, (pid_m + 1) * BLOCK_M + N_KV - N_Q)
    for start_n in range(0, end_n, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < length
        k = tl.load(k_row + cols[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=mask_n[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k))
        seen = mask_n[None, :]
        if IS_CAUSAL:
            seen = seen & (cols[None, :] - offs_m[:, None] <= N_KV - N_Q)
        s = tl.where(seen, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp2(m_i - m_safe)
        p = tl.exp2(s - m_safe[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        v = tl.load(v_row + cols[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=mask_n[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    o_ptrs = o_row + offs_m[:, None] * stride_om + offs_d[None, :] * stride_od
    tl.store(o_ptrs, acc / l_safe[:, None], mask=mask_m[:, None])
    tl.store(lse_ptr + (batch * H_Q + head) * N_Q + offs_m, (m_i + tl.log2(l_safe)) / LOG2_E, mask=mask_m)
