"""Merging the parts of a split attention: several programs each saw some keys of a query; put their outputs together."""

import triton
import triton.language as tl


@triton.jit
def merge_attention_splits_kernel(
    o_part_ptr,  # [M, SPLITS, D] float32 input: output over each split's keys; anything where lse_part is -inf
    lse_part_ptr,  # [M, SPLITS] float32 input: log-sum-exp of each split, -inf where it has no key
    o_ptr,  # [M, D] output over all keys; 0 where no split has a key
    lse_ptr,  # [M] float32 output: log-sum-exp of all scores
    SPLITS,  # parts of each row
    BLOCK_S: tl.constexpr,  # a power of two, at least SPLITS
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program `row` merges the parts of row `row`: one query of one head. All tensors are contiguous."""
    # In PyTorch:
    #     lse = torch.logsumexp(lse_part, dim=1)
    #     w = torch.softmax(lse_part, dim=1).nan_to_num()[:, :, None]
    #     o = torch.where(w == 0, 0, w * o_part).sum(dim=1)
    # your code starts here (about 17 lines)
    # your code ends here
