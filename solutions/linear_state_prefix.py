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
    group = tl.program_id(1).to(tl.int64)
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < SIZE
    # [BLOCK_SIZE]
    state = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0)
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        # [BLOCK_SIZE]: a chunk starts from the ones before it, and not from itself
        tl.store(start_ptr + row, state, mask=mask)
        # [BLOCK_SIZE]
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    # [BLOCK_SIZE]
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
    # your code ends here
