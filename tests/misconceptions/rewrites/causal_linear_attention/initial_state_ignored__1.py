"""Two states of zeros."""

import triton
import triton.language as tl


@triton.jit
def phi(x):
    x = x.to(tl.float32)
    return tl.where(x > 0, x + 1.0, tl.exp(x))


@triton.jit
def causal_linear_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    s0_ptr,
    z0_ptr,
    s_ptr,
    z_ptr,
    stride_qh,
    stride_qn,
    stride_kh,
    stride_kn,
    stride_vh,
    stride_vn,
    stride_oh,
    stride_on,
    N,
    D_V,
    BLOCK_V: tl.constexpr,
    D: tl.constexpr,
):
    j = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    d = tl.arange(0, D)
    ok = cols < D_V
    at = j * D * D_V + d[:, None] * D_V + cols[None, :]
    s = tl.zeros([D, BLOCK_V], tl.float32)
    z = tl.zeros([D], tl.float32)
    for t in range(N):
        n = t.to(tl.int64)
        f = phi(tl.load(k_ptr + j * stride_kh + n * stride_kn + d))
        v = tl.load(v_ptr + j * stride_vh + n * stride_vn + cols, mask=ok, other=0.0).to(tl.float32)
        s = s + f[:, None] * v[None, :]
        z = z + f
        g = phi(tl.load(q_ptr + j * stride_qh + n * stride_qn + d))
        o = tl.sum(s * g[:, None], 0) / (tl.sum(z * g, 0) + 0.000001)
        tl.store(o_ptr + j * stride_oh + n * stride_on + cols, o.to(o_ptr.dtype.element_ty), mask=ok)
    tl.store(s_ptr + at, s, mask=ok[None, :])
    if tl.program_id(1) == 0:
        tl.store(z_ptr + j * D + d, z)
