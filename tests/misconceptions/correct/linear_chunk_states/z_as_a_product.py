"""z as a product with ones, as if every value had one more column: features are rounded as for the state, in float32 to TF32."""

import triton
import triton.language as tl


@triton.jit
def linear_chunk_states_kernel(
    k_ptr,
    v_ptr,
    s_ptr,
    z_ptr,
    stride_kh,
    stride_kn,
    stride_vh,
    stride_vn,
    N,
    N_CHUNKS,
    D_V,
    CHUNK: tl.constexpr,
    BLOCK_V: tl.constexpr,
    D: tl.constexpr,
):
    chunk = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    n = chunk * CHUNK + tl.arange(0, CHUNK)
    d = tl.arange(0, D)
    e = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    token = (n < N)[:, None]
    column = (e < D_V)[None, :]
    k = tl.load(k_ptr + head * stride_kh + n[:, None] * stride_kn + d[None, :], mask=token, other=0.0).to(tl.float32)
    v = tl.load(v_ptr + head * stride_vh + n[:, None] * stride_vn + e[None, :], mask=token & column, other=0.0)
    k = tl.where(k > 0.0, k + 1.0, tl.exp(k))
    weights = tl.trans(tl.where(token, k, 0.0).to(v.dtype))
    row = (head * N_CHUNKS + chunk) * D + d
    tl.store(s_ptr + row[:, None] * D_V + e[None, :], tl.dot(weights, v), mask=column)
    ones = tl.full([CHUNK, BLOCK_V], 1.0, v.dtype)
    if tl.program_id(2) == 0:
        tl.store(z_ptr + row, tl.max(tl.dot(weights, ones), axis=1))
