"""Rows are not always next to each other

[vllm#42684](https://github.com/vllm-project/vllm/issues/42684), 2026. Where the vocabulary is padded, the sampler gets a view
without the padding. The kernel multiplied the row by the width instead of the stride, and worked on a mixture of two rows.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(logits_ptr, max_ptr, VOCAB, BLOCK_V: tl.constexpr):
    row = tl.program_id(0)
    offs_v = tl.arange(0, BLOCK_V)
    logits = tl.load(logits_ptr + row * VOCAB + offs_v, mask=offs_v < VOCAB, other=float("-inf"))  # wrong
    tl.store(max_ptr + row, tl.max(logits, axis=0))


padded = torch.randn(4, 16)
logits = padded[:, :13]
row_max_kernel[(4,)](logits, torch.empty(4), 13, BLOCK_V=16)
