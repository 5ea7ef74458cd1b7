"""Attention, forward, as fast as plain Triton gets on a Hopper GPU: the kernel of `flash_attention_heads` for one layout.

What each step buys, in TFLOP/s on one H200 in bf16 with D = 128, N = 16384 and 16 heads, full, measured step by step by us with Triton 3.6
(docs/speed.md has one run of everything beside cuDNN):

base two        `exp2(s * c - m)` with c = scale * log2(e): one multiply-add and one instruction for an exponential.
descriptors     the copy engine (TMA) brings a tile into shared memory, already swizzled, and stops at the end of a head by
                itself: 458 -> 533 for the same 64 x 64 tiles. No thread computes an address.
small tiles     64 x 64 with 4 warps needs so few registers that two programs share a multiprocessor: one multiplies while the
                other is at its softmax. 128 x 64 with 8 warps: 487.
two loops       only the tiles on the diagonal and at the end are masked; the loop over full tiles has no `where`.
specialisation  one warp group loads, two compute 64 rows each: 543. Triton documents it for Blackwell only. On a Hopper, Triton 3.6 wants
                4 warps, 2 stages, descriptors made in the kernel and all products in one loop; with 3 stages it compiles and gives
                NaN, with 8 warps it does nothing.
persistent      one program per multiprocessor walks over the tiles, with nothing idle between one tile and the next: 611.
balance         under a causal mask a late tile is long. Every other head is walked backwards, so that each program gets as many
                long tiles as short ones; with one tile a program, the long ones go first.
sum last        where the sum of the weights stands decides what is alive beside the product: with D = 128, 556 with the sum before
                it and 587 after it; with D = 64 and 256 keys, the sum after it makes 104 bytes a thread spill.
"""

import math
from dataclasses import dataclass, replace

import torch
import triton
import triton.language as tl

from solutions.fast.launching import allow_descriptors, check, check_grouped, multiprocessors


@triton.jit
def weigh(s, m_i, qk_scale):
    """Online softmax in base two: the weights of a tile of scores, the factor for what came before, and the new maximum."""
    # [BLOCK_M]
    m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)
    # [BLOCK_M, BLOCK_N], [BLOCK_M], [BLOCK_M]
    return tl.exp2(s * qk_scale - m_new[:, None]), tl.exp2(m_i - m_new), m_new


@triton.jit
def attention_kernel(
    q_ptr,  # [B * H_Q, N_Q, D] queries, without gaps, like all tensors here
    k_ptr,  # [B * H_KV, N_KV, D] keys
    v_ptr,  # [B * H_KV, N_KV, D] values
    o_ptr,  # [B * H_Q, N_Q, D] output: 0 where a query sees no key
    lse_ptr,  # [B * H_Q, N_Q] float32 log-sum-exp of each query's scaled scores: -inf where it sees no key
    key_lengths_ptr,  # [B] int32: keys past key_lengths[b] do not exist; None if all do
    scale,  # a float above 0, usually 1 / sqrt(D)
    H_Q,  # query heads
    GROUP,  # query heads that share a head of keys
    N_Q,  # number of queries
    N_KV,  # number of keys in memory
    IS_CAUSAL: tl.constexpr,  # the last query sees all keys, and each before it one less
    RAGGED: tl.constexpr,  # there are key lengths
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 64 or 128
    SUM_FIRST: tl.constexpr,  # sum the weights before their product with the values, not after it
    STAGES: tl.constexpr,  # tiles of keys on their way at a time
):
    """Program (i, head) owns one query tile; the long rows of a causal head come first."""
    pid_m = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    head_kv = head // GROUP
    length = N_KV
    rows = N_KV  # a descriptor ends where the keys do: what lies behind them may be NaN, and its weight is 0
    if RAGGED:
        length = tl.minimum(tl.load(key_lengths_ptr + head // H_Q), N_KV)
        rows = tl.maximum(length, 1)  # no descriptor is empty
    q_desc = tl.make_tensor_descriptor(q_ptr + head * N_Q * D, [N_Q, D], [D, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr + head_kv * N_KV * D, [rows, D], [D, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head_kv * N_KV * D, [rows, D], [D, 1], [BLOCK_N, D])
    o_desc = tl.make_tensor_descriptor(o_ptr + head * N_Q * D, [N_Q, D], [D, 1], [BLOCK_M, D])
    start_m = pid_m * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    qk_scale = scale * 1.4426950408889634
    # [BLOCK_M, D]
    q = q_desc.load([start_m, 0])
    # finite, because a query may see no key, and -inf - -inf is NaN
    m_i = tl.full([BLOCK_M], -1.0e30, tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    end = length
    seen_by_all = length
    if IS_CAUSAL:
        end = tl.minimum(length, start_m + BLOCK_M + length - N_Q)
        seen_by_all = tl.maximum(tl.minimum(length, start_m + 1 + length - N_Q), 0)
    full = seen_by_all // BLOCK_N * BLOCK_N
    for start_n in tl.range(0, full, BLOCK_N, num_stages=STAGES):
        # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
        s = tl.dot(q, tl.trans(k_desc.load([start_n, 0])))
        p, alpha, m_i = weigh(s, m_i, qk_scale)
        if SUM_FIRST:
            l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None]
        # [BLOCK_N, D]
        v = v_desc.load([start_n, 0])
        # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
        acc = tl.dot(p.to(v.dtype), v, acc)
        if not SUM_FIRST:
            l_i = l_i * alpha + tl.sum(p, axis=1)
    for start_n in tl.range(full, end, BLOCK_N, num_stages=1):
        s = tl.dot(q, tl.trans(k_desc.load([start_n, 0])))
        seen = (start_n + offs_n)[None, :] < length
        if IS_CAUSAL:
            seen = seen & (start_n + offs_n[None, :] <= offs_m[:, None] + (length - N_Q))
        p, alpha, m_i = weigh(tl.where(seen, s, float("-inf")), m_i, qk_scale)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        v = v_desc.load([start_n, 0])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
    # [BLOCK_M, D]: rows past N_Q are not stored
    o_desc.store([start_m, 0], (acc / tl.where(l_i > 0, l_i, 1.0)[:, None]).to(q.dtype))
    # [BLOCK_M]: back to base e
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453
    tl.store(lse_ptr + head * N_Q + offs_m, lse, mask=offs_m < N_Q)


@triton.jit
def attention_specialised_kernel(
    q_ptr,  # [B * H_Q, N, D] queries, without gaps, like all tensors here
    k_ptr,  # [B * H_KV, N, D] keys
    v_ptr,  # [B * H_KV, N, D] values
    o_ptr,  # [B * H_Q, N, D] output
    lse_ptr,  # [B * H_Q, N] float32 log-sum-exp of each query's scaled scores
    scale,  # a float above 0, usually 1 / sqrt(D)
    heads,  # B * H_Q
    GROUP,  # query heads that share a head of keys
    N,  # number of queries and of keys
    IS_CAUSAL: tl.constexpr,  # query i sees keys 0 to i
    MASK_END: tl.constexpr,  # N is no multiple of BLOCK_N
    PERSISTENT: tl.constexpr,  # fewer programs than tiles
    BLOCK_M: tl.constexpr,  # queries per tile: 128, so that each of the two computing warp groups has 64 rows
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 64 or 128
    SUM_FIRST: tl.constexpr,  # sum the weights before their product with the values, not after it
    STAGES: tl.constexpr,  # tiles of keys on their way at a time: 2
):
    """Program i owns the query tiles i, i + programs, i + 2 * programs, ... of all heads."""
    tiles = tl.cdiv(N, BLOCK_M)
    q_desc = tl.make_tensor_descriptor(q_ptr, [heads * N, D], [D, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [heads // GROUP, N, D], [N * D, D, 1], [1, BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [heads // GROUP, N, D], [N * D, D, 1], [1, BLOCK_N, D])
    offs_d = tl.arange(0, D)
    offs_n = tl.arange(0, BLOCK_N)
    qk_scale = scale * 1.4426950408889634
    for tile in tl.range(tl.program_id(0), heads * tiles, tl.num_programs(0), num_stages=1):
        head = tile // tiles
        head_kv = head // GROUP
        pid_m = tile % tiles
        if IS_CAUSAL:  # long rows first, and every other head the other way round where a program has several tiles
            pid_m = tl.where(head % 2 == 1, pid_m, tiles - 1 - pid_m) if PERSISTENT else tiles - 1 - pid_m
        start_m = pid_m * BLOCK_M
        offs_m = start_m + tl.arange(0, BLOCK_M)
        # [BLOCK_M, D]
        q = q_desc.load([head * N + start_m, 0])
        m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
        l_i = tl.zeros([BLOCK_M], tl.float32)
        acc = tl.zeros([BLOCK_M, D], tl.float32)
        end = tl.minimum(start_m + BLOCK_M, N) if IS_CAUSAL else N
        for start_n in tl.range(0, end, BLOCK_N, num_stages=STAGES, warp_specialize=True):
            # [BLOCK_N, D]
            k = k_desc.load([head_kv, start_n, 0]).reshape([BLOCK_N, D])
            # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
            s = tl.dot(q, tl.trans(k))
            if IS_CAUSAL:  # a key past N is later than every query before N
                s = tl.where(offs_n[None, :] <= (offs_m - start_n)[:, None], s, float("-inf"))
            elif MASK_END:
                s = tl.where(offs_n[None, :] < N - start_n, s, float("-inf"))
            p, alpha, m_i = weigh(s, m_i, qk_scale)
            if SUM_FIRST:
                l_i = l_i * alpha + tl.sum(p, axis=1)
            acc = acc * alpha[:, None]
            # [BLOCK_N, D]
            v = v_desc.load([head_kv, start_n, 0]).reshape([BLOCK_N, D])
            # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
            acc = tl.dot(p.to(v.dtype), v, acc)
            if not SUM_FIRST:
                l_i = l_i * alpha + tl.sum(p, axis=1)
        row = head.to(tl.int64) * N + offs_m
        # [BLOCK_M, D]
        tl.store(o_ptr + row[:, None] * D + offs_d[None, :], acc / l_i[:, None], mask=(offs_m < N)[:, None])
        # [BLOCK_M]: back to base e
        lse = (m_i + tl.log2(l_i)) * 0.6931471805599453
        tl.store(lse_ptr + row, lse, mask=offs_m < N)


@dataclass(frozen=True)
class Config:
    """How one of the two kernels is launched; always with 4 warps. `persistent` needs `specialised`."""

    specialised: bool
    block_m: int
    block_n: int
    stages: int
    persistent: bool = False
    sum_first: bool = False


PLAIN = {64: Config(False, 64, 128, 2, sum_first=True), 128: Config(False, 64, 64, 3)}
SPECIALISED = Config(True, 128, 128, 2, persistent=True)
ONE_TILE = Config(True, 128, 128, 2)
WIDE = Config(True, 128, 256, 2, persistent=True, sum_first=True)  # D = 64 without a mask: a product of twice the width


def configs(d: int, causal: bool) -> list[Config]:
    """Every configuration that `choose` may pick, and those it was chosen from; each is right for any N."""
    wide = [WIDE] if d == 64 and not causal else []
    first = [replace(SPECIALISED, sum_first=True), replace(ONE_TILE, sum_first=True)]
    return [PLAIN[d], replace(PLAIN[d], sum_first=d == 128), SPECIALISED, ONE_TILE, *first, *wide]


FASTEST: dict[tuple[int, bool, bool], Config] = {
    (64, False, False): WIDE,
    (64, False, True): PLAIN[64],
    (64, True, False): PLAIN[64],
    (64, True, True): PLAIN[64],
    (128, False, False): SPECIALISED,
    (128, False, True): SPECIALISED,
    (128, True, False): SPECIALISED,
    (128, True, True): PLAIN[128],
}
"""By D, causal, and more than 8192 queries, on an H200 (docs/speed.md)."""


def choose(heads: int, n: int, d: int, causal: bool) -> Config:
    """The fastest; where there is no tile of 128 rows for every multiprocessor, 64 rows are better."""
    return FASTEST[d, causal, n > 8192] if heads * triton.cdiv(n, 128) >= 132 else PLAIN[d]


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    scale: float | None = None,
    key_lengths: torch.Tensor | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and log-sum-exp [B, H_Q, N_Q] (float32) of q [B, H_Q, N_Q, D] and k, v [B, H_KV, N_KV, D]: bf16 or fp16, without gaps.

    D is 64 or 128, H_Q a multiple of H_KV. Batch b has key_lengths[b] keys ([B] int32, all by default), and under a causal mask the
    last query sees the last of them. A query that sees none gives 0 and -inf. Raises ValueError for other tensors, and for a
    specialised `config` where there are lengths or not as many keys as queries.
    """
    b, h_q, h_kv, n_q, n_kv, d = check_grouped(q, k, v)
    square = n_q == n_kv and key_lengths is None
    if key_lengths is not None:
        check((torch.int32,), key_lengths=key_lengths)
        if key_lengths.shape != (b,) or key_lengths.device != q.device:
            raise ValueError(
                f"key_lengths has to be [{b}] on {q.device}, not {[*key_lengths.shape]} on {key_lengths.device}"
            )
    o, lse = torch.empty_like(q), torch.empty(b, h_q, n_q, dtype=torch.float32, device=q.device)
    scale = 1 / math.sqrt(d) if scale is None else scale
    c = config or (choose(b * h_q, n_q, d, causal) if square else PLAIN[d])
    if c.specialised and not square:
        raise ValueError("the specialised kernel needs as many keys as queries in every batch: leave out `config`")
    heads, group = b * h_q, h_q // h_kv
    tiles = triton.cdiv(n_q, c.block_m)
    meta = {"IS_CAUSAL": causal, "BLOCK_M": c.block_m, "BLOCK_N": c.block_n, "D": d}
    meta |= {"SUM_FIRST": c.sum_first, "STAGES": c.stages}
    options = {"num_warps": 4, "num_stages": c.stages}
    allow_descriptors()
    tensors = (q, k, v, o, lse)
    if not c.specialised:
        numbers = (scale, h_q, group, n_q, n_kv)
        meta |= {"RAGGED": key_lengths is not None}
        attention_kernel[(tiles, heads)](*tensors, key_lengths, *numbers, **meta, **options)
        return o, lse
    programs = multiprocessors(q.device) if c.persistent else tiles * heads
    meta |= {"MASK_END": n_q % c.block_n > 0, "PERSISTENT": c.persistent}
    attention_specialised_kernel[(min(programs, tiles * heads),)](*tensors, scale, heads, group, n_q, **meta, **options)
    return o, lse
