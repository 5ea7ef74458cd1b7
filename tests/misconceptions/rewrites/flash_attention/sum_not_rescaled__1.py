"""With exp2 and a folded scale."""

import triton
import triton.language as tl

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_qm,
    stride_kn,
    stride_vn,
    stride_om,
    scale,
    N_Q,
    N_KV,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    ok = (rows < N_Q)[:, None]
    fold = scale * LOG2_E
    q = tl.load(q_ptr + rows.to(tl.int64)[:, None] * stride_qm + d[None, :], mask=ok, other=0.0)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start in range(0, N_KV, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        inside = (cols < N_KV)[:, None]
        k = tl.load(k_ptr + cols.to(tl.int64)[:, None] * stride_kn + d[None, :], mask=inside, other=0.0)
        v = tl.load(v_ptr + cols.to(tl.int64)[:, None] * stride_vn + d[None, :], mask=inside, other=0.0)
        raw = tl.dot(q, k.T)
        raw = tl.where((cols < N_KV)[None, :], raw, float("-inf"))
        top = tl.maximum(m, tl.max(raw, 1) * fold)
        p = tl.exp2(raw * fold - top[:, None])
        shrink = tl.exp2(m - top)
        l += tl.sum(p, 1)
        acc *= shrink[:, None]
        acc += tl.dot(p.to(v.dtype), v)
        m = top
    tl.store(o_ptr + rows.to(tl.int64)[:, None] * stride_om + d[None, :], acc / l[:, None], mask=ok)
