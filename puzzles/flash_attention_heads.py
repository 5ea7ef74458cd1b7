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
    stride_qb,  # q: elements from one batch to the next
    stride_qh,  # q: from one head to the next
    stride_qm,  # q: from one query to the next
    stride_qd,  # q: from one number of a row to the next
    stride_kb,  # k: elements from one batch to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_kd,  # k: from one number of a row to the next
    stride_vb,  # v: elements from one batch to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one value to the next
    stride_vd,  # v: from one number of a row to the next
    stride_ob,  # o: elements from one batch to the next
    stride_oh,  # o: from one head to the next
    stride_om,  # o: from one row to the next
    stride_od,  # o: from one number of a row to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    H_Q,  # query heads
    H_KV,  # key and value heads; H_Q is a multiple of it
    N_Q,  # number of queries
    N_KV,  # number of keys in memory
    IS_CAUSAL: tl.constexpr,  # query i sees key j only if j - i <= key_lengths[b] - N_Q: the ends are aligned
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (i, j) owns query tile i of batch and head j = batch * H_Q + head. No key seen: 0 and -inf."""
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     i, j, length = torch.arange(N_Q)[:, None], torch.arange(N_KV), key_lengths[:, None, None, None]
    #     hidden = (j >= length) | (IS_CAUSAL & (j - i > length - N_Q))
    #     s = (scale * (q @ k.mT)).masked_fill(hidden, -torch.inf)
    #     lse = torch.logsumexp(s, dim=-1)
    #     o = torch.softmax(s, dim=-1).nan_to_num() @ v
    # your code starts here (about 41 lines)
    # your code ends here
