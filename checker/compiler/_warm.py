"""The smallest kernel, compiled once so that the first real one does not wait for the compiler to load."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, BLOCK_N: tl.constexpr):  # type: ignore[no-untyped-def]
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + offs_n)
    tl.store(y_ptr + offs_n, tl.exp(x - tl.max(x, axis=0)))
