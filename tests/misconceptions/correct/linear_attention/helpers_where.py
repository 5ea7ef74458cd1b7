"""Correct. A helper for the feature map, with where() in it; masked features are multiplied by 0; tiles are counted."""

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
    s = tl.zeros([D, BLOCK_V], tl.float32)
    z = tl.zeros([1, D], tl.float32)
    for t in range(tl.cdiv(keys, BLOCK_N)):
        rows = t * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)[:, None]
        ok = rows < keys
        f = phi(tl.load(k_ptr + j * stride_kh + rows * stride_kn + d, mask=ok, other=0.0))
        f = f * ok.to(tl.float32)
        v = tl.load(v_ptr + j * stride_vh + rows * stride_vn + cols, mask=ok & (cols < D_V), other=0.0)
        s += tl.dot(tl.trans(f.to(v.dtype)), v)
        z += tl.sum(f, 0)[None, :]
    for t in range(tl.cdiv(N_Q, BLOCK_M)):
        rows = t * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
        ok = rows < N_Q
        f = phi(tl.load(q_ptr + j * stride_qh + rows * stride_qm + d, mask=ok, other=0.0))
        below = tl.sum(f * z, 1)[:, None] + 0.000001
        o = tl.dot(f, s) / below
        tl.store(o_ptr + j * stride_oh + rows * stride_om + cols, o.to(o_ptr.dtype.element_ty), mask=ok & (cols < D_V))
