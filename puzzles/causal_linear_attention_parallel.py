"""Third of three kernels for few heads: the outputs of every chunk, all chunks at once, each from the state it starts from."""

import triton
import triton.language as tl


@triton.jit
def causal_linear_attention_parallel_kernel(
    q_ptr,  # [B, H, N, D] queries, the numbers of a row one after the other
    k_ptr,  # [B, H, N, D] keys, likewise
    v_ptr,  # [B, H, N, D_V] values, likewise
    o_ptr,  # [B, H, N, D_V] output, likewise
    s_ptr,  # [B, H, N_CHUNKS, D, D_V] float32, contiguous: the state that each chunk starts from
    z_ptr,  # [B, H, N_CHUNKS, D] float32, contiguous: the sum of all features before each chunk
    stride_qh,  # q: elements from one head to the next, over all batches
    stride_qn,  # q: from one token to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one token to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one token to the next
    stride_oh,  # o: from one head to the next
    stride_on,  # o: from one token to the next
    N,  # number of tokens
    N_CHUNKS,  # number of chunks, ceil(N / CHUNK)
    D_V,  # numbers in a value
    CHUNK: tl.constexpr,  # tokens in a chunk
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    D: tl.constexpr,  # numbers in a query or key: 16, 32, 64 or 128
):
    """Program (c, j, i) owns chunk c of head j = batch * H + head, columns from i * BLOCK_V. phi(x) = elu(x) + 1, eps = 1e-6."""
    # In PyTorch:
    #     q, k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    #     q, k, v = (torch.nn.functional.pad(x, (0, 0, 0, N_CHUNKS * CHUNK - N)) for x in (q, k, v))
    #     q, k, v = (x.unflatten(2, (N_CHUNKS, CHUNK)) for x in (q, k, v))
    #     a = (q @ k.mT).tril()
    #     o = (q @ s + a @ v) / (q @ z[..., None] + a.sum(dim=-1, keepdim=True) + 1e-6)
    #     o = o.flatten(2, 3)[:, :, :N]
    # your code starts here (about 29 lines)
    # your code ends here
