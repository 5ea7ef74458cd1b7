"""Believed: every program finds its own head by itself.

Instead: all programs run the same code. Only tl.program_id tells which head is yours.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def flash_attention_v1_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    m_ptr,
    l_ptr,
    stride_qh,
    stride_kh,
    stride_qm,
    stride_kn,
    scale,
    N_Q,
    N_KV,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
):
    head = (tl.program_id(0) * 0).to(tl.int64)  # wrong
    offs_m = tl.arange(0, BLOCK_M).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, D)
    for start_n in range(0, N_KV, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < N_KV
        kv = head * stride_kh + cols[:, None] * stride_kn + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=mask_n[:, None], other=0.0)
        v = tl.load(v_ptr + kv, mask=mask_n[:, None], other=0.0)
        for start_m in range(0, N_Q, BLOCK_M):
            rows = start_m + offs_m
            mask_m = rows < N_Q
            qo = head * stride_qh + rows[:, None] * stride_qm + offs_d[None, :]
            q = tl.load(q_ptr + qo, mask=mask_m[:, None], other=0.0)
            seen = mask_m & (start_n > 0)
            m_i = tl.load(m_ptr + head * N_Q + rows, mask=seen, other=float("-inf"))
            l_i = tl.load(l_ptr + head * N_Q + rows, mask=seen, other=0.0)
            o = tl.load(o_ptr + qo, mask=seen[:, None], other=0.0)
            s = tl.dot(q, tl.trans(k)) * scale
            s = tl.where(mask_n[None, :], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            alpha = tl.exp(m_i - m_new)
            p = tl.exp(s - m_new[:, None])
            l_new = l_i * alpha + tl.sum(p, axis=1)
            acc = tl.dot(p.to(v.dtype), v, o * (l_i * alpha)[:, None])
            tl.store(o_ptr + qo, acc / l_new[:, None], mask=mask_m[:, None])
            tl.store(m_ptr + head * N_Q + rows, m_new, mask=mask_m)
            tl.store(l_ptr + head * N_Q + rows, l_new, mask=mask_m)
        tl.debug_barrier()
