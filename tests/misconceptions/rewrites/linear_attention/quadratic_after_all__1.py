"""Weights first, tile by tile, in float32."""

import triton
import triton.language as tl


@triton.jit
def phi(x):
    x = x.to(tl.float32)
    return tl.where(x > 0, x + 1.0, tl.exp(x))


@triton.jit
def linear_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    key_lengths_ptr,
    stride_qh,
    stride_qm,
    stride_kh,
    stride_kn,
    stride_vh,
    stride_vn,
    stride_oh,
    stride_om,
    H,
    N_Q,
    N_KV,
    D_V,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_V: tl.constexpr,
    D: tl.constexpr,
):
    j = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)[None, :]
    d = tl.arange(0, D)[None, :]
    keys = tl.load(key_lengths_ptr + j // H)
    for a in range(tl.cdiv(N_Q, BLOCK_M)):
        rows = a * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
        ok = rows < N_Q
        q = phi(tl.load(q_ptr + j * stride_qh + rows * stride_qm + d, mask=ok, other=0.0))
        num = tl.zeros([BLOCK_M, BLOCK_V], tl.float32)
        den = tl.full([BLOCK_M], 1e-6, tl.float32)
        for b in range(tl.cdiv(keys, BLOCK_N)):
            at = b * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)[:, None]
            k = phi(tl.load(k_ptr + j * stride_kh + at * stride_kn + d, mask=at < keys, other=float("-inf")))
            v = tl.load(v_ptr + j * stride_vh + at * stride_vn + cols, mask=(at < keys) & (cols < D_V), other=0.0)
            w = tl.dot(q, tl.trans(k))
            den += tl.sum(w, 1)
            num += tl.dot(w, v.to(tl.float32))
        tl.store(o_ptr + j * stride_oh + rows * stride_om + cols, num / den[:, None], mask=ok & (cols < D_V))
