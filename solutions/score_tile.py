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
    pid = tl.program_id(0)
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    # [BLOCK_M, 1] and [BLOCK_N, 1], with 64 bits: row times stride may pass 2³¹
    rows = offs_m.to(tl.int64)[:, None]
    cols = offs_n.to(tl.int64)[:, None]
    # [BLOCK_M, D]
    q = tl.load(q_ptr + rows * stride_qm + offs_d[None, :], mask=offs_m[:, None] < N_Q, other=0.0)
    # [BLOCK_N, D]
    k = tl.load(k_ptr + cols * stride_kn + offs_d[None, :], mask=offs_n[:, None] < N_KV, other=0.0)
    # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
    s = tl.dot(q, tl.trans(k)) * scale
    # [BLOCK_M, BLOCK_N]
    mask = (offs_m[:, None] < N_Q) & (offs_n[None, :] < N_KV)
    tl.store(s_ptr + rows * stride_sm + offs_n[None, :], s, mask=mask)
    # your code ends here
