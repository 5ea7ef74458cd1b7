"""The output as scratch, in both loops."""

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
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    offs_d = tl.arange(0, D)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    q = tl.load(q_ptr + offs_m[:, None] * stride_qm + offs_d[None, :], mask=offs_m[:, None] < N_Q, other=0.0)
    k_ptrs = k_ptr + offs_n[:, None] * stride_kn + offs_d[None, :]
    v_ptrs = v_ptr + offs_n[:, None] * stride_vn + offs_d[None, :]
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    whole = N_KV // BLOCK_N
    for _ in range(whole):
        k = tl.load(k_ptrs)
        v = tl.load(v_ptrs)
        s = tl.dot(q, tl.trans(k)) * scale
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        park = o_ptr + offs_m[:, None] * stride_om + offs_n[None, :]
        ok = (offs_m[:, None] < N_Q) & (offs_n[None, :] < D)
        tl.store(park, p, mask=ok)
        tl.debug_barrier()
        p = tl.load(park, mask=ok, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p, v)
        m_i = m_new
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    if whole * BLOCK_N < N_KV:
        left = N_KV - whole * BLOCK_N
        k = tl.load(k_ptrs, mask=offs_n[:, None] < left, other=0.0)
        v = tl.load(v_ptrs, mask=offs_n[:, None] < left, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale + tl.where(offs_n < left, 0.0, float("-inf"))[None, :]
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        park = o_ptr + offs_m[:, None] * stride_om + offs_n[None, :]
        ok = (offs_m[:, None] < N_Q) & (offs_n[None, :] < left)
        tl.store(park, p, mask=ok)
        tl.debug_barrier()
        p = tl.load(park, mask=ok, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p, v)
    tl.store(o_ptr + offs_m[:, None] * stride_om + offs_d[None, :], acc / l_i[:, None], mask=offs_m[:, None] < N_Q)
