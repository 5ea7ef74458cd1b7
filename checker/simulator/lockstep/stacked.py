"""One tensor parameter of all launches: their tensors end to end, each program with its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.device_tensor import NOBODY, DeviceTensor
from checker.simulator.lockstep.programs import Programs, column
from checker.simulator.trace import Traffic
from checker.simulator.values import isinf, isnan


class StackedTensor:
    """Copies of the `tensors` of one parameter, launch by launch, which all begin at the same virtual address.

    A *place* counts elements of `memory`; the last one, `nowhere`, belongs to no tensor. Of an output it is inside which program
    stored or loaded each place, in which interval between two of its barriers, and in which line it was last stored.
    """

    def __init__(self, tensors: Sequence[DeviceTensor], programs: Programs, is_output: bool) -> None:
        self.tensors, self.programs, self.is_output = tensors, programs, is_output
        one = tensors[0]
        self.name, self.base, self.itemsize = one.name, one.base, one.itemsize
        spans = np.array([tensor.span for tensor in tensors])
        self.starts = np.cumsum([0, *spans[:-1]])
        self.nowhere = int(spans.sum())
        poison = np.array([numerics.poison(one.memory.dtype)], one.memory.dtype)
        self.memory = np.concatenate([*(tensor.memory for tensor in tensors), poison])
        of_program = programs.launch if len(tensors) > 1 else np.zeros(1, np.int64)
        self.start, self.span = self.starts[of_program], spans[of_program].astype(np.uint64)
        self.is_element = self._elements() if any(tensor.element_at is not None for tensor in tensors) else None
        self.loads, self.stores = np.zeros(programs.count, np.int64), np.zeros(programs.count, np.int64)
        self.loaded, self.stored = np.zeros(programs.count, np.int64), np.zeros(programs.count, np.int64)
        if is_output:
            places = self.nowhere + 1
            self.stored_by = np.full(places, NOBODY, np.int64)
            self.stored_in = np.full(places, -1, np.int64)
            self.any_loaded = self.any_stored = False
            self.waiting: list[Any] = []
            """Loads before the first store."""
            self.line = np.zeros(places, np.int32)

    @cached_property
    def loaded_by(self) -> np.ndarray:
        return np.full(self.nowhere + 1, NOBODY, np.int64)

    @cached_property
    def scratch(self) -> np.ndarray:
        """Room for a store to see which of its lanes meet."""
        return np.zeros(self.nowhere + 1, np.int64)

    def _elements(self) -> np.ndarray:
        """Which places are elements, and not gaps between rows."""
        inside = [np.ones(t.span, bool) if t.element_at is None else t.element_at >= 0 for t in self.tensors]
        return np.concatenate([*inside, np.zeros(1, bool)])

    def viewed_as(self, dtype: np.dtype) -> np.ndarray:
        """The memory as elements of `dtype`, which has the same size."""
        return self.memory if self.memory.dtype == dtype else self.memory.view(dtype)

    def offsets(self, addresses: np.ndarray) -> np.ndarray:
        """Elements from the first one of each program's own tensor."""
        offsets = addresses - self.base
        if self.itemsize > 1:
            offsets >>= self.itemsize.bit_length() - 1
        return offsets

    def places(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where these offsets lie, and which of them hit an element of the program's own tensor."""
        rank = offsets.ndim - 1
        inside = offsets.view(np.uint64) < column(self.span, rank)  # a negative one is large
        places = offsets if len(self.start) == 1 else offsets + column(self.start, rank)
        if self.is_element is not None:
            inside &= self.is_element[np.where(inside, places, self.nowhere)]
        return places, inside

    # afterwards -------------------------------------------------------------------------------------------------------

    def traffic(self) -> list[Traffic]:
        """Of each launch."""
        first = self.programs.first
        sums = [np.add.reduceat(n, first).tolist() for n in (self.loaded, self.stored, self.loads, self.stores)]
        return [
            Traffic(loaded * self.itemsize, stored * self.itemsize, loads, stores)
            for loaded, stored, loads, stores in zip(*sums, strict=True)
        ]

    def stores_of(self, launch: int) -> tuple[np.ndarray, np.ndarray]:
        """Of an output: the program, by its linear id, that stored each row-major element of a launch's tensor, and the line."""
        tensor = self.tensors[launch]
        own = slice(self.starts[launch], self.starts[launch] + tensor.span)
        stored_by, line = self.stored_by[own], self.line[own]
        if tensor.offset_of is not None:
            stored_by, line = stored_by[tensor.offset_of], line[tensor.offset_of]
        linear = self.programs.linear[stored_by].astype(np.int32)
        return np.where(stored_by == NOBODY, np.int32(NOBODY), linear), line.copy()

    def is_unwritten(self, launch: int) -> bool:
        """Whether an element of a launch's output was stored by no program."""
        unwritten = self.stored_by[self.starts[launch] :][: self.tensors[launch].span] == NOBODY
        offsets = self.tensors[launch].offset_of
        return bool((unwritten if offsets is None else unwritten[offsets]).any())

    def stores_nan(self, launch: int) -> bool:
        """Whether a program stored NaN or inf to a launch's output."""
        if not self.any_stored:
            return False
        own = slice(self.starts[launch], self.starts[launch] + self.tensors[launch].span)
        stored = self.memory[own][self.stored_by[own] != NOBODY]
        return bool((isnan(stored) | isinf(stored)).any())

    def write_back(self, launch: int) -> None:
        """Give a launch's own tensor what was stored."""
        tensor, start = self.tensors[launch], self.starts[launch]
        tensor.memory[:] = self.memory[start : start + tensor.span]
