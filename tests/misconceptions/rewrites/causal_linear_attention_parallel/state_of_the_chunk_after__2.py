"""States are counted from 1."""

import triton
import triton.language as tl

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)


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
    lanes = tl.arange(0, CHUNK)
    d = tl.arange(0, D)
    i = tl.program_id(0).to(tl.int64) * CHUNK + lanes
    head = tl.program_id(1).to(tl.int64)
    n = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    here = i < N
    wide = n < D_V
    q = tl.load(q_ptr + head * stride_qh + i[:, None] * stride_qn + d[None, :], mask=here[:, None], other=-1.0)
    k = tl.load(k_ptr + head * stride_kh + i[None, :] * stride_kn + d[:, None], mask=here[None, :], other=-1.0)
    v = tl.load(
        v_ptr + head * stride_vh + i[:, None] * stride_vn + n[None, :], mask=here[:, None] & wide[None, :], other=0.0
    )
    q = q.to(tl.float32)
    k = k.to(tl.float32)
    fq = tl.where(q < 0, tl.exp2(q * LOG2_E), 1.0 + q)
    fk = tl.where(k < 0, tl.exp2(k * LOG2_E), 1.0 + k)
    number = head * N_CHUNKS + (tl.program_id(0) + 1)
    z = tl.load(z_ptr + number * D + d)
    s = tl.load(s_ptr + (number * D + d[:, None]) * D_V + n[None, :], mask=wide[None, :], other=0.0)
    den = tl.sum(fq * z[None, :], axis=1)
    w = tl.dot(fq.to(v.dtype), fk.to(v.dtype))
    w = w * (lanes[None, :] <= lanes[:, None])
    den += tl.sum(w, axis=1)
    acc = tl.dot(w.to(v.dtype), v)
    acc = tl.dot(fq, s, acc)
    scale = 1.0 / (den + 1e-6)
    tl.store(
        o_ptr + head * stride_oh + i[:, None] * stride_on + n[None, :],
        acc * scale[:, None],
        mask=here[:, None] & wide[None, :],
    )
