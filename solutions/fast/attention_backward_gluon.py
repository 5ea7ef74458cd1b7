"""The gradients of attention in Gluon on a Hopper GPU: five products where plain Triton needs seven, with a sum in memory.

A program owns 128 keys and walks over the queries that see them, 64 at a time. Two warp groups keep dK and dV of 64 keys each in
registers; a third function loads (FlashAttention-3, arXiv 2407.08608, section 3; the formulas are FlashAttention-2's, arXiv
2307.08691, algorithm 2). Beyond what `attention_gluon` says, Triton decided this for you until now:

who multiplies  each group makes the weights of its own keys, but dQ sums over all 128: dS of both groups has to be seen by whoever
                multiplies it. Where D = 128, each group waits for the other's dS and makes half of dQ's columns. Where D = 64, a warp
                group of its own makes dQ: the computing groups never wait for its additions.
counts          a barrier flips when as many have arrived as it was told at its `init`: dS is full when both groups have arrived (2),
                and empty when its one reader has (1). A count that is too high is a hang, one too low is a race.
operands        P and dS are left operands from registers: the scores stand on end, [keys, queries], as in `attention_backward`. dS
                goes through shared memory too, since dQ needs it transposed, from both groups. Where D = 64, K and V stay in
                registers as well.
register order  dQ is added to memory by float32 atomics, in the order in which a product leaves it in registers: a thread then adds
                16 bytes at once and a warp 512 in a row, and nothing is shuffled. `order_kernel` puts it right, and scales it.
lag             with D = 128 and no mask, dQ of tile j - 1 is multiplied beside tile j, so that nobody waits for a dS just written.

Additions come in no fixed order: dQ differs between two runs in its last bits; dK and dV do not.

What it buys, in TFLOP/s on one H200 in bf16, N = 16384, all launches (cuDNN / plain Triton / this):

D = 128     568 / 437 / 527, causal 544 / 431 / 518.
D = 64      467 / 380 / 456, causal 431 / 367 / 460.
"""

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
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

from solutions.fast.attention_backward import rows_kernel
from solutions.fast.attention_gluon import as_block, buffers, fill, one_barrier, release, ring, take
from solutions.fast.launching import check_heads, check_statistics


@gluon.jit
def loader(work):
    """One warp: keys and values once, then n tiles of queries; a q comes with the two numbers of each row, on one barrier."""
    descs, tiles, head, start_n, start_m, n, ROWS = work
    q_desc, k_desc, v_desc, do_desc, rows_desc = descs
    k_tiles, v_tiles, kv_full, rows_tiles, q_ring, do_ring, _ = tiles
    q_tiles, full, empty = q_ring
    STAGES: gl.constexpr = q_tiles.shape[0]
    mbarrier.expect(kv_full, 4 * k_desc.block_type.nbytes)
    for i in gl.static_range(2):
        at = [head, start_n + 64 * i, 0]
        tma.async_copy_global_to_shared(k_desc, at, kv_full, as_block(k_tiles.index(i), k_desc))
        tma.async_copy_global_to_shared(v_desc, at, kv_full, as_block(v_tiles.index(i), v_desc))
    for j in range(n):
        row = start_m + 64 * j
        slot = j % STAGES
        bar = full.index(slot)
        mbarrier.wait(empty.index(slot), ((j // STAGES) & 1) ^ 1)
        mbarrier.expect(bar, q_desc.block_type.nbytes + 2 * rows_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [head, row, 0], bar, as_block(q_tiles.index(slot), q_desc))
        tma.async_copy_global_to_shared(rows_desc, [head * ROWS + row], bar, rows_tiles.index(2 * slot))
        delta_row = (q_desc.shape[0] + head) * ROWS + row
        tma.async_copy_global_to_shared(rows_desc, [delta_row], bar, rows_tiles.index(2 * slot + 1))
        fill(do_desc, head, row, do_ring, j)


@gluon.jit
def mask(p, start_n, start_m, N, IS_CAUSAL: gl.constexpr):
    """Weights [64 keys, 64 queries], 0 where a query must not see the key; of queries past N all are 0 already, for lse is inf."""
    offs_n = start_n + gl.arange(0, 64, gl.SliceLayout(1, p.type.layout))
    if IS_CAUSAL:  # a key past N is later than every query before N
        offs_m = start_m + gl.arange(0, 64, gl.SliceLayout(0, p.type.layout))
        seen = offs_n[:, None] <= offs_m[None, :]
    else:
        seen = (offs_n < N)[:, None]
    return gl.where(seen, p, 0.0)


@gluon.jit
def multiply_dq(ds_tiles, k_tiles, slot, COLUMN: gl.constexpr):
    """Start 64 columns of dQ, from both groups' dS in one slot: [64, 64] = [64, 64 keys] @ [64 keys, 64], twice."""
    D: gl.constexpr = k_tiles.shape[2]
    # a tile [64, D] lies in shared memory as D / 64 tiles of 128 bytes a row, one after the other
    TILE: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 64], k_tiles.dtype)
    dq = gl.zeros([64, 64], gl.float32, gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))
    for i in gl.static_range(2):
        ds = ds_tiles.index(slot * 2 + i)
        k = k_tiles.index(i)._reinterpret(k_tiles.dtype, [D // 64, 64, 64], TILE).index(COLUMN)
        dq = warpgroup_mma(ds.permute((1, 0)), k, dq, use_acc=i > 0, is_async=True)
    return dq


@gluon.jit
def add_dq(dq_ptr, dq):
    """Add a tile [64, 64] to 4096 numbers in memory in register order. Row 16 w + 8 h + r, column 8 t + 2 c + e is held by thread
    4 r + c of warp w; there it goes to t, w, r, c, h, e, four numbers a thread, so that changing the layout moves nothing."""
    LINE: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    # [4096], from [w, h, r, t, c, e]
    line = dq.reshape([4, 2, 8, 8, 4, 2]).permute((3, 0, 2, 4, 1, 5)).reshape([4096])
    gl.atomic_add(dq_ptr + gl.arange(0, 4096, LINE), gl.convert_layout(line, LINE), sem="relaxed")


@gluon.jit
def adder(work, dq_ptr):
    """One warp group, where D = 64: dQ of all n tiles, from the dS of both computing groups."""
    _, tiles, head, _, start_m, n, ROWS = work
    k_tiles, _, kv_full, _, _, _, ds_ring = tiles
    ds_tiles, ds_full, ds_empty = ds_ring
    mbarrier.wait(kv_full, 0)
    for j in range(n):
        mbarrier.wait(ds_full.index(j % 2), (j // 2) & 1)
        dq = multiply_dq(ds_tiles, k_tiles, j % 2, 0)
        dq = warpgroup_mma_wait(0, (dq,))
        mbarrier.arrive(ds_empty.index(j % 2), count=1)
        add_dq(dq_ptr + (head.to(gl.int64) * ROWS + start_m + 64 * j) * 64, dq)


@gluon.jit
def computer(work, out, IS_CAUSAL: gl.constexpr, LAG: gl.constexpr, GROUP: gl.constexpr):
    """One warp group: dK and dV of 64 keys from all n tiles of queries, and, where D = 128, 64 columns of dQ."""
    descs, tiles, head, start_n, start_m, n, ROWS = work
    dq_ptr, dk_desc, dv_desc, N, scale = out
    k_tiles, v_tiles, kv_full, rows_tiles, q_ring, do_ring, ds_ring = tiles
    ds_tiles, ds_full, ds_empty = ds_ring
    D: gl.constexpr = k_tiles.shape[2]
    dtype: gl.constexpr = k_tiles.dtype
    STAGES: gl.constexpr = q_ring[0].shape[0]
    SLOTS: gl.constexpr = ds_full.shape[0]
    S: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    G: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    QUERIES: gl.constexpr = gl.SliceLayout(0, S)
    LEFT: gl.constexpr = gl.DotOperandLayout(0, G, 2)
    first_key = start_n + 64 * GROUP
    dq_base = head.to(gl.int64) * ROWS * D + 4096 * GROUP
    dq_end = descs[0].shape[0].to(gl.int64) * ROWS * D
    zero = gl.zeros([64, 64], gl.float32, S)
    dk = gl.zeros([64, D], gl.float32, G)
    dv = gl.zeros([64, D], gl.float32, G)
    mbarrier.wait(kv_full, 0)
    k_tile = k_tiles.index(GROUP)
    v_tile = v_tiles.index(GROUP)
    if D == 64:  # 16 registers a thread each; with D = 128 there is no room for them
        k = k_tile.load(gl.DotOperandLayout(0, S, 2))
        v = v_tile.load(gl.DotOperandLayout(0, S, 2))
    else:
        k = k_tile
        v = v_tile
    for j in range(n):
        slot = j % STAGES
        # [64 keys, 64 queries] = [64, D] @ [D, 64], twice, both started before either is waited for
        q = take(q_ring, j)
        s = warpgroup_mma(k, q.permute((1, 0)), zero, use_acc=False, is_async=True)
        do = take(do_ring, j)
        dp = warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)
        s = warpgroup_mma_wait(1, (s,))
        # [64 queries]
        lse2 = rows_tiles.index(2 * slot).load(QUERIES)
        p = gl.exp2(s * (scale * 1.4426950408889634) - lse2[None, :])
        if IS_CAUSAL:
            if j < 2:  # 128 keys: the diagonal crosses the first two tiles of queries
                p = mask(p, first_key, start_m + 64 * j, N, True)
        else:
            if start_n + 128 > N:
                p = mask(p, first_key, 0, N, False)
        p = p.to(dtype)
        # [64, D] += [64, 64] @ [64, D], beside dS
        dv_next = warpgroup_mma(gl.convert_layout(p, LEFT), do, dv, is_async=True)
        dp = warpgroup_mma_wait(1, (dp,))
        delta = rows_tiles.index(2 * slot + 1).load(QUERIES)
        ds = (p.to(gl.float32) * (dp - delta[None, :])).to(dtype)
        if D == 64:
            mbarrier.wait(ds_empty.index(j % SLOTS), ((j // SLOTS) & 1) ^ 1)
        ds_tiles.index(j % SLOTS * 2 + GROUP).store(ds)
        fence_async_shared()  # the tensor cores read shared memory by another way than it was written
        mbarrier.arrive(ds_full.index(j % SLOTS), count=1)
        past = j - LAG  # the tile whose dQ is made now
        if D == 128:
            past_slot = (past + SLOTS) % SLOTS
            mbarrier.wait(ds_full.index(past_slot), (past // SLOTS) & 1, pred=past >= 0)
            dq = multiply_dq(ds_tiles, k_tiles, past_slot, GROUP)
        # [64, D] += [64, 64] @ [64, D]
        dk_next = warpgroup_mma(gl.convert_layout(ds, LEFT), q, dk, is_async=True)
        if D == 128:
            dv, dq = warpgroup_mma_wait(1, (dv_next, dq))
            release(do_ring, j)
            # the tile before the first is whatever lay there: it is added past the end of dQ
            at = dq_base + (start_m + 64 * past) * D
            add_dq(dq_ptr + (gl.where(past >= 0, at, dq_end) if LAG else at), dq)
        else:
            dv = warpgroup_mma_wait(1, (dv_next,))
            release(do_ring, j)
        dk = warpgroup_mma_wait(0, (dk_next,))
        release(q_ring, j)
    if LAG:
        mbarrier.wait(ds_full.index((n - 1) % SLOTS), ((n - 1) // SLOTS) & 1)
        dq = multiply_dq(ds_tiles, k_tiles, (n - 1) % SLOTS, GROUP)
        dq = warpgroup_mma_wait(0, (dq,))
        add_dq(dq_ptr + dq_base + (start_m + 64 * n - 64) * D, dq)
    # [64, D]: the tiles of values and keys carry the gradients out; rows past N are not stored. Each fence stands between a tile's
    # stores and its own copy: with a barrier in between, one thread would start the copy before the others have passed the fence.
    v_tile.store(dv.to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [head, first_key, 0], as_block(v_tile, dv_desc))
    if D == 64:  # until nobody reads the keys for dQ
        mbarrier.wait(ds_empty.index((n - 1) % SLOTS), ((n - 1) // SLOTS) & 1)
    else:
        mbarrier.arrive(ds_full.index(n % SLOTS), count=1)
        mbarrier.wait(ds_full.index(n % SLOTS), (n // SLOTS) & 1)
    k_tile.store((dk * scale).to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, [head, first_key, 0], as_block(k_tile, dk_desc))
    tma.store_wait(0)


@gluon.jit(do_not_specialize=["N"])
def attention_backward_gluon_kernel(
    q_desc,  # [B * H, N, D] queries, in blocks [1, 64, D], like all tensors [B * H, N, D] here
    k_desc,  # [B * H, N, D] keys
    v_desc,  # [B * H, N, D] values
    do_desc,  # [B * H, N, D] gradient of the output
    rows_desc,  # [2 * B * H * ROWS] float32, in blocks [64]: lse in base two of all rows, then delta, from rows_kernel
    dk_desc,  # [B * H, N, D] gradient of the keys
    dv_desc,  # [B * H, N, D] gradient of the values
    dq_ptr,  # [B * H * ROWS * D + 64 * D] float32 zeros: dQ in register order, not scaled, and a tile for what belongs nowhere
    N,  # number of queries and of keys
    ROWS,  # N up to the next multiple of 128
    scale,  # a float above 0, usually 1 / sqrt(D)
    IS_CAUSAL: gl.constexpr,  # query i sees keys 0 to i
    LAG: gl.constexpr,  # 1: dQ is multiplied one tile later; D = 128 only
    STAGES: gl.constexpr,  # tiles of queries on their way at a time
    REGISTERS: gl.constexpr,  # for each thread of the second computing group; the first one gets what is left
):
    """Program (i, head) owns 128 keys."""
    D: gl.constexpr = q_desc.block_type.shape[2]
    start_n = gl.program_id(0) * 128
    head = gl.program_id(1)
    k_tiles = buffers(k_desc, 2)
    v_tiles = buffers(v_desc, 2)
    kv_full = one_barrier()
    q_ring = ring(q_desc, STAGES, 2)
    do_ring = ring(do_desc, STAGES, 2)
    rows_tiles = gl.allocate_shared_memory(gl.float32, [2 * STAGES, 64], rows_desc.layout)
    # two slots, so that a group may write its next dS while the last one is read; with the lag it runs two tiles further ahead
    SLOTS: gl.constexpr = 2 + 2 * LAG
    TILE: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 64], q_desc.dtype)
    ds_tiles = gl.allocate_shared_memory(q_desc.dtype, [2 * SLOTS, 64, 64], TILE)
    ds_full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(SLOTS):
        mbarrier.init(ds_full.index(i), count=2)  # both computing groups have written
    ds_empty = ds_full  # unused where D = 128
    if D == 64:
        ds_empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
        for i in gl.static_range(SLOTS):
            mbarrier.init(ds_empty.index(i), count=1)  # the adder has read
    start_m = start_n if IS_CAUSAL else 0
    n = gl.cdiv(N - start_m, 64)
    descs = (q_desc, k_desc, v_desc, do_desc, rows_desc)
    tiles = (k_tiles, v_tiles, kv_full, rows_tiles, q_ring, do_ring, (ds_tiles, ds_full, ds_empty))
    work = (descs, tiles, head, start_n, start_m, n, ROWS)
    out = (dq_ptr, dk_desc, dv_desc, N, scale)
    # the first function takes the launch's own 4 warps; then warps and registers of each of the others
    if D == 64:
        gl.warp_specialize(
            [
                (computer, (work, out, IS_CAUSAL, LAG, 0)),
                (computer, (work, out, IS_CAUSAL, LAG, 1)),
                (adder, (work, dq_ptr)),
                (loader, (work,)),
            ],
            [4, 4, 1],
            [REGISTERS, 72, 24],
        )
    else:
        gl.warp_specialize(
            [(computer, (work, out, IS_CAUSAL, LAG, 0)), (computer, (work, out, IS_CAUSAL, LAG, 1)), (loader, (work,))],
            [4, 1],
            [REGISTERS, 24],
        )


@triton.jit
def order_kernel(
    acc_ptr,  # [B * H * ROWS * D] float32: dQ in register order
    dq_ptr,  # [B * H, N, D] gradient of the queries
    scale,  # a float above 0, usually 1 / sqrt(D)
    N,  # number of queries
    ROWS,  # N up to the next multiple of 128
    D: tl.constexpr,  # head dimension: 64 or 128
):
    """Program (i, head) owns 64 rows: the way back from `add_dq`."""
    head = tl.program_id(1).to(tl.int64)
    start_m = tl.program_id(0) * 64
    offs_m = start_m + tl.arange(0, 64)
    acc_ptr += (head * ROWS + start_m) * D
    for start_d in tl.static_range(0, D, 64):
        # [t, w, r, c, h, e], then [w, h, r, t, c, e], which is [64, 64]
        x = tl.reshape(tl.load(acc_ptr + 64 * start_d + tl.arange(0, 4096)), [8, 4, 8, 4, 2, 2])
        x = tl.reshape(tl.permute(x, (1, 4, 2, 0, 3, 5)), [64, 64])
        at = (head * N + offs_m)[:, None] * D + start_d + tl.arange(0, 64)[None, :]
        tl.store(dq_ptr + at, (x * scale).to(dq_ptr.dtype.element_ty), mask=offs_m[:, None] < N)


@dataclass(frozen=True)
class Config:
    """How the kernel is launched; `most` bounds the registers of a thread before the groups share them out anew."""

    lag: int
    stages: int
    registers: int
    most: int


CONFIGS = {
    **dict.fromkeys(((64, False), (64, True)), Config(0, 3, 208, 128)),
    (128, False): Config(1, 2, 240, 168),
    (128, True): Config(0, 2, 240, 168),
}
"""By D and causal; each is right for any N."""


def attention_backward_gluon(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dQ, dK, dV of q, k, v, o, do [B, H, N, D] (bf16 or fp16, D 64 or 128) and lse [B, H, N] (float32), all without gaps.

    Raises ValueError for other tensors, and where they are not on a Hopper GPU.
    """
    b, h, n, d = check_heads(q=q, k=k, v=v, o=o, do=do)
    check_statistics(b, h, n, lse=lse)
    if q.device.type != "cuda" or torch.cuda.get_device_capability(q.device) != (9, 0):
        raise ValueError(f"this needs a Hopper GPU (compute capability 9.0); q is on {q.device}")
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    rows = triton.cdiv(n, 128) * 128
    sides = torch.empty(2, b * h, rows, dtype=torch.float32, device=q.device)
    acc = torch.zeros(b * h * rows * d + 64 * d, dtype=torch.float32, device=q.device)
    scale = 1 / math.sqrt(d) if scale is None else scale
    c = CONFIGS[d, causal]
    dtype = gl.bfloat16 if q.dtype == torch.bfloat16 else gl.float16

    def blocks(x: torch.Tensor) -> TensorDescriptor:
        layout = gl.NVMMASharedLayout.get_default_for([1, 64, d], dtype)
        return TensorDescriptor(x, [b * h, n, d], [n * d, d, 1], [1, 64, d], layout)

    line = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    rows_desc = TensorDescriptor(sides, [sides.numel()], [1], [64], line)
    rows_kernel[(rows // 64, b * h)](o, do, lse, *sides, n, rows, D=d, BLOCK_M=64, num_warps=4)
    args = (*map(blocks, (q, k, v, do)), rows_desc, blocks(dk), blocks(dv), acc, n, rows, scale)
    meta = {"IS_CAUSAL": causal, "LAG": c.lag, "STAGES": c.stages, "REGISTERS": c.registers}
    attention_backward_gluon_kernel[(triton.cdiv(n, 128), b * h)](*args, **meta, num_warps=4, maxnreg=c.most)
    order_kernel[(triton.cdiv(n, 64), b * h)](acc, dq, scale, n, rows, D=d, num_warps=4)
    return dq, dk, dv
