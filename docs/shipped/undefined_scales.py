"""Lanes that nobody defined

[triton#9911](https://github.com/triton-lang/triton/pull/9911), 2026. A masked load without `other` promises nothing about the
lanes that are masked off. On NVIDIA GPUs they happen to be 0, elsewhere they are what the register held. Here they are multiplied
by 0 and added up; 0 × NaN is NaN.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_sum_kernel(x_ptr, scales_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + offs_n, mask=offs_n < N, other=0.0)
    scales = tl.load(scales_ptr + offs_n, mask=offs_n < N)  # wrong
    tl.store(out_ptr, tl.sum(x * scales, axis=0))


scaled_sum_kernel[(1,)](torch.randn(12), torch.ones(12), torch.empty(1), 12, BLOCK_N=16)
