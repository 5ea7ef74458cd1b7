"""Correct. Carries the log-sum-exp and a divided accumulator; weights of hidden keys are set to 0."""

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
    pid_m, pid_h = tl.program_id(0), tl.program_id(1)
    batch = pid_h // H_Q
    head = pid_h % H_Q
    heads_per_group = H_Q // H_KV
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    offs_d = tl.arange(0, D)
    q = tl.load(
        q_ptr
        + batch.to(tl.int64) * stride_qb
        + head.to(tl.int64) * stride_qh
        + rows[:, None] * stride_qm
        + offs_d[None, :] * stride_qd,
        mask=rows[:, None] < N_Q,
        other=0.0,
    )
    kv_head = (head // heads_per_group).to(tl.int64)
    length = tl.load(key_lengths_ptr + batch)
    shift = N_KV - N_Q
    lse = tl.full([BLOCK_M], -1.0e30, tl.float32)
    o = tl.zeros([BLOCK_M, D], tl.float32)
    start = 0
    more = length > 0
    if IS_CAUSAL:
        more = more & ((pid_m + 1) * BLOCK_M + shift > 0)
    while more:
        cols = start + tl.arange(0, BLOCK_N).to(tl.int64)
        here = cols[:, None] < length
        k_at = k_ptr + batch.to(tl.int64) * stride_kb + kv_head * stride_kh
        v_at = v_ptr + batch.to(tl.int64) * stride_vb + kv_head * stride_vh
        k = tl.load(k_at + cols[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=here, other=0.0)
        v = tl.load(v_at + cols[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=here, other=0.0)
        seen = (cols < length)[None, :] & (rows[:, None] >= 0)
        if IS_CAUSAL:
            seen = seen & (rows[:, None] + shift >= cols[None, :])
        s = tl.where(seen, tl.dot(q, tl.trans(k)) * scale, -1.0e30)
        top = tl.maximum(lse, tl.max(s, axis=1))
        e = tl.where(seen, tl.exp(s - top[:, None]), 0.0)
        total = tl.exp(lse - top) * tl.where(lse > -1.0e29, 1.0, 0.0) + tl.sum(e, axis=1)
        new = tl.where(total > 0, top + tl.log(tl.where(total > 0, total, 1.0)), lse)
        kept = tl.exp(lse - new) * tl.where(lse > -1.0e29, 1.0, 0.0)
        p = tl.where(seen, tl.exp(s - new[:, None]), 0.0)
        o = tl.dot(p.to(v.dtype), v, o * kept[:, None])
        lse = new
        start += BLOCK_N
        more = start < length
        if IS_CAUSAL:
            more = more & (start < (pid_m + 1) * BLOCK_M + shift)
    o_at = o_ptr + batch.to(tl.int64) * stride_ob + head.to(tl.int64) * stride_oh
    tl.store(o_at + rows[:, None] * stride_om + offs_d[None, :] * stride_od, o, mask=rows[:, None] < N_Q)
    lse = tl.where(lse > -1.0e29, lse, float("-inf"))
    tl.store(lse_ptr + pid_h.to(tl.int64) * N_Q + rows, lse, mask=rows < N_Q)
