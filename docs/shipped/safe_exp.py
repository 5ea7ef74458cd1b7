"""A safe exp that cuts off zero

[fla#461](https://github.com/fla-org/flash-linear-attention/issues/461), 2025. Log decays add up to less and less, so a difference
of two sums is at most 0. A helper returned 0 for all positive ones, against overflow. Where nothing decays, both sums are equal but
for rounding. One bit too much, and the weight is 0 instead of 1. (The report leaves the cause open; rounding explains it.)
"""

import torch
import triton
import triton.language as tl


@triton.jit
def decayed_sum_kernel(b_ptr, v_ptr, out_ptr, C: tl.constexpr):
    offs_c = tl.arange(0, C)
    b = tl.load(b_ptr + offs_c)
    x = b[:, None] - b[None, :]
    weights = tl.where(x > 0, 0.0, tl.exp(x))  # wrong
    weights = tl.where(offs_c[:, None] >= offs_c[None, :], weights, 0.0)
    v = tl.load(v_ptr + offs_c)
    tl.store(out_ptr + offs_c, tl.sum(weights * v[None, :], axis=1))


b, v, out = torch.tensor([-0.5, -0.5, -0.5, -0.5]), torch.ones(4), torch.empty(4)
b[2] += 2**-24  # a sum in another order can round like this
decayed_sum_kernel[(1,)](b, v, out, C=4)
expected = torch.tril(torch.exp(b[:, None] - b)) @ v
print(f"kernel {[round(x, 3) for x in out.tolist()]}, torch {[round(x, 3) for x in expected.tolist()]}")
