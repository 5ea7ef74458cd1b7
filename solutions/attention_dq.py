"""FlashAttention, backward: the gradient of the queries, one tile of queries after another, nothing remembered but two vectors."""

import triton
import triton.language as tl


@triton.jit
def attention_dq_kernel(
    q_ptr,  # [B, H_Q, N_Q, D] queries
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    do_ptr,  # [B, H_Q, N_Q, D] gradient of the output
    lse_ptr,  # [B, H_Q, N_Q] float32 log-sum-exp of each query's scaled scores, contiguous; -inf where it sees no key
    delta_ptr,  # [B, H_Q, N_Q] float32 sum of do * o over each query's row, contiguous
    dq_ptr,  # [B, H_Q, N_Q, D] gradient of the queries
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist
    stride_qb,  # q: elements from one batch to the next
    stride_qh,  # q: from one head to the next
    stride_qm,  # q: from one query to the next
    stride_qd,  # q: from one number of a row to the next
    stride_kb,  # k: elements from one batch to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_kd,  # k: from one number of a row to the next
    stride_vb,  # v: elements from one batch to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one value to the next
    stride_vd,  # v: from one number of a row to the next
    stride_dob,  # do: elements from one batch to the next
    stride_doh,  # do: from one head to the next
    stride_dom,  # do: from one query to the next
    stride_dod,  # do: from one number of a row to the next
    stride_dqb,  # dq: elements from one batch to the next
    stride_dqh,  # dq: from one head to the next
    stride_dqm,  # dq: from one query to the next
    stride_dqd,  # dq: from one number of a row to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    H_Q,  # query heads
    H_KV,  # key and value heads; H_Q is a multiple of it
    N_Q,  # number of queries
    N_KV,  # number of keys in memory
    IS_CAUSAL: tl.constexpr,  # query i sees key j only if j - i <= key_lengths[b] - N_Q: the ends are aligned
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (i, j) owns query tile i of batch and head j = batch * H_Q + head. No key seen: gradient 0."""
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     i, j, length = torch.arange(N_Q)[:, None], torch.arange(N_KV), key_lengths[:, None, None, None]
    #     hidden = (j >= length) | (IS_CAUSAL & (j - i > length - N_Q))
    #     p = torch.exp(scale * (q @ k.mT) - lse[..., None]).masked_fill(hidden, 0)
    #     ds = p * (do @ v.mT - delta[..., None])
    #     dq = scale * (ds @ k)
    # your code starts here (about 38 lines)
    pid_m = tl.program_id(0)
    batch = (tl.program_id(1) // H_Q).to(tl.int64)
    head = (tl.program_id(1) % H_Q).to(tl.int64)
    head_kv = head // (H_Q // H_KV)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, D)
    mask_m = offs_m < N_Q
    q_row = q_ptr + batch * stride_qb + head * stride_qh
    k_row = k_ptr + batch * stride_kb + head_kv * stride_kh
    v_row = v_ptr + batch * stride_vb + head_kv * stride_vh
    do_row = do_ptr + batch * stride_dob + head * stride_doh
    dq_row = dq_ptr + batch * stride_dqb + head * stride_dqh
    first = (batch * H_Q + head) * N_Q
    # [BLOCK_M, D]
    q = tl.load(q_row + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qd, mask=mask_m[:, None], other=0.0)
    # [BLOCK_M, D]
    do = tl.load(do_row + offs_m[:, None] * stride_dom + offs_d[None, :] * stride_dod, mask=mask_m[:, None], other=0.0)
    # [BLOCK_M]
    lse = tl.load(lse_ptr + first + offs_m, mask=mask_m, other=0.0)
    # [BLOCK_M]
    delta = tl.load(delta_ptr + first + offs_m, mask=mask_m, other=0.0)
    dq = tl.zeros([BLOCK_M, D], tl.float32)
    end_n = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)
    length = end_n
    if IS_CAUSAL:
        # the last query of the tile sees keys up to its own index + length - N_Q: tiles beyond are never loaded
        end_n = tl.minimum(end_n, (pid_m + 1) * BLOCK_M + length - N_Q)
    for start_n in range(0, end_n, BLOCK_N):
        cols = start_n + offs_n
        mask_n = cols < length
        # [BLOCK_N, D]
        k = tl.load(k_row + cols[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=mask_n[:, None], other=0.0)
        # [BLOCK_N, D]
        v = tl.load(v_row + cols[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=mask_n[:, None], other=0.0)
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        s = tl.dot(q, tl.trans(k)) * scale
        seen = mask_n[None, :]
        if IS_CAUSAL:
            seen = seen & (cols[None, :] - offs_m[:, None] <= length - N_Q)
        # a query that sees nothing has lse = -inf, and s + inf is no score: choose after exp, not before
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        dp = tl.dot(do, tl.trans(v))
        ds = p * (dp - delta[:, None])
        # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
        dq = tl.dot(ds.to(k.dtype), k, dq)
    dq_ptrs = dq_row + offs_m[:, None] * stride_dqm + offs_d[None, :] * stride_dqd
    # [BLOCK_M, D]
    tl.store(dq_ptrs, dq * scale, mask=mask_m[:, None])
    # your code ends here
