"""Attention with few queries and many keys, on all of a GPU: the keys are split, and `merge_softmax_stats` pays off.

A model that writes a text asks with one query a head, and reads all keys for it. `attention` would start one program a head: 8 heads
of keys keep 8 of 132 multiprocessors busy. What is done about it:

groups          query heads that share a head of keys are rows of one tile, so keys are read once for all of them. q [B, H_Q, N_Q, D] lies
                in memory as such rows already. A product wants 16 rows; the missing ones are zeros and cost nothing, memory is the limit.
splits          the keys of a head are shared out, so that no multiprocessor is idle. Each program gives its part's output and log-sum-exp, in
                float32, as if there were no other keys.
waves           133 programs take nearly as long as 264: one is left over when 132 are done, and it reads alone. `cost` weighs this
                against more parts to start and to merge: 3839 GB/s for 17 batches of 8 heads of 16384 keys, not split 2915.
merge           exp(lse_part - lse) is the share of a part in a row's sum: the output is the mean of the parts' outputs by these
                weights. It is the operator of `merge_softmax_stats` with an output in tow, and as associative: any split is right.

The limit is a copy's rate: each key and each value is read once. The parts of 32 heads and 16 splits are 0.3 MB beside 268 MB of keys and values.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
import triton
import triton.language as tl

from solutions.fast.launching import allow_descriptors, check_grouped, multiprocessors


@triton.jit
def part_kernel(
    q_ptr,  # [B * H_KV, ROWS, D] queries, without gaps, like all tensors here; row r is query r % N_Q of head r // N_Q of the group
    k_ptr,  # [B * H_KV, N_KV, D] keys
    v_ptr,  # [B * H_KV, N_KV, D] values
    o_ptr,  # [SPLITS, B * H_KV, ROWS, D] output for the keys of each split: float32, or the queries' type if there is one split
    lse_ptr,  # [SPLITS, B * H_KV, ROWS] float32 log-sum-exp of the scaled scores with them, -inf where a query sees none
    scale,  # a float above 0, usually 1 / sqrt(D)
    heads,  # B * H_KV
    ROWS,  # queries of a group
    N_Q,  # queries of a head
    N_KV,  # keys of a head
    SIZE,  # keys of a split: a multiple of BLOCK_N
    IS_CAUSAL: tl.constexpr,  # query i sees keys 0 to N_KV - N_Q + i
    BLOCK_M: tl.constexpr,  # rows per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 64 or 128
    STAGES: tl.constexpr,  # tiles of keys on their way at a time
):
    """Program (i, split, head) owns row tile i against the keys of a split."""
    split = tl.program_id(1)
    head = tl.program_id(2).to(tl.int64)
    k_desc = tl.make_tensor_descriptor(k_ptr + head * N_KV * D, [N_KV, D], [D, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head * N_KV * D, [N_KV, D], [D, 1], [BLOCK_N, D])
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    mask_m = (offs_m < ROWS)[:, None]
    qk_scale = scale * 1.4426950408889634
    # [BLOCK_M, D]
    q = tl.load(q_ptr + (head * ROWS + offs_m)[:, None] * D + offs_d[None, :], mask=mask_m, other=0.0)
    # [BLOCK_M]: the first key that a query does not see
    seen = tl.zeros([BLOCK_M], tl.int32) + N_KV
    if IS_CAUSAL:
        seen += offs_m % N_Q + 1 - N_Q
    # finite, because a query may see no key of a split, and -inf - -inf is NaN
    m_i = tl.full([BLOCK_M], -1.0e30, tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    start = split * SIZE
    end = tl.minimum(start + SIZE, tl.max(seen, axis=0))
    for start_n in tl.range(start, end, BLOCK_N, num_stages=STAGES):
        # [BLOCK_N, D]
        k = k_desc.load([start_n, 0])
        v = v_desc.load([start_n, 0])
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        s = tl.dot(q, tl.trans(k))
        s = tl.where((start_n + offs_n)[None, :] < seen[:, None], s * qk_scale, float("-inf"))
        # [BLOCK_M]
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    row = (split * heads + head) * ROWS + offs_m
    # [BLOCK_M, D]: 0 where nothing was seen
    o = acc / tl.where(l_i > 0, l_i, 1.0)[:, None]
    tl.store(o_ptr + row[:, None] * D + offs_d[None, :], o, mask=mask_m)
    # [BLOCK_M]: back to base e
    tl.store(lse_ptr + row, (m_i + tl.log2(l_i)) * 0.6931471805599453, mask=offs_m < ROWS)


@triton.jit
def merge_kernel(
    o_part_ptr,  # [SPLITS, ROWS, D] float32 outputs of the parts
    lse_part_ptr,  # [SPLITS, ROWS] float32, their log-sum-exps: -inf where a query saw nothing, not in all parts of a row
    o_ptr,  # [ROWS, D] output
    lse_ptr,  # [ROWS] float32 output
    SPLITS,  # parts of a row
    ROWS,  # queries of all heads
    BLOCK_S: tl.constexpr,  # a power of two, at least SPLITS
    BLOCK_D: tl.constexpr,  # columns per program
    D: tl.constexpr,  # head dimension
):
    """Program (row, i) owns columns i * BLOCK_D onwards of a row."""
    row = tl.program_id(0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    offs_d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask_s = offs_s < SPLITS
    # [BLOCK_S]
    lse_part = tl.load(lse_part_ptr + offs_s * ROWS + row, mask=mask_s, other=float("-inf"))
    m = tl.max(lse_part, axis=0)
    w = tl.exp(lse_part - m)
    l = tl.sum(w, axis=0)
    # [BLOCK_S, BLOCK_D]
    o_part = tl.load(o_part_ptr + (offs_s * ROWS + row)[:, None] * D + offs_d[None, :], mask=mask_s[:, None], other=0.0)
    # [BLOCK_D]
    tl.store(o_ptr + row * D + offs_d, tl.sum(o_part * (w / l)[:, None], axis=0))
    if tl.program_id(1) == 0:
        tl.store(lse_ptr + row, m + tl.log(l))


@dataclass(frozen=True)
class Config:
    """How the keys are walked."""

    block_m: int
    block_n: int
    warps: int
    stages: int


CONFIGS: tuple[Config, ...] = (Config(16, 128, 8, 3), Config(64, 64, 4, 3))
"""For groups of at most 16 queries, and for more; each is right for any shape."""


def share_out(n_kv: int, block_n: int, splits: int) -> tuple[int, int]:
    """The number of splits, at most `splits`, and the keys of each: whole tiles."""
    size = triton.cdiv(triton.cdiv(n_kv, splits), block_n) * block_n
    return triton.cdiv(n_kv, size), size


ALONE, START, MERGE, PART = 0.65, 200, 200, 2
"""What `cost` counts, as keys that a program reads while all multiprocessors read: a key that few programs read, which is faster; a
wave's start; a merge; and a part of it. Measured on an H200 for 1 to 256 tiles of 2048 to 65536 keys, with up to 132 splits: the
cheapest number of splits is 0.8 % slower than the fastest one on average, and 8 % at worst."""


def cost(tiles: int, n_kv: int, block_n: int, splits: int, units: int) -> float:
    """The time that so many splits take: whole waves of a program on each of `units` multiprocessors, and what is left over."""
    count, size = share_out(n_kv, block_n, splits)
    waves, left = divmod(count * tiles, units)
    reading = waves * (size + START) + (max(ALONE, left / units) * size + START if left else 0)
    return reading + (MERGE + PART * count if count > 1 else 0)


@lru_cache(maxsize=4096)
def choose_splits(tiles: int, n_kv: int, block_n: int, units: int) -> int:
    """The cheapest number of splits of which at most eight waves are made."""
    most = max(1, min(units, 8 * units // tiles, triton.cdiv(n_kv, block_n)))
    return min(range(1, most + 1), key=lambda splits: cost(tiles, n_kv, block_n, splits, units))


def attention_split(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    splits: int | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and log-sum-exp [B, H_Q, N_Q] (float32) of q [B, H_Q, N_Q, D] and k, v [B, H_KV, N_KV, D]: bf16 or fp16, without gaps.

    D is 64 or 128, H_Q a multiple of H_KV. Under a causal mask the last query sees all keys, and N_Q <= N_KV. `splits` is how many
    splits there are, at most. Raises ValueError for other tensors.
    """
    b, h_q, h_kv, n_q, n_kv, d = check_grouped(q, k, v)
    if causal and n_q > n_kv:
        raise ValueError(f"under a causal mask {n_q} queries need as many keys, and there are {n_kv}")
    rows = h_q // h_kv * n_q
    c = config or CONFIGS[rows > 16]
    tiles = triton.cdiv(rows, c.block_m) * b * h_kv
    count, size = share_out(n_kv, c.block_n, splits or choose_splits(tiles, n_kv, c.block_n, multiprocessors(q.device)))
    o, lse = torch.empty_like(q), torch.empty(b, h_q, n_q, dtype=torch.float32, device=q.device)
    o_part, lse_part = o, lse
    if count > 1:
        o_part = torch.empty(count, *o.shape, dtype=torch.float32, device=q.device)
        lse_part = torch.empty(count, *lse.shape, dtype=torch.float32, device=q.device)
    allow_descriptors()
    part_kernel[(triton.cdiv(rows, c.block_m), count, b * h_kv)](
        *(q, k, v, o_part, lse_part, 1 / math.sqrt(d), b * h_kv, rows, n_q, n_kv, size),
        IS_CAUSAL=causal,
        BLOCK_M=c.block_m,
        BLOCK_N=c.block_n,
        D=d,
        STAGES=c.stages,
        num_warps=c.warps,
        num_stages=c.stages,
    )
    if count > 1:
        block_s = triton.next_power_of_2(count)
        block_d = max(16, min(d, 4096 // block_s))
        merge_kernel[(lse.numel(), d // block_d)](
            *(o_part, lse_part, o, lse, count, lse.numel()), BLOCK_S=block_s, BLOCK_D=block_d, D=d, num_warps=4
        )
    return o, lse
