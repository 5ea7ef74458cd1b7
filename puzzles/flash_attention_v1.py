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
    # your code ends here
