"""The first tile may be masked completely

[executorch#17832](https://github.com/pytorch/executorch/pull/17832), 2026. In online softmax, a tile without a single visible key
leaves the maximum at −∞, and −∞ − (−∞) is NaN. Every later tile inherits it. With a causal mask this never happens; with a sliding
window it does.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def online_sum_kernel(scores_ptr, sum_ptr, N, BLOCK_N: tl.constexpr):
    m = float("-inf")
    total = 0.0
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        scores = tl.load(scores_ptr + offs_n, mask=offs_n < N, other=float("-inf"))
        new_m = tl.maximum(m, tl.max(scores, axis=0))
        p = tl.exp(scores - new_m)  # wrong
        total = total * tl.exp(m - new_m) + tl.sum(p, axis=0)  # wrong
        m = new_m
    tl.store(sum_ptr, total)


scores = torch.zeros(12)
scores[:6] = float("-inf")  # outside the window
online_sum_kernel[(1,)](scores, torch.empty(1), 12, BLOCK_N=4)
