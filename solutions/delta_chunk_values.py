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
    chunk = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    offs_c = tl.arange(0, CHUNK)
    offs_n = chunk * CHUNK + offs_c
    offs_d = tl.arange(0, D)
    offs_v = tl.arange(0, D_V)
    mask_n = offs_n < N
    # [CHUNK, CHUNK]
    t = tl.load(t_ptr + ((head * N_CHUNKS + chunk) * CHUNK + offs_c[:, None]) * CHUNK + offs_c[None, :])
    # [CHUNK, D], [CHUNK, D_V]
    k = tl.load(
        k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :], mask=mask_n[:, None], other=0.0
    )
    v = tl.load(
        v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :], mask=mask_n[:, None], other=0.0
    )
    # [CHUNK], [CHUNK]
    g = tl.load(g_ptr + head * N + offs_n, mask=mask_n, other=0.0)
    beta = tl.load(beta_ptr + head * N + offs_n, mask=mask_n, other=0.0)
    b = tl.cumsum(tl.maximum(g, -100.0), axis=0)
    # [CHUNK, D_V] = [CHUNK, CHUNK] @ [CHUNK, D_V]
    u = tl.dot(t, v.to(tl.float32) * beta[:, None])
    # [CHUNK, D] = [CHUNK, CHUNK] @ [CHUNK, D]: the state decays before a token compares
    w = tl.dot(t, k.to(tl.float32) * (beta * tl.exp(b))[:, None])
    row = head * N + offs_n[:, None]
    # [CHUNK, D_V], [CHUNK, D]
    tl.store(u_ptr + row * D_V + offs_v[None, :], u, mask=mask_n[:, None])
    tl.store(w_ptr + row * D + offs_d[None, :], w, mask=mask_n[:, None])
    # your code ends here
