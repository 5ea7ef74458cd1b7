"""Linear attention, not causal: all keys and values become one small state, and every query is answered from it."""

import triton
import triton.language as tl


@triton.jit
def linear_attention_kernel(
    q_ptr,  # [B, H, N_Q, D] queries, the numbers of a row one after the other
    k_ptr,  # [B, H, N_KV, D] keys, likewise
    v_ptr,  # [B, H, N_KV, D_V] values, likewise
    o_ptr,  # [B, H, N_Q, D_V] output, likewise
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] count for nothing
    stride_qh,  # q: elements from one head to the next, over all batches
    stride_qm,  # q: from one query to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one value to the next
    stride_oh,  # o: from one head to the next
    stride_om,  # o: from one row to the next
    H,  # heads in a batch
    N_Q,  # number of queries
    N_KV,  # number of keys in memory
    D_V,  # numbers in a value
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    D: tl.constexpr,  # numbers in a query or key: 16, 32, 64 or 128
):
    """Program (j, i) owns head j = batch * H + head, value columns from i * BLOCK_V. phi(x) = elu(x) + 1, eps = 1e-6."""
    # In PyTorch:
    #     q, k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    #     k = k * (torch.arange(N_KV) < key_lengths[:, None])[:, None, :, None]
    #     o = q @ (k.mT @ v) / (q @ k.sum(dim=2)[..., None] + 1e-6)
    # your code starts here (about 31 lines)
    head = tl.program_id(0).to(tl.int64)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_d = tl.arange(0, D)
    mask_v = offs_v < D_V
    length = tl.minimum(tl.load(key_lengths_ptr + head // H), N_KV)
    state = tl.zeros([D, BLOCK_V], tl.float32)
    z = tl.zeros([D], tl.float32)
    for start_n in range(0, length, BLOCK_N):
        offs_n = (start_n + tl.arange(0, BLOCK_N)).to(tl.int64)
        mask_n = offs_n < length
        k_ptrs = k_ptr + head * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :]
        v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_v[None, :]
        # [BLOCK_N, D]
        k = tl.load(k_ptrs, mask=mask_n[:, None], other=0.0).to(tl.float32)
        # phi(x) is x + 1 above 0 and exp(x) below; the 0 of a lane past the end would become phi(0) = 1
        k = tl.where(mask_n[:, None], tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
        # [BLOCK_N, BLOCK_V]
        v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_v[None, :], other=0.0)
        # [D, BLOCK_V] += [D, BLOCK_N] @ [BLOCK_N, BLOCK_V]
        state = tl.dot(tl.trans(k.to(v.dtype)), v, state)
        z += tl.sum(k, axis=0)
    for start_m in range(0, N_Q, BLOCK_M):
        offs_m = (start_m + tl.arange(0, BLOCK_M)).to(tl.int64)
        mask_m = offs_m < N_Q
        # [BLOCK_M, D]
        q = tl.load(
            q_ptr + head * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :], mask=mask_m[:, None], other=0.0
        )
        q = tl.maximum(q.to(tl.float32), 0.0) + tl.exp(tl.minimum(q.to(tl.float32), 0.0))
        # [BLOCK_M, BLOCK_V] = [BLOCK_M, D] @ [D, BLOCK_V]: over a long text the state leaves float16's range, not TF32's
        num = tl.dot(q, state, input_precision="tf32")
        den = tl.sum(q * z[None, :], axis=1) + 1e-6
        o_ptrs = o_ptr + head * stride_oh + offs_m[:, None] * stride_om + offs_v[None, :]
        # [BLOCK_M, BLOCK_V]
        tl.store(o_ptrs, num / den[:, None], mask=mask_m[:, None] & mask_v[None, :])
    # your code ends here
