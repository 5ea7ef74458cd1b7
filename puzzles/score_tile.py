"""One tile of scores: queries times keys, on tensor cores."""

import triton
import triton.language as tl


@triton.jit
def score_tile_kernel(
    q_ptr,  # [N_Q, D] queries
    k_ptr,  # [N_KV, D] keys
    s_ptr,  # [N_Q, N_KV] float32 output: scale * q kᵀ
    stride_qm,  # elements from one query to the next
    stride_kn,  # elements from one key to the next
    stride_sm,  # elements from one row of s to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    N_Q,  # number of queries
    N_KV,  # number of keys
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys in the tile, at least N_KV
    D: tl.constexpr,  # numbers in a query and in a key: 16, 32, 64 or 128
):
    """Program `pid` owns BLOCK_M queries, loads them and all keys once, and writes its rows of s once."""
    # In PyTorch: s = scale * (q @ k.T)
    # your code starts here (about 14 lines)
    # your code ends here
