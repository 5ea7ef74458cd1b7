"""The gradients of attention as fast as plain Triton gets on a Hopper GPU: three kernels, no sum in memory.

What each step buys, on one H200 in bf16 with D = 128, N = 16384 and 16 heads, all three launches (docs/speed.md has a full run):

two kernels     dK and dV belong to a tile of keys, dQ to a tile of queries. Each sum stays with one program, at the price of seven
                products where five would do. One kernel that adds dQ to memory: 307 TFLOP/s at best, and no two runs alike.
scores on end   dK and dV work on k @ q^T: the weights are then already the left operand of both products, and nothing is transposed
                between two products.
descriptors     442 for the same 64 x 64 tiles and 4 warps, with pointers 411.
one loop        under a causal mask every tile is masked. A loop of its own for the diagonal costs more than the mask: its loads
                wait, and dK and dV alone fall from 605 to 476.
specialisation  pays in dQ, with tiles of 128 x 128: 458. dK and dV keep two accumulators, and 64 x 64 tiles with two programs on a
                multiprocessor are faster there (618 against 582 alone).

The ceiling of this form is 5 / 7 of a matrix product, some 486 TFLOP/s where `torch.mm` reaches 680.
"""

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from solutions.fast.launching import allow_descriptors, check_heads, check_statistics


@triton.jit
def rows_kernel(
    o_ptr,  # [B * H, N, D] output of the forward pass
    do_ptr,  # [B * H, N, D] gradient of the output
    lse_ptr,  # [B * H, N] float32 log-sum-exp of each query's scaled scores
    lse2_ptr,  # [B * H, ROWS] float32: the same in base two, inf past N, so that a query that is none has weights of 0
    delta_ptr,  # [B * H, ROWS] float32: the sum of o * do over each row, 0 past N
    N,  # number of queries
    ROWS,  # N up to the next multiple of 128
    D: tl.constexpr,  # head dimension: 64 or 128
    BLOCK_M: tl.constexpr,  # rows per program
):
    """Program (i, head) owns BLOCK_M rows."""
    head = tl.program_id(1).to(tl.int64)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = offs_m < N
    at = (head * N + offs_m)[:, None] * D + tl.arange(0, D)[None, :]
    # [BLOCK_M, D]
    o = tl.load(o_ptr + at, mask=mask_m[:, None], other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at, mask=mask_m[:, None], other=0.0).to(tl.float32)
    # [BLOCK_M]
    lse = tl.load(lse_ptr + head * N + offs_m, mask=mask_m, other=float("inf"))
    tl.store(lse2_ptr + head * ROWS + offs_m, lse * 1.4426950408889634)
    tl.store(delta_ptr + head * ROWS + offs_m, tl.sum(o * do, axis=1))


@triton.jit
def dkdv_kernel(
    q_ptr,  # [B * H, N, D] queries, without gaps, like all tensors here
    k_ptr,  # [B * H, N, D] keys
    v_ptr,  # [B * H, N, D] values
    do_ptr,  # [B * H, N, D] gradient of the output
    lse2_ptr,  # [B * H, ROWS] float32, from rows_kernel
    delta_ptr,  # [B * H, ROWS] float32, likewise
    dk_ptr,  # [B * H, N, D] gradient of the keys
    dv_ptr,  # [B * H, N, D] gradient of the values
    scale,  # a float above 0, usually 1 / sqrt(D)
    N,  # number of queries and of keys
    ROWS,  # N up to the next multiple of 128
    IS_CAUSAL: tl.constexpr,  # query i sees keys 0 to i
    BLOCK_M: tl.constexpr,  # queries per tile; BLOCK_N is a multiple of it
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 64 or 128
    STAGES: tl.constexpr,  # tiles of queries on their way at a time
):
    """Program (i, head) owns key tile i and walks over the queries that see it."""
    start_n = tl.program_id(0) * BLOCK_N
    head = tl.program_id(1).to(tl.int64)
    q_desc = tl.make_tensor_descriptor(q_ptr + head * N * D, [N, D], [D, 1], [BLOCK_M, D])
    do_desc = tl.make_tensor_descriptor(do_ptr + head * N * D, [N, D], [D, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr + head * N * D, [N, D], [D, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head * N * D, [N, D], [D, 1], [BLOCK_N, D])
    dk_desc = tl.make_tensor_descriptor(dk_ptr + head * N * D, [N, D], [D, 1], [BLOCK_N, D])
    dv_desc = tl.make_tensor_descriptor(dv_ptr + head * N * D, [N, D], [D, 1], [BLOCK_N, D])
    lse2_ptr += head * ROWS
    delta_ptr += head * ROWS
    offs_m = tl.arange(0, BLOCK_M)
    offs_n = start_n + tl.arange(0, BLOCK_N)
    # [BLOCK_N, D]
    k = k_desc.load([start_n, 0])
    v = v_desc.load([start_n, 0])
    dk = tl.zeros([BLOCK_N, D], tl.float32)
    dv = tl.zeros([BLOCK_N, D], tl.float32)
    for start_m in tl.range(start_n if IS_CAUSAL else 0, N, BLOCK_M, num_stages=STAGES):
        rows = start_m + offs_m
        # [BLOCK_M, D]
        q = q_desc.load([start_m, 0])
        do = do_desc.load([start_m, 0])
        # [BLOCK_M]
        lse2 = tl.load(lse2_ptr + rows)
        delta = tl.load(delta_ptr + rows)
        # [BLOCK_N, BLOCK_M] = [BLOCK_N, D] @ [D, BLOCK_M]
        p = tl.exp2(tl.dot(k, tl.trans(q)) * (scale * 1.4426950408889634) - lse2[None, :])
        if IS_CAUSAL:
            p = tl.where(offs_m[None, :] >= (offs_n - start_m)[:, None], p, 0.0)
        # [BLOCK_N, D] += [BLOCK_N, BLOCK_M] @ [BLOCK_M, D]
        dv = tl.dot(p.to(do.dtype), do, dv)
        # [BLOCK_N, BLOCK_M] = [BLOCK_N, D] @ [D, BLOCK_M]
        dp = tl.dot(v, tl.trans(do))
        ds = (p * (dp - delta[None, :])).to(q.dtype)
        # [BLOCK_N, D] += [BLOCK_N, BLOCK_M] @ [BLOCK_M, D]
        dk = tl.dot(ds, q, dk)
    # [BLOCK_N, D]: rows past N are not stored
    dk_desc.store([start_n, 0], (dk * scale).to(k.dtype))
    dv_desc.store([start_n, 0], dv.to(v.dtype))


@triton.jit
def dq_kernel(
    q_ptr,  # [B * H, N, D] queries, without gaps, like all tensors here
    k_ptr,  # [B * H, N, D] keys
    v_ptr,  # [B * H, N, D] values
    do_ptr,  # [B * H, N, D] gradient of the output
    lse2_ptr,  # [B * H, ROWS] float32, from rows_kernel
    delta_ptr,  # [B * H, ROWS] float32, likewise
    dq_ptr,  # [B * H, N, D] gradient of the queries
    scale,  # a float above 0, usually 1 / sqrt(D)
    N,  # number of queries and of keys
    ROWS,  # N up to the next multiple of 128
    IS_CAUSAL: tl.constexpr,  # query i sees keys 0 to i
    MASK_END: tl.constexpr,  # N is no multiple of BLOCK_N
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 64 or 128
    STAGES: tl.constexpr,  # tiles of keys on their way at a time
    SPECIALISED: tl.constexpr,  # a warp group of its own loads
):
    """Program (i, head) owns one query tile; the long rows of a causal head come first."""
    start_m = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1).to(tl.int64)
    q_desc = tl.make_tensor_descriptor(q_ptr + head * N * D, [N, D], [D, 1], [BLOCK_M, D])
    do_desc = tl.make_tensor_descriptor(do_ptr + head * N * D, [N, D], [D, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr + head * N * D, [N, D], [D, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head * N * D, [N, D], [D, 1], [BLOCK_N, D])
    dq_desc = tl.make_tensor_descriptor(dq_ptr + head * N * D, [N, D], [D, 1], [BLOCK_M, D])
    # a vector that a specialised loop uses has to come through a descriptor too
    lse2_desc = tl.make_tensor_descriptor(lse2_ptr + head * ROWS, [ROWS], [1], [BLOCK_M])
    delta_desc = tl.make_tensor_descriptor(delta_ptr + head * ROWS, [ROWS], [1], [BLOCK_M])
    offs_m = tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    # [BLOCK_M, D]
    q = q_desc.load([start_m, 0])
    do = do_desc.load([start_m, 0])
    # [BLOCK_M]
    lse2 = lse2_desc.load([start_m])
    delta = delta_desc.load([start_m])
    dq = tl.zeros([BLOCK_M, D], tl.float32)
    end = tl.minimum(start_m + BLOCK_M, N) if IS_CAUSAL else N
    for start_n in tl.range(0, end, BLOCK_N, num_stages=STAGES, warp_specialize=SPECIALISED):
        # [BLOCK_N, D]
        k = k_desc.load([start_n, 0])
        v = v_desc.load([start_n, 0])
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        p = tl.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634) - lse2[:, None])
        if IS_CAUSAL:
            # offs_m must not hold start_m: Triton 3.6 and 3.7 give the second of two computing groups 64 rows too many then
            p = tl.where(offs_n[None, :] <= (offs_m + (start_m - start_n))[:, None], p, 0.0)
        elif MASK_END:
            p = tl.where(offs_n[None, :] < N - start_n, p, 0.0)
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        dp = tl.dot(do, tl.trans(v))
        ds = p * (dp - delta[:, None])
        # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
        dq = tl.dot(ds.to(k.dtype), k, dq)
    # [BLOCK_M, D]: rows past N are not stored
    dq_desc.store([start_m, 0], (dq * scale).to(q.dtype))


@dataclass(frozen=True)
class Tile:
    """How one of the two kernels is launched; always with 4 warps."""

    block_m: int
    block_n: int
    stages: int
    specialised: bool = False


@dataclass(frozen=True)
class Config:
    dkdv: Tile
    dq: Tile


SMALL = Config(Tile(64, 64, 2), Tile(64, 64, 2))
DEEP = Config(Tile(64, 64, 3), Tile(64, 64, 3))
SHORT = Config(Tile(32, 64, 3), Tile(64, 64, 3))
SPECIALISED = Config(Tile(64, 64, 2), Tile(128, 128, 2, True))
NARROW = Config(Tile(64, 64, 2), Tile(128, 64, 2, True))
CONFIGS = (SMALL, DEEP, SHORT, SPECIALISED, NARROW)
"""Every configuration that `choose` may pick, and those it was chosen from; each is right for any N."""


FASTEST: dict[tuple[int, bool], Config] = {
    (64, False): SHORT,
    (64, True): DEEP,
    (128, False): SPECIALISED,
    (128, True): SPECIALISED,
}
"""By D and causal, on an H200 (docs/speed.md)."""


def choose(heads: int, n: int, d: int, causal: bool) -> Config:
    """The fastest; where there is no tile of 128 rows for every multiprocessor, 64 rows are better."""
    return FASTEST[d, causal] if heads * triton.cdiv(n, 128) >= 132 else SMALL


def attention_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    causal: bool = False,
    scale: float | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dQ, dK, dV of q, k, v, o, do [B, H, N, D] (bf16 or fp16, D 64 or 128) and lse [B, H, N] (float32), all without gaps.

    Raises ValueError for other tensors.
    """
    b, h, n, d = check_heads(q=q, k=k, v=v, o=o, do=do)
    check_statistics(b, h, n, lse=lse)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    rows = triton.cdiv(n, 128) * 128
    lse2, delta = torch.empty(2, b * h, rows, dtype=torch.float32, device=q.device)
    scale = 1 / math.sqrt(d) if scale is None else scale
    c = config or choose(b * h, n, d, causal)
    allow_descriptors()
    rows_kernel[(rows // 64, b * h)](o, do, lse, lse2, delta, n, rows, D=d, BLOCK_M=64, num_warps=4)
    inputs, t = (q, k, v, do, lse2, delta), c.dkdv
    meta = {"IS_CAUSAL": causal, "BLOCK_M": t.block_m, "BLOCK_N": t.block_n, "D": d, "STAGES": t.stages}
    grid = (triton.cdiv(n, t.block_n), b * h)
    dkdv_kernel[grid](*inputs, dk, dv, scale, n, rows, **meta, num_warps=4, num_stages=t.stages)
    t = c.dq
    meta = {"IS_CAUSAL": causal, "BLOCK_M": t.block_m, "BLOCK_N": t.block_n, "D": d, "STAGES": t.stages}
    meta |= {"MASK_END": n % t.block_n > 0, "SPECIALISED": t.specialised}
    grid = (triton.cdiv(n, t.block_m), b * h)
    dq_kernel[grid](*inputs, dq, scale, n, rows, **meta, num_warps=4, num_stages=t.stages)
    return dq, dk, dv
