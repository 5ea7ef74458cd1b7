"""Limits without the shift, in two loops."""

import triton
import triton.language as tl


@triton.jit
def finite(m):
    return tl.where(m == float("-inf"), 0.0, m)


@triton.jit
def round_of_keys(q, k_at, v_at, stride_kn, stride_vn, cols, length, limits, scale, m, l, acc, MASKED: tl.constexpr):
    there = cols < length
    k = tl.load(k_at + cols[:, None] * stride_kn, mask=there[:, None], other=0.0)
    v = tl.load(v_at + cols[:, None] * stride_vn, mask=there[:, None], other=0.0)
    s = tl.dot(q, tl.trans(k)) * scale
    if MASKED:
        s = tl.where(there[None, :] & (cols[None, :] <= limits[:, None]), s, float("-inf"))
    m_new = tl.maximum(m, tl.max(s, axis=1))
    p = tl.exp(s - finite(m_new)[:, None])
    a = tl.exp(m - finite(m_new))
    return m_new, l * a + tl.sum(p, axis=1), tl.dot(p.to(v.dtype), v, acc * a[:, None])


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
    pid = tl.program_id(0)
    z = tl.program_id(1).to(tl.int64)
    b, h = z // H_Q, z % H_Q
    g = h // (H_Q // H_KV)
    rows = (pid * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    d = tl.arange(0, D).to(tl.int64)
    inside = rows < N_Q
    q_at = q_ptr + b * stride_qb + h * stride_qh
    q = tl.load(q_at + rows[:, None] * stride_qm + d[None, :] * stride_qd, mask=inside[:, None], other=0.0)
    k_at = k_ptr + b * stride_kb + g * stride_kh + d[None, :] * stride_kd
    v_at = v_ptr + b * stride_vb + g * stride_vh + d[None, :] * stride_vd
    length = tl.minimum(tl.load(key_lengths_ptr + b), N_KV)
    end, whole = length, length
    limits = tl.full([BLOCK_M], 0, tl.int64) + N_KV
    if IS_CAUSAL:
        limits = rows
        end = tl.minimum(end, (pid + 1) * BLOCK_M + N_KV - N_Q)
        whole = tl.minimum(whole, tl.maximum(pid * BLOCK_M + tl.minimum(N_KV - N_Q, 0) + 1, 0))
    whole = whole // BLOCK_N * BLOCK_N
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    for start in range(0, whole, BLOCK_N):
        m, l, acc = round_of_keys(
            q, k_at, v_at, stride_kn, stride_vn, start + offs_n, length, limits, scale, m, l, acc, MASKED=False
        )
    for start in range(whole, end, BLOCK_N):
        m, l, acc = round_of_keys(
            q, k_at, v_at, stride_kn, stride_vn, start + offs_n, length, limits, scale, m, l, acc, MASKED=True
        )
    empty = l == 0.0
    o = acc / tl.where(empty, 1.0, l)[:, None]
    o_at = o_ptr + b * stride_ob + h * stride_oh
    tl.store(o_at + rows[:, None] * stride_om + d[None, :] * stride_od, o, mask=inside[:, None])
    tl.store(lse_ptr + z * N_Q + rows, tl.where(empty, float("-inf"), m + tl.log(l)), mask=inside)
