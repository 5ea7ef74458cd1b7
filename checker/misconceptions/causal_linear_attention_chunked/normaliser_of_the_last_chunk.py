"""Believed: z is the sum of the chunk's features.

Instead: z goes along with the state: it is the sum over all tokens so far. Assigned anew in every chunk it forgets what the
numerator remembers; add to it.
"""

import triton
import triton.language as tl

GATE = "values"


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
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_c = tl.arange(0, CHUNK)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    offs_s = (head * D + offs_d[:, None]) * D_V + offs_v[None, :]
    state = tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0)
    z = tl.load(z0_ptr + head * D + offs_d)
    for start in range(0, N, CHUNK):
        offs_n = (start + offs_c).to(tl.int64)
        mask_n = offs_n < N
        q_ptrs = q_ptr + head * stride_qh + offs_n[:, None] * stride_qn + offs_d[None, :]
        k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
        v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
        q = tl.load(q_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
        k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0)
        q = tl.maximum(q, 0.0) + tl.exp(tl.minimum(q, 0.0))
        k = tl.where(mask_n[:, None], tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
        a = tl.dot(q.to(v.dtype), tl.trans(k.to(v.dtype)))
        a = tl.where(offs_c[:, None] >= offs_c[None, :], a, 0.0)
        num = tl.dot(q, state)
        num = tl.dot(a.to(v.dtype), v, num)
        den = tl.sum(q * z[None, :], axis=1) + tl.sum(a, axis=1) + 1e-6
        o_ptrs = o_ptr + head * stride_oh + offs_n[:, None] * stride_on + offs_v[None, :]
        tl.store(o_ptrs, num / den[:, None], mask=mask_n[:, None] & mask_v[None, :])
        state = tl.dot(tl.trans(k.to(v.dtype)), v, state)
        z = tl.sum(k, axis=0)  # wrong
    tl.store(s_ptr + offs_s, state, mask=mask_v[None, :])
    tl.store(z_ptr + head * D + offs_d, z, mask=(offs_d < D) & (tl.program_id(1) == 0))
