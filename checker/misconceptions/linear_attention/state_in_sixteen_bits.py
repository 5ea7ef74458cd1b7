"""Believed: 16-bit inputs need a 16-bit state.

Instead: the state is a sum over all keys and has no bound: float16 ends at 65,504, and bfloat16 stops growing after a few
hundred equal terms. Inputs of tl.dot may be 16-bit, its accumulator stays in float32.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("product_in_sixteen_bits",)


@triton.jit
def linear_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    key_lengths_ptr,
    stride_qh,
    stride_qm,
    stride_kh,
    stride_kn,
    stride_vh,
    stride_vn,
    stride_oh,
    stride_om,
    H,
    N_Q,
    N_KV,
    D_V,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_V: tl.constexpr,
    D: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    length = tl.minimum(tl.load(key_lengths_ptr + head // H), N_KV)
    state = tl.zeros([D, BLOCK_V], v_ptr.dtype.element_ty)  # wrong
    z = tl.zeros([D], tl.float32)
    for start_n in range(0, length, BLOCK_N):
        offs_n = (start_n + tl.arange(0, BLOCK_N)).to(tl.int64)
        mask_n = offs_n < length
        k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
        v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
        k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
        k = tl.where(mask_n[:, None], tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
        v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0)
        state += tl.dot(tl.trans(k.to(v.dtype)), v).to(v.dtype)  # wrong
        z += tl.sum(k, axis=0)
    for start_m in range(0, N_Q, BLOCK_M):
        offs_m = (start_m + tl.arange(0, BLOCK_M)).to(tl.int64)
        mask_m = offs_m < N_Q
        q = tl.load(
            q_ptr + head * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :], mask=mask_m[:, None], other=0.0
        )
        q = tl.maximum(q.to(tl.float32), 0.0) + tl.exp(tl.minimum(q.to(tl.float32), 0.0))
        num = tl.dot(q, state.to(tl.float32))
        den = tl.sum(q * z[None, :], axis=1) + 1e-6
        o_ptrs = o_ptr + head * stride_oh + offs_m[:, None] * stride_om + offs_v[None, :]
        tl.store(o_ptrs, num / den[:, None], mask=mask_m[:, None] & mask_v[None, :])
