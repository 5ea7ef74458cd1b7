"""An input that is changed for a moment

[vllm#23829](https://github.com/vllm-project/vllm/pull/23829), 2025. To draw a token other than the draft, the kernel sets the
draft's probability to zero, finds the best token, and writes the probability back. Nothing makes the threads wait for one another,
so some still read the old value. GPUs that should have agreed did not, and the server hung.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def recover_kernel(probs_ptr, drafts_ptr, tokens_ptr, V: tl.constexpr):
    pid = tl.program_id(0)
    row_ptr = probs_ptr + pid * V
    draft = tl.load(drafts_ptr + pid)
    kept = tl.load(row_ptr + draft)
    tl.store(row_ptr + draft, 0.0)
    probs = tl.load(row_ptr + tl.arange(0, V))  # wrong
    tl.store(tokens_ptr + pid, tl.argmax(probs, axis=0))
    tl.store(row_ptr + draft, kept)


recover_kernel[(2,)](torch.rand(2, 8), torch.tensor([3, 5]), torch.empty(2, dtype=torch.int32), V=8)
