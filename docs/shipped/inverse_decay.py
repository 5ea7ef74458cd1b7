"""The inverse of a small decay is infinite

[executorch#21417](https://github.com/pytorch/executorch/pull/21417), 2026. The decay between two tokens is
exp(b<sub>i</sub> − b<sub>j</sub>). To get a matrix product out of it, the operator computed exp(b<sub>i</sub>) · exp(−b<sub>j</sub>).
Where the decay is strong the second factor overflows, and 0 × ∞ is NaN.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def decay_kernel(log_decay_ptr, decay_ptr, C: tl.constexpr):
    offs_c = tl.arange(0, C)
    b = tl.cumsum(tl.load(log_decay_ptr + offs_c), axis=0)
    decay = tl.exp(b)[:, None] * tl.exp(-b)[None, :]  # wrong
    causal = offs_c[:, None] >= offs_c[None, :]
    tl.store(decay_ptr + offs_c[:, None] * C + offs_c[None, :], tl.where(causal, decay, 0.0))


log_decay = torch.full((16,), -25.0)
decay_kernel[(1,)](log_decay, torch.empty(16, 16), C=16)
