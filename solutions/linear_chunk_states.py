"""First of three kernels for few heads: what each chunk of tokens adds to the state, all chunks at once."""

import triton
import triton.language as tl


@triton.jit
def linear_chunk_states_kernel(
    k_ptr,  # [B, H, N, D] keys, the numbers of a row one after the other
    v_ptr,  # [B, H, N, D_V] values, likewise
    s_ptr,  # [B, H, N_CHUNKS, D, D_V] float32, contiguous: phi(K)^T V of each chunk alone
    z_ptr,  # [B, H, N_CHUNKS, D] float32, contiguous: the sum of each chunk's features
    stride_kh,  # k: elements from one head to the next, over all batches
    stride_kn,  # k: from one token to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one token to the next
    N,  # number of tokens
    N_CHUNKS,  # number of chunks, ceil(N / CHUNK)
    D_V,  # numbers in a value
    CHUNK: tl.constexpr,  # tokens in a chunk
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    D: tl.constexpr,  # numbers in a key: 16, 32, 64 or 128
):
    """Program (c, j, i) owns chunk c of head j = batch * H + head, columns from i * BLOCK_V. phi(x) = elu(x) + 1."""
    # In PyTorch:
    #     k = torch.nn.functional.elu(k) + 1
    #     k, v = (torch.nn.functional.pad(x, (0, 0, 0, N_CHUNKS * CHUNK - N)) for x in (k, v))
    #     k, v = (x.unflatten(2, (N_CHUNKS, CHUNK)) for x in (k, v))
    #     s, z = k.mT @ v, k.sum(dim=3)
    # your code starts here (about 17 lines)
    chunk = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    offs_v = tl.program_id(2) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_n = chunk * CHUNK + tl.arange(0, CHUNK)
    offs_d = tl.arange(0, D)
    mask_n, mask_v = offs_n < N, offs_v < D_V
    k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
    v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
    # [CHUNK, D], [CHUNK, BLOCK_V]
    k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
    v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0)
    # phi(x) is x + 1 above 0 and exp(x) below; the 0 of a lane past the end would become phi(0) = 1
    k = tl.where(mask_n[:, None], tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
    # [D, BLOCK_V] = [D, CHUNK] @ [CHUNK, BLOCK_V]
    state = tl.dot(tl.trans(k.to(v.dtype)), v)
    row = (head * N_CHUNKS + chunk) * D + offs_d
    # [D, BLOCK_V]
    tl.store(s_ptr + row[:, None] * D_V + offs_v[None, :], state, mask=mask_v[None, :])
    # [D]: the same in every slice of the values, so only the first one stores it
    if tl.program_id(2) == 0:
        tl.store(z_ptr + row, tl.sum(k, axis=0))
    # your code ends here
