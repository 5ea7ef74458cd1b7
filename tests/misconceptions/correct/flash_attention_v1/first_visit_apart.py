"""Correct. exp2 with a folded scale; the first tile of keys has a branch of its own and loads no state."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_v1_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    m_ptr,
    l_ptr,
    stride_qh,
    stride_kh,
    stride_qm,
    stride_kn,
    scale,
    N_Q,
    N_KV,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    offs_d = tl.arange(0, D)
    for start_n in range(0, N_KV, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N).to(tl.int64)
        mask_n = cols < N_KV
        kt = tl.load(
            k_ptr + head * stride_kh + cols[None, :] * stride_kn + offs_d[:, None], mask=mask_n[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + head * stride_kh + cols[:, None] * stride_kn + offs_d[None, :], mask=mask_n[:, None], other=0.0
        )
        for start_m in range(0, N_Q, BLOCK_M):
            rows = start_m + tl.arange(0, BLOCK_M).to(tl.int64)
            mask_m = rows < N_Q
            qo = head * stride_qh + rows[:, None] * stride_qm + offs_d[None, :]
            state = head * N_Q + rows
            q = tl.load(q_ptr + qo, mask=mask_m[:, None], other=0.0)
            s = tl.dot(q, kt) * (scale * 1.4426950408889634)
            s = tl.where(mask_n[None, :], s, float("-inf"))
            m = tl.max(s, axis=1)
            if start_n == 0:
                p = tl.exp2(s - m[:, None])
                l = tl.sum(p, axis=1)
                acc = tl.dot(p.to(v.dtype), v)
            else:
                m_old = tl.load(m_ptr + state, mask=mask_m, other=0.0) * 1.4426950408889634
                l_old = tl.load(l_ptr + state, mask=mask_m, other=1.0)
                o_old = tl.load(o_ptr + qo, mask=mask_m[:, None], other=0.0)
                m = tl.maximum(m, m_old)
                p = tl.exp2(s - m[:, None])
                kept = l_old * tl.exp2(m_old - m)
                l = kept + tl.sum(p, axis=1)
                acc = tl.dot(p.to(v.dtype), v, o_old * kept[:, None])
            tl.store(o_ptr + qo, acc / l[:, None], mask=mask_m[:, None])
            tl.store(m_ptr + state, m * 0.6931471805599453, mask=mask_m)
            tl.store(l_ptr + state, l, mask=mask_m)
        tl.debug_barrier()
