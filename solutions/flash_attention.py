"""FlashAttention, forward, one head: online softmax with a matrix product on either side."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_kernel(
    q_ptr,  # [N_Q, D] queries
    k_ptr,  # [N_KV, D] keys
    v_ptr,  # [N_KV, D] values
    o_ptr,  # [N_Q, D] output: softmax(scale * q kᵀ) v
    stride_qm,  # elements from one query to the next
    stride_kn,  # elements from one key to the next
    stride_vn,  # elements from one value to the next
    stride_om,  # elements from one output row to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    N_Q,  # number of queries
    N_KV,  # number of keys and values
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program `pid` owns BLOCK_M queries, walks once over all keys and values, and writes its rows of o once."""
    # In PyTorch: o = torch.softmax(scale * (q @ k.T), dim=1) @ v
    # your code starts here (about 23 lines)
    pid_m = tl.program_id(0).to(tl.int64)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, D)
    mask_m = offs_m < N_Q
    # [BLOCK_M, D], loaded once and kept
    q = tl.load(q_ptr + offs_m[:, None] * stride_qm + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start_n in range(0, N_KV, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < N_KV
        # [BLOCK_N, D]
        k = tl.load(k_ptr + cols[:, None] * stride_kn + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(mask_n[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        # [BLOCK_N, D]
        v = tl.load(v_ptr + cols[:, None] * stride_vn + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    # [BLOCK_M, D]
    tl.store(o_ptr + offs_m[:, None] * stride_om + offs_d[None, :], acc / l_i[:, None], mask=mask_m[:, None])
    # your code ends here
