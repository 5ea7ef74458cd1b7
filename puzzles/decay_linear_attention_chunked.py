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
    # your code ends here
