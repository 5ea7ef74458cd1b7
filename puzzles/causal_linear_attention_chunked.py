"""Causal linear attention in chunks: masked attention inside a chunk, the state between chunks."""

import triton
import triton.language as tl


@triton.jit
def causal_linear_attention_chunked_kernel(
    q_ptr,  # [B, H, N, D] queries, the numbers of a row one after the other
    k_ptr,  # [B, H, N, D] keys, likewise
    v_ptr,  # [B, H, N, D_V] values, likewise
    o_ptr,  # [B, H, N, D_V] output, likewise
    s0_ptr,  # [B, H, D, D_V] float32, contiguous: the state that earlier tokens left behind, or zeros
    z0_ptr,  # [B, H, D] float32, contiguous: the sum of their features, or zeros
    s_ptr,  # [B, H, D, D_V] float32, contiguous: the state after the last token
    z_ptr,  # [B, H, D] float32, contiguous: the sum of all features
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
    """Program (j, i) owns head j = batch * H + head, value columns from i * BLOCK_V. phi(x) = elu(x) + 1, eps = 1e-6."""
    # In PyTorch:
    #     q, k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    #     a = (q @ k.mT).tril()
    #     o = (q @ s0 + a @ v) / (q @ z0[..., None] + a.sum(dim=-1, keepdim=True) + 1e-6)
    #     s = s0 + k.mT @ v
    #     z = z0 + k.sum(dim=2)
    # your code starts here (about 36 lines)
    # your code ends here
