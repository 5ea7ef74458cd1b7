"""Attention, forward, in Gluon on a Hopper GPU: what Triton decided until now is written down here.

Gluon is Triton's lower level (`triton.experimental.gluon`, Hopper only here). Four things are new; each is one small function:

layouts     which thread holds which element. `NVMMADistributedLayout` is how a tensor-core product leaves its result in registers,
            `DotOperandLayout` how one expects its left operand there, `NVMMASharedLayout` how a tile lies in shared memory, swizzled.
barriers    an mbarrier counts arrivals and flips its phase when all are there. Each slot of a ring of buffers has two: `full` (the
            copy has landed) and `empty` (every reader is done). `fill`, `take` and `release` are all that is ever done with them.
waiting     `warpgroup_mma` starts a product and returns; `warpgroup_mma_wait(1)` waits until at most one is still under way.
partitions  `warp_specialize` starts several functions side by side in one program: one warp loads, the others compute.

What it buys, in TFLOP/s on one H200 in bf16, N = 16384 (cuDNN / the best of plain Triton / this; docs/speed.md has a full run):

D = 128     618 / 609 / 655, causal 566 / 518 / 652. The scores of tile j and the output of tile j - 1 are multiplied while the
            softmax of the other runs, and only the first tile is masked: keys are walked from the diagonal to the left.
D = 64      459 / 467 / 521 with three computing groups (450 with two): a product is short, and a third group fills its gaps.
"""

import math
from dataclasses import dataclass

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from solutions.fast.launching import check_heads


@gluon.jit
def buffers(desc, COUNT: gl.constexpr):
    """Shared memory for COUNT tiles of `desc`, [rows, D] each."""
    ROWS: gl.constexpr = desc.block_type.shape[1]
    D: gl.constexpr = desc.block_type.shape[2]
    LAYOUT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, D], desc.dtype)
    return gl.allocate_shared_memory(desc.dtype, [COUNT, ROWS, D], LAYOUT)


@gluon.jit
def ring(desc, STAGES: gl.constexpr, READERS: gl.constexpr):
    """STAGES buffers for tiles of `desc`, each with a full and an empty barrier. All barriers must be used.

    Triton gives the memory of an unused barrier to a tile, which PTX allows only after `mbarrier.inval`. Beside other processes,
    numbers of such tiles were overwritten.
    """
    tiles = buffers(desc, STAGES)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=READERS)
    return tiles, full, empty


@gluon.jit
def one_barrier():
    """A barrier that one copy or one arrival completes."""
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    return bar


@gluon.jit
def as_block(tile, desc):
    """A tile [rows, D] as the block [1, rows, D] that a descriptor copies: one head's rows, and none of the next head's."""
    return tile._reinterpret(desc.dtype, desc.block_type.shape, desc.layout)


@gluon.jit
def fill(desc, head, row, ring, i):
    """The loader: wait until the slot of tile i is free, then start its copy. The first round waits for nothing."""
    tiles, full, empty = ring
    slot = i % tiles.shape[0]
    mbarrier.wait(empty.index(slot), ((i // tiles.shape[0]) & 1) ^ 1)
    mbarrier.expect(full.index(slot), desc.block_type.nbytes)
    tma.async_copy_global_to_shared(desc, [head, row, 0], full.index(slot), as_block(tiles.index(slot), desc))


@gluon.jit
def take(ring, i):
    """A reader: wait until tile i has landed."""
    tiles, full, _ = ring
    slot = i % tiles.shape[0]
    mbarrier.wait(full.index(slot), (i // tiles.shape[0]) & 1)
    return tiles.index(slot)


@gluon.jit
def release(ring, i):
    """A reader: tile i is no longer needed here."""
    tiles, _, empty = ring
    mbarrier.arrive(empty.index(i % tiles.shape[0]), count=1)


@gluon.jit
def loader(work, GROUPS: gl.constexpr):
    """One warp: all n tiles of keys and values, in the order in which they are needed, the last one first."""
    q_desc, k_desc, v_desc, _, q_tiles, q_full, k_ring, v_ring, head, start_m, n, _, _, _ = work
    BLOCK_N: gl.constexpr = k_desc.block_type.shape[1]
    mbarrier.expect(q_full, GROUPS * q_desc.block_type.nbytes)
    for i in gl.static_range(GROUPS):
        block = as_block(q_tiles.index(i), q_desc)
        tma.async_copy_global_to_shared(q_desc, [head, start_m + 64 * i, 0], q_full, block)
    for j in range(n):
        fill(k_desc, head, (n - 1 - j) * BLOCK_N, k_ring, j)
        if j > 0:
            fill(v_desc, head, (n - j) * BLOCK_N, v_ring, j - 1)
    fill(v_desc, head, 0, v_ring, n - 1)


@gluon.jit
def mask(s, start_m, start_n, N, IS_CAUSAL: gl.constexpr):
    """Scores [64, BLOCK_N], -inf where a query must not see the key."""
    cols = start_n + gl.arange(0, s.shape[1], gl.SliceLayout(0, s.type.layout))
    if IS_CAUSAL:  # a key past N is later than every query before N
        rows = start_m + gl.arange(0, 64, gl.SliceLayout(1, s.type.layout))
        seen = cols[None, :] <= rows[:, None]
    else:
        seen = (cols < N)[None, :]
    return gl.where(seen, s, float("-inf"))


@gluon.jit
def computer(work, IS_CAUSAL: gl.constexpr, GROUPS: gl.constexpr, GROUP: gl.constexpr):
    """One warp group: 64 queries against all n tiles of keys, the last one first."""
    _, k_desc, _, o_desc, q_tiles, q_full, k_ring, v_ring, head, start_m, n, N, lse_ptr, qk_scale = work
    BLOCK_N: gl.constexpr = k_desc.block_type.shape[1]
    D: gl.constexpr = k_desc.block_type.shape[2]
    S: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    O: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    MASKED: gl.constexpr = (64 * GROUPS + BLOCK_N - 1) // BLOCK_N  # tiles that may cross the diagonal
    start_m += 64 * GROUP
    zero = gl.zeros([64, BLOCK_N], gl.float32, S)
    acc = gl.zeros([64, D], gl.float32, O)
    mbarrier.wait(q_full, 0)
    q = q_tiles.index(GROUP)
    # [64, BLOCK_N] = [64, D] @ [D, BLOCK_N]: the first tile has nothing to run beside
    s = warpgroup_mma(q, take(k_ring, 0).permute((1, 0)), zero, use_acc=False, is_async=True)
    s = warpgroup_mma_wait(0, (s,))
    release(k_ring, 0)
    s = mask(s, start_m, (n - 1) * BLOCK_N, N, IS_CAUSAL)
    # [64]: finite, because with three groups the first one may see nothing of the last tile, and -inf - -inf is NaN
    m_i = gl.maximum(gl.max(s, 1) * qk_scale, -1.0e30)
    p = gl.exp2(s * qk_scale - m_i[:, None])
    l_i = gl.sum(p, 1)
    weights = gl.convert_layout(p.to(q.dtype), gl.DotOperandLayout(0, O, 2))
    for j in range(1, n):
        s = warpgroup_mma(q, take(k_ring, j).permute((1, 0)), zero, use_acc=False, is_async=True)
        # [64, D] += [64, BLOCK_N] @ [BLOCK_N, D], with the weights of the tile before
        o = warpgroup_mma(weights, take(v_ring, j - 1), acc, is_async=True)
        s = warpgroup_mma_wait(1, (s,))  # the scores are there; the product above goes on beside the softmax
        release(k_ring, j)
        if IS_CAUSAL and MASKED > 1:  # noqa: SIM102, the inner one is decided when it runs
            if j < MASKED:
                s = mask(s, start_m, (n - 1 - j) * BLOCK_N, N, IS_CAUSAL)
        m_new = gl.maximum(m_i, gl.max(s, 1) * qk_scale)
        p = gl.exp2(s * qk_scale - m_new[:, None])
        alpha = gl.exp2(m_i - m_new)
        l_i = l_i * alpha + gl.sum(p, 1)
        m_i = m_new
        acc = warpgroup_mma_wait(0, (o,))
        release(v_ring, j - 1)
        acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, O))[:, None]
        weights = gl.convert_layout(p.to(q.dtype), gl.DotOperandLayout(0, O, 2))
    acc = warpgroup_mma(weights, take(v_ring, n - 1), acc)
    # [64, D]: q is spent, so its buffer carries the output; rows past N are not stored
    q.store((acc / gl.convert_layout(l_i, gl.SliceLayout(1, O))[:, None]).to(q.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(o_desc, [head, start_m, 0], as_block(q, o_desc))
    # [64]: back to base e
    rows = start_m + gl.arange(0, 64, gl.SliceLayout(1, S))
    gl.store(lse_ptr + head.to(gl.int64) * N + rows, (m_i + gl.log2(l_i)) * 0.6931471805599453, mask=rows < N)
    tma.store_wait(0)


@gluon.jit
def attention_gluon_kernel(
    q_desc,  # [B * H, N, D] queries, in blocks [1, 64, D]
    k_desc,  # [B * H, N, D] keys, in blocks [1, BLOCK_N, D]
    v_desc,  # [B * H, N, D] values, likewise
    o_desc,  # [B * H, N, D] output, in blocks [1, 64, D]
    lse_ptr,  # [B * H, N] float32 log-sum-exp of each query's scaled scores
    N,  # number of queries and of keys
    qk_scale,  # scale * log2(e), above 0
    IS_CAUSAL: gl.constexpr,  # query i sees keys 0 to i
    GROUPS: gl.constexpr,  # computing warp groups, 64 queries each: 2 or 3
    STAGES: gl.constexpr,  # tiles of keys, and of values, on their way at a time
    REGISTERS: gl.constexpr,  # for each thread of a computing group but the first, which gets what is left
):
    """Program (i, head) owns 64 * GROUPS queries; the long rows of a causal head come first."""
    BLOCK_N: gl.constexpr = k_desc.block_type.shape[1]
    q_tiles = buffers(q_desc, GROUPS)
    q_full = one_barrier()
    k_ring = ring(k_desc, STAGES, GROUPS)
    v_ring = ring(v_desc, STAGES, GROUPS)
    start_m = (gl.num_programs(0) - 1 - gl.program_id(0)) * (64 * GROUPS)
    head = gl.program_id(1)
    n = gl.cdiv(gl.minimum(start_m + 64 * GROUPS, N) if IS_CAUSAL else N, BLOCK_N)
    work = (q_desc, k_desc, v_desc, o_desc, q_tiles, q_full, k_ring, v_ring, head, start_m, n, N, lse_ptr, qk_scale)
    if GROUPS == 2:
        gl.warp_specialize(
            [(computer, (work, IS_CAUSAL, 2, 0)), (computer, (work, IS_CAUSAL, 2, 1)), (loader, (work, 2))],
            [4, 1],
            [REGISTERS, 24],
        )
    else:
        gl.warp_specialize(
            [
                (computer, (work, IS_CAUSAL, 3, 0)),
                (computer, (work, IS_CAUSAL, 3, 1)),
                (computer, (work, IS_CAUSAL, 3, 2)),
                (loader, (work, 3)),
            ],
            [4, 4, 1],
            [REGISTERS, REGISTERS, 24],
        )


@dataclass(frozen=True)
class Config:
    """How the kernel is launched; `most` bounds the registers of a thread before the groups share them out anew."""

    groups: int
    registers: int
    most: int
    block_n: int = 128
    stages: int = 2


CONFIGS = {64: Config(3, 160, 128, stages=3), 128: Config(2, 240, 168)}
"""By D; each is right for any N."""


def attention_gluon(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    scale: float | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output [B, H, N, D] and log-sum-exp [B, H, N] (float32) of q, k, v [B, H, N, D]: bf16 or fp16, D 64 or 128, without gaps.

    Raises ValueError for other tensors.
    """
    b, h, n, d = check_heads(q=q, k=k, v=v)
    o, lse = torch.empty_like(q), torch.empty(b, h, n, dtype=torch.float32, device=q.device)
    c = config or CONFIGS[d]
    dtype = gl.bfloat16 if q.dtype == torch.bfloat16 else gl.float16

    def blocks(x: torch.Tensor, rows: int) -> TensorDescriptor:
        layout = gl.NVMMASharedLayout.get_default_for([1, rows, d], dtype)
        return TensorDescriptor(x, [b * h, n, d], [n * d, d, 1], [1, rows, d], layout)

    qk_scale = (1 / math.sqrt(d) if scale is None else scale) * math.log2(math.e)
    attention_gluon_kernel[(-(-n // (64 * c.groups)), b * h)](
        blocks(q, 64),
        blocks(k, c.block_n),
        blocks(v, c.block_n),
        blocks(o, 64),
        lse,
        n,
        qk_scale,
        IS_CAUSAL=causal,
        GROUPS=c.groups,
        STAGES=c.stages,
        REGISTERS=c.registers,
        num_warps=4,
        maxnreg=c.most,
    )
    return o, lse
