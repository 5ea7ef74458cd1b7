"""FlashAttention, forward, made fast: base two, full tiles without a mask, tensor descriptors, long rows first."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_fast_kernel(
    q_ptr,  # [B, H_Q, N_Q, D] queries
    k_ptr,  # [B, H_KV, N_KV, D] keys
    v_ptr,  # [B, H_KV, N_KV, D] values
    o_ptr,  # [B, H_Q, N_Q, D] output
    lse_ptr,  # [B, H_Q, N_Q] float32 log-sum-exp of each query's scaled scores, base e, contiguous
    stride_qb,  # q: elements from one batch to the next; every stride is a multiple of 16 bytes
    stride_qh,  # q: from one head to the next
    stride_qm,  # q: from one query to the next; the numbers of a row lie side by side
    stride_kb,  # k: elements from one batch to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_vb,  # v: elements from one batch to the next
    stride_vh,  # v: from one head to the next
    stride_vn,  # v: from one value to the next
    stride_ob,  # o: elements from one batch to the next
    stride_oh,  # o: from one head to the next
    stride_om,  # o: from one row to the next
    scale,  # a float above 0, usually 1 / sqrt(D)
    H_Q,  # query heads
    H_KV,  # key and value heads; H_Q is a multiple of it
    N_Q,  # number of queries
    N_KV,  # number of keys
    IS_CAUSAL: tl.constexpr,  # query i sees key j only if j - i <= N_KV - N_Q: the ends are aligned
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (i, j) owns one query tile of batch and head j = batch * H_Q + head. No key seen: 0 and -inf."""
    # In PyTorch:
    #     k, v = (x.repeat_interleave(H_Q // H_KV, dim=1) for x in (k, v))
    #     s = scale * (q @ k.mT)
    #     s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(N_KV - N_Q + 1) & IS_CAUSAL, -torch.inf)
    #     lse = torch.logsumexp(s, dim=-1)
    #     o = torch.softmax(s, dim=-1).nan_to_num() @ v
    # your code starts here (about 47 lines)
    pid_m = tl.program_id(0)
    if IS_CAUSAL:
        pid_m = tl.num_programs(0) - 1 - pid_m  # the longest walk first: none begins when the others are done
    batch = (tl.program_id(1) // H_Q).to(tl.int64)
    head = (tl.program_id(1) % H_Q).to(tl.int64)
    head_kv = head // (H_Q // H_KV)
    q_head = q_ptr + batch * stride_qb + head * stride_qh
    k_head = k_ptr + batch * stride_kb + head_kv * stride_kh
    v_head = v_ptr + batch * stride_vb + head_kv * stride_vh
    o_head = o_ptr + batch * stride_ob + head * stride_oh
    # what lies outside [N_Q, D] or [N_KV, D] is read as 0 and never stored
    q_desc = tl.make_tensor_descriptor(q_head, [N_Q, D], [stride_qm, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_head, [N_KV, D], [stride_kn, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_head, [N_KV, D], [stride_vn, 1], [BLOCK_N, D])
    o_desc = tl.make_tensor_descriptor(o_head, [N_Q, D], [stride_om, 1], [BLOCK_M, D])
    start_m = pid_m * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    end_n = N_KV  # the first key that no query of the tile sees
    whole_n = N_KV  # the first key that some query of the tile does not see
    if IS_CAUSAL:
        end_n = tl.minimum(end_n, start_m + BLOCK_M + N_KV - N_Q)
        whole_n = tl.maximum(tl.minimum(whole_n, start_m + 1 + N_KV - N_Q), 0)
    full_n = whole_n // BLOCK_N * BLOCK_N
    scale_2 = scale * 1.4426950408889634  # log2(e): exp(scale * s) = exp2(scale_2 * s)
    q = q_desc.load([start_m, 0])  # [BLOCK_M, D]
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)  # of scale_2 * s
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for MASKED in tl.static_range(2):  # two loops: tiles that every query sees whole, then the others
        first = full_n if MASKED else 0
        last = end_n if MASKED else full_n
        for start_n in range(first, last, BLOCK_N):
            k = k_desc.load([start_n, 0])  # [BLOCK_N, D]
            # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
            s = tl.dot(q, tl.trans(k))
            if MASKED:
                cols = start_n + offs_n
                seen = cols[None, :] < N_KV
                if IS_CAUSAL:
                    seen = seen & (cols[None, :] - offs_m[:, None] <= N_KV - N_Q)
                s = tl.where(seen, s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1) * scale_2)
            m_safe = m_new
            if MASKED:  # only here a row may have seen nothing yet, and -inf - -inf is NaN
                m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
            alpha = tl.exp2(m_i - m_safe)
            p = tl.exp2(s * scale_2 - m_safe[:, None])  # one multiply-add and one exponential an element
            l_i = l_i * alpha + tl.sum(p, axis=1)
            v = v_desc.load([start_n, 0])  # [BLOCK_N, D]
            # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
            acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
            m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    o_desc.store([start_m, 0], (acc / l_safe[:, None]).to(q.dtype))
    # [BLOCK_M]: back to base e, and -inf where nothing was seen
    lse = (m_i + tl.log2(l_safe)) * 0.6931471805599453
    tl.store(lse_ptr + (batch * H_Q + head) * N_Q + offs_m, lse, mask=offs_m < N_Q)
    # your code ends here
