"""The same in one number."""

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
    LOG2E: tl.constexpr = 1.4426950408889634
    which = tl.program_id(0).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    tokens = tl.program_id(0).to(tl.int64) * CHUNK + tl.arange(0, CHUNK)
    offs_v = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    there = tokens < N
    k_t = tl.load(
        k_ptr + tl.program_id(1).to(tl.int64) * stride_kh + tokens[None, :] * stride_kn + offs_d[:, None],
        mask=there[None, :],
        other=0.0,
    )
    v_t = tl.load(
        v_ptr + tl.program_id(1).to(tl.int64) * stride_vh + tokens[None, :] * stride_vn + offs_v[:, None],
        mask=there[None, :] & (offs_v < D_V)[:, None],
        other=0.0,
    )
    k_t = k_t.to(tl.float32)
    k_t = (tl.maximum(k_t, 0.0) + tl.exp2(tl.minimum(k_t, 0.0) * LOG2E)) * there[None, :]
    state_t = tl.dot(v_t.to(tl.float32), tl.trans(k_t), input_precision="ieee")
    tl.store(s_ptr + which * D * D_V + offs_d[None, :] * D_V + offs_v[:, None], state_t, mask=(offs_v < D_V)[:, None])
    tl.store(
        z_ptr + which * D + offs_d,
        tl.sum(k_t, axis=1),
        mask=(offs_d < D) & (tl.program_id(2) == tl.num_programs(2) - 1),
    )
