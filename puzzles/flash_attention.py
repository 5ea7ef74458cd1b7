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
    # your code ends here
