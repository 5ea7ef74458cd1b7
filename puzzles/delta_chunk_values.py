"""The delta rule in chunks, third kernel: what each token would write into an empty state, and what it takes back from a full one."""

import triton
import triton.language as tl


@triton.jit
def delta_chunk_values_kernel(
    t_ptr,  # [B, H, N_CHUNKS, CHUNK, CHUNK] float32, contiguous: T of each chunk
    k_ptr,  # [B, H, N, D] keys, the numbers of a row one after the other
    v_ptr,  # [B, H, N, D_V] values, likewise
    g_ptr,  # [B, H, N] float32, contiguous: the logarithm of each token's decay, 0 or less
    beta_ptr,  # [B, H, N] float32, contiguous: which share of the difference is written
    u_ptr,  # [B, H, N, D_V] float32, contiguous: T (beta V)
    w_ptr,  # [B, H, N, D] float32, contiguous: T (beta exp(b) K)
    stride_kh,  # k: elements from one head to the next, over all batches
    stride_kn,  # k: from one token to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one token to the next
    N,  # number of tokens
    N_CHUNKS,  # number of chunks: N / CHUNK, rounded up
    CHUNK: tl.constexpr,  # tokens in a chunk
    D: tl.constexpr,  # numbers in a key: 16, 32, 64 or 128
    D_V: tl.constexpr,  # numbers in a value: 16, 32 or 64
):
    """Program (c, j) owns chunk c of head j = batch * H + head."""
    # In PyTorch:
    #     us, ws = [], []
    #     for start in range(0, N, CHUNK):
    #         columns = (k, v, g[..., None], beta[..., None])
    #         k_c, v_c, g_c, beta_c = (x[:, :, start : start + CHUNK] for x in columns)
    #         n = k_c.shape[2]
    #         t_c = t[:, :, start // CHUNK, :n, :n]
    #         us.append(t_c @ (beta_c * v_c))
    #         ws.append(t_c @ (beta_c * g_c.cumsum(dim=2).exp() * k_c))
    #     u, w = torch.cat(us, dim=2), torch.cat(ws, dim=2)
    # your code starts here (about 20 lines)
    # your code ends here
