"""Believed: a load in the loop costs nothing, the compiler takes it out.

Instead: what is loaded inside the loop is loaded in every round. The tile of queries does not change: load it once,
before the loop, and keep it.
"""

import triton
import triton.language as tl

GATE = "traffic"


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
    pid_m = tl.program_id(0).to(tl.int64)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, D)
    mask_m = offs_m < N_Q
    q = tl.load(q_ptr + offs_m[:, None] * stride_qm + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start_n in range(0, N_KV, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < N_KV
        k = tl.load(k_ptr + cols[:, None] * stride_kn + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        q = tl.load(q_ptr + offs_m[:, None] * stride_qm + offs_d[None, :], mask=mask_m[:, None], other=0.0)  # wrong
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(mask_n[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        v = tl.load(v_ptr + cols[:, None] * stride_vn + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    tl.store(o_ptr + offs_m[:, None] * stride_om + offs_d[None, :], acc / l_i[:, None], mask=mask_m[:, None])
