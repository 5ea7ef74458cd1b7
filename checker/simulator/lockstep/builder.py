"""The builder that computes each primitive for many programs at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import triton.language as tl

from checker.simulator.builder import Primitives
from checker.simulator.lockstep.memory import Memory
from checker.simulator.lockstep.programs import GiveUp, Programs, column
from checker.simulator.operations.block_pointers import BlockHandle
from checker.simulator.values import Handle, merge_taint


class Builder(Primitives):
    """The primitives that differ for many programs; all others do not exist here."""

    front = 1

    programs: Programs
    memory: Memory

    def begin(self, programs: Programs, memory: Memory) -> None:
        """Compute for these programs from here on."""
        self.programs, self.memory = programs, memory
        self.flops_of_programs = np.zeros(programs.count, np.int64)
        self.lane_flops_of_programs = np.zeros(programs.count, np.int64)

    def count_flops(self, data: Any, each: int) -> None:
        self._count(self.lane_flops_of_programs, each * math.prod(np.shape(data)[1:]))

    def count_dot_flops(self, data: np.ndarray, each: int) -> None:
        self._count(self.flops_of_programs, each * math.prod(data.shape[1:-2]))

    def _count(self, of_programs: np.ndarray, flops: int) -> None:
        running = self.programs.running
        of_programs += flops if running is None else flops * running

    def create_get_program_id(self, axis: int) -> Handle:
        return Handle(self.programs.ids[axis], tl.int32)

    def create_get_num_programs(self, axis: int) -> Handle:
        return Handle(self.programs.grid[axis], tl.int32)

    def create_assert(self, condition: Handle, *_: Any) -> None:
        self.programs.doubt(np.atleast_1d(~np.asarray(condition.data).astype(bool)))

    create_assume = create_assert

    def _combined(self, handles: Sequence[Handle], join: Callable[[list[Any]], Any]) -> Handle:
        count = max(len(h.data) for h in handles)
        alike = [self.moved(h, lambda a: np.broadcast_to(a, (count, *np.shape(a)[1:]))) for h in handles]
        return super()._combined(alike, join)

    def create_gather(self, src: Handle, index: Handle, axis: int) -> NoReturn:
        raise GiveUp("tl.gather")

    def create_histogram(self, arg: Handle, bins: int, mask: Handle | None = None) -> NoReturn:
        raise GiveUp("tl.histogram")

    def must_be_aligned(self, bytes: Any, message: str) -> None:
        self.programs.doubt(self.misaligned(bytes))

    def select(self, new: Handle, old: Handle) -> Handle:
        """`new` for the programs that run, `old` for the others."""
        if self.programs.running is None or new is old:
            return new
        selected = self._select(new, old, self.programs.running)
        if not isinstance(new, BlockHandle) or not isinstance(old, BlockHandle):
            return selected
        shape, strides, offsets = (
            [self.select(*pair) for pair in zip(*sides, strict=True)]
            for sides in ((new.shape, old.shape), (new.strides, old.strides), (new.offsets, old.offsets))
        )
        return BlockHandle(selected, shape, strides, offsets, new.block, new.padding)

    def _select(self, new: Handle, old: Handle, running: np.ndarray) -> Handle:
        if new.pointer is not old.pointer and (
            new.pointer is None or old.pointer is None or new.pointer.tensor is not old.pointer.tensor
        ):
            raise GiveUp("a pointer into one tensor or another")
        taken = column(running, max(np.ndim(new.data), 1) - 1)
        data = np.where(taken, new.data, old.data)
        taints = [new.taint and new.taint.moved(lambda lanes: lanes & taken)]
        taints.append(old.taint and old.taint.moved(lambda lanes: lanes & ~taken))
        handle = Handle(data, new.type, pointer=new.pointer)
        handle.taint = merge_taint([t for t in taints if t is not None and t.lanes.any()], data.shape)
        return handle
