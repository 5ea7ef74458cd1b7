"""A split without keys leaves garbage

[vllm#47188](https://github.com/vllm-project/vllm/pull/47188), 2026. Several programs share the keys of one query, and a second
kernel merges what they stored. A short window leaves some without keys: they return early, and the merge reads whatever their
memory held before. `--output maxima_ptr` asks the lens for every element.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def split_max_kernel(scores_ptr, maxima_ptr, N, BLOCK_N: tl.constexpr):
    start = tl.program_id(0) * BLOCK_N
    if start < N:  # wrong
        offs_n = start + tl.arange(0, BLOCK_N)
        scores = tl.load(scores_ptr + offs_n, mask=offs_n < N, other=float("-inf"))
        tl.store(maxima_ptr + tl.program_id(0), tl.max(scores, axis=0))


split_max_kernel[(4,)](torch.randn(20), torch.empty(4), 20, BLOCK_N=8)
