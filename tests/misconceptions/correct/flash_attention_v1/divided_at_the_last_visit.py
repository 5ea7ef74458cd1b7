"""Correct. O stays undivided in memory until the last tile of keys has passed."""

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
    h = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    for start_n in range(0, N_KV, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N).to(tl.int64)
        at = h * stride_kh + cols[:, None] * stride_kn + d[None, :]
        k = tl.load(k_ptr + at, mask=cols[:, None] < N_KV, other=0.0)
        v = tl.load(v_ptr + at, mask=cols[:, None] < N_KV, other=0.0)
        last = start_n + BLOCK_N >= N_KV
        for start_m in range(0, N_Q, BLOCK_M):
            rows = start_m + tl.arange(0, BLOCK_M).to(tl.int64)
            ok = rows < N_Q
            back = ok & (start_n > 0)
            qo = h * stride_qh + rows[:, None] * stride_qm + d[None, :]
            q = tl.load(q_ptr + qo, mask=ok[:, None], other=0.0)
            m = tl.load(m_ptr + h * N_Q + rows, mask=back, other=float("-inf"))
            l = tl.load(l_ptr + h * N_Q + rows, mask=back, other=0.0)
            acc = tl.load(o_ptr + qo, mask=back[:, None], other=0.0)
            s = tl.where(cols[None, :] < N_KV, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
            m_new = tl.maximum(m, tl.max(s, axis=1))
            p = tl.exp(s - m_new[:, None])
            a = tl.exp(m - m_new)
            l = l * a + tl.sum(p, axis=1)
            acc = acc * a[:, None] + tl.dot(p.to(v.dtype), v)
            acc = acc / tl.where(last, l, 1.0)[:, None]
            tl.store(o_ptr + qo, acc, mask=ok[:, None])
            tl.store(m_ptr + h * N_Q + rows, m_new, mask=ok)
            tl.store(l_ptr + h * N_Q + rows, l, mask=ok)
        tl.debug_barrier()
