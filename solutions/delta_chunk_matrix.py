"""The delta rule in chunks, first kernel: how much of what one token writes the others of its chunk take back."""

import triton
import triton.language as tl


@triton.jit
def delta_chunk_matrix_kernel(
    k_ptr,  # [B, H, N, D] keys, the numbers of a row one after the other
    g_ptr,  # [B, H, N] float32, contiguous: the logarithm of each token's decay, 0 or less
    beta_ptr,  # [B, H, N] float32, contiguous: which share of the difference is written
    a_ptr,  # [B, H, N_CHUNKS, CHUNK, CHUNK] float32, contiguous: A of each chunk
    stride_kh,  # k: elements from one head to the next, over all batches
    stride_kn,  # k: from one token to the next
    N,  # number of tokens
    N_CHUNKS,  # number of chunks: N / CHUNK, rounded up
    CHUNK: tl.constexpr,  # tokens in a chunk
    D: tl.constexpr,  # numbers in a key: 16, 32, 64 or 128
):
    """Program (c, j) owns chunk c of head j = batch * H + head. Rows and columns past the end of the text hold 0."""
    # In PyTorch:
    #     a = k.new_zeros(*k.shape[:2], N_CHUNKS, CHUNK, CHUNK)
    #     for i in range(N):
    #         for j in range(i - i % CHUNK, i):
    #             decay = g[:, :, j + 1 : i + 1].sum(dim=2).exp()
    #             alike = (k[:, :, i] * k[:, :, j]).sum(dim=2)
    #             a[:, :, i // CHUNK, i % CHUNK, j % CHUNK] = -beta[:, :, i] * alike * decay
    # your code starts here (about 17 lines)
    chunk = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    offs_c = tl.arange(0, CHUNK)
    offs_n = chunk * CHUNK + offs_c
    offs_d = tl.arange(0, D)
    mask_n = offs_n < N
    # [CHUNK, D]
    k = tl.load(
        k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :], mask=mask_n[:, None], other=0.0
    )
    # [CHUNK], [CHUNK]
    g = tl.load(g_ptr + head * N + offs_n, mask=mask_n, other=0.0)
    beta = tl.load(beta_ptr + head * N + offs_n, mask=mask_n, other=0.0)
    b = tl.cumsum(tl.maximum(g, -100.0), axis=0)
    below = offs_c[:, None] > offs_c[None, :]
    decay = tl.exp(tl.where(below, b[:, None] - b[None, :], float("-inf")))
    # [CHUNK, CHUNK] = [CHUNK, D] @ [D, CHUNK]
    a = -beta[:, None] * decay * tl.dot(k, tl.trans(k))
    offs_a = ((head * N_CHUNKS + chunk) * CHUNK + offs_c[:, None]) * CHUNK + offs_c[None, :]
    # [CHUNK, CHUNK]
    tl.store(a_ptr + offs_a, a)
    # your code ends here
