"""The group is the head."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_heads_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    key_lengths_ptr,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_qd,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_kd,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_vd,
    stride_ob,
    stride_oh,
    stride_om,
    stride_od,
    scale,
    H_Q,
    H_KV,
    N_Q,
    N_KV,
    IS_CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
):
    i = tl.program_id(0)
    b = tl.program_id(1) // H_Q
    h = tl.program_id(1) - b * H_Q
    g = h
    fold = scale * 1.4426950408889634
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    ok = rows < N_Q
    q_ptr += b.to(tl.int64) * stride_qb + h.to(tl.int64) * stride_qh
    k_ptr += b.to(tl.int64) * stride_kb + g.to(tl.int64) * stride_kh
    v_ptr += b.to(tl.int64) * stride_vb + g.to(tl.int64) * stride_vh
    o_ptr += b.to(tl.int64) * stride_ob + h.to(tl.int64) * stride_oh
    q = tl.load(q_ptr + rows[:, None].to(tl.int64) * stride_qm + d[None, :] * stride_qd, mask=ok[:, None], other=0.0)
    n = tl.minimum(tl.load(key_lengths_ptr + b), N_KV)
    last = rows + N_KV - N_Q
    stop = n
    if IS_CAUSAL:
        stop = tl.minimum(n, i * BLOCK_M + BLOCK_M + N_KV - N_Q)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    cols = tl.arange(0, BLOCK_N)
    k_ptrs = k_ptr + cols[None, :].to(tl.int64) * stride_kn + d[:, None] * stride_kd
    v_ptrs = v_ptr + cols[:, None].to(tl.int64) * stride_vn + d[None, :] * stride_vd
    for start in range(0, stop, BLOCK_N):
        k = tl.load(k_ptrs, mask=(start + cols < n)[None, :], other=0.0)
        v = tl.load(v_ptrs, mask=(start + cols < n)[:, None], other=0.0)
        s = tl.dot(q, k) * fold
        hidden = (start + cols >= n)[None, :]
        if IS_CAUSAL:
            hidden = hidden | (start + cols[None, :] > last[:, None])
        s = tl.where(hidden, float("-inf"), s)
        top = tl.maximum(m, tl.max(s, 1))
        base = tl.maximum(top, -1e30)
        p = tl.exp2(s - base[:, None])
        shrink = tl.exp2(m - base)
        l = l * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        m = top
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    o = acc * tl.where(l > 0, 1.0 / l, 0.0)[:, None]
    tl.store(o_ptr + rows[:, None].to(tl.int64) * stride_om + d[None, :] * stride_od, o, mask=ok[:, None])
    lse = tl.where(l > 0, (m + tl.log2(l)) * 0.6931471805599453, float("-inf"))
    tl.store(lse_ptr + tl.program_id(1).to(tl.int64) * N_Q + rows, lse, mask=ok)
