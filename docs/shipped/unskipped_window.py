"""Masked, but not skipped

[vllm#24390](https://github.com/vllm-project/vllm/pull/24390), 2025. The mask hides the keys outside the window, so the answer is
right. But each program still loads all of them: layers with a window took as long as layers without one.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def window_mean_kernel(x_ptr, mean_ptr, WINDOW, BLOCK_M: tl.constexpr):
    start_m = tl.program_id(0).to(tl.int64) * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for start in range(0, start_m + BLOCK_M, BLOCK_M):  # wrong
        offs_n = start + tl.arange(0, BLOCK_M)
        ago = offs_m[:, None] - offs_n[None, :]
        x = tl.load(x_ptr + offs_n)
        total += tl.sum(tl.where((ago >= 0) & (ago < WINDOW), x[None, :], 0.0), axis=1)
    tl.store(mean_ptr + offs_m, total / WINDOW)


window_mean_kernel[(16,)](torch.randn(256), torch.empty(256), 16, BLOCK_M=16)
