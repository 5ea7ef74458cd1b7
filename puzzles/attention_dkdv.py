"""FlashAttention, backward: the gradients of keys and values, one tile of keys after another, nothing remembered but two vectors."""

import triton
import triton.language as tl


@triton.jit
def attention_dkdv_kernel(
    q_ptr,  # [B, H_Q, N_Q, D] queries
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    do_ptr,  # [B, H_Q, N_Q, D] gradient of the output
    lse_ptr,  # [B, H_Q, N_Q] float32 log-sum-exp of each query's scaled scores, contiguous; -inf where it sees no key
    delta_ptr,  # [B, H_Q, N_Q] float32 sum of do * o over each query's row, contiguous
    dk_ptr,  # [B, H_KV, N_KV, D] gradient of the keys
    dv_ptr,  # [B, H_KV, N_KV, D] gradient of the values
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist; their gradients are 0
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
    stride_dob,  # do: elements from one batch to the next
    stride_doh,  # do: from one head to the next
    stride_dom,  # do: from one query to the next
    stride_dod,  # do: from one number of a row to the next
    stride_dkb,  # dk: elements from one batch to the next
    stride_dkh,  # dk: from one head to the next
    stride_dkn,  # dk: from one key to the next
    stride_dkd,  # dk: from one number of a row to the next
    stride_dvb,  # dv: elements from one batch to the next
    stride_dvh,  # dv: from one head to the next
    stride_dvn,  # dv: from one value to the next
    stride_dvd,  # dv: from one number of a row to the next
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
    """Program (i, j) owns key tile i of batch and key head j = batch * H_KV + head_kv, for all its query heads."""
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     i, j, length = torch.arange(N_Q)[:, None], torch.arange(N_KV), key_lengths[:, None, None, None]
    #     hidden = (j >= length) | (IS_CAUSAL & (j - i > length - N_Q))
    #     p = torch.exp(scale * (q @ k.mT) - lse[..., None]).masked_fill(hidden, 0)
    #     ds = p * (do @ v.mT - delta[..., None])
    #     dk, dv = (x.unflatten(1, (H_KV, -1)).sum(dim=2) for x in (scale * (ds.mT @ q), p.mT @ do))
    # your code starts here (about 46 lines)
    # your code ends here
