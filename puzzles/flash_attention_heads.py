"""FlashAttention, forward, as it is used: batch, heads, grouped K/V heads, causal, ragged lengths, any layout."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_heads_kernel(
    q_ptr,  # [B, H_Q, N_Q, D] queries
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    o_ptr,  # [B, H_Q, N_Q, D] output
    lse_ptr,  # [B, H_Q, N_Q] float32 log-sum-exp of each query's scaled scores, contiguous
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist
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
    scale,  # a float, usually 1 / sqrt(D)
    H_Q,  # query heads
    H_KV,  # key and value heads; H_Q is a multiple of it
    N_Q,  # number of queries
    N_KV,  # number of keys in memory
    IS_CAUSAL: tl.constexpr,  # query i sees key j only if j - i <= N_KV - N_Q: the ends are aligned
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (i, j) owns query tile i of batch and head j = batch * H_Q + head. A query that sees no key gives 0 and -inf."""
    # your code starts here (about 42 lines)
    # your code ends here
