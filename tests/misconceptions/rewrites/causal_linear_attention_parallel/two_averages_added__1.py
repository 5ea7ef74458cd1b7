"""Each share has a normaliser of its own."""

import triton
import triton.language as tl


@triton.jit
def phi(x):
    x = x.to(tl.float32)
    return tl.where(x > 0, x + 1.0, tl.exp(x))


@triton.jit
def tile(ptr, rows, cols, stride, n_rows, n_cols):
    ok = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    return tl.load(ptr + rows[:, None].to(tl.int64) * stride + cols[None, :], mask=ok, other=0.0)


@triton.jit
def causal_linear_attention_parallel_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
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
    N_CHUNKS,
    D_V,
    CHUNK: tl.constexpr,
    BLOCK_V: tl.constexpr,
    D: tl.constexpr,
):
    c, j = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = c * CHUNK + tl.arange(0, CHUNK)
    cols = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    d = tl.arange(0, D)
    q = phi(tile(q_ptr + j * stride_qh, rows, d, stride_qn, N, D))
    k = phi(tile(k_ptr + j * stride_kh, rows, d, stride_kn, N, D))
    v = tile(v_ptr + j * stride_vh, rows, cols, stride_vn, N, D_V)
    at = j * N_CHUNKS + c
    s = tile(s_ptr + at * D * D_V, d, cols, D_V, D, D_V)
    z = tl.load(z_ptr + at * D + d)
    weights = tl.dot(q.to(v.dtype), tl.trans(k).to(v.dtype))
    seen = (rows[:, None] >= rows[None, :]) & (rows < N)[None, :]
    weights = tl.where(seen, weights, 0.0)
    own = tl.dot(weights.to(v.dtype), v)
    before = tl.dot(q, s)
    o = own / (tl.sum(weights, 1) + 1e-6)[:, None] + before / (tl.sum(q * z[None, :], 1) + 1e-6)[:, None]
    out = o_ptr + j * stride_oh + rows[:, None].to(tl.int64) * stride_on + cols[None, :]
    tl.store(out, o.to(o_ptr.dtype.element_ty), mask=(rows < N)[:, None] & (cols < D_V)[None, :])
