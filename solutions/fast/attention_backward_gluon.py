"""draft"""

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._core import builtin
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from solutions.fast.attention_backward import rows_kernel
from solutions.fast.attention_gluon import as_block, fill, release, ring, take


@builtin
def bulk_add(desc, coordinates, tile, _semantic=None):
    """Add a tile in shared memory to memory: the compiler knows the operation, Gluon has no name for it yet."""
    at = _semantic._convert_to_ir_values(coordinates, require_i64=False)
    _semantic.builder.create_async_tma_reduce(ir.DESCRIPTOR_REDUCE_KIND.ADD, desc.handle, at, tile.handle)


@gluon.jit
def loader(work, GROUPS: gl.constexpr, STAGGER: gl.constexpr):
    q_desc, k_desc, v_desc, do_desc, rows_desc, kv, q_ring, do_ring, rows_tiles, head, start_n, start_m, n = work
    k_tiles, v_tiles, kv_full = kv
    STAGES: gl.constexpr = q_ring[0].shape[0]
    mbarrier.expect(kv_full, 2 * GROUPS * k_desc.block_type.nbytes)
    for g in gl.static_range(GROUPS):
        tma.async_copy_global_to_shared(k_desc, [head, start_n + 64 * g, 0], kv_full, as_block(k_tiles.index(g), k_desc))
        tma.async_copy_global_to_shared(v_desc, [head, start_n + 64 * g, 0], kv_full, as_block(v_tiles.index(g), v_desc))
    half = q_desc.shape[0] * rows_desc.shape[0]
    row0 = gl.program_id(0)
    for j in range(n):
        if STAGGER:
            row = (j + row0) % n * 64
        else:
            row = start_m + 64 * j
        slot = j % STAGES
        q_tiles, full, empty = q_ring
        mbarrier.wait(empty.index(slot), ((j // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(slot), q_desc.block_type.nbytes + 2 * rows_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [head, row, 0], full.index(slot), as_block(q_tiles.index(slot), q_desc))
        ROWS = rows_desc.shape[0] // (2 * q_desc.shape[0])
        tma.async_copy_global_to_shared(rows_desc, [head * ROWS + row], full.index(slot), rows_tiles.index(2 * slot))
        tma.async_copy_global_to_shared(rows_desc, [(head + q_desc.shape[0]) * ROWS + row], full.index(slot), rows_tiles.index(2 * slot + 1))
        fill(do_desc, head, row, do_ring, j)


@gluon.jit
def hide(p, first_key, first_query, N, IS_CAUSAL: gl.constexpr):
    keys = first_key + gl.arange(0, 64, gl.SliceLayout(1, p.type.layout))
    if IS_CAUSAL:
        queries = first_query + gl.arange(0, 64, gl.SliceLayout(0, p.type.layout))
        seen = keys[:, None] <= queries[None, :]
    else:
        seen = (keys < N)[:, None]
    return gl.where(seen, p, 0.0)


@gluon.jit
def computer(work, dk_desc, dv_desc, ds_ring, N, scale, IS_CAUSAL: gl.constexpr, GROUPS: gl.constexpr, GROUP: gl.constexpr, KEEP: gl.constexpr):
    q_desc, k_desc, v_desc, do_desc, rows_desc, kv, q_ring, do_ring, rows_tiles, head, start_n, start_m, n = work
    k_tiles, v_tiles, kv_full = kv
    ds_tiles, ds_full, ds_empty = ds_ring
    D: gl.constexpr = q_desc.block_type.shape[2]
    dtype: gl.constexpr = q_desc.dtype
    STAGES: gl.constexpr = q_ring[0].shape[0]
    S: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    G: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    COLUMN: gl.constexpr = gl.SliceLayout(0, S)
    LEFT: gl.constexpr = gl.DotOperandLayout(0, G, 2)
    zero = gl.zeros([64, 64], gl.float32, S)
    dk = gl.zeros([64, D], gl.float32, G)
    dv = gl.zeros([64, D], gl.float32, G)
    first_key = start_n + 64 * GROUP
    mbarrier.wait(kv_full, 0)
    k_tile = k_tiles.index(GROUP)
    v_tile = v_tiles.index(GROUP)
    if KEEP:
        k = k_tile.load(gl.DotOperandLayout(0, S, 2))
        v = v_tile.load(gl.DotOperandLayout(0, S, 2))
    else:
        k = k_tile
        v = v_tile
    for j in range(n):
        q = take(q_ring, j)
        s = warpgroup_mma(k, q.permute((1, 0)), zero, use_acc=False, is_async=True)
        do = take(do_ring, j)
        dp = warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)
        slot = j % STAGES
        s = warpgroup_mma_wait(1, (s,))
        lse2 = rows_tiles.index(2 * slot).load(COLUMN)
        p = gl.exp2(s * (scale * 1.4426950408889634) - lse2[None, :])
        if IS_CAUSAL:
            if j < GROUPS:
                p = hide(p, first_key, start_m + 64 * j, N, True)
        else:
            if start_n + 64 * GROUPS > N:
                p = hide(p, first_key, 0, N, False)
        p = p.to(dtype)
        weights = gl.convert_layout(p, LEFT)
        dv_next = warpgroup_mma(weights, do, dv, is_async=True)
        dp = warpgroup_mma_wait(1, (dp,))
        delta = rows_tiles.index(2 * slot + 1).load(COLUMN)
        ds = (p.to(gl.float32) * (dp - delta[None, :])).to(dtype)
        ds_slot = j % 2
        mbarrier.wait(ds_empty.index(ds_slot), ((j // 2) & 1) ^ 1)
        ds_tiles.index(ds_slot * GROUPS + GROUP).store(ds)
        fence_async_shared()
        mbarrier.arrive(ds_full.index(ds_slot), count=1)
        dk_next = warpgroup_mma(gl.convert_layout(ds, LEFT), q, dk, is_async=True)
        dv = warpgroup_mma_wait(1, (dv_next,))
        release(do_ring, j)
        dk = warpgroup_mma_wait(0, (dk_next,))
        release(q_ring, j)
    v_tile.store(dv.to(dtype))
    mbarrier.wait(ds_empty.index((n - 1) % 2), ((n - 1) // 2) & 1)
    k_tile.store((dk * scale).to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [head, first_key, 0], as_block(v_tile, dv_desc))
    tma.async_copy_shared_to_global(dk_desc, [head, first_key, 0], as_block(k_tile, dk_desc))
    tma.store_wait(0)


@gluon.jit
def adder(work, ds_ring, dq_desc, dq_ptr, GROUPS: gl.constexpr, BULK: gl.constexpr, STAGGER: gl.constexpr):
    q_desc, k_desc, v_desc, do_desc, rows_desc, kv, q_ring, do_ring, rows_tiles, head, start_n, start_m, n = work
    k_tiles, v_tiles, kv_full = kv
    ds_tiles, ds_full, ds_empty = ds_ring
    D: gl.constexpr = q_desc.block_type.shape[2]
    dtype: gl.constexpr = q_desc.dtype
    A: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    PIECE: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 64], dtype)
    LINE: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    mbarrier.wait(kv_full, 0)
    zero = gl.zeros([64, 64], gl.float32, A)
    row0 = gl.program_id(0)
    if BULK:
        stage = gl.allocate_shared_memory(gl.float32, [64, 64], gl.NVMMASharedLayout.get_default_for([64, 64], gl.float32))
    ROWS = rows_desc.shape[0] // (2 * q_desc.shape[0])
    for j in range(n):
        if STAGGER:
            row = (j + row0) % n * 64
        else:
            row = start_m + 64 * j
        slot = j % 2
        mbarrier.wait(ds_full.index(slot), (j // 2) & 1)
        for c in gl.static_range(D // 64):
            dq = zero
            for g in gl.static_range(GROUPS):
                ds = ds_tiles.index(slot * GROUPS + g)
                piece = k_tiles.index(g)._reinterpret(dtype, [D // 64, 64, 64], PIECE).index(c)
                dq = warpgroup_mma(ds.permute((1, 0)), piece, dq, use_acc=g > 0, is_async=True)
            dq = warpgroup_mma_wait(0, (dq,))
            if c == D // 64 - 1:
                mbarrier.arrive(ds_empty.index(slot), count=1)
            if BULK:
                tma.store_wait(0)
                stage.store(dq)
                fence_async_shared()
                bulk_add(dq_desc, [head, row, 64 * c], as_block(stage, dq_desc))
            else:
                line = dq.reshape([4, 2, 8, 8, 4, 2]).permute((3, 0, 2, 4, 1, 5)).reshape([4096])
                line = gl.convert_layout(line, LINE)
                at = dq_ptr + (head.to(gl.int64) * ROWS + row) * D + 4096 * c
                gl.atomic_add(at + gl.arange(0, 4096, LINE), line, sem="relaxed")
    if BULK:
        tma.store_wait(0)


@gluon.jit
def piece(ds_tiles, k_tiles, slot, GROUP: gl.constexpr, zero, D: gl.constexpr):
    dtype: gl.constexpr = ds_tiles.dtype
    PIECE: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 64], dtype)
    dq = zero
    if D == 64:
        dq = warpgroup_mma(ds_tiles.index(slot * 2 + GROUP).permute((1, 0)), k_tiles.index(GROUP), dq, use_acc=False, is_async=True)
    else:
        for g in gl.static_range(2):
            ds = ds_tiles.index(slot * 2 + g)
            keys = k_tiles.index(g)._reinterpret(dtype, [D // 64, 64, 64], PIECE).index(GROUP)
            dq = warpgroup_mma(ds.permute((1, 0)), keys, dq, use_acc=g > 0, is_async=True)
    return dq


@gluon.jit
def add(dq_ptr, at, dq):
    LINE: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    line = dq.reshape([4, 2, 8, 8, 4, 2]).permute((3, 0, 2, 4, 1, 5)).reshape([4096])
    line = gl.convert_layout(line, LINE)
    offs = gl.arange(0, 4096, LINE)
    gl.atomic_add(dq_ptr + at + offs, line, sem="relaxed")


@gluon.jit
def whole(work, dk_desc, dv_desc, dq_desc, dq_ptr, ds_ring, N, scale, IS_CAUSAL: gl.constexpr, GROUP: gl.constexpr, LAG: gl.constexpr, FIRST: gl.constexpr, KEEP: gl.constexpr, BULK: gl.constexpr, STAGGER: gl.constexpr):
    q_desc, k_desc, v_desc, do_desc, rows_desc, kv, q_ring, do_ring, rows_tiles, head, start_n, start_m, n = work
    k_tiles, v_tiles, kv_full = kv
    ds_tiles, ds_full, ds_empty = ds_ring
    D: gl.constexpr = q_desc.block_type.shape[2]
    dtype: gl.constexpr = q_desc.dtype
    STAGES: gl.constexpr = q_ring[0].shape[0]
    SLOTS: gl.constexpr = ds_full.shape[0] // 2
    MINE: gl.constexpr = GROUP if D == 64 else 0
    PART: gl.constexpr = 0 if D == 64 else 64 * GROUP
    S: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    G: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    COLUMN: gl.constexpr = gl.SliceLayout(0, S)
    LEFT: gl.constexpr = gl.DotOperandLayout(0, G, 2)
    zero = gl.zeros([64, 64], gl.float32, S)
    dk = gl.zeros([64, D], gl.float32, G)
    dv = gl.zeros([64, D], gl.float32, G)
    first_key = start_n + 64 * GROUP
    ROWS = rows_desc.shape[0] // (2 * q_desc.shape[0])
    row0 = gl.program_id(0)
    base = head.to(gl.int64) * ROWS * D + 64 * PART
    nowhere = q_desc.shape[0].to(gl.int64) * ROWS * D
    mbarrier.wait(kv_full, 0)
    k_tile = k_tiles.index(GROUP)
    v_tile = v_tiles.index(GROUP)
    if KEEP:
        k = k_tile.load(gl.DotOperandLayout(0, S, 2))
        v = v_tile.load(gl.DotOperandLayout(0, S, 2))
    else:
        k = k_tile
        v = v_tile
    if BULK:
        stage = gl.allocate_shared_memory(gl.float32, [64, 64], gl.NVMMASharedLayout.get_default_for([64, 64], gl.float32))
    for j in range(n):
        q = take(q_ring, j)
        s = warpgroup_mma(k, q.permute((1, 0)), zero, use_acc=False, is_async=True)
        do = take(do_ring, j)
        dp = warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)
        slot = j % STAGES
        s = warpgroup_mma_wait(1, (s,))
        lse2 = rows_tiles.index(2 * slot).load(COLUMN)
        p = gl.exp2(s * (scale * 1.4426950408889634) - lse2[None, :])
        if IS_CAUSAL:
            if j < 2:
                p = hide(p, first_key, start_m + 64 * j, N, True)
        else:
            if start_n + 128 > N:
                p = hide(p, first_key, 0, N, False)
        p = p.to(dtype)
        weights = gl.convert_layout(p, LEFT)
        dv_next = warpgroup_mma(weights, do, dv, is_async=True)
        dp = warpgroup_mma_wait(1, (dp,))
        delta = rows_tiles.index(2 * slot + 1).load(COLUMN)
        ds = (p.to(gl.float32) * (dp - delta[None, :])).to(dtype)
        ds_tiles.index(j % SLOTS * 2 + GROUP).store(ds)
        fence_async_shared()
        mbarrier.arrive(ds_full.index(j % SLOTS * 2 + MINE), count=1)
        past = j - LAG
        if FIRST:
            mbarrier.wait(ds_full.index((j + SLOTS - LAG) % SLOTS * 2 + MINE), (past // SLOTS) & 1, pred=past >= 0)
            dq = piece(ds_tiles, k_tiles, (j + SLOTS - LAG) % SLOTS, GROUP, zero, D)
            dk_next = warpgroup_mma(gl.convert_layout(ds, LEFT), q, dk, is_async=True)
            dv, dq = warpgroup_mma_wait(1, (dv_next, dq))
            release(do_ring, j)
        else:
            dk_next = warpgroup_mma(gl.convert_layout(ds, LEFT), q, dk, is_async=True)
            mbarrier.wait(ds_full.index((j + SLOTS - LAG) % SLOTS * 2 + MINE), (past // SLOTS) & 1, pred=past >= 0)
            dq = piece(ds_tiles, k_tiles, (j + SLOTS - LAG) % SLOTS, GROUP, zero, D)
            dv = warpgroup_mma_wait(3, (dv_next,))
            release(do_ring, j)
            dk = warpgroup_mma_wait(2, (dk_next,))
            release(q_ring, j)
            dq = warpgroup_mma_wait(0, (dq,))
        if STAGGER:
            row = (past + row0) % n * 64
        else:
            row = start_m + 64 * past
        if BULK:
            tma.store_wait(0)
            stage.store(dq)
            fence_async_shared()
            if LAG == 1:
                bulk_add(dq_desc, [gl.where(past >= 0, head, q_desc.shape[0]), row, PART], as_block(stage, dq_desc))
            else:
                bulk_add(dq_desc, [head, row, PART], as_block(stage, dq_desc))
        else:
            at = base + row * D
            if LAG == 1:
                at = gl.where(past >= 0, at, nowhere)
            if BULK is None:
                if past == n - 1:
                    add(dq_ptr, at, dq)
            else:
                add(dq_ptr, at, dq)
        if FIRST:
            dk = warpgroup_mma_wait(0, (dk_next,))
            release(q_ring, j)
    if LAG == 1:
        mbarrier.wait(ds_full.index((n - 1) % SLOTS * 2 + MINE), ((n - 1) // SLOTS) & 1)
        dq = piece(ds_tiles, k_tiles, (n - 1) % SLOTS, GROUP, zero, D)
        dq = warpgroup_mma_wait(0, (dq,))
        if STAGGER:
            row = (n - 1 + row0) % n * 64
        else:
            row = start_m + 64 * n - 64
        if BULK:
            tma.store_wait(0)
            stage.store(dq)
            fence_async_shared()
            bulk_add(dq_desc, [head, row, PART], as_block(stage, dq_desc))
        else:
            add(dq_ptr, base + row * D, dq)
    # the other group may still read this one's keys
    mbarrier.arrive(ds_full.index(n % SLOTS * 2 + MINE), count=1)
    mbarrier.wait(ds_full.index(n % SLOTS * 2 + MINE), (n // SLOTS) & 1)
    v_tile.store(dv.to(dtype))
    k_tile.store((dk * scale).to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [head, first_key, 0], as_block(v_tile, dv_desc))
    tma.async_copy_shared_to_global(dk_desc, [head, first_key, 0], as_block(k_tile, dk_desc))
    tma.store_wait(0)


@gluon.jit(do_not_specialize=["N"])
def attention_backward_gluon_kernel(
    q_desc, k_desc, v_desc, do_desc, rows_desc, dk_desc, dv_desc, dq_desc, dq_ptr, N, scale,
    IS_CAUSAL: gl.constexpr,
    GROUPS: gl.constexpr,
    STAGES: gl.constexpr,
    KEEP: gl.constexpr,
    BULK: gl.constexpr,
    STAGGER: gl.constexpr,
    REGISTERS: gl.constexpr,
    ADD_REGISTERS: gl.constexpr,
):
    start_n = gl.program_id(0) * (64 * GROUPS)
    head = gl.program_id(1)
    k_tiles, kv_full, _ = ring(k_desc, GROUPS, 1)
    v_tiles, _, _ = ring(v_desc, GROUPS, 1)
    q_ring = ring(q_desc, STAGES, GROUPS)
    do_ring = ring(do_desc, STAGES, GROUPS)
    rows_tiles = gl.allocate_shared_memory(gl.float32, [2 * STAGES, 64], rows_desc.layout)
    ds_tiles = gl.allocate_shared_memory(q_desc.dtype, [2 * GROUPS, 64, 64], gl.NVMMASharedLayout.get_default_for([64, 64], q_desc.dtype))
    ds_full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    ds_empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2):
        mbarrier.init(ds_full.index(i), count=GROUPS)
        mbarrier.init(ds_empty.index(i), count=1)
    start_m = start_n if IS_CAUSAL else 0
    n = gl.cdiv(N - start_m, 64)
    ds_ring = (ds_tiles, ds_full, ds_empty)
    kv = (k_tiles, v_tiles, kv_full.index(0))
    work = (q_desc, k_desc, v_desc, do_desc, rows_desc, kv, q_ring, do_ring, rows_tiles, head, start_n, start_m, n)
    gl.warp_specialize(
        [
            (computer, (work, dk_desc, dv_desc, ds_ring, N, scale, IS_CAUSAL, GROUPS, 0, KEEP)),
            (computer, (work, dk_desc, dv_desc, ds_ring, N, scale, IS_CAUSAL, GROUPS, 1, KEEP)),
            (adder, (work, ds_ring, dq_desc, dq_ptr, GROUPS, BULK, STAGGER)),
            (loader, (work, GROUPS, STAGGER)),
        ],
        [4, 4, 1],
        [REGISTERS, ADD_REGISTERS, 24],
    )


@gluon.jit(do_not_specialize=["N"])
def whole_kernel(
    q_desc, k_desc, v_desc, do_desc, rows_desc, dk_desc, dv_desc, dq_desc, dq_ptr, N, scale,
    IS_CAUSAL: gl.constexpr,
    STAGES: gl.constexpr,
    LAG: gl.constexpr,
    FIRST: gl.constexpr,
    KEEP: gl.constexpr,
    BULK: gl.constexpr,
    STAGGER: gl.constexpr,
    REGISTERS: gl.constexpr,
):
    start_n = gl.program_id(0) * 128
    head = gl.program_id(1)
    k_tiles, kv_full, _ = ring(k_desc, 2, 1)
    v_tiles, _, _ = ring(v_desc, 2, 1)
    q_ring = ring(q_desc, STAGES, 2)
    do_ring = ring(do_desc, STAGES, 2)
    rows_tiles = gl.allocate_shared_memory(gl.float32, [2 * STAGES, 64], rows_desc.layout)
    GROUPS: gl.constexpr = 2
    SLOTS: gl.constexpr = 2 + 2 * LAG
    ds_tiles = gl.allocate_shared_memory(q_desc.dtype, [2 * SLOTS, 64, 64], gl.NVMMASharedLayout.get_default_for([64, 64], q_desc.dtype))
    ds_full = gl.allocate_shared_memory(gl.int64, [2 * SLOTS, 1], mbarrier.MBarrierLayout())
    ds_empty = gl.allocate_shared_memory(gl.int64, [2 * SLOTS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2 * SLOTS):
        mbarrier.init(ds_full.index(i), count=q_desc.block_type.shape[2] // 64)
        mbarrier.init(ds_empty.index(i), count=1)
    start_m = start_n if IS_CAUSAL else 0
    n = gl.cdiv(N - start_m, 64)
    ds_ring = (ds_tiles, ds_full, ds_empty)
    kv = (k_tiles, v_tiles, kv_full.index(0))
    work = (q_desc, k_desc, v_desc, do_desc, rows_desc, kv, q_ring, do_ring, rows_tiles, head, start_n, start_m, n)
    gl.warp_specialize(
        [
            (whole, (work, dk_desc, dv_desc, dq_desc, dq_ptr, ds_ring, N, scale, IS_CAUSAL, 0, LAG, FIRST, KEEP, BULK, STAGGER)),
            (whole, (work, dk_desc, dv_desc, dq_desc, dq_ptr, ds_ring, N, scale, IS_CAUSAL, 1, LAG, FIRST, KEEP, BULK, STAGGER)),
            (loader, (work, GROUPS, STAGGER)),
        ],
        [4, 1],
        [REGISTERS, 24],
    )


@triton.jit
def finish_kernel(acc_ptr, dq_ptr, scale, N, ROWS, ORDERED: tl.constexpr, D: tl.constexpr):
    """Program (i, head) owns 64 rows."""
    head = tl.program_id(1).to(tl.int64)
    start_m = tl.program_id(0) * 64
    offs_m = start_m + tl.arange(0, 64)
    acc_ptr += (head * ROWS + start_m) * D
    for start_d in tl.static_range(0, D, 64):
        offs_d = start_d + tl.arange(0, 64)
        if ORDERED:
            x = tl.load(acc_ptr + 64 * start_d + tl.arange(0, 4096))
            x = tl.reshape(tl.permute(tl.reshape(x, [8, 4, 8, 4, 2, 2]), (1, 4, 2, 0, 3, 5)), [64, 64])
        else:
            x = tl.load(acc_ptr + tl.arange(0, 64)[:, None] * D + offs_d[None, :])
        at = (head * N + offs_m)[:, None] * D + offs_d[None, :]
        tl.store(dq_ptr + at, (x * scale).to(dq_ptr.dtype.element_ty), mask=offs_m[:, None] < N)


@dataclass(frozen=True)
class Config:
    adder: bool = False
    lag: int = 0
    first: bool = True
    keep: bool = False
    bulk: bool | None = False
    stagger: bool = False
    stages: int = 2
    registers: int = 240
    most: int = 168
    adding: int = 72


def attention_backward_gluon(q, k, v, o, lse, do, causal=False, scale=None, config=Config()):
    b, h, n, d = q.shape
    c = config
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    rows = triton.cdiv(n, 128) * 128
    sides = torch.empty(2, b * h, rows, dtype=torch.float32, device=q.device)
    acc = torch.zeros(b * h * rows * d + 64 * d, dtype=torch.float32, device=q.device)
    scale = 1 / math.sqrt(d) if scale is None else scale
    rows_kernel[(rows // 64, b * h)](o, do, lse, sides[0], sides[1], n, rows, D=d, BLOCK_M=64, num_warps=4)
    dtype = gl.bfloat16 if q.dtype == torch.bfloat16 else gl.float16

    def blocks(x):
        return TensorDescriptor(x, [b * h, n, d], [n * d, d, 1], [1, 64, d], gl.NVMMASharedLayout.get_default_for([1, 64, d], dtype))

    rows_desc = TensorDescriptor(sides, [2 * b * h * rows], [1], [64], gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1))
    dq_desc = TensorDescriptor(acc, [b * h, rows, d], [rows * d, d, 1], [1, 64, 64], gl.NVMMASharedLayout.get_default_for([1, 64, 64], gl.float32))
    args = (*map(blocks, (q, k, v, do)), rows_desc, blocks(dk), blocks(dv), dq_desc, acc, n, scale)
    grid = (triton.cdiv(n, 128), b * h)
    stagger = c.stagger and not causal
    if c.adder:
        attention_backward_gluon_kernel[grid](*args, IS_CAUSAL=causal, GROUPS=2, STAGES=c.stages, KEEP=c.keep, BULK=c.bulk, STAGGER=stagger, REGISTERS=c.registers, ADD_REGISTERS=c.adding, num_warps=4, maxnreg=c.most)
    else:
        whole_kernel[grid](*args, IS_CAUSAL=causal, STAGES=c.stages, LAG=c.lag, FIRST=c.first, KEEP=c.keep, BULK=c.bulk, STAGGER=stagger, REGISTERS=c.registers, num_warps=4, maxnreg=c.most)
    finish_kernel[(triton.cdiv(n, 64), b * h)](acc, dq, scale, n, rows, ORDERED=not c.bulk, D=d, num_warps=4)
    return dq, dk, dv


@gluon.jit
def feeder(work, IS_CAUSAL: gl.constexpr, AHEAD: gl.constexpr, STAGGER: gl.constexpr):
    """One warp: keys and values once, then the tiles of queries; `AHEAD` asks for one tile of q too many, zeros or not used."""
    q_desc, k_desc, v_desc, do_desc, rows_desc, k_tile, v_tile, kv_full, q_tiles, do_tiles, rows_tiles, bars, head, start_n, start_m, n = work
    q_full, do_full, empty = bars
    BLOCK_M: gl.constexpr = q_desc.block_type.shape[1]
    STAGES: gl.constexpr = q_tiles.shape[0]
    heads = q_desc.shape[0]
    ROWS = rows_desc.shape[0] // (2 * heads)
    mbarrier.expect(kv_full, 2 * k_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(k_desc, [head, start_n, 0], kv_full, as_block(k_tile, k_desc))
    tma.async_copy_global_to_shared(v_desc, [head, start_n, 0], kv_full, as_block(v_tile, v_desc))
    row0 = gl.program_id(0)
    for j in range(n):
        if STAGGER:
            row = (j + row0) % n * BLOCK_M
        else:
            row = start_m + BLOCK_M * j
        slot = j % STAGES
        mbarrier.wait(empty.index(slot), ((j // STAGES) & 1) ^ 1)
        full = q_full.index(slot)
        mbarrier.expect(full, q_desc.block_type.nbytes + rows_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [head, row, 0], full, as_block(q_tiles.index(slot), q_desc))
        tma.async_copy_global_to_shared(rows_desc, [head * ROWS + row], full, rows_tiles.index(2 * slot))
        full = do_full.index(slot)
        mbarrier.expect(full, q_desc.block_type.nbytes + rows_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(do_desc, [head, row, 0], full, as_block(do_tiles.index(slot), do_desc))
        tma.async_copy_global_to_shared(rows_desc, [(head + heads) * ROWS + row], full, rows_tiles.index(2 * slot + 1))
    if AHEAD:
        slot = n % STAGES
        mbarrier.wait(empty.index(slot), ((n // STAGES) & 1) ^ 1)
        mbarrier.expect(q_full.index(slot), q_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [head, start_m, 0], q_full.index(slot), as_block(q_tiles.index(slot), q_desc))


@gluon.jit
def blind(p, first_key, first_query, N, IS_CAUSAL: gl.constexpr):
    """Weights [keys, queries], 0 where a query must not see the key."""
    keys = first_key + gl.arange(0, p.shape[0], gl.SliceLayout(1, p.type.layout))
    if IS_CAUSAL:
        queries = first_query + gl.arange(0, p.shape[1], gl.SliceLayout(0, p.type.layout))
        seen = keys[:, None] <= queries[None, :]
    else:
        seen = (keys < N)[:, None]
    return gl.where(seen, p, 0.0)


@gluon.jit
def add_tile(dq_ptr, dq, ADD: gl.constexpr):
    """Add a tile of dQ [BLOCK_M, D] to memory in the order in which registers hold it: 16 bytes a thread, 512 a warp."""
    M: gl.constexpr = dq.shape[0] // 16
    W: gl.constexpr = 8 // M
    T: gl.constexpr = dq.shape[1] // (8 * W)
    SIZE: gl.constexpr = dq.shape[0] * dq.shape[1]
    LINE: gl.constexpr = gl.BlockedLayout([4], [32], [8], [0])
    line = dq.reshape([M, 2, 8, W, T, 4, 2]).permute((4, 3, 0, 2, 5, 1, 6)).reshape([SIZE])
    line = gl.convert_layout(line, LINE)
    if ADD:
        gl.atomic_add(dq_ptr + gl.arange(0, SIZE, LINE), line, sem="relaxed")
    else:
        gl.store(dq_ptr + gl.arange(0, SIZE, LINE), line)


@gluon.jit
def pair(
    work, dk_desc, dv_desc, dq_ptr, ds_tile, N, scale,
    IS_CAUSAL: gl.constexpr, AHEAD: gl.constexpr, KEEP: gl.constexpr, STAGGER: gl.constexpr, ADD: gl.constexpr, LATE: gl.constexpr,
):
    """Two warp groups as one partition: 128 keys, of which each group's registers hold 64; dQ is shared out by columns or rows."""
    q_desc, k_desc, v_desc, do_desc, rows_desc, k_tile, v_tile, kv_full, q_tiles, do_tiles, rows_tiles, bars, head, start_n, start_m, n = work
    q_full, do_full, empty = bars
    BLOCK_M: gl.constexpr = q_desc.block_type.shape[1]
    D: gl.constexpr = q_desc.block_type.shape[2]
    dtype: gl.constexpr = q_desc.dtype
    STAGES: gl.constexpr = q_tiles.shape[0]
    S: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BLOCK_M, 16])
    G: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, D, 16])
    Q: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [BLOCK_M // 16, 128 // BLOCK_M], [16, D * BLOCK_M // 128, 16])
    COLUMN: gl.constexpr = gl.SliceLayout(0, S)
    LEFT: gl.constexpr = gl.DotOperandLayout(0, G, 2)
    zero = gl.zeros([128, BLOCK_M], gl.float32, S)
    none = gl.zeros([BLOCK_M, D], gl.float32, Q)
    dk = gl.zeros([128, D], gl.float32, G)
    dv = gl.zeros([128, D], gl.float32, G)
    ROWS = rows_desc.shape[0] // (2 * q_desc.shape[0])
    dq_ptr += head.to(gl.int64) * ROWS * D
    row0 = gl.program_id(0)
    mbarrier.wait(kv_full, 0)
    if KEEP:
        k = k_tile.load(gl.DotOperandLayout(0, S, 2))
        v = v_tile.load(gl.DotOperandLayout(0, S, 2))
    else:
        k = k_tile
        v = v_tile
    s = zero
    if AHEAD:
        mbarrier.wait(q_full.index(0), 0)
        s = warpgroup_mma(k, q_tiles.index(0).permute((1, 0)), zero, use_acc=False, is_async=True)
        s = warpgroup_mma_wait(0, (s,))
    for j in range(n):
        slot = j % STAGES
        phase = (j // STAGES) & 1
        q = q_tiles.index(slot)
        do = do_tiles.index(slot)
        # [128, BLOCK_M] = [128, D] @ [D, BLOCK_M]
        if not AHEAD:
            mbarrier.wait(q_full.index(slot), phase)
            s = warpgroup_mma(k, q.permute((1, 0)), zero, use_acc=False, is_async=True)
        if not LATE:
            mbarrier.wait(do_full.index(slot), phase)
            dp = warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)
            s = warpgroup_mma_wait(1, (s,))
        else:
            s = warpgroup_mma_wait(0, (s,))
        lse2 = rows_tiles.index(2 * slot).load(COLUMN)
        p = gl.exp2(s * (scale * 1.4426950408889634) - lse2[None, :])
        if IS_CAUSAL:
            if j < 128 // BLOCK_M:
                p = blind(p, start_n, start_m + BLOCK_M * j, N, True)
        else:
            if start_n + 128 > N:
                p = blind(p, start_n, 0, N, False)
        p = p.to(dtype)
        if LATE:
            mbarrier.wait(do_full.index(slot), phase)
            dp = warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)
        # [128, D] += [128, BLOCK_M] @ [BLOCK_M, D]
        dv = warpgroup_mma(gl.convert_layout(p, LEFT), do, dv, is_async=True)
        dp = warpgroup_mma_wait(1, (dp,))
        delta = rows_tiles.index(2 * slot + 1).load(COLUMN)
        ds = (p.to(gl.float32) * (dp - delta[None, :])).to(dtype)
        ds_tile.store(ds)
        fence_async_shared()
        # [128, D] += [128, BLOCK_M] @ [BLOCK_M, D]
        dk = warpgroup_mma(gl.convert_layout(ds, LEFT), q, dk, is_async=True)
        # [BLOCK_M, D] = [BLOCK_M, 128] @ [128, D], with what both groups have stored
        dq = warpgroup_mma(ds_tile.permute((1, 0)), k_tile, none, use_acc=False, is_async=True)
        if AHEAD:
            after = j + 1
            mbarrier.wait(q_full.index(after % STAGES), (after // STAGES) & 1)
            s = warpgroup_mma(k, q_tiles.index(after % STAGES).permute((1, 0)), zero, use_acc=False, is_async=True)
            dv, dk, dq, s = warpgroup_mma_wait(1, (dv, dk, dq, s))
        else:
            dv, dk, dq = warpgroup_mma_wait(0, (dv, dk, dq))
        mbarrier.arrive(empty.index(slot), count=1)
        if STAGGER:
            row = (j + row0) % n * BLOCK_M
        else:
            row = start_m + BLOCK_M * j
        if ADD:
            add_tile(dq_ptr + row * D, dq, True)
        else:
            add_tile(dq_ptr + row * D, dq, False)
    if AHEAD:
        s = warpgroup_mma_wait(0, (s,))
    v_tile.store(dv.to(dtype))
    k_tile.store((dk * scale).to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [head, start_n, 0], as_block(v_tile, dv_desc))
    tma.async_copy_shared_to_global(dk_desc, [head, start_n, 0], as_block(k_tile, dk_desc))
    tma.store_wait(0)


@gluon.jit
def lagging(
    work, dk_desc, dv_desc, dq_ptr, ds_tile, N, scale,
    IS_CAUSAL: gl.constexpr, LAG: gl.constexpr, KEEP: gl.constexpr, STAGGER: gl.constexpr,
):
    """Like `pair`, but dQ of tile j - 1 is multiplied while the weights of tile j are made.

    LAG 1: scores, dP and dQ start together. LAG 2: scores and dQ, later dP and dV. LAG 3: likewise, and dK goes on beside the next scores.
    """
    q_desc, k_desc, v_desc, do_desc, rows_desc, k_tile, v_tile, kv_full, q_tiles, do_tiles, rows_tiles, bars, head, start_n, start_m, n = work
    q_full, do_full, empty = bars
    BLOCK_M: gl.constexpr = q_desc.block_type.shape[1]
    D: gl.constexpr = q_desc.block_type.shape[2]
    dtype: gl.constexpr = q_desc.dtype
    STAGES: gl.constexpr = q_tiles.shape[0]
    S: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BLOCK_M, 16])
    G: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, D, 16])
    Q: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [BLOCK_M // 16, 128 // BLOCK_M], [16, D * BLOCK_M // 128, 16])
    COLUMN: gl.constexpr = gl.SliceLayout(0, S)
    LEFT: gl.constexpr = gl.DotOperandLayout(0, G, 2)
    zero = gl.zeros([128, BLOCK_M], gl.float32, S)
    none = gl.zeros([BLOCK_M, D], gl.float32, Q)
    dk = gl.zeros([128, D], gl.float32, G)
    dv = gl.zeros([128, D], gl.float32, G)
    if LAG == 3:
        dk = warpgroup_mma_init(dk)
    ROWS = rows_desc.shape[0] // (2 * q_desc.shape[0])
    dq_ptr += head.to(gl.int64) * ROWS * D
    row0 = gl.program_id(0)
    ds_tile.store(zero.to(dtype))  # dQ of a tile before the first: zeros, added to the first
    fence_async_shared()
    mbarrier.wait(kv_full, 0)
    if KEEP:
        k = k_tile.load(gl.DotOperandLayout(0, S, 2))
        v = v_tile.load(gl.DotOperandLayout(0, S, 2))
    else:
        k = k_tile
        v = v_tile
    for j in range(n):
        slot = j % STAGES
        phase = (j // STAGES) & 1
        q = q_tiles.index(slot)
        do = do_tiles.index(slot)
        mbarrier.wait(q_full.index(slot), phase)
        s = warpgroup_mma(k, q.permute((1, 0)), zero, use_acc=False, is_async=True)
        if LAG == 3:
            dk = warpgroup_mma_wait(1, (dk,))
            mbarrier.arrive(empty.index((j + STAGES - 1) % STAGES), count=1, pred=j > 0)
        if LAG == 1:
            mbarrier.wait(do_full.index(slot), phase)
            dp = warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)
        dq = warpgroup_mma(ds_tile.permute((1, 0)), k_tile, none, use_acc=False, is_async=True)
        if LAG == 1:
            s = warpgroup_mma_wait(2, (s,))
        else:
            s = warpgroup_mma_wait(1, (s,))
        lse2 = rows_tiles.index(2 * slot).load(COLUMN)
        p = gl.exp2(s * (scale * 1.4426950408889634) - lse2[None, :])
        if IS_CAUSAL:
            if j < 128 // BLOCK_M:
                p = blind(p, start_n, start_m + BLOCK_M * j, N, True)
        else:
            if start_n + 128 > N:
                p = blind(p, start_n, 0, N, False)
        p = p.to(dtype)
        past = gl.maximum(j - 1, 0)
        if STAGGER:
            row = (past + row0) % n * BLOCK_M
        else:
            row = start_m + BLOCK_M * past
        if LAG == 1:
            dv = warpgroup_mma(gl.convert_layout(p, LEFT), do, dv, is_async=True)
            dp, dq = warpgroup_mma_wait(1, (dp, dq))
            add_tile(dq_ptr + row * D, dq, True)
        else:
            mbarrier.wait(do_full.index(slot), phase)
            dp = warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)
            dv = warpgroup_mma(gl.convert_layout(p, LEFT), do, dv, is_async=True)
            dq = warpgroup_mma_wait(2, (dq,))
            add_tile(dq_ptr + row * D, dq, True)
            dp = warpgroup_mma_wait(1, (dp,))
        delta = rows_tiles.index(2 * slot + 1).load(COLUMN)
        ds = (p.to(gl.float32) * (dp - delta[None, :])).to(dtype)
        ds_tile.store(ds)
        fence_async_shared()
        dk = warpgroup_mma(gl.convert_layout(ds, LEFT), q, dk, is_async=True)
        if LAG == 3:
            dv = warpgroup_mma_wait(1, (dv,))
        else:
            dv, dk = warpgroup_mma_wait(0, (dv, dk))
            mbarrier.arrive(empty.index(slot), count=1)
    if LAG == 3:
        dk = warpgroup_mma_wait(0, (dk,))
    dq = warpgroup_mma(ds_tile.permute((1, 0)), k_tile, none, use_acc=False)
    if STAGGER:
        row = (n - 1 + row0) % n * BLOCK_M
    else:
        row = start_m + BLOCK_M * (n - 1)
    add_tile(dq_ptr + row * D, dq, True)
    v_tile.store(dv.to(dtype))
    k_tile.store((dk * scale).to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [head, start_n, 0], as_block(v_tile, dv_desc))
    tma.async_copy_shared_to_global(dk_desc, [head, start_n, 0], as_block(k_tile, dk_desc))
    tma.store_wait(0)


@gluon.jit
def barriers(COUNT: gl.constexpr):
    bars = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(COUNT):
        mbarrier.init(bars.index(i), count=1)
    return bars


@gluon.jit(do_not_specialize=["N"])
def pair_kernel(
    q_desc, k_desc, v_desc, do_desc, rows_desc, dk_desc, dv_desc, dq_ptr, N, scale,
    IS_CAUSAL: gl.constexpr,
    STAGES: gl.constexpr,
    AHEAD: gl.constexpr,
    KEEP: gl.constexpr,
    STAGGER: gl.constexpr,
    ADD: gl.constexpr,
    LATE: gl.constexpr,
    LAG: gl.constexpr,
):
    """Program (i, head) owns 128 keys and walks over the queries that see them."""
    BLOCK_M: gl.constexpr = q_desc.block_type.shape[1]
    D: gl.constexpr = q_desc.block_type.shape[2]
    dtype: gl.constexpr = q_desc.dtype
    KEYS: gl.constexpr = gl.NVMMASharedLayout.get_default_for([128, D], dtype)
    TILE: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_M, D], dtype)
    start_n = gl.program_id(0) * 128
    head = gl.program_id(1)
    k_tile = gl.allocate_shared_memory(dtype, [128, D], KEYS)
    v_tile = gl.allocate_shared_memory(dtype, [128, D], KEYS)
    q_tiles = gl.allocate_shared_memory(dtype, [STAGES, BLOCK_M, D], TILE)
    do_tiles = gl.allocate_shared_memory(dtype, [STAGES, BLOCK_M, D], TILE)
    rows_tiles = gl.allocate_shared_memory(gl.float32, [2 * STAGES, BLOCK_M], rows_desc.layout)
    ds_tile = gl.allocate_shared_memory(dtype, [128, BLOCK_M], gl.NVMMASharedLayout.get_default_for([128, BLOCK_M], dtype))
    kv_full = barriers(1).index(0)
    bars = (barriers(STAGES), barriers(STAGES), barriers(STAGES))
    start_m = start_n if IS_CAUSAL else 0
    n = gl.cdiv(N - start_m, BLOCK_M)
    work = (q_desc, k_desc, v_desc, do_desc, rows_desc, k_tile, v_tile, kv_full, q_tiles, do_tiles, rows_tiles, bars, head, start_n, start_m, n)
    if LAG:
        gl.warp_specialize(
            [
                (lagging, (work, dk_desc, dv_desc, dq_ptr, ds_tile, N, scale, IS_CAUSAL, LAG, KEEP, STAGGER)),
                (feeder, (work, IS_CAUSAL, False, STAGGER)),
            ],
            [1],
            [24],
        )
    else:
        gl.warp_specialize(
            [
                (pair, (work, dk_desc, dv_desc, dq_ptr, ds_tile, N, scale, IS_CAUSAL, AHEAD, KEEP, STAGGER, ADD, LATE)),
                (feeder, (work, IS_CAUSAL, AHEAD, STAGGER)),
            ],
            [1],
            [24],
        )


@triton.jit
def sorted_kernel(acc_ptr, dq_ptr, scale, N, ROWS, BLOCK_M: tl.constexpr, D: tl.constexpr):
    """Program (i, head) puts one tile [BLOCK_M, D] of dQ in order."""
    head = tl.program_id(1).to(tl.int64)
    start_m = tl.program_id(0) * BLOCK_M
    M: tl.constexpr = BLOCK_M // 16
    W: tl.constexpr = 8 // M
    T: tl.constexpr = D // (8 * W)
    x = tl.load(acc_ptr + (head * ROWS + start_m) * D + tl.arange(0, BLOCK_M * D))
    x = tl.reshape(tl.permute(tl.reshape(x, [T, W, M, 8, 4, 2, 2]), (2, 5, 3, 1, 0, 4, 6)), [BLOCK_M, D])
    offs_m = start_m + tl.arange(0, BLOCK_M)
    at = (head * N + offs_m)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(dq_ptr + at, (x * scale).to(dq_ptr.dtype.element_ty), mask=offs_m[:, None] < N)


@dataclass(frozen=True)
class Pair:
    block_m: int = 64
    stages: int = 2
    ahead: bool = False
    keep: bool = False
    stagger: bool = False
    add: bool = True
    late: bool = False
    lag: int = 0
    most: int = 168


def attention_backward_pair(q, k, v, o, lse, do, causal=False, scale=None, config=Pair()):
    b, h, n, d = q.shape
    c, m = config, config.block_m
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    rows = triton.cdiv(n, 128) * 128
    sides = torch.empty(2, b * h, rows, dtype=torch.float32, device=q.device)
    acc = torch.zeros(b * h * rows * d, dtype=torch.float32, device=q.device)
    scale = 1 / math.sqrt(d) if scale is None else scale
    rows_kernel[(rows // 64, b * h)](o, do, lse, sides[0], sides[1], n, rows, D=d, BLOCK_M=64, num_warps=4)
    dtype = gl.bfloat16 if q.dtype == torch.bfloat16 else gl.float16

    def blocks(x, size):
        layout = gl.NVMMASharedLayout.get_default_for([1, size, d], dtype)
        return TensorDescriptor(x, [b * h, n, d], [n * d, d, 1], [1, size, d], layout)

    line = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    rows_desc = TensorDescriptor(sides, [2 * b * h * rows], [1], [m], line)
    args = (blocks(q, m), blocks(k, 128), blocks(v, 128), blocks(do, m), rows_desc, blocks(dk, 128), blocks(dv, 128), acc, n, scale)
    pair_kernel[(triton.cdiv(n, 128), b * h)](
        *args, IS_CAUSAL=causal, STAGES=c.stages, AHEAD=c.ahead, KEEP=c.keep, STAGGER=c.stagger and not causal,
        ADD=c.add, LATE=c.late, LAG=c.lag, num_warps=8, maxnreg=c.most,
    )
    sorted_kernel[(rows // m, b * h)](acc, dq, scale, n, rows, BLOCK_M=m, D=d, num_warps=4)
    return dq, dk, dv
