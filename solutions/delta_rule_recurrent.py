"""The gated delta rule, one token at a time: decay the state, compare what it holds with the value, write the difference."""

import triton
import triton.language as tl


@triton.jit
def delta_rule_recurrent_kernel(
    q_ptr,  # [B, H, N, D] queries, the numbers of a row one after the other
    k_ptr,  # [B, H, N, D] keys, likewise
    v_ptr,  # [B, H, N, D_V] values, likewise
    g_ptr,  # [B, H, N] float32, contiguous: the logarithm of each token's decay, 0 or less
    beta_ptr,  # [B, H, N] float32, contiguous: which share of the difference is written, 0 to 2
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
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    D: tl.constexpr,  # numbers in a query or key: a power of two from 2 to 128
):
    """Program (j, i) owns head j = batch * H + head and value columns i * BLOCK_V onwards."""
    # In PyTorch:
    #     s, rows = s0, []
    #     for i in range(N):
    #         q_i, k_i, v_i = q[:, :, [i]], k[:, :, [i]], v[:, :, [i]]
    #         s = g[:, :, [i], None].exp() * s
    #         u = beta[:, :, [i], None] * (v_i - k_i @ s)
    #         s = s + k_i.mT @ u
    #         rows.append(q_i @ s)
    #     o = torch.cat(rows, dim=2)
    # your code starts here (about 24 lines)
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    offs_s = (head * D + offs_d[:, None]) * D_V + offs_v[None, :]
    q_row = q_ptr + head * stride_qh + offs_d
    k_row = k_ptr + head * stride_kh + offs_d
    v_row = v_ptr + head * stride_vh + offs_v
    o_row = o_ptr + head * stride_oh + offs_v
    # [D, BLOCK_V]
    state = tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0)
    for token in range(N):
        i = token.to(tl.int64)
        # [D], [D], [BLOCK_V]
        q = tl.load(q_row + i * stride_qn).to(tl.float32)
        k = tl.load(k_row + i * stride_kn).to(tl.float32)
        v = tl.load(v_row + i * stride_vn, mask=mask_v, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + head * N + i)
        beta = tl.load(beta_ptr + head * N + i)
        # [D, BLOCK_V]: forget
        state = state * tl.exp(g)
        # [BLOCK_V]: read what the state holds under this key, and compare
        old = tl.sum(k[:, None] * state, axis=0)
        u = beta * (v - old)
        # [D, BLOCK_V]: write the difference
        state += k[:, None] * u[None, :]
        # [BLOCK_V]
        tl.store(o_row + i * stride_on, tl.sum(q[:, None] * state, axis=0), mask=mask_v)
    # [D, BLOCK_V]
    tl.store(s_ptr + offs_s, state, mask=mask_v[None, :])
    # your code ends here
