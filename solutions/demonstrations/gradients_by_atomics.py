"""All gradients of attention in one kernel: dK and dV stay with their program, the shares of dQ meet in memory, in atomic additions."""

import triton
import triton.language as tl


@triton.jit
def gradients_by_atomics_kernel(
    q_ptr,  # [N_Q, D] queries; all tensors lie without gaps
    k_ptr,  # [N_KV, D] keys
    v_ptr,  # [N_KV, D] values
    do_ptr,  # [N_Q, D] gradient of the output
    lse_ptr,  # [N_Q] float32 log-sum-exp of each query's scaled scores
    delta_ptr,  # [N_Q] float32 sum of do * o over each query's row
    dk_ptr,  # [N_KV, D] gradient of the keys
    dv_ptr,  # [N_KV, D] gradient of the values
    dq_ptr,  # [N_Q, D] float32 gradient of the queries: zeros at the start
    scale,  # a float above 0, usually 1 / sqrt(D)
    N_Q,  # number of queries
    N_KV,  # number of keys
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program i owns key tile i, walks over all queries, and adds its share of every dQ to memory."""
    offs_n = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    mask_n = offs_n < N_KV
    at_keys = offs_n[:, None] * D + offs_d[None, :]
    # [BLOCK_N, D]
    k = tl.load(k_ptr + at_keys, mask=mask_n[:, None], other=0.0)
    # [BLOCK_N, D]
    v = tl.load(v_ptr + at_keys, mask=mask_n[:, None], other=0.0)
    dk = tl.zeros([BLOCK_N, D], tl.float32)
    dv = tl.zeros([BLOCK_N, D], tl.float32)
    for start_m in range(0, N_Q, BLOCK_M):
        rows = start_m + tl.arange(0, BLOCK_M).to(tl.int64)
        mask_m = rows < N_Q
        at_queries = rows[:, None] * D + offs_d[None, :]
        # [BLOCK_M, D]
        q = tl.load(q_ptr + at_queries, mask=mask_m[:, None], other=0.0)
        # [BLOCK_M, D]
        do = tl.load(do_ptr + at_queries, mask=mask_m[:, None], other=0.0)
        # [BLOCK_M]
        lse = tl.load(lse_ptr + rows, mask=mask_m, other=0.0)
        # [BLOCK_M]
        delta = tl.load(delta_ptr + rows, mask=mask_m, other=0.0)
        # [BLOCK_N, BLOCK_M] = [BLOCK_N, D] @ [D, BLOCK_M]
        s = tl.dot(k, tl.trans(q)) * scale
        p = tl.where(mask_n[:, None], tl.exp(s - lse[None, :]), 0.0)
        # [BLOCK_N, D] += [BLOCK_N, BLOCK_M] @ [BLOCK_M, D]
        dv = tl.dot(p.to(do.dtype), do, dv)
        # [BLOCK_N, BLOCK_M] = [BLOCK_N, D] @ [D, BLOCK_M]
        dp = tl.dot(v, tl.trans(do))
        ds = (p * (dp - delta[None, :])).to(q.dtype)
        # [BLOCK_N, D] += [BLOCK_N, BLOCK_M] @ [BLOCK_M, D]
        dk = tl.dot(ds, q, dk)
        # what these keys add to dQ; the other programs add theirs to the same numbers, in any order
        # [D, BLOCK_M] = [D, BLOCK_N] @ [BLOCK_N, BLOCK_M]
        dq = tl.dot(tl.trans(k), ds) * scale
        tl.atomic_add(dq_ptr + offs_d[:, None] + rows[None, :] * D, dq, mask=mask_m[None, :], sem="relaxed")
    # [BLOCK_N, D]
    tl.store(dk_ptr + at_keys, dk * scale, mask=mask_n[:, None])
    # [BLOCK_N, D]
    tl.store(dv_ptr + at_keys, dv, mask=mask_n[:, None])
