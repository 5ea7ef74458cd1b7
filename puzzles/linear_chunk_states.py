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
    # your code ends here
