"""Under another name, filled with 0."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_qm,
    stride_kn,
    stride_vn,
    stride_om,
    scale,
    N_Q,
    N_KV,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK_M
    i = first + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + i[:, None] * stride_qm + d[None, :], mask=i[:, None] < N_Q, other=0.0)
    m = tl.full([BLOCK_M], 0.0, tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    o = tl.zeros([BLOCK_M, D], tl.float32)
    left = tl.cdiv(N_KV, BLOCK_N)
    while left > 0:
        left -= 1
        j = left * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
        k = tl.load(k_ptr + j[:, None] * stride_kn + d[None, :], mask=j[:, None] < N_KV, other=0.0)
        v = tl.load(v_ptr + j[:, None] * stride_vn + d[None, :], mask=j[:, None] < N_KV, other=0.0)
        s = tl.where(j[None, :] < N_KV, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
        m_next = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_next[:, None])
        l = l * tl.exp(m - m_next) + tl.sum(p, axis=1)
        o = o * tl.exp(m - m_next)[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_next
    tl.store(o_ptr + i[:, None] * stride_om + d[None, :], o / l[:, None], mask=i[:, None] < N_Q)
