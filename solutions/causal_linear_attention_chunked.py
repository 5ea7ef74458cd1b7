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
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_c = tl.arange(0, CHUNK)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    offs_s = (head * D + offs_d[:, None]) * D_V + offs_v[None, :]
    # [D, BLOCK_V]
    state = tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0)
    # [D]
    z = tl.load(z0_ptr + head * D + offs_d)
    for start in range(0, N, CHUNK):
        offs_n = (start + offs_c).to(tl.int64)
        mask_n = offs_n < N
        q_ptrs = q_ptr + head * stride_qh + offs_n[:, None] * stride_qn + offs_d[None, :]
        k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
        v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
        # [CHUNK, D], [CHUNK, D], [CHUNK, BLOCK_V]
        q = tl.load(q_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
        k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0)
        # phi(x) is x + 1 above 0 and exp(x) below; the 0 of a lane past the end would become phi(0) = 1
        q = tl.maximum(q, 0.0) + tl.exp(tl.minimum(q, 0.0))
        k = tl.where(mask_n[:, None], tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
        # [CHUNK, CHUNK] = [CHUNK, D] @ [D, CHUNK]
        a = tl.dot(q.to(v.dtype), tl.trans(k.to(v.dtype)))
        a = tl.where(offs_c[:, None] >= offs_c[None, :], a, 0.0)
        # [CHUNK, BLOCK_V] = [CHUNK, D] @ [D, BLOCK_V], the chunks before; TF32 has the range of float32
        num = tl.dot(q, state, input_precision="tf32")
        # [CHUNK, BLOCK_V] += [CHUNK, CHUNK] @ [CHUNK, BLOCK_V], this chunk: its weights may pass 65,504
        num = tl.dot(a, v.to(tl.float32), num, input_precision="tf32")
        den = tl.sum(q * z[None, :], axis=1) + tl.sum(a, axis=1) + 1e-6
        o_ptrs = o_ptr + head * stride_oh + offs_n[:, None] * stride_on + offs_v[None, :]
        # [CHUNK, BLOCK_V]
        tl.store(o_ptrs, num / den[:, None], mask=mask_n[:, None] & mask_v[None, :])
        # [D, BLOCK_V] += [D, CHUNK] @ [CHUNK, BLOCK_V]: only now, the queries above have not seen this chunk in it
        state = tl.dot(tl.trans(k.to(v.dtype)), v, state)
        z += tl.sum(k, axis=0)
    # [D, BLOCK_V]
    tl.store(s_ptr + offs_s, state, mask=mask_v[None, :])
    # [D]: the same in every slice of the values, so only the first one stores it
    if tl.program_id(1) == 0:
        tl.store(z_ptr + head * D + offs_d, z)
    # your code ends here
