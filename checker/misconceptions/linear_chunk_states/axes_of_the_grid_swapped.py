"""Believed: heads come first in the grid, as in the kernels before.

Instead: here the first axis counts the chunks, tl.program_id(0), and the second the heads. Taken the other way round,
programs look for chunks that do not exist in heads that do not exist, and most states are never stored.
"""

import triton
import triton.language as tl

GATE = "values"


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
    chunk = tl.program_id(1).to(tl.int64)  # wrong
    head = tl.program_id(0).to(tl.int64)  # wrong
    offs_v = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_n = chunk * CHUNK + tl.arange(0, CHUNK)
    offs_d = tl.arange(0, D)
    mask_n, mask_v = offs_n < N, offs_v < D_V
    k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
    v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
    k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
    v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0)
    k = tl.where(mask_n[:, None], tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
    state = tl.dot(tl.trans(k.to(v.dtype)), v)
    row = (head * N_CHUNKS + chunk) * D + offs_d
    tl.store(s_ptr + row[:, None] * D_V + offs_v[None, :], state, mask=mask_v[None, :])
    tl.store(z_ptr + row, tl.sum(k, axis=0), mask=(offs_d < D) & (tl.program_id(2) == 0))
