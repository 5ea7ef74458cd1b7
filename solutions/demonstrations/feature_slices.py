"""Causal linear attention with the features shared out among programs: their sums meet in memory, in atomic additions."""

import triton
import triton.language as tl


@triton.jit
def feature_slices_kernel(
    q_ptr,  # [B, H, N, D] queries
    k_ptr,  # [B, H, N, D] keys
    v_ptr,  # [B, H, N, D_V] values
    num_ptr,  # [B, H, N, D_V] float32 numerators, without gaps: zeros at the start
    den_ptr,  # [B, H, N] float32 normalisers, without gaps: zeros at the start
    stride_qh,  # elements from one head to the next, of q; the first head of the next batch is the next head
    stride_kh,  # of k
    stride_vh,  # of v
    stride_qm,  # elements from one query to the next
    stride_kn,  # elements from one key to the next
    stride_vn,  # elements from one value to the next
    N,  # number of tokens
    D,  # number of features
    D_V,  # width of the values
    BLOCK_D: tl.constexpr,  # features of one program
    BLOCK_V: tl.constexpr,  # the power of two that holds D_V
):
    """Program (head, slice) keeps BLOCK_D rows of the state, and adds its share of every token's output to memory."""
    head = tl.program_id(0).to(tl.int64)
    offs_d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    offs_v = tl.arange(0, BLOCK_V)
    mask_d = offs_d < D
    mask_v = offs_v < D_V
    q_ptr += head * stride_qh
    k_ptr += head * stride_kh
    v_ptr += head * stride_vh
    num_ptr += head * N * D_V
    den_ptr += head * N
    # the rows of the state that belong to these features, and their sum of keys
    s = tl.zeros([BLOCK_D, BLOCK_V], tl.float32)
    z = tl.zeros([BLOCK_D], tl.float32)
    for start in range(N):
        token = start.to(tl.int64)
        # [BLOCK_D]
        k = tl.load(k_ptr + token * stride_kn + offs_d, mask=mask_d, other=0.0).to(tl.float32)
        # [BLOCK_V]
        v = tl.load(v_ptr + token * stride_vn + offs_v, mask=mask_v, other=0.0).to(tl.float32)
        # elu(k) + 1; a feature past D is none
        k = tl.where(mask_d, tl.maximum(k, 0.0) + tl.exp(tl.minimum(k, 0.0)), 0.0)
        s += k[:, None] * v[None, :]
        z += k
        # [BLOCK_D]
        q = tl.load(q_ptr + token * stride_qm + offs_d, mask=mask_d, other=0.0).to(tl.float32)
        q = tl.maximum(q, 0.0) + tl.exp(tl.minimum(q, 0.0))
        # sums over these features only: the other programs of this head add theirs to the same numbers, in any order
        num = tl.sum(q[:, None] * s, axis=0)
        tl.atomic_add(num_ptr + token * D_V + offs_v, num, mask=mask_v, sem="relaxed")
        tl.atomic_add(den_ptr + token, tl.sum(q * z, axis=0), sem="relaxed")
