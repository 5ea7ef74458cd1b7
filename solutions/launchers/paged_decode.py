"""Decoding from a paged cache as a model calls it: one function that allocates, chooses the splits and launches both kernels."""

import torch
import triton

from solutions.decode_attention_paged import decode_attention_paged_kernel
from solutions.merge_attention_splits import merge_attention_splits_kernel


@torch.library.custom_op("tile_by_tile::paged_decode", mutates_args=())
def paged_decode(
    q: torch.Tensor,  # [B, H_Q, D] one query for each head, any strides
    k_cache: torch.Tensor,  # [N_PAGES, H_KV, PAGE, D] keys, any strides
    v_cache: torch.Tensor,  # [N_PAGES, H_KV, PAGE, D] values, any strides
    block_table: torch.Tensor,  # [B, MAX_PAGES] int32 or int64: the pages of each text, any strides
    lengths: torch.Tensor,  # [B] int32: the keys of each text, at most MAX_PAGES * PAGE
) -> torch.Tensor:
    """Attention of each query with the first lengths[b] keys of its text: a new tensor [B, H_Q, D] of q's type."""
    # your code starts here (about 20 lines)
    (B, H_Q, D), (H_KV, PAGE), MAX_PAGES = q.shape, k_cache.shape[1:3], block_table.shape[1]
    q, block_table = q.contiguous(), block_table.to(torch.int32).contiguous()
    # programs that keep every multiprocessor busy, and at least 256 keys for each. Nobody waits for the lengths: the table bounds them
    cores = torch.cuda.get_device_properties(q.device).multi_processor_count if q.is_cuda else 132
    SPLITS = max(1, min(3 * cores // (B * H_KV), triton.cdiv(MAX_PAGES * PAGE, 256)))
    o_part = torch.empty(B, H_Q, SPLITS, D, dtype=torch.float32, device=q.device)
    lse_part = torch.empty(B, H_Q, SPLITS, dtype=torch.float32, device=q.device)
    o, lse = torch.empty_like(q), torch.empty(B, H_Q, dtype=torch.float32, device=q.device)
    decode_attention_paged_kernel[(SPLITS, B * H_KV)](
        *(q, k_cache, v_cache, o_part, lse_part, lengths, block_table),
        *(*k_cache.stride(), *v_cache.stride(), D**-0.5, H_Q, H_KV, MAX_PAGES, SPLITS),
        PAGE=PAGE,
        BLOCK_G=max(16, triton.next_power_of_2(H_Q // H_KV)),
        BLOCK_N=64,
        D=D,
        num_warps=4,
        num_stages=3,
    )
    BLOCK_S = max(8, triton.next_power_of_2(SPLITS))
    merge_attention_splits_kernel[(B * H_Q,)](o_part, lse_part, o, lse, SPLITS, BLOCK_S=BLOCK_S, D=D)
    return o
    # your code ends here


@paged_decode.register_fake
def _(q, k_cache, v_cache, block_table, lengths):
    return q.new_empty(q.shape)
