"""Decoding from a paged cache: keys lie in pages anywhere in memory, and a block table says where."""

import triton
import triton.language as tl


@triton.jit
def decode_attention_paged_kernel(
    q_ptr,  # [B, H_Q, D] one query for each head, contiguous
    k_ptr,  # [N_PAGES, H_KV, PAGE, D] keys: pages of PAGE keys each, of any text, in any order
    v_ptr,  # [N_PAGES, H_KV, PAGE, D] values, in the same pages
    o_part_ptr,  # [B, H_Q, SPLITS, D] float32 output: attention over the keys of each split alone, contiguous
    lse_part_ptr,  # [B, H_Q, SPLITS] float32 output: log-sum-exp of the scores of each split, contiguous
    key_lengths_ptr,  # [B] int32: how many keys a text has
    block_table_ptr,  # [B, MAX_PAGES] int32, contiguous: the page of keys from i * PAGE; anything past the length
    stride_kb,  # k: elements from one page to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_kd,  # k: from one number of a row to the next
    stride_vb,  # v: elements from one page to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one value to the next
    stride_vd,  # v: from one number of a row to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    H_Q,  # query heads
    H_KV,  # key and value heads; H_Q is a multiple of it
    MAX_PAGES,  # entries of the block table for each text
    SPLITS,  # programs that share the keys of a head: each takes ⌈key_lengths[b] / SPLITS⌉, the last ones fewer or none
    PAGE: tl.constexpr,  # keys in a page: 8, 16, 32 or 64
    BLOCK_G: tl.constexpr,  # a power of two, at least 16 and at least H_Q / H_KV
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (s, j) owns split s of batch and key head j = batch * H_KV + head_kv, for all its query heads."""
    # PyTorch has no masked loads: clamp and nan_to_num are here only, and your kernel must not load what they hide
    # In PyTorch:
    #     pages = block_table.clamp(0, len(k) - 1).long()
    #     k, v = (x[pages].transpose(1, 2).flatten(2, 3).nan_to_num() for x in (k, v))
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     j, split, length = torch.arange(k.shape[2]), torch.arange(SPLITS)[:, None], key_lengths[:, None, None, None]
    #     share = (length + SPLITS - 1) // SPLITS
    #     hidden = (j < split * share) | (j >= (split + 1) * share) | (j >= length)
    #     s = (scale * (q[:, :, None] @ k.mT)).masked_fill(hidden, -torch.inf)
    #     lse_part = torch.logsumexp(s, dim=-1)
    #     o_part = torch.softmax(s, dim=-1).nan_to_num() @ v
    # your code starts here (about 41 lines)
    # your code ends here
