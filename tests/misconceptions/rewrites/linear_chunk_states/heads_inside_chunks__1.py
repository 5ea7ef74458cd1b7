"""A base that puts the chunk first."""

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
    rest = N - chunk * CHUNK
    lanes = tl.arange(0, CHUNK)
    mask_n = lanes < rest
    k_base = k_ptr + head * stride_kh + chunk * CHUNK * stride_kn
    v_base = v_ptr + head * stride_vh + chunk * CHUNK * stride_vn + tl.program_id(2) * BLOCK_V
    s_base = s_ptr + (chunk * tl.num_programs(1) + head) * D * D_V + tl.program_id(2) * BLOCK_V
    columns = D_V - tl.program_id(2) * BLOCK_V
    cols = tl.arange(0, BLOCK_V)
    d = tl.arange(0, D)
    k = tl.load(k_base + lanes[:, None] * stride_kn + d[None, :], mask=mask_n[:, None], other=0.0).to(tl.float32)
    v = tl.load(
        v_base + lanes[:, None] * stride_vn + cols[None, :], mask=mask_n[:, None] & (cols < columns)[None, :], other=0.0
    )
    low = tl.exp(tl.minimum(k, 0.0))
    k = tl.where(k > 0.0, k + 1.0, low)
    state = tl.dot(tl.trans(k).to(v.dtype), v, tl.zeros([D, BLOCK_V], tl.float32))
    tl.store(s_base + d[:, None] * D_V + cols[None, :], state, mask=(cols < columns)[None, :])
    z = tl.sum(tl.where(mask_n[:, None], k, 0.0), axis=0)
    tl.store(z_ptr + (chunk * tl.num_programs(1) + head) * D + d, z, mask=(d < D) & (tl.program_id(2) < 1))
