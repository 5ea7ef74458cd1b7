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
    chunk = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    offs_c = tl.arange(0, CHUNK)
    offs_n = chunk * CHUNK + offs_c
    offs_v = tl.arange(0, D_V)
    mask_n = offs_n < N
    first = (head * N_CHUNKS + chunk) * CHUNK * CHUNK
    # [CHUNK, CHUNK]: T starts as I
    t = tl.where(offs_c[:, None] == offs_c[None, :], 1.0, 0.0)
    for i in range(1, CHUNK):
        # [CHUNK]: row i of A, whose first i numbers are not 0
        row = tl.load(a_ptr + first + i * CHUNK + offs_c)
        # [CHUNK]: T = I + A T, and A needs only the rows of T that are finished
        new = tl.sum(row[:, None] * t, axis=0)
        t += tl.where(offs_c[:, None] == i, new[None, :], 0.0)
    # [CHUNK, CHUNK]
    tl.store(t_ptr + first + offs_c[:, None] * CHUNK + offs_c[None, :], t)
    # [CHUNK, D_V]
    v = tl.load(
        v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :], mask=mask_n[:, None], other=0.0
    )
    # [CHUNK, D_V] = [CHUNK, CHUNK] @ [CHUNK, D_V]
    u = tl.dot(t, v.to(tl.float32))
    tl.store(u_ptr + (head * N + offs_n[:, None]) * D_V + offs_v[None, :], u, mask=mask_n[:, None])
    # your code ends here
