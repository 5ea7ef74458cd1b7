"""With keys loaded as columns, in full float32."""

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
    pid = tl.program_id(axis=0).to(tl.int64)
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + (offs_m * stride_qm)[:, None] + offs_d, mask=(offs_m < N_Q)[:, None], other=0)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start_n in tl.range(0, N_KV, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N).to(tl.int64)
        kt = tl.load(k_ptr + offs_d[:, None] + (offs_n * stride_kn)[None, :], mask=(offs_n < N_KV)[None, :], other=0)
        s = tl.dot(q, kt, input_precision="ieee")
        s = tl.where((offs_n < N_KV)[None, :], s * scale, float("-inf"))
        m_ij = tl.max(s, 1)
        m_new = tl.where(m_ij > m_i, m_ij, m_i)
        s = s - m_new[:, None]
        p = tl.exp(s)
        l_i += tl.sum(p, 1)
        acc *= tl.exp(m_i - m_new)[:, None]
        v = tl.load(v_ptr + (offs_n * stride_vn)[:, None] + offs_d, mask=(offs_n < N_KV)[:, None], other=0)
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_new
    acc = acc / l_i[:, None]
    tl.store(o_ptr + (offs_m * stride_om)[:, None] + offs_d, acc, mask=(offs_m < N_Q)[:, None])
