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


@triton.jit
def delta_kernel(
    o_ptr,  # [R, D] output of the forward pass, R = B * H * N rows
    do_ptr,  # [R, D] gradient of the output
    delta_ptr,  # [R] float32: the sum of o * do over each row
    R,  # number of rows
    BLOCK_R: tl.constexpr,  # rows per program
    D: tl.constexpr,  # head dimension: 64 or 128
):
    """Program i owns BLOCK_R rows."""
    rows = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    at = rows[:, None] * D + tl.arange(0, D)[None, :]
    # [BLOCK_R, D]
    o = tl.load(o_ptr + at, mask=(rows < R)[:, None], other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at, mask=(rows < R)[:, None], other=0.0).to(tl.float32)
    # [BLOCK_R]
    tl.store(delta_ptr + rows, tl.sum(o * do, axis=1), mask=rows < R)


@triton.jit
def dkdv_kernel(
    q_ptr,  # [B * H, N, D] queries, without gaps, like all tensors here
    k_ptr,  # [B * H, N, D] keys
    v_ptr,  # [B * H, N, D] values
    do_ptr,  # [B * H, N, D] gradient of the output
    lse_ptr,  # [B * H, N] float32 log-sum-exp of each query's scaled scores
    delta_ptr,  # [B * H, N] float32 row sums of o * do
    dk_ptr,  # [B * H, N, D] gradient of the keys
    dv_ptr,  # [B * H, N, D] gradient of the values
    scale,  # a float above 0, usually 1 / sqrt(D)
    N,  # number of queries and of keys
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
        # [BLOCK_M]: a query past N has the weights exp2(0 - inf) = 0
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=float("inf")) * 1.4426950408889634
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        # [BLOCK_N, BLOCK_M] = [BLOCK_N, D] @ [D, BLOCK_M]
        p = tl.exp2(tl.dot(k, tl.trans(q)) * (scale * 1.4426950408889634) - lse[None, :])
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
    lse_ptr,  # [B * H, N] float32 log-sum-exp of each query's scaled scores
    delta_ptr,  # [B * H, N] float32 row sums of o * do
    dq_ptr,  # [B * H, N, D] gradient of the queries
    scale,  # a float above 0, usually 1 / sqrt(D)
    N,  # number of queries and of keys
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
    # a vector that a specialised loop uses has to come through a descriptor too; what it reads past N belongs to rows not stored
    rows = tl.num_programs(1) * N
    lse_desc = tl.make_tensor_descriptor(lse_ptr, [rows], [1], [BLOCK_M])
    delta_desc = tl.make_tensor_descriptor(delta_ptr, [rows], [1], [BLOCK_M])
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    # [BLOCK_M, D]
    q = q_desc.load([start_m, 0])
    do = do_desc.load([start_m, 0])
    # [BLOCK_M]
    lse = lse_desc.load([tl.program_id(1) * N + start_m]) * 1.4426950408889634
    delta = delta_desc.load([tl.program_id(1) * N + start_m])
    dq = tl.zeros([BLOCK_M, D], tl.float32)
    end = tl.minimum(start_m + BLOCK_M, N) if IS_CAUSAL else N
    for start_n in tl.range(0, end, BLOCK_N, num_stages=STAGES, warp_specialize=SPECIALISED):
        # [BLOCK_N, D]
        k = k_desc.load([start_n, 0])
        v = v_desc.load([start_n, 0])
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        p = tl.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634) - lse[:, None])
        if IS_CAUSAL:
            p = tl.where(offs_n[None, :] <= (offs_m - start_n)[:, None], p, 0.0)
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
SPECIALISED = Config(Tile(64, 64, 2), Tile(128, 128, 2, True))
NARROW = Config(Tile(64, 64, 2), Tile(128, 64, 2, True))
CONFIGS = (SMALL, SPECIALISED, NARROW)
"""Every configuration that `choose` may pick, and those it was chosen from; each is right for any N."""


def choose(heads: int, n: int) -> Config:
    """The fastest on an H200 (docs/speed.md). Where there is no tile of 128 rows for every multiprocessor, 64 rows are better."""
    return SPECIALISED if heads * triton.cdiv(n, 128) >= 132 else SMALL


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
    b, h, n, d = q.shape
    whole = all(t.shape == q.shape and t.is_contiguous() for t in (q, k, v, o, do))
    if d not in (64, 128) or not whole or lse.shape != (b, h, n) or not lse.is_contiguous():
        raise ValueError(
            f"q, k, v, o and do have to be [B, H, N, 64 or 128] without gaps, and lse [B, H, N]; q is {[*q.shape]}"
        )
    dq, dk, dv, delta = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), torch.empty_like(lse)
    scale = 1 / math.sqrt(d) if scale is None else scale
    c = config or choose(b * h, n)
    # descriptors made in a kernel lie in memory that the launch asks for
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=q.device))
    delta_kernel[(triton.cdiv(b * h * n, 64),)](o, do, delta, b * h * n, BLOCK_R=64, D=d, num_warps=4)
    inputs, t = (q, k, v, do, lse, delta), c.dkdv
    meta = {"IS_CAUSAL": causal, "BLOCK_M": t.block_m, "BLOCK_N": t.block_n, "D": d, "STAGES": t.stages}
    grid = (triton.cdiv(n, t.block_n), b * h)
    dkdv_kernel[grid](*inputs, dk, dv, scale, n, **meta, num_warps=4, num_stages=t.stages)
    t = c.dq
    meta = {"IS_CAUSAL": causal, "BLOCK_M": t.block_m, "BLOCK_N": t.block_n, "D": d, "STAGES": t.stages}
    meta |= {"MASK_END": n % t.block_n > 0, "SPECIALISED": t.specialised}
    grid = (triton.cdiv(n, t.block_m), b * h)
    dq_kernel[grid](*inputs, dq, scale, n, **meta, num_warps=4, num_stages=t.stages)
    return dq, dk, dv
