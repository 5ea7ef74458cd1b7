"""Weights multiplied with a strict comparison; pointers that move on."""

import triton
import triton.language as tl


@triton.jit
def phi(x):
    return tl.where(x > 0, x + 1.0, tl.exp(x))


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
    j = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    lanes = tl.arange(0, CHUNK)
    d = tl.arange(0, D)
    here = (cols < D_V)[None, :]
    table = j * D * D_V + d[:, None] * D_V + cols[None, :]
    mem = tl.load(s0_ptr + table, mask=here, other=0.0)
    norm = tl.load(z0_ptr + j * D + d)
    q_at = q_ptr + j * stride_qh + lanes.to(tl.int64)[:, None] * stride_qn + d[None, :]
    k_at = k_ptr + j * stride_kh + lanes.to(tl.int64)[:, None] * stride_kn + d[None, :]
    v_at = v_ptr + j * stride_vh + lanes.to(tl.int64)[:, None] * stride_vn + cols[None, :]
    o_at = o_ptr + j * stride_oh + lanes.to(tl.int64)[:, None] * stride_on + cols[None, :]
    left = N
    for _ in range(tl.cdiv(N, CHUNK)):
        ok = (lanes < left)[:, None]
        fq = phi(tl.load(q_at, mask=ok, other=0.0).to(tl.float32))
        fk = phi(tl.load(k_at, mask=ok, other=-1e30).to(tl.float32))
        v = tl.load(v_at, mask=ok & here, other=0.0)
        w = tl.dot(fq.to(v.dtype), tl.trans(fk.to(v.dtype)))
        w = w * (lanes[:, None] > lanes[None, :])
        top = tl.dot(w.to(v.dtype), v) + tl.dot(fq, mem)
        bottom = tl.sum(w, 1) + tl.sum(fq * norm[None, :], 1) + 1e-6
        tl.store(o_at, top / bottom[:, None], mask=ok & here)
        mem += tl.dot(tl.trans(fk.to(v.dtype)), v)
        norm += tl.sum(fk, 0)
        q_at += CHUNK * stride_qn
        k_at += CHUNK * stride_kn
        v_at += CHUNK * stride_vn
        o_at += CHUNK * stride_on
        left -= CHUNK
    tl.store(s_ptr + table, mem, mask=here)
    if tl.program_id(1) == 0:
        tl.store(z_ptr + j * D + d, norm)
