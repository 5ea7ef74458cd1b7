"""Correct. The accumulator is kept divided by the sum so far, and each round undoes the last division first."""

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
    mask_m = offs_m < N_Q
    q = tl.load(q_ptr + offs_m[:, None] * stride_qm + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    lse = tl.full([BLOCK_M], float("-inf"), tl.float32)
    o = tl.zeros([BLOCK_M, D], tl.float32)
    for start_n in range(0, N_KV, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N).to(tl.int64)
        k = tl.load(k_ptr + cols[:, None] * stride_kn + offs_d[None, :], mask=cols[:, None] < N_KV, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * stride_vn + offs_d[None, :], mask=cols[:, None] < N_KV, other=0.0)
        s = tl.where(cols[None, :] < N_KV, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
        top = tl.maximum(lse, tl.max(s, axis=1))
        new = top + tl.log(tl.exp(lse - top) + tl.sum(tl.exp(s - top[:, None]), axis=1))
        p = tl.exp(s - new[:, None])
        o = tl.dot(p.to(v.dtype), v, o * tl.exp(lse - new)[:, None])
        lse = new
    tl.store(o_ptr + offs_m[:, None] * stride_om + offs_d[None, :], o, mask=mask_m[:, None])
