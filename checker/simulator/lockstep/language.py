"""The language for many programs, some of which may skip a loop's turn or a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator.endless import refuse_too_many
from checker.simulator.errors import Unsupported
from checker.simulator.language import Language, range_bounds, static_range
from checker.simulator.lockstep.builder import Builder
from checker.simulator.lockstep.programs import GiveUp, Programs
from checker.simulator.promises import Promises
from checker.simulator.triton_internals import handle_of, is_tensor, scalar_tensor, with_handle
from checker.simulator.values import Handle

Previous = Callable[[], Any]
"""Returns what a variable held, or raises NameError."""


@dataclass
class _Branch:
    """An `if` in progress: `taken` if all running programs agree, else the `lanes` of those that take it."""

    taken: bool | None
    lanes: np.ndarray | None = None
    outer: np.ndarray | None = None


class LockstepLanguage(Language):
    """The hooks of the rewritten functions.

    An assignment does not change a variable for programs that rest. If they had no value, they get an arbitrary one: the
    compiler refuses a kernel that would use it.
    """

    builder: Builder

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder, Promises(self._false_promise, builder.front), self._undefined)
        self.range = lambda *bounds, **named: StackedRange(self.programs, *bounds, **named)
        self.static_range = self._static_range

    @property
    def programs(self) -> Programs:
        """The programs of the current run."""
        return self.builder.programs

    def _false_promise(self, promise: str, **_: Any) -> None:
        raise GiveUp(f"false promise: {promise}")

    def _undefined(self, loads: frozenset[int]) -> None:
        if loads:
            raise GiveUp("an undefined condition")

    def _static_range(self, *bounds: Any, **named: Any) -> Iterator[int]:
        for number in static_range(*bounds, **named):
            self.programs.check_time()
            yield number

    # variables --------------------------------------------------------------------------------------------------------

    def assigned(self, value: Any, previous: Previous | None = None) -> Any:
        value = super().assigned(value)
        return value if previous is None else self.kept(value, previous)

    def unpacked(self, values: Any, previous: tuple[Previous, ...]) -> Any:
        """The same for an assignment to several variables."""
        values = super().assigned(values)
        if self.programs.running is None:
            return values
        return tuple(self.kept(value, old) for value, old in zip(values, previous, strict=True))

    def kept(self, value: Any, previous: Previous) -> Any:
        """`value` for the programs that run, for others what they had."""
        if self.programs.running is None:
            return value
        try:
            old = previous()
        except NameError:
            return value
        if value is old:
            return value
        if is_tensor(value) and is_tensor(old):
            # nobody needs what it held: the compiler refuses a kernel that would
            if value.type is not old.type and value.type != old.type:
                return value
            return with_handle(value, self.builder.select(handle_of(value), handle_of(old)))
        if is_tensor(value) or is_tensor(old) or value != old:
            raise GiveUp("a constant that differs")
        return value

    # conditions -------------------------------------------------------------------------------------------------------

    def not_(self, value: Any) -> Any:
        return self.binding.not_(value) if is_tensor(value) else not value

    def integer(self, tensor: Any) -> int:
        if np.ndim(handle_of(tensor).data) > 1 or not tensor.dtype.is_int():
            raise TypeError("only a scalar integer can be used as a number")
        return int(self.programs.common(handle_of(tensor).data))

    def truth(self, tensor: Any) -> bool:
        return bool(self.programs.common(self._condition(tensor)))

    def _condition(self, tensor: Any) -> np.ndarray:
        """A condition, for each program or for all."""
        handle = handle_of(tensor)
        if np.ndim(handle.data) > 1:
            raise Unsupported("a tile is neither true nor false")
        if handle.taint is not None:
            self.programs.doubt(handle.taint.lanes)
        return np.asarray(handle.data).astype(bool).reshape(-1)

    def enter_if(self, condition: Any, splits: bool) -> _Branch:
        """`splits`: some programs may take the branch while others do not. Raises GiveUp where they may not, and do."""
        if not is_tensor(condition):
            return _Branch(bool(condition))
        lanes = self._condition(condition)
        among = self.programs.among(lanes)
        if among.all() or not among.any():
            return _Branch(bool(among[0]))
        if not splits:
            raise GiveUp("some programs leave")
        return _Branch(None, lanes, self.programs.running)

    def then(self, branch: _Branch) -> bool:
        if branch.lanes is not None:
            self.programs.running = self.programs.narrowed(branch.lanes)
        return branch.taken is not False

    def otherwise(self, branch: _Branch) -> bool:
        if branch.lanes is not None:
            self.programs.running = branch.outer
            self.programs.running = self.programs.narrowed(~branch.lanes)
        return not branch.taken

    def leave_if(self, branch: _Branch) -> None:
        if branch.lanes is not None:
            self.programs.running = branch.outer

    # loops ------------------------------------------------------------------------------------------------------------

    def enter_while(self) -> np.ndarray | None:
        return self.programs.running

    def next_visit(self, outer: np.ndarray | None, condition: Any) -> bool:
        """Whether any program goes on; those that do not rest until the loop is left."""
        self.programs.check_time()
        if not is_tensor(condition):
            return bool(condition)
        lanes = self._condition(condition)
        if not self.programs.among(lanes).any():
            return False
        self.programs.running = self.programs.narrowed(lanes)
        return True

    def leave_while(self, outer: np.ndarray | None) -> None:
        self.programs.running = outer


class StackedRange:
    """`range` and `tl.range`: as long as the longest, with those programs that are not through."""

    def __init__(self, programs: Programs, *bounds: Any, **named: Any) -> None:
        given = range_bounds(*bounds, **named)
        self.programs = programs
        numbers = [_whole(b) for b in given]
        wide = any(is_tensor(b) and b.dtype.primitive_bitwidth > 32 for b in given)
        counters = np.concatenate([programs.among(n) for n in numbers])
        past = (counters < -(2**31)) | (counters >= 2**31)
        if past.any() and not wide:
            raise GiveUp("numbers of a range that are wider than their type")
        self.type = tl.int64 if wide else tl.int32
        self.element: Any = np.int64 if wide else np.int32
        self.start, stop, self.step = numbers
        if (self.step == 0).any():
            raise GiveUp("a range without a step")
        up = self.step > 0
        counts = np.where(up, stop - self.start + self.step - 1, self.start - stop - self.step - 1) // np.abs(self.step)
        self.counts = np.maximum(counts, 0)
        refuse_too_many(range(int(programs.among(self.counts).max())))

    def __iter__(self) -> Iterator[Any]:
        programs, outer = self.programs, self.programs.running
        among = programs.among(self.counts)
        shortest, longest = int(among.min()), int(among.max())
        try:
            for turn in range(longest):
                programs.check_time()
                if turn >= shortest:
                    programs.running = outer
                    programs.running = programs.narrowed(self.counts > turn)
                numbers = (self.start + turn * self.step).astype(self.element)
                yield scalar_tensor(numbers if numbers.size > 1 else numbers[0], self.type)
        finally:
            programs.running = outer


def _whole(bound: Any) -> np.ndarray:
    """A bound of a range, for each program or for all."""
    if not is_tensor(bound):
        if isinstance(bound, float):
            raise TypeError("a range needs integers")
        return np.array([int(bound)], np.int64)
    handle: Handle = handle_of(bound)
    if not bound.dtype.is_int() or np.ndim(handle.data) > 1 or handle.taint is not None:
        raise GiveUp("a range needs defined integers")
    return np.asarray(handle.data).astype(np.int64).reshape(-1)
