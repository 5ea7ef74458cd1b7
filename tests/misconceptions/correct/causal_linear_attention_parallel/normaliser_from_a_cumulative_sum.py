"""Correct. The normaliser of every row from tl.cumsum over the features, without the weights."""

import triton
import triton.language as tl


@triton.jit
def causal_linear_attention_parallel_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
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
    N_CHUNKS,
    D_V,
    CHUNK: tl.constexpr,
    BLOCK_V: tl.constexpr,
    D: tl.constexpr,
):
    chunk = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    offs_n = chunk * CHUNK + tl.arange(0, CHUNK)
    offs_v = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask = (offs_n < N)[:, None]
    mask_v = mask & (offs_v < D_V)[None, :]
    q = tl.load(q_ptr + head * stride_qh + offs_n[:, None] * stride_qn + offs_d[None, :], mask=mask, other=0.0).to(
        tl.float32
    )
    k = tl.load(k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :], mask=mask, other=0.0).to(
        tl.float32
    )
    v = tl.load(v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :], mask=mask_v, other=0.0)
    q = tl.maximum(q, 0.0) + tl.exp(tl.minimum(q, 0.0))
    k = tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0))
    k = tl.where(mask, k, 0.0)
    place = head * N_CHUNKS + chunk
    features = tl.load(z_ptr + place * D + offs_d)[None, :] + tl.cumsum(k, axis=0)
    den = tl.sum(q * features, axis=1) + 1e-6
    states = s_ptr + place * D * D_V + offs_d[:, None] * D_V + offs_v[None, :]
    state = tl.load(states, mask=(offs_v < D_V)[None, :], other=0.0)
    a = tl.dot(q.to(v.dtype), tl.trans(k).to(v.dtype))
    a = tl.where(offs_n[:, None] < offs_n[None, :], 0.0, a)
    num = tl.dot(a.to(v.dtype), v) + tl.dot(q, state)
    tl.store(o_ptr + head * stride_oh + offs_n[:, None] * stride_on + offs_v[None, :], num / den[:, None], mask=mask_v)
