"""FlashAttention, backward: the gradients of keys and values, one tile of keys after another, nothing remembered but two vectors."""

import triton
import triton.language as tl


@triton.jit
def attention_dkdv_kernel(
    q_ptr,  # [B, H_Q, N_Q, D] queries
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    do_ptr,  # [B, H_Q, N_Q, D] gradient of the output
    lse_ptr,  # [B, H_Q, N_Q] float32 log-sum-exp of each query's scaled scores, contiguous; -inf where it sees no key
    delta_ptr,  # [B, H_Q, N_Q] float32 sum of do * o over each query's row, contiguous
    dk_ptr,  # [B, H_KV, N_KV, D] gradient of the keys
    dv_ptr,  # [B, H_KV, N_KV, D] gradient of the values
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist; their gradients are 0
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
    stride_dkb,  # dk: elements from one batch to the next
    stride_dkh,  # dk: from one head to the next
    stride_dkn,  # dk: from one key to the next
    stride_dkd,  # dk: from one number of a row to the next
    stride_dvb,  # dv: elements from one batch to the next
    stride_dvh,  # dv: from one head to the next
    stride_dvn,  # dv: from one value to the next
    stride_dvd,  # dv: from one number of a row to the next
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
    """Program (i, j) owns key tile i of batch and key head j = batch * H_KV + head_kv, for all its query heads."""
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     i, j, length = torch.arange(N_Q)[:, None], torch.arange(N_KV), key_lengths[:, None, None, None]
    #     hidden = (j >= length) | (IS_CAUSAL & (j - i > length - N_Q))
    #     p = torch.exp(scale * (q @ k.mT) - lse[..., None]).masked_fill(hidden, 0)
    #     ds = p * (do @ v.mT - delta[..., None])
    #     dk, dv = (x.unflatten(1, (H_KV, -1)).sum(dim=2) for x in (scale * (ds.mT @ q), p.mT @ do))
    # your code starts here (about 46 lines)
    pid_n = tl.program_id(0)
    batch = (tl.program_id(1) // H_KV).to(tl.int64)
    head_kv = (tl.program_id(1) % H_KV).to(tl.int64)
    group = H_Q // H_KV
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    offs_m = tl.arange(0, BLOCK_M).to(tl.int64)
    offs_d = tl.arange(0, D)
    length = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)
    mask_n = offs_n < length
    k_row = k_ptr + batch * stride_kb + head_kv * stride_kh
    v_row = v_ptr + batch * stride_vb + head_kv * stride_vh
    # [BLOCK_N, D]
    k = tl.load(k_row + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=mask_n[:, None], other=0.0)
    # [BLOCK_N, D]
    v = tl.load(v_row + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=mask_n[:, None], other=0.0)
    dk = tl.zeros([BLOCK_N, D], tl.float32)
    dv = tl.zeros([BLOCK_N, D], tl.float32)
    begin_m = 0
    if IS_CAUSAL:
        # the first key of the tile is seen from its own index - (length - N_Q) on: tiles before that are never loaded
        begin_m = tl.maximum(pid_n * BLOCK_N - (length - N_Q), 0) // BLOCK_M * BLOCK_M
    end_m = tl.where(pid_n * BLOCK_N < length, N_Q, 0)  # nobody sees a tile of padding
    for head in range(head_kv * group, (head_kv + 1) * group):
        q_row = q_ptr + batch * stride_qb + head * stride_qh
        do_row = do_ptr + batch * stride_dob + head * stride_doh
        first = (batch * H_Q + head) * N_Q
        for start_m in range(begin_m, end_m, BLOCK_M):
            rows = start_m + offs_m
            mask_m = rows < N_Q
            q_ptrs = q_row + rows[:, None] * stride_qm + offs_d[None, :] * stride_qd
            do_ptrs = do_row + rows[:, None] * stride_dom + offs_d[None, :] * stride_dod
            # [BLOCK_M, D]
            q = tl.load(q_ptrs, mask=mask_m[:, None], other=0.0)
            # [BLOCK_M, D]
            do = tl.load(do_ptrs, mask=mask_m[:, None], other=0.0)
            # [BLOCK_M]
            lse = tl.load(lse_ptr + first + rows, mask=mask_m, other=0.0)
            # [BLOCK_M]
            delta = tl.load(delta_ptr + first + rows, mask=mask_m, other=0.0)
            # keys down, queries across, so that p and ds need no transposing: [BLOCK_N, BLOCK_M] = [BLOCK_N, D] @ [D, BLOCK_M]
            s = tl.dot(k, tl.trans(q)) * scale
            seen = mask_n[:, None]
            if IS_CAUSAL:
                seen = seen & (offs_n[:, None] - rows[None, :] <= length - N_Q)
            # a query that sees nothing has lse = -inf, and s + inf is no score: choose after exp, not before
            p = tl.where(seen, tl.exp(s - lse[None, :]), 0.0)
            # [BLOCK_N, D] += [BLOCK_N, BLOCK_M] @ [BLOCK_M, D]
            dv = tl.dot(p.to(do.dtype), do, dv)
            # [BLOCK_N, BLOCK_M] = [BLOCK_N, D] @ [D, BLOCK_M]
            dp = tl.dot(v, tl.trans(do))
            ds = p * (dp - delta[None, :])
            # [BLOCK_N, D] += [BLOCK_N, BLOCK_M] @ [BLOCK_M, D]
            dk = tl.dot(ds.to(q.dtype), q, dk)
    stored = offs_n[:, None] < N_KV
    dk_row = dk_ptr + batch * stride_dkb + head_kv * stride_dkh
    dv_row = dv_ptr + batch * stride_dvb + head_kv * stride_dvh
    # [BLOCK_N, D]
    tl.store(dk_row + offs_n[:, None] * stride_dkn + offs_d[None, :] * stride_dkd, dk * scale, mask=stored)
    # [BLOCK_N, D]
    tl.store(dv_row + offs_n[:, None] * stride_dvn + offs_d[None, :] * stride_dvd, dv, mask=stored)
    # your code ends here
