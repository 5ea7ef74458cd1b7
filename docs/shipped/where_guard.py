"""`tl.where` does not guard a load

[vllm-ascend#16275](https://github.com/vllm-project/vllm-ascend/issues/16275), 2026. The first request has no predecessor, so
`tl.where` replaces what the load returns. Both sides of `tl.where` always run: the load reads the element before the tensor. In
production this stopped the device now and then.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def draft_lengths_kernel(ends_ptr, lengths_ptr, N, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    ends = tl.load(ends_ptr + offs_n, mask=mask)
    starts = tl.where(offs_n == 0, 0, tl.load(ends_ptr + offs_n - 1, mask=mask))  # wrong
    tl.store(lengths_ptr + offs_n, ends - starts, mask=mask)


ends = torch.tensor([3, 5, 9, 10, 14], dtype=torch.int32)
draft_lengths_kernel[(1,)](ends, torch.empty_like(ends), 5, BLOCK_N=8)
