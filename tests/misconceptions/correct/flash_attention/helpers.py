"""Correct. A helper loads a tile of rows, another takes one step of the recurrence."""

import triton
import triton.language as tl


@triton.jit
def tile(base, rows, stride, limit, D: tl.constexpr):
    ptrs = base + rows[:, None].to(tl.int64) * stride + tl.arange(0, D)[None, :]
    return tl.load(ptrs, mask=(rows < limit)[:, None], other=0.0)


@triton.jit
def step(q, k, v, m, l, acc, scale, valid):
    s = tl.where(valid[None, :], tl.dot(q, tl.trans(k)) * scale, float("-inf"))
    m_new = tl.maximum(m, tl.max(s, axis=1))
    w = tl.exp(s - m_new[:, None])
    a = tl.exp(m - m_new)
    return m_new, a * l + tl.sum(w, axis=1), tl.dot(w.to(v.dtype), v, acc * a[:, None])


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
    q = tile(q_ptr, rows, stride_qm, N_Q, D)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for j in range(tl.cdiv(N_KV, BLOCK_N)):
        cols = j * BLOCK_N + tl.arange(0, BLOCK_N)
        k = tile(k_ptr, cols, stride_kn, N_KV, D)
        v = tile(v_ptr, cols, stride_vn, N_KV, D)
        m, l, acc = step(q, k, v, m, l, acc, scale, cols < N_KV)
    out = o_ptr + rows[:, None].to(tl.int64) * stride_om + tl.arange(0, D)[None, :]
    tl.store(out, (acc / l[:, None]).to(o_ptr.dtype.element_ty), mask=(rows < N_Q)[:, None])
