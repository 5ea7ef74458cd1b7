"""Believed: A program has to look at all keys to find those of its chunk.

Instead: It knows where its chunk lies: CHUNK rows from chunk * CHUNK on. Walking over the head reads every token once
for each chunk.
"""

import triton
import triton.language as tl

GATE = "traffic"


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
    offs_v = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    state = tl.zeros([D, BLOCK_V], tl.float32)
    z = tl.zeros([D], tl.float32)
    for start in range(0, N, CHUNK):  # wrong
        offs_n = (start + tl.arange(0, CHUNK)).to(tl.int64)
        mask_n = offs_n < N
        mine = mask_n & (offs_n // CHUNK == chunk)
        k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
        v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
        k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0)
        k = tl.where(mine[:, None], tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
        state = tl.dot(tl.trans(k.to(v.dtype)), v, state)
        z += tl.sum(k, axis=0)
    row = (head * N_CHUNKS + chunk) * D + offs_d
    tl.store(s_ptr + row[:, None] * D_V + offs_v[None, :], state, mask=mask_v[None, :])
    tl.store(z_ptr + row, z, mask=(offs_d < D) & (tl.program_id(2) == 0))
