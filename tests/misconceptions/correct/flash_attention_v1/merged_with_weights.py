"""Correct. What the tile gives by itself is merged with what is in memory, each with its own weight."""

import triton
import triton.language as tl


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
    head = tl.program_id(0).to(tl.int64)
    q_ptr += head * stride_qh
    o_ptr += head * stride_qh
    k_ptr += head * stride_kh
    v_ptr += head * stride_kh
    m_ptr += head * N_Q
    l_ptr += head * N_Q
    offs_d = tl.arange(0, D)
    j = 0
    while j < tl.cdiv(N_KV, BLOCK_N):
        cols = j * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
        ok_n = (cols < N_KV)[:, None]
        k = tl.load(k_ptr + cols[:, None] * stride_kn + offs_d[None, :], mask=ok_n, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * stride_kn + offs_d[None, :], mask=ok_n, other=0.0)
        for i in range(tl.cdiv(N_Q, BLOCK_M)):
            rows = i * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
            ok = rows < N_Q
            o_ptrs = o_ptr + rows[:, None] * stride_qm + offs_d[None, :]
            q = tl.load(q_ptr + rows[:, None] * stride_qm + offs_d[None, :], mask=ok[:, None], other=0.0)
            s = tl.dot(q, tl.trans(k)) * scale
            s = tl.where((cols < N_KV)[None, :], s, float("-inf"))
            m_here = tl.max(s, axis=1)
            p = tl.exp(s - m_here[:, None])
            l_here = tl.sum(p, axis=1)
            o_here = tl.dot(p.to(v.dtype), v)
            m_old = tl.load(m_ptr + rows, mask=ok & (j > 0), other=float("-inf"))
            l_old = tl.load(l_ptr + rows, mask=ok & (j > 0), other=0.0)
            o_old = tl.load(o_ptrs, mask=ok[:, None] & (j > 0), other=0.0)
            m = tl.maximum(m_old, m_here)
            old = l_old * tl.exp(m_old - m)
            here = tl.exp(m_here - m)
            l = old + l_here * here
            tl.store(o_ptrs, o_old * (old / l)[:, None] + o_here * (here / l)[:, None], mask=ok[:, None])
            tl.store(m_ptr + rows, m, mask=ok)
            tl.store(l_ptr + rows, l, mask=ok)
        tl.debug_barrier()
        j += 1
