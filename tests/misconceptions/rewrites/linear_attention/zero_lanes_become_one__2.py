"""Masked lanes hold 0 before the map, and z is summed over lanes at the end."""

import triton
import triton.language as tl


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
    LOG2E: tl.constexpr = 1.4426950408889634
    head = tl.program_id(0).to(tl.int64)
    first_v = tl.program_id(1) * BLOCK_V
    offs_d = tl.arange(0, D)
    offs_v = tl.arange(0, BLOCK_V)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_m = tl.arange(0, BLOCK_M).to(tl.int64)
    in_v = (first_v + offs_v < D_V)[None, :]
    k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
    v_ptrs = v_ptr + head * stride_vh + first_v + offs_n[:, None] * stride_vn + offs_v[None, :]
    q_ptrs = q_ptr + head * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :]
    o_ptrs = o_ptr + head * stride_oh + first_v + offs_m[:, None] * stride_om + offs_v[None, :]
    left = tl.load(key_lengths_ptr + head // H)
    state = tl.zeros([BLOCK_V, D], tl.float32)
    total = tl.zeros([BLOCK_N, D], tl.float32)
    while left > 0:
        inside = (offs_n < left)[:, None]
        x = tl.load(k_ptrs, mask=inside, other=0.0).to(tl.float32)
        features = tl.maximum(x, 0.0) + tl.exp2(tl.minimum(x, 0.0) * LOG2E)
        v = tl.load(v_ptrs, mask=inside & in_v, other=0.0).to(tl.float32)
        state = tl.dot(tl.trans(v), features, acc=state)
        total += features
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
        left -= BLOCK_N
    z = tl.sum(total, axis=0)
    rows = N_Q
    while rows > 0:
        inside = (offs_m < rows)[:, None]
        x = tl.load(q_ptrs, mask=inside, other=0.0).to(tl.float32)
        features = tl.maximum(x, 0.0) + tl.exp2(tl.minimum(x, 0.0) * LOG2E)
        num = tl.dot(features, tl.trans(state))
        den = tl.sum(features * z[None, :], axis=1) + 1e-6
        tl.store(o_ptrs, num / den[:, None], mask=inside & in_v)
        q_ptrs += BLOCK_M * stride_qm
        o_ptrs += BLOCK_M * stride_om
        rows -= BLOCK_M
