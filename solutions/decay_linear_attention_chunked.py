"""Linear attention that forgets, in chunks: decays inside a chunk, between chunks, and of the state."""

import triton
import triton.language as tl


@triton.jit
def decay_linear_attention_chunked_kernel(
    q_ptr,  # [B, H, N, D] queries, the numbers of a row one after the other
    k_ptr,  # [B, H, N, D] keys, likewise
    v_ptr,  # [B, H, N, D_V] values, likewise
    g_ptr,  # [B, H, N] float32, contiguous: the logarithm of each token's decay, 0 or less
    o_ptr,  # [B, H, N, D_V] output, the numbers of a row one after the other
    s0_ptr,  # [B, H, D, D_V] float32, contiguous: the state that earlier tokens left behind, or zeros
    s_ptr,  # [B, H, D, D_V] float32, contiguous: the state after the last token
    stride_qh,  # q: elements from one head to the next, over all batches
    stride_qn,  # q: from one token to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one token to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one token to the next
    stride_oh,  # o: from one head to the next
    stride_on,  # o: from one token to the next
    N,  # number of tokens
    D_V,  # numbers in a value
    CHUNK: tl.constexpr,  # tokens in a chunk
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    D: tl.constexpr,  # numbers in a query or key: 16, 32, 64 or 128
):
    """Program (j, i) owns head j = batch * H + head, value columns from i * BLOCK_V. No feature map, no normaliser."""
    # In PyTorch:
    #     s, rows = s0, []
    #     for i in range(N):
    #         s = g[:, :, [i], None].exp() * s + k[:, :, [i]].mT @ v[:, :, [i]]
    #         rows.append(q[:, :, [i]] @ s)
    #     o = torch.cat(rows, dim=2)
    # your code starts here (about 33 lines)
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_c = tl.arange(0, CHUNK)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    offs_s = (head * D + offs_d[:, None]) * D_V + offs_v[None, :]
    # [D, BLOCK_V]
    state = tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0)
    for start in range(0, N, CHUNK):
        offs_n = (start + offs_c).to(tl.int64)
        mask_n = offs_n < N
        q_ptrs = q_ptr + head * stride_qh + offs_n[:, None] * stride_qn + offs_d[None, :]
        k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
        v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
        # [CHUNK, D], [CHUNK, D], [CHUNK, BLOCK_V]
        q = tl.load(q_ptrs, mask=mask_n[:, None], other=0.0)
        k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0)
        v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0).to(tl.float32)
        # [CHUNK]: past the end nothing decays
        g = tl.load(g_ptr + head * N + offs_n, mask=mask_n, other=0.0)
        # exp(-100) is 4e-44, as good as 0, and sums stay finite: -inf - (-inf) would be NaN
        g = tl.maximum(g, -100.0)
        b = tl.cumsum(g, axis=0)
        b_end = tl.sum(g, axis=0)
        # above the diagonal the difference is positive and its exponential may overflow, so mask before exp
        gap = tl.where(offs_c[:, None] >= offs_c[None, :], b[:, None] - b[None, :], float("-inf"))
        # [CHUNK, CHUNK] = [CHUNK, D] @ [D, CHUNK]
        a = tl.dot(q, tl.trans(k)) * tl.exp(gap)
        # [CHUNK, BLOCK_V] = [CHUNK, D] @ [D, BLOCK_V]: the state has decayed since the chunk began
        o = tl.dot(q.to(tl.float32) * tl.exp(b)[:, None], state, input_precision="tf32")
        # [CHUNK, BLOCK_V] += [CHUNK, CHUNK] @ [CHUNK, BLOCK_V]
        o = tl.dot(a, v, o, input_precision="tf32")
        o_ptrs = o_ptr + head * stride_oh + offs_n[:, None] * stride_on + offs_v[None, :]
        # [CHUNK, BLOCK_V]
        tl.store(o_ptrs, o, mask=mask_n[:, None] & mask_v[None, :])
        # [CHUNK, D]: what is left of each key at the end of the chunk
        k = k.to(tl.float32) * tl.exp(b_end - b)[:, None]
        # [D, BLOCK_V] = decayed + [D, CHUNK] @ [CHUNK, BLOCK_V]
        state = tl.dot(tl.trans(k), v, state * tl.exp(b_end), input_precision="tf32")
    # [D, BLOCK_V]
    tl.store(s_ptr + offs_s, state, mask=mask_v[None, :])
    # your code ends here
