"""φ as a helper with where; lanes past the end are loaded far below 0, where φ vanishes; pointers moved to the program's own."""

import triton
import triton.language as tl


@triton.jit
def phi(x):
    return tl.where(x > 0, x + 1.0, tl.exp(x))


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
    c = tl.program_id(0)
    j = tl.program_id(1)
    i = tl.program_id(2)
    n = c * CHUNK + tl.arange(0, CHUNK)
    d = tl.arange(0, D)
    e = i * BLOCK_V + tl.arange(0, BLOCK_V)
    k_ptr += j.to(tl.int64) * stride_kh
    v_ptr += j.to(tl.int64) * stride_vh
    s_ptr += (j.to(tl.int64) * N_CHUNKS + c) * D * D_V
    z_ptr += (j.to(tl.int64) * N_CHUNKS + c) * D
    k = tl.load(k_ptr + n[:, None].to(tl.int64) * stride_kn + d[None, :], mask=(n < N)[:, None], other=-1e30).to(
        tl.float32
    )
    v = tl.load(
        v_ptr + n[:, None].to(tl.int64) * stride_vn + e[None, :], mask=(n < N)[:, None] & (e < D_V)[None, :], other=0.0
    )
    f = phi(k)
    tl.store(s_ptr + d[:, None] * D_V + e[None, :], tl.dot(tl.trans(f.to(v.dtype)), v), mask=(e < D_V)[None, :])
    if i == 0:
        tl.store(z_ptr + d, tl.sum(f, 0))
