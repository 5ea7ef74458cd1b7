"""Believed: the state holds the past, so it is read before the new token is added.

Instead: causal means up to and with the token itself: token i sees keys 0 to i. First k and v go into the state and z, then
the query reads them.

Try: what should the output of the very first token be?
"""

import triton
import triton.language as tl

GATE = "values"


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
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    offs_s = (head * D + offs_d[:, None]) * D_V + offs_v[None, :]
    state = tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0)
    z = tl.load(z0_ptr + head * D + offs_d)
    for i in range(N):
        n = i.to(tl.int64)
        q = tl.load(q_ptr + head * stride_qh + n * stride_qn + offs_d).to(tl.float32)
        k = tl.load(k_ptr + head * stride_kh + n * stride_kn + offs_d).to(tl.float32)
        v = tl.load(v_ptr + head * stride_vh + n * stride_vn + offs_v, mask=mask_v, other=0.0).to(tl.float32)
        q = tl.maximum(q, 0.0) + tl.exp(tl.minimum(q, 0.0))
        k = tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0))
        num = tl.sum(q[:, None] * state, axis=0)
        den = tl.sum(q * z, axis=0) + 1e-6
        tl.store(o_ptr + head * stride_oh + n * stride_on + offs_v, num / den, mask=mask_v)
        state += k[:, None] * v[None, :]  # wrong
        z += k  # wrong
    tl.store(s_ptr + offs_s, state, mask=mask_v[None, :])
    tl.store(z_ptr + head * D + offs_d, z, mask=(offs_d < D) & (tl.program_id(1) == 0))
