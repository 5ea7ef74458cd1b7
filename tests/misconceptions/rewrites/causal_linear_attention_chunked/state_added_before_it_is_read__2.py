"""Likewise, with the state on its side."""

import triton
import triton.language as tl


@triton.jit
def causal_linear_attention_chunked_kernel(
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
    CHUNK: tl.constexpr,
    BLOCK_V: tl.constexpr,
    D: tl.constexpr,
):
    LOG2E: tl.constexpr = 1.4426950408889634
    head = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK_V
    offs_v = first + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    s_offs = head * D * D_V + offs_d[None, :] * D_V + offs_v[:, None]
    state_t = tl.load(s0_ptr + s_offs, mask=mask_v[:, None], other=0.0)
    z = tl.load(z0_ptr + head * D + offs_d)
    n = 0
    while n < N:
        offs_n = n + tl.arange(0, CHUNK).to(tl.int64)
        mask_n = offs_n < N
        q = tl.load(
            q_ptr + head * stride_qh + offs_n[:, None] * stride_qn + offs_d[None, :], mask=mask_n[:, None], other=0.0
        )
        k_t = tl.load(
            k_ptr + head * stride_kh + offs_n[None, :] * stride_kn + offs_d[:, None], mask=mask_n[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :],
            mask=mask_n[:, None] & mask_v[None, :],
            other=0.0,
        )
        q = q.to(tl.float32)
        k_t = k_t.to(tl.float32)
        q = tl.maximum(q, 0.0) + tl.exp2(tl.minimum(q, 0.0) * LOG2E)
        k_t = (tl.maximum(k_t, 0.0) + tl.exp2(tl.minimum(k_t, 0.0) * LOG2E)) * mask_n[None, :]
        state_t = tl.dot(tl.trans(v.to(tl.float32)), tl.trans(k_t), state_t)
        z = z + tl.sum(k_t, axis=1)
        a = tl.dot(q, k_t)
        a = tl.where(tl.arange(0, CHUNK)[:, None] < tl.arange(0, CHUNK)[None, :], 0.0, a)
        den = tl.sum(a, axis=1) + 1e-6 + tl.sum(q * z[None, :], axis=1)
        num = tl.dot(a, v.to(tl.float32), tl.dot(q, tl.trans(state_t)))
        tl.store(
            o_ptr + head * stride_oh + offs_n[:, None] * stride_on + offs_v[None, :],
            num / den[:, None],
            mask=mask_n[:, None] & mask_v[None, :],
        )
        n += CHUNK
    tl.store(s_ptr + s_offs, state_t, mask=mask_v[:, None])
    tl.store(z_ptr + head * D + offs_d, z, mask=(offs_d >= 0) & (first == 0))
