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
    row = tl.program_id(0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    offs_d = tl.arange(0, D)
    # [BLOCK_S]; lanes past SPLITS are splits without a key
    lse_part = tl.load(lse_part_ptr + row * SPLITS + offs_s, mask=offs_s < SPLITS, other=float("-inf"))
    # nobody wrote the output of a split without a key, and 0 times whatever is there may be NaN: do not load it
    some = lse_part > float("-inf")
    # [BLOCK_S, D]
    o_part = tl.load(o_part_ptr + (row * SPLITS + offs_s[:, None]) * D + offs_d[None, :], mask=some[:, None], other=0.0)
    m_i = tl.max(lse_part, axis=0)
    # no key at all: any finite number will do, where -inf - -inf would be NaN
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    w = tl.exp(lse_part - m_safe)
    l_i = tl.sum(w, axis=0)
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    # [D]
    tl.store(o_ptr + row * D + offs_d, tl.sum(w[:, None] * o_part, axis=0) / l_safe)
    tl.store(lse_ptr + row, m_i + tl.log(l_safe))
    # your code ends here
