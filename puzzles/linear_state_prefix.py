"""Second of three kernels for few heads: from what each chunk adds to the state that each chunk starts from."""

import triton
import triton.language as tl


@triton.jit
def linear_state_prefix_kernel(
    x_ptr,  # [G, N_CHUNKS, SIZE] float32, contiguous: what each chunk adds
    x0_ptr,  # [G, SIZE] float32, contiguous: what was there before the first chunk
    start_ptr,  # [G, N_CHUNKS, SIZE] float32, contiguous: what each chunk starts from
    end_ptr,  # [G, SIZE] float32, contiguous: what is there after the last chunk
    N_CHUNKS,  # number of chunks
    SIZE,  # numbers in a state
    BLOCK_SIZE: tl.constexpr,  # numbers of the state that one program owns
):
    """Program (i, g) owns numbers from i * BLOCK_SIZE of group g's states. start[c] = x0 + x[0] + ... + x[c - 1]."""
    # In PyTorch:
    #     start = x0[:, None] + torch.cumsum(x, dim=1) - x
    #     end = x0 + x.sum(dim=1)
    # your code starts here (about 11 lines)
    # your code ends here
