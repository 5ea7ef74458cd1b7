"""A mask that nobody passes on

[flash-attention#2789](https://github.com/Dao-AILab/flash-attention/issues/2789), 2026. The kernel computes the mask of its
output and stores without it. Tests had sizes that the tile divides. At any other size the last tile of a row runs on into the next
row, which belongs to another program, and the last row runs past the tensor.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, M, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0)
    tl.store(out_ptr + row * N + offs_n, 2 * x)  # wrong


x = torch.randn(3, 10)
double_kernel[(3, 2)](x, torch.empty_like(x), 3, 10, BLOCK_N=8)
