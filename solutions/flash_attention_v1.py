"""FlashAttention in the loop order of the first paper: keys outside, queries inside, state in global memory."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_v1_kernel(
    q_ptr,  # [H, N_Q, D] queries, H = batch times heads
    k_ptr,  # [H, N_KV, D] keys
    v_ptr,  # [H, N_KV, D] values
    o_ptr,  # [H, N_Q, D] float32 output, and the running output between visits
    m_ptr,  # [H, N_Q] float32: running maximum of each query, at the end its maximum
    l_ptr,  # [H, N_Q] float32: running sum of each query, at the end its sum
    stride_qh,  # elements from one head to the next, of q and o
    stride_kh,  # elements from one head to the next, of k and v
    stride_qm,  # elements from one query to the next, of q and o
    stride_kn,  # elements from one key to the next, of k and v
    scale,  # a float above 0, usually 1 / sqrt(D)
    N_Q,  # number of queries
    N_KV,  # number of keys and values
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile, not necessarily BLOCK_M
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program `pid` owns one head. K and V are read once; O, m and l come back and forth for every tile of keys."""
    # In PyTorch:
    #     s = scale * (q @ k.mT)
    #     o = torch.softmax(s, dim=2) @ v
    #     m, l = s.amax(dim=2), torch.exp(s - s.amax(dim=2, keepdim=True)).sum(dim=2)
    # your code starts here (about 30 lines)
    head = tl.program_id(0).to(tl.int64)
    offs_m = tl.arange(0, BLOCK_M).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, D)
    for start_n in range(0, N_KV, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < N_KV
        kv = head * stride_kh + cols[:, None] * stride_kn + offs_d[None, :]
        # [BLOCK_N, D]
        k = tl.load(k_ptr + kv, mask=mask_n[:, None], other=0.0)
        # [BLOCK_N, D]
        v = tl.load(v_ptr + kv, mask=mask_n[:, None], other=0.0)
        for start_m in range(0, N_Q, BLOCK_M):
            rows = start_m + offs_m
            mask_m = rows < N_Q
            qo = head * stride_qh + rows[:, None] * stride_qm + offs_d[None, :]
            # [BLOCK_M, D]
            q = tl.load(q_ptr + qo, mask=mask_m[:, None], other=0.0)
            # the first visit starts from nothing, later ones from what the last visit left
            seen = mask_m & (start_n > 0)
            # [BLOCK_M]
            m_i = tl.load(m_ptr + head * N_Q + rows, mask=seen, other=float("-inf"))
            # [BLOCK_M]
            l_i = tl.load(l_ptr + head * N_Q + rows, mask=seen, other=0.0)
            # [BLOCK_M, D]
            o = tl.load(o_ptr + qo, mask=seen[:, None], other=0.0)
            # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
            s = tl.dot(q, tl.trans(k)) * scale
            s = tl.where(mask_n[None, :], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            alpha = tl.exp(m_i - m_new)
            p = tl.exp(s - m_new[:, None])
            l_new = l_i * alpha + tl.sum(p, axis=1)
            # o was divided by l_i at the last visit: [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
            acc = tl.dot(p.to(v.dtype), v, o * (l_i * alpha)[:, None])
            tl.store(o_ptr + qo, acc / l_new[:, None], mask=mask_m[:, None])
            tl.store(m_ptr + head * N_Q + rows, m_new, mask=mask_m)
            tl.store(l_ptr + head * N_Q + rows, l_new, mask=mask_m)
        # the next tile of keys reads what other threads of this program stored
        tl.debug_barrier()
    # your code ends here
