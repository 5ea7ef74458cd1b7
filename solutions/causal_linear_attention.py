"""Causal linear attention as a recurrence: one token a step, the state stays on chip."""

import triton
import triton.language as tl


@triton.jit
def causal_linear_attention_kernel(
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
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    D: tl.constexpr,  # numbers in a query or key, a power of two
):
    """Program (j, i) owns head j = batch * H + head, value columns from i * BLOCK_V. phi(x) = elu(x) + 1, eps = 1e-6."""
    # In PyTorch:
    #     q, k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    #     a = (q @ k.mT).tril()
    #     o = (q @ s0 + a @ v) / (q @ z0[..., None] + a.sum(dim=-1, keepdim=True) + 1e-6)
    #     s = s0 + k.mT @ v
    #     z = z0 + k.sum(dim=2)
    # your code starts here (about 24 lines)
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    offs_s = (head * D + offs_d[:, None]) * D_V + offs_v[None, :]
    # [D, BLOCK_V]
    state = tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0)
    # [D]
    z = tl.load(z0_ptr + head * D + offs_d)
    for i in range(N):
        n = i.to(tl.int64)
        # [D], [D], [BLOCK_V]
        q = tl.load(q_ptr + head * stride_qh + n * stride_qn + offs_d).to(tl.float32)
        k = tl.load(k_ptr + head * stride_kh + n * stride_kn + offs_d).to(tl.float32)
        v = tl.load(v_ptr + head * stride_vh + n * stride_vn + offs_v, mask=mask_v, other=0.0).to(tl.float32)
        # phi(x) is x + 1 above 0 and exp(x) below
        q = tl.maximum(q, 0.0) + tl.exp(tl.minimum(q, 0.0))
        k = tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0))
        # a token sees itself: first into the state, then out of it
        state += k[:, None] * v[None, :]
        z += k
        num = tl.sum(q[:, None] * state, axis=0)
        den = tl.sum(q * z, axis=0) + 1e-6
        # [BLOCK_V]
        tl.store(o_ptr + head * stride_oh + n * stride_on + offs_v, num / den, mask=mask_v)
    # [D, BLOCK_V]
    tl.store(s_ptr + offs_s, state, mask=mask_v[None, :])
    # [D]: the same in every slice of the values, so only the first one stores it
    if tl.program_id(1) == 0:
        tl.store(z_ptr + head * D + offs_d, z)
    # your code ends here
