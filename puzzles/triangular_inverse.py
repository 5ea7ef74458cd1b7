"""The delta rule in chunks, second kernel: the inverse of I - A, row by row, and what it makes of the values."""

import triton
import triton.language as tl


@triton.jit
def triangular_inverse_kernel(
    a_ptr,  # [B, H, N_CHUNKS, CHUNK, CHUNK] float32, contiguous: A of each chunk, 0 on the diagonal and above it
    v_ptr,  # [B, H, N, D_V] values, the numbers of a row one after the other
    t_ptr,  # [B, H, N_CHUNKS, CHUNK, CHUNK] float32, contiguous: T = (I - A)^-1
    u_ptr,  # [B, H, N, D_V] float32, contiguous: T V, chunk by chunk
    stride_vh,  # v: elements from one head to the next, over all batches
    stride_vn,  # v: from one token to the next
    N,  # number of tokens
    N_CHUNKS,  # number of chunks: N / CHUNK, rounded up
    CHUNK: tl.constexpr,  # tokens in a chunk
    D_V: tl.constexpr,  # numbers in a value: 16, 32 or 64
):
    """Program (c, j) owns chunk c of head j = batch * H + head. Past the text's end, rows of A are 0 and T is I."""
    # In PyTorch:
    #     t = torch.linalg.inv(torch.eye(CHUNK, dtype=a.dtype) - a)
    #     values = torch.nn.functional.pad(v, (0, 0, 0, N_CHUNKS * CHUNK - N)).unflatten(2, (N_CHUNKS, CHUNK))
    #     u = (t @ values).flatten(2, 3)[:, :, :N]
    # your code starts here (about 17 lines)
    # your code ends here
