"""A window that is one key short

[sglang#32087](https://github.com/sgl-project/sglang/pull/32087), 2026. One side counted how far the window looks back, the other
how many keys it has, the current one included. Each decode step ignored its oldest key.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(scores_ptr, v_ptr, out_ptr, N, BACK, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    inside = (offs_n < N) & (offs_n >= N - BACK)  # wrong
    scores = tl.load(scores_ptr + offs_n, mask=inside, other=float("-inf"))
    p = tl.exp(scores - tl.max(scores, axis=0))
    v = tl.load(v_ptr + offs_n, mask=inside, other=0.0)
    tl.store(out_ptr, tl.sum(p * v, axis=0) / tl.sum(p, axis=0))


scores, v, out = torch.zeros(12), torch.arange(12.0), torch.empty(1)
decode_kernel[(1,)](scores, v, out, 12, 4, BLOCK_N=16)
expected = torch.softmax(scores[-5:], 0) @ v[-5:]
print(f"kernel {out.item():.3f}, torch {expected.item():.3f}")
