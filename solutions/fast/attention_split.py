"""Attention with few queries and many keys, on all of a GPU: keys in one piece or in pages, and as many in each program.

A model that writes a text asks with one query a head, and reads all keys for it. `attention` would start one program a head: 8 heads
of keys keep 8 of 132 multiprocessors busy. What is done about it:

groups          query heads that share a head of keys are rows of one tile, so keys are read once for all of them. q [B, H_Q, N_Q, D] lies
                in memory as such rows already. A product wants 16 rows; the missing ones are zeros and cost nothing, memory is the limit.
a line          think of the keys of all heads and texts as one line, and cut it into as many equal parts as the GPU runs programs. A cut may
                fall anywhere: a program ends one head and begins the next. So no number of heads and no mix of lengths leaves a
                multiprocessor idle, nothing has to be guessed, and Python need not know the lengths, which stay on the GPU.
parts           a program gives the output and the log-sum-exp of its keys of a head, in float32, as if there were no other keys.
merge           a second kernel weighs the parts of each row. Its programs start as those of the first one end, and wait on the GPU for the
                last of them, which saves 1.5 of 3.5 microseconds. The last program of a head could merge instead, without a second
                kernel; our try took 20 microseconds longer.
pages           keys that lie in pages have their addresses in a block table. Numbers of pages are loaded two tiles before the keys.

exp(lse_part - lse) is the share of a part in a row's sum: the output is the mean of the parts' outputs by these weights. It is the
operator of `merge_softmax_stats` with an output in tow, and as associative: any cut is right.

The limit is a copy's rate: each key and each value is read once.
"""

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from solutions.fast.launching import check_grouped, check_paged, multiprocessors

GRAIN = tl.constexpr(16)
"""Keys of a step on the line: cuts fall between steps."""
LEAST = 8
"""Steps of a program, at least: fewer gain nothing."""


@triton.jit
def line_up(lengths_ptr, B, H_KV, N_KV, PROGRAMS, LEAST, BLOCK_B: tl.constexpr):
    """The steps of a program; and [BLOCK_B] each: keys of a text, steps of one of its heads, and where the text ends."""
    offs_b = tl.arange(0, BLOCK_B)
    lengths = tl.zeros([BLOCK_B], tl.int32) + N_KV
    if lengths_ptr is not None:
        lengths = tl.minimum(tl.load(lengths_ptr + offs_b, mask=offs_b < B, other=0), N_KV)
    # at least one, which writes the output of a text without keys
    steps = tl.where(offs_b < B, tl.maximum(tl.cdiv(lengths, GRAIN), 1), 0)
    size = tl.cdiv(tl.sum(steps, axis=0) * H_KV, PROGRAMS)
    # a program that ends one head and begins another waits for memory twice: where it costs little, cut at the ends of heads
    each = PROGRAMS // (B * H_KV)
    even = tl.cdiv(tl.max(steps, axis=0), tl.maximum(each, 1))
    cut = (each > 0) & (even <= size + size // 8)
    size = tl.maximum(tl.where(cut, even, size), LEAST)
    steps = tl.where(cut, tl.cdiv(steps, size) * size, steps)
    return size, lengths, steps, tl.cumsum(steps, axis=0) * H_KV


@triton.jit
def of_text(batch, values, BLOCK_B: tl.constexpr):
    """Element `batch` of values [BLOCK_B]."""
    return tl.sum(tl.where(tl.arange(0, BLOCK_B) == batch, values, 0), axis=0)


@triton.jit
def part_kernel(
    q_ptr,  # [B * H_KV, ROWS, D] queries, without gaps; row r is query r % N_Q of head r // N_Q of the group
    k_ptr,  # [B, H_KV, N_KV, D] keys; or [N_PAGES, H_KV, PAGE, D], pages of any text in any order
    v_ptr,  # values, as the keys
    o_part_ptr,  # [B * H_KV + programs, ROWS, D] float32 scratch: the output of each part
    lse_part_ptr,  # [B * H_KV + programs, ROWS] float32 scratch: its log-sum-exp, in base 2, -inf where a query sees none of its keys
    lengths_ptr,  # [B] int32: keys of a text; None if all have N_KV
    block_table_ptr,  # [B, N_KV / PAGE] int32: the pages of a text, then anything; None if keys are in one piece
    stride_kb,  # k: elements from one text, or page, to the next
    stride_kh,  # k: from one head to the next
    stride_kn,  # k: from one key to the next
    stride_vb,  # v: as for k
    stride_vh,
    stride_vn,
    scale,  # a float above 0, usually 1 / sqrt(D)
    B,  # texts
    H_KV,  # heads of keys
    ROWS,  # queries of a group
    N_Q,  # queries of a head
    N_KV,  # the most keys of a text
    LEAST,  # steps on the line that a program takes at least
    IS_CAUSAL: tl.constexpr,  # query i of a text with n keys sees keys 0 to n - N_Q + i
    PAGE: tl.constexpr,  # keys of a page
    BLOCK_B: tl.constexpr,  # a power of two, at least B
    BLOCK_M: tl.constexpr,  # rows per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 64 or 128
    STAGES: tl.constexpr,  # tiles of keys on their way at a time, plus 1
    OVERLAP: tl.constexpr,  # the next kernel may start, and waits
):
    """Program (i, p) owns row tile i of each head on part p of the line."""
    p = tl.program_id(1)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    mask_m = offs_m < ROWS
    qk_scale = scale * 1.4426950408889634
    size, lengths, steps, ends = line_up(lengths_ptr, B, H_KV, N_KV, tl.num_programs(1), LEAST, BLOCK_B)
    at = p * size
    stop = tl.minimum(at + size, tl.max(ends, axis=0))
    while at < stop:
        batch = tl.sum((ends <= at).to(tl.int32), axis=0)
        length = of_text(batch, lengths, BLOCK_B)
        width = of_text(batch, steps, BLOCK_B)
        begin = at - (of_text(batch, ends, BLOCK_B) - width * H_KV)
        head = begin // width
        begin -= head * width
        end = tl.minimum(width, begin + stop - at)
        at += end - begin
        group = (batch * H_KV + head).to(tl.int64)
        k_row = k_ptr + head.to(tl.int64) * stride_kh
        v_row = v_ptr + head.to(tl.int64) * stride_vh
        if block_table_ptr is None:
            k_row += batch.to(tl.int64) * stride_kb
            v_row += batch.to(tl.int64) * stride_vb
        # [BLOCK_M, D]
        q = tl.load(q_ptr + (group * ROWS + offs_m)[:, None] * D + offs_d[None, :], mask=mask_m[:, None], other=0.0)
        # [BLOCK_M]: the first key that a query does not see
        seen = tl.zeros([BLOCK_M], tl.int32) + tl.minimum(end * GRAIN, length)
        if IS_CAUSAL:
            seen = tl.minimum(seen, length + offs_m % N_Q + 1 - N_Q)
        end_n = tl.max(seen, axis=0)
        # finite, because a query may see no key of a part, and -inf - -inf is NaN
        m_i = tl.full([BLOCK_M], -1.0e30, tl.float32)
        l_i = tl.zeros([BLOCK_M], tl.float32)
        acc = tl.zeros([BLOCK_M, D], tl.float32)
        for start_n in tl.range(begin * GRAIN, end_n, BLOCK_N, num_stages=STAGES):
            cols = start_n + offs_n
            mask_n = cols < end_n
            # [BLOCK_N]: where each key is
            if block_table_ptr is None:
                k_at = k_row + cols.to(tl.int64) * stride_kn
                v_at = v_row + cols.to(tl.int64) * stride_vn
            else:
                table = block_table_ptr + batch.to(tl.int64) * (N_KV // PAGE)
                page = tl.load(table + cols // PAGE, mask=mask_n, other=0).to(tl.int64)
                slot = (cols % PAGE).to(tl.int64)
                k_at = k_row + page * stride_kb + slot * stride_kn
                v_at = v_row + page * stride_vb + slot * stride_vn
            # [BLOCK_N, D]
            k = tl.load(k_at[:, None] + offs_d[None, :], mask=mask_n[:, None], other=0.0)
            v = tl.load(v_at[:, None] + offs_d[None, :], mask=mask_n[:, None], other=0.0)
            # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
            s = tl.dot(q, tl.trans(k))
            s = tl.where(cols[None, :] < seen[:, None], s * qk_scale, float("-inf"))
            # [BLOCK_M]
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            w = tl.exp2(s - m_new[:, None])
            alpha = tl.exp2(m_i - m_new)
            l_i = l_i * alpha + tl.sum(w, axis=1)
            # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]
            acc = tl.dot(w.to(v.dtype), v, acc * alpha[:, None])
            m_i = m_new
        # parts of a head lie behind each other: each step along the line is a new head or a new program
        row = (group + p) * ROWS + offs_m
        o_part = acc / tl.where(l_i > 0, l_i, 1.0)[:, None]
        tl.store(o_part_ptr + row[:, None] * D + offs_d[None, :], o_part, mask=mask_m[:, None])
        tl.store(lse_part_ptr + row, m_i + tl.log2(l_i), mask=mask_m)
    if OVERLAP:
        gdc_launch_dependents()


@triton.jit
def merge_kernel(
    o_part_ptr,  # [PARTS, ROWS, D] float32 outputs of the parts
    lse_part_ptr,  # [PARTS, ROWS] float32, their log-sum-exps, in base 2: -inf where a query saw nothing
    o_ptr,  # [B * H_KV, ROWS, D] output
    lse_ptr,  # [B * H_KV, ROWS] float32 output: log-sum-exp of the scaled scores, -inf where a query sees no key
    lengths_ptr,  # the next four as in `part_kernel`
    B,
    H_KV,
    N_KV,
    ROWS,  # queries of a group
    PROGRAMS,  # that share the line
    LEAST,  # steps on the line that a program takes at least
    BLOCK_B: tl.constexpr,  # a power of two, at least B
    BLOCK_S: tl.constexpr,  # parts at a time
    BLOCK_D: tl.constexpr,  # columns per program
    D: tl.constexpr,  # head dimension
    OVERLAP: tl.constexpr,  # wait for the kernel before
):
    """Program (row, i) owns columns i * BLOCK_D onwards of a row."""
    group, row = tl.program_id(0) // ROWS, tl.program_id(0) % ROWS
    offs_s = tl.arange(0, BLOCK_S)
    offs_d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    size, _, steps, ends = line_up(lengths_ptr, B, H_KV, N_KV, PROGRAMS, LEAST, BLOCK_B)
    # where the head begins on the line, and which programs have a part of it
    width = of_text(group // H_KV, steps, BLOCK_B)
    start = of_text(group // H_KV, ends, BLOCK_B) - (H_KV - group % H_KV) * width
    first, last = start // size, (start + width - 1) // size
    m_i = -1.0e30
    l_i = 0.0
    acc = tl.zeros([BLOCK_D], tl.float32)
    if OVERLAP:
        gdc_wait()
    for p in range(first, last + 1, BLOCK_S):
        part = (group + p + offs_s).to(tl.int64) * ROWS + row
        mask = p + offs_s <= last
        # [BLOCK_S]
        lse_part = tl.load(lse_part_ptr + part, mask=mask, other=float("-inf"))
        # [BLOCK_S, BLOCK_D]
        o_part = tl.load(o_part_ptr + part[:, None] * D + offs_d[None, :], mask=mask[:, None], other=0.0)
        m_new = tl.maximum(m_i, tl.max(lse_part, axis=0))
        w = tl.exp2(lse_part - m_new)
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(w, axis=0)
        acc = acc * alpha + tl.sum(o_part * w[:, None], axis=0)
        m_i = m_new
    out = tl.program_id(0).to(tl.int64)
    tl.store(o_ptr + out * D + offs_d, acc / tl.where(l_i > 0, l_i, 1.0))
    if tl.program_id(1) == 0:
        # back to base e
        tl.store(lse_ptr + out, (m_i + tl.log2(l_i)) * 0.6931471805599453)


@dataclass(frozen=True)
class Config:
    """How the keys are walked. Keys in pages take two stages for one: numbers of pages come first."""

    block_m: int
    block_n: int
    warps: int
    stages: int
    programs: int  # on a multiprocessor at a time


CONFIGS: tuple[Config, ...] = (Config(16, 64, 4, 3, 2), Config(64, 64, 4, 3, 2))
"""For groups of at most 16 queries, and for more; each is right for any shape."""


def launch(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    n_kv: int,
    lengths: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    causal: bool = False,
    programs: int | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention_split` or `paged_decode` of tensors that were checked, for texts of at most `n_kv` keys."""
    (b, h_q, n_q, d), h_kv = q.shape, k.shape[1]
    rows = h_q // h_kv * n_q
    c = config or CONFIGS[rows > 16]
    tiles = triton.cdiv(rows, c.block_m)
    programs = programs or max(1, multiprocessors(q.device) * c.programs // tiles)
    o, lse = torch.empty_like(q), torch.empty(b, h_q, n_q, dtype=torch.float32, device=q.device)
    parts = b * h_kv + programs
    o_part = torch.empty(parts, rows, d, dtype=torch.float32, device=q.device)
    lse_part = torch.empty(parts, rows, dtype=torch.float32, device=q.device)
    overlap = q.is_cuda and torch.cuda.get_device_capability(q.device) >= (9, 0)
    block_b = triton.next_power_of_2(max(b, 16))
    part_kernel[(tiles, programs)](
        *(q, k, v, o_part, lse_part, lengths, block_table, *k.stride()[:3], *v.stride()[:3]),
        *(1 / math.sqrt(d), b, h_kv, rows, n_q, n_kv, LEAST),
        IS_CAUSAL=causal,
        PAGE=n_kv if block_table is None else k.shape[2],
        BLOCK_B=block_b,
        BLOCK_M=c.block_m,
        BLOCK_N=c.block_n,
        D=d,
        STAGES=c.stages if block_table is None else 2 * c.stages - 1,
        OVERLAP=overlap,
        num_warps=c.warps,
    )
    merge_kernel[(lse.numel(), d // 32)](
        *(o_part, lse_part, o, lse, lengths, b, h_kv, n_kv, rows, programs, LEAST),
        BLOCK_B=block_b,
        BLOCK_S=64,
        BLOCK_D=32,
        D=d,
        OVERLAP=overlap,
        num_warps=4,
        launch_pdl=overlap,
    )
    return o, lse


def attention_split(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    programs: int | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and log-sum-exp [B, H_Q, N_Q] (float32) of q [B, H_Q, N_Q, D] and k, v [B, H_KV, N_KV, D]: bf16 or fp16, without gaps.

    D is 64 or 128, H_Q a multiple of H_KV. Under a causal mask the last query sees all keys, and N_Q <= N_KV. `programs` share the
    keys of all heads, as many as the GPU runs at a time by default. Raises ValueError for other tensors.
    """
    *_, n_q, n_kv, _ = check_grouped(q, k, v)
    if causal and n_q > n_kv:
        raise ValueError(f"under a causal mask {n_q} queries need as many keys, and there are {n_kv}")
    return launch(q, k, v, n_kv, causal=causal, programs=programs, config=config)


def paged_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    lengths: torch.Tensor,
    programs: int | None = None,
    config: Config | None = None,
) -> torch.Tensor:
    """Output [B, H_Q, D] of one query a head, q [B, H_Q, D] without gaps, and a cache in pages: bf16 or fp16.

    k_cache and v_cache are [N_PAGES, H_KV, PAGE, D], with any strides between rows: pass `cache.transpose(1, 2)` of one that is
    [N_PAGES, PAGE, H_KV, D]. Key j of text b is in slot j % PAGE of page block_table[b, j // PAGE]; the table is [B, MAX_PAGES] int32,
    and lengths [B] int32 says how many keys count, at most MAX_PAGES * PAGE. A text without keys gives 0. D is 64 or 128, H_Q a
    multiple of H_KV. Nothing is read back from the GPU. `programs` as in `attention_split`. Raises ValueError for other tensors.
    """
    check_paged(q, k_cache, v_cache, block_table, lengths)
    n_kv = block_table.shape[1] * k_cache.shape[2]
    o, _ = launch(q[:, :, None], k_cache, v_cache, n_kv, lengths, block_table, programs=programs, config=config)
    return o[:, :, 0]
