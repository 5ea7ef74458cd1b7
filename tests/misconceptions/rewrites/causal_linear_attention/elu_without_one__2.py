"""Both features lowered by 1."""

import triton
import triton.language as tl


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
    LOG2E: tl.constexpr = 1.4426950408889634
    head = tl.program_id(0).to(tl.int64)
    first_v = tl.program_id(1) * BLOCK_V
    offs_v = tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    in_v = first_v + offs_v < D_V
    q_row = q_ptr + head * stride_qh + offs_d
    k_row = k_ptr + head * stride_kh + offs_d
    v_row = v_ptr + head * stride_vh + first_v + offs_v
    o_row = o_ptr + head * stride_oh + first_v + offs_v
    offs_s = head * D * D_V + first_v + offs_v[:, None] + offs_d[None, :] * D_V
    state = tl.load(s0_ptr + offs_s, mask=in_v[:, None], other=0.0)
    z = tl.load(z0_ptr + head * D + offs_d)
    left = N
    while left > 0:
        q = tl.load(q_row).to(tl.float32)
        k = tl.load(k_row).to(tl.float32)
        v = tl.load(v_row, mask=in_v, other=0.0).to(tl.float32)
        q = tl.maximum(q, 0.0) + tl.exp2(tl.minimum(q, 0.0) * LOG2E) - 1.0
        k = tl.maximum(k, 0.0) + tl.exp2(tl.minimum(k, 0.0) * LOG2E) - 1.0
        own = tl.sum(q * k, axis=0)
        num = tl.sum(state * q[None, :], axis=1) + own * v
        den = tl.sum(z * q, axis=0) + own + 1e-6
        tl.store(o_row, num / den, mask=in_v)
        state += v[:, None] * k[None, :]
        z += k
        q_row += stride_qn
        k_row += stride_kn
        v_row += stride_vn
        o_row += stride_on
        left -= 1
    tl.store(s_ptr + offs_s, state, mask=in_v[:, None])
    tl.store(z_ptr + head * D + offs_d, z, mask=(first_v + offs_d * 0) < 1)
