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
    # your code ends here
