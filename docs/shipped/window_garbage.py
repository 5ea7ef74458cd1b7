"""A weight of zero does not remove NaN

[vllm#30887](https://github.com/vllm-project/vllm/pull/30887), 2025. Keys outside a sliding window get the weight 0, but their
values are still loaded. Their blocks of the cache can hold anything by then. Where one held NaN, 0 × NaN ended up in the answer.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def window_kernel(scores_ptr, v_ptr, out_ptr, N, WINDOW, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    inside = (offs_n < N) & (offs_n >= N - WINDOW)
    scores = tl.load(scores_ptr + offs_n, mask=inside, other=float("-inf"))
    p = tl.exp(scores - tl.max(scores, axis=0))
    v = tl.load(v_ptr + offs_n, mask=offs_n < N, other=0.0)
    out = tl.sum(p * v, axis=0) / tl.sum(p, axis=0)  # wrong
    tl.store(out_ptr, out)


v = torch.ones(12)
v[1] = float("nan")  # a block that now belongs to nobody
out = torch.empty(1)
window_kernel[(1,)](torch.zeros(12), v, out, 12, 4, BLOCK_N=16)
print(f"kernel {out.item()}, torch {v[-4:].mean().item()}")
