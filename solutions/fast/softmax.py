"""Softmax at the speed of a copy, for rows of any length: the two passes of `online_softmax`, with an eye on where a row lies.

A copy reads each number once and writes one, and so must this: between the first pass and the second, the row has to stay on the
chip. What each step buys, measured step by step by us, in GB/s on one H200 (a copy reaches 4150 to 4250; docs/speed.md has one run of everything):

registers       a row of up to 32768 numbers stays in the registers of its program (`KEEP`), and is read once. It is kept as it was
                loaded: with a copy in base two beside it, 168 registers a thread, without one 96.
L2              longer rows are read twice, the second time from the L2 cache, if those in flight fit into it. 32 warps leave room
                for one program a multiprocessor: 132 rows of 65536 float32 numbers are 34 MB. 4094, and 3104 with two programs.
hints           `evict_last` keeps what is read again, `evict_first` lets the output pass through: 4027, without them 3006.
neighbours      a maximum for the whole tile is an exchange between all threads; one for every number costs a second exponential.
                In 16 bits the exponentials are the limit, and 8 neighbours share a maximum (`GROUP`): 4027, with one a tile 3267.
sharing         a row that is longer still is shared out among `SPLITS` programs, which post their m and l, wait for the others,
                and merge. What a program keeps in registers is not read again: 3833 for 262144 numbers, with one program a row 2902.
ahead           while the programs of a row wait for each other, memory would be idle: the next row is on its way to L2 by then. 2848 ->
                3333 for 262144 numbers in bf16; but a row of 8388608 fills the L2 alone, and 2808 falls to 2308.

Programs that wait for each other must all run at once: the launch is cooperative, and the driver refuses it where they do not fit.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from solutions.fast.launching import HALVES, check, multiprocessors

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def load(x_row, cols, N, POLICY: tl.constexpr):
    """Columns of a row, -inf past its end."""
    return tl.load(x_row + cols, cols < N, float("-inf"), eviction_policy=POLICY).to(tl.float32)


@triton.jit
def update(x, m_i, l_i):
    """The recurrence of online softmax for x [BLOCK_N // GROUP, GROUP], in base two: every row of x has its own m and l."""
    # [BLOCK_N // GROUP]
    m_new = tl.maximum(m_i, tl.max(x, axis=1) * LOG2E)
    return m_new, l_i * tl.exp2(m_i - m_new) + tl.sum(tl.exp2(x * LOG2E - m_new[:, None]), axis=1)


@triton.jit
def prefetch(x_ptr, start, M, N, LINES: tl.constexpr):
    """Ask for lines of 128 bytes from element `start` on, without waiting for them; past the end, for the last one."""
    at = start + tl.arange(0, LINES) * (1024 // x_ptr.dtype.element_ty.primitive_bitwidth)
    address = (x_ptr + tl.minimum(at, tl.full((), M, tl.int64) * N - 1)).to(tl.int64)
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [address], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def softmax_kernel(
    x_ptr,  # [M, N] without gaps
    y_ptr,  # [M, N] output
    m_ptr,  # [M, SPLITS] float32: the maximum of each part of a row
    l_ptr,  # [M, SPLITS] float32: its sum of exponentials
    arrived_ptr,  # [M] int32, zeros at the start: how many parts of a row are done
    M,  # number of rows
    N,  # number of columns
    SLICE: tl.constexpr,  # columns of a part: KEEP and a multiple of BLOCK_N
    SPLITS: tl.constexpr,  # programs that share a row
    BLOCK_SPLITS: tl.constexpr,  # the power of two that holds SPLITS
    BLOCK_N: tl.constexpr,  # columns per tile
    GROUP: tl.constexpr,  # neighbours with a common maximum
    KEEP: tl.constexpr,  # columns at the start of a part that stay in registers: a power of two, or 0
    LINES: tl.constexpr,  # lines of the next row's part to fetch into L2 meanwhile: a power of two, or 0
):
    """Program i owns part i % SPLITS of the rows i // SPLITS, + programs // SPLITS, ..."""
    part = tl.program_id(0) % SPLITS
    # [BLOCK_N // GROUP, GROUP]
    offs_n = part * SLICE + tl.arange(0, BLOCK_N // GROUP)[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    for row in range(tl.program_id(0) // SPLITS, M, tl.num_programs(0) // SPLITS):
        x_row = x_ptr + row.to(tl.int64) * N
        y_row = y_ptr + row.to(tl.int64) * N
        # where nothing was seen, m is lower than any number but finite: -inf - -inf would be NaN
        m = -3.0e38
        l = 0.0
        m_i = tl.full([BLOCK_N // GROUP], -3.0e38, tl.float32)
        l_i = tl.zeros([BLOCK_N // GROUP], tl.float32)
        if KEEP:
            # [KEEP]
            offs_keep = part * SLICE + tl.arange(0, KEEP)
            kept = load(x_row, offs_keep, N, "evict_first")
            m = tl.maximum(m, tl.max(kept, axis=0) * LOG2E)
            l = tl.sum(tl.exp2(kept * LOG2E - m), axis=0)
        for start in range(KEEP, SLICE, BLOCK_N):
            # [BLOCK_N // GROUP, GROUP]
            x = load(x_row, start + offs_n, N, "evict_last")
            m_i, l_i = update(x, m_i, l_i)
        if SLICE > KEEP:
            m_all = tl.maximum(m, tl.max(m_i, axis=0))
            l = l * tl.exp2(m - m_all) + tl.sum(l_i * tl.exp2(m_i - m_all), axis=0)
            m = m_all
        if SPLITS > 1:
            tl.store(m_ptr + row * SPLITS + part, m)
            tl.store(l_ptr + row * SPLITS + part, l)
            tl.debug_barrier()
            tl.atomic_add(arrived_ptr + row, 1, sem="acq_rel")
            if LINES > 0:
                prefetch(x_ptr, (row + tl.num_programs(0) // SPLITS).to(tl.int64) * N + part * SLICE, M, N, LINES)
            while tl.atomic_add(arrived_ptr + row, 0, sem="acquire") < SPLITS:
                pass
            tl.debug_barrier()
            parts = tl.arange(0, BLOCK_SPLITS)
            # [BLOCK_SPLITS]: merged as in `merge_softmax_stats`
            m_parts = tl.load(m_ptr + row * SPLITS + parts, parts < SPLITS, -3.0e38, volatile=True)
            l_parts = tl.load(l_ptr + row * SPLITS + parts, parts < SPLITS, 0.0, volatile=True)
            m = tl.max(m_parts, axis=0)
            l = tl.sum(l_parts * tl.exp2(m_parts - m), axis=0)
        scale = 1.0 / l
        if KEEP:
            tl.store(y_row + offs_keep, tl.exp2(kept * LOG2E - m) * scale, offs_keep < N, eviction_policy="evict_first")
        for start in range(KEEP, SLICE, BLOCK_N):
            # [BLOCK_N // GROUP, GROUP]
            x = load(x_row, start + offs_n, N, "evict_first")
            tl.store(
                y_row + start + offs_n,
                tl.exp2(x * LOG2E - m) * scale,
                start + offs_n < N,
                eviction_policy="evict_first",
            )


@dataclass(frozen=True)
class Config:
    """How the kernel is launched. `splits` programs share a row: with 0 as many as keep all of it, with None one a multiprocessor.

    `keep` columns of each stay in registers. `group` 0 is the whole tile. `resident` programs of this size run on a
    multiprocessor at once, with `registers` for each thread at most; both matter where rows are shared, as does `ahead`: the
    next row is on its way to L2 while the programs of this one wait for each other.
    """

    block_n: int
    warps: int
    group: int = 0
    keep: int = 0
    splits: int | None = 1
    resident: int = 1
    registers: int | None = None
    ahead: bool = False


FASTEST: dict[tuple[int, int], Config] = {
    (131072, 4): Config(32768, 32),
    (131072, 2): Config(16384, 32, 8, registers=32),
    (1048576, 4): Config(8192, 4, keep=8192, splits=0, resident=6, registers=80),
    (1048576, 2): Config(8192, 4, keep=8192, splits=0, resident=5, registers=96, ahead=True),
    (2**31, 4): Config(16384, 32, keep=16384, splits=None),
    (2**31, 2): Config(16384, 32, 8, keep=16384, splits=66),
}
"""By the most columns and the bytes of a number, on an H200 (docs/speed.md)."""


def choose(n: int, dtype: torch.dtype) -> Config:
    """The fastest for rows of n numbers; up to 32768 of them stay in the registers of one program."""
    if n <= 32768:
        block = triton.next_power_of_2(n)
        return Config(block, min(32, max(1, block // 512)), keep=block)
    return next(config for (most, size), config in FASTEST.items() if n <= most and size == dtype.itemsize)


def softmax(x: torch.Tensor, config: Config | None = None) -> torch.Tensor:
    """Softmax of every row of x [M, N], without gaps: float32, bf16 or fp16. Raises ValueError for other tensors."""
    if x.dim() != 2 or not 0 < x.shape[1] <= 2**31:
        raise ValueError(f"x has to be [M, N] with 1 to 2**31 columns, not {[*x.shape]}")
    check((torch.float32, *HALVES), x=x)
    y = torch.empty_like(x)
    launch(x, y, config or choose(x.shape[1], x.dtype))
    return y


def launch(x: torch.Tensor, y: torch.Tensor, c: Config) -> None:
    """Softmax of x [M, N] into y [M, N]; of programs that share rows, as many are started as run at once."""
    m, n = x.shape
    units = multiprocessors(x.device)
    splits = units if c.splits is None else c.splits or triton.cdiv(n, c.keep)
    stats = torch.empty(2, m, splits, dtype=torch.float32, device=x.device)
    arrived = torch.zeros(m, dtype=torch.int32, device=x.device) if splits > 1 else None
    size = c.keep + triton.cdiv(max(0, triton.cdiv(n, splits) - c.keep), c.block_n) * c.block_n
    programs = m if splits == 1 else min(m, units * c.resident // splits) * splits
    softmax_kernel[(programs,)](
        x,
        y,
        *stats,
        arrived,
        m,
        n,
        SLICE=size,
        SPLITS=splits,
        BLOCK_SPLITS=triton.next_power_of_2(splits),
        BLOCK_N=c.block_n,
        GROUP=c.group or c.block_n,
        KEEP=c.keep,
        LINES=triton.next_power_of_2(size * x.element_size() // 128) if c.ahead else 0,
        num_warps=c.warps,
        maxnreg=c.registers,
        launch_cooperative_grid=splits > 1,
    )
