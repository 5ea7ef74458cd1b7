"""Integers too large to try: beside each number of a small launch, the number that a launch with huge sizes and strides would have there.

A twin holds it twice: exactly, and as the kernel's own types hold it. Control flow and memory are the small launch's. Where the two
differ in an address, a mask or a decision, a number has wrapped around, and the operation that did it is a finding.

The first programs stand for the first of the huge launch, the last for its last. A loop's first two rounds are its first, and the
others its last: whatever grew by the same amount in both rounds is taken as far as all rounds between would take it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import triton.language as tl

from checker.puzzle import Larger
from checker.simulator import numerics
from checker.simulator.builder import Builder
from checker.simulator.findings import Findings
from checker.simulator.language import Language, Range, range_bounds
from checker.simulator.location import Locator
from checker.simulator.memory import Memory
from checker.simulator.operations.block_pointers import BlockHandle
from checker.simulator.operations.casts import Casts
from checker.simulator.operations.elementwise import Elementwise
from checker.simulator.operations.reductions import Reductions
from checker.simulator.operations.shapes import Shapes
from checker.simulator.triton_internals import handle_of, is_tensor
from checker.simulator.values import Handle

_ROUNDS = 2
"""Rounds of a loop before it leaps to its last ones."""
_MOST_ROUNDS = 2**31
"""Nobody waits for more: such a loop is followed as it is in the small launch."""


@dataclass(frozen=True)
class Wrap:
    """The operation whose result did not fit, and what it should have been."""

    line: int
    operation: str
    exact: int
    type: str


@dataclass(frozen=True)
class Twin:
    """`exact` is int64, float64 or bool; `held` has the type of the number. `wrap` is where they began to differ."""

    exact: Any
    held: Any
    wrap: Wrap | None = None
    sides: tuple[Handle, Handle] | None = None
    """Of a comparison: what it compares."""

    @property
    def differs(self) -> Any:
        return self.exact != self.held


def _wide(data: Any) -> Any:
    """A number that has no twin, as the exact side of one."""
    data = np.asarray(data)
    if data.dtype.kind == "b":
        return data
    return data.astype(np.float64 if numerics.is_float(data.dtype) else np.int64)


def exact(handle: Handle) -> Any:
    return _wide(handle.data) if handle.twin is None else handle.twin.exact


def held(handle: Handle) -> Any:
    return handle.data if handle.twin is None else handle.twin.held


def _handles(arguments: Iterable[Any]) -> Iterator[Handle]:
    for argument in arguments:
        if isinstance(argument, Handle):
            yield argument
        elif isinstance(argument, list | tuple):
            yield from _handles(argument)


def _with(arguments: Iterable[Any], side: Callable[[Handle], Any]) -> list[Any]:
    """The arguments of a primitive, with one side of the twins as their data."""
    return [
        Handle(side(a), a.type)
        if isinstance(a, Handle)
        else _with(a, side)
        if isinstance(a, list | tuple) and any(_handles(a))
        else a
        for a in arguments
    ]


def _followed(operand: Handle) -> bool:
    """Whether results of this operand may have a twin: a tile of floats without one holds data, not numbers to count with."""
    if operand.twin is not None:
        return True
    data = np.asarray(operand.data)
    return not numerics.is_float(data.dtype) or data.size == 1 or bool((data == data.flat[0]).all())


_TO_FLOATS = ("create_si_to_fp", "create_ui_to_fp")
"""What an integer becomes through these always has a twin."""


def _twinned(name: str, compute: Callable[..., Any], exactly: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The primitive, which also computes the twin of its result; `exactly` computes its exact side, if not the primitive itself."""
    exactly = exactly or compute

    def operation(self: Any, *arguments: Any, **named: Any) -> Any:
        result = compute(self, *arguments, **named)
        operands = list(_handles(arguments))
        known = name in _TO_FLOATS or any(operand.twin is not None for operand in operands)
        if not known or not all(map(_followed, operands)):
            return result
        every = result if isinstance(result, tuple) else (result,)
        sides = [
            side if isinstance(side, tuple) else (side,)
            for side in (
                exactly(self, *_with(arguments, exact), **named),
                compute(self, *_with(arguments, held), **named),
            )
        ]
        for one, wide, narrow in zip(every, *sides, strict=True):
            if one.twin is None:  # a primitive may return an operand itself
                one.twin = self.twins.made(name, one, operands, wide.data, narrow.data)
        return result

    return operation


def _exact_cast(self: Any, arg: Handle, to: Any, *_: Any) -> Handle:
    kind = numerics.ELEMENT[to.scalar.name].kind if not to.scalar.is_ptr() else "i"
    data = np.asarray(arg.data)
    return Handle(numerics.cast(data, np.dtype({"b": bool, "i": np.int64, "u": np.int64}.get(kind, np.float64))), to)


@dataclass
class Twins:
    """The numbers of the huge launch, and the wraps that reach something."""

    larger: Larger
    locator: Locator
    findings: Findings

    def follow(self, *parts: Any) -> Twins:
        """These parts of a simulator keep twins from now on."""
        for part in parts:
            part.twins = self
        return self

    def made(self, name: str, result: Handle, operands: Sequence[Handle], exact: Any, held: Any) -> Twin:
        twin = Twin(exact, held)
        sides = (operands[0], operands[1]) if name.startswith(("create_icmp", "create_fcmp")) else None
        wrap = next((o.twin.wrap for o in operands if o.twin is not None and o.twin.wrap is not None), None)
        floating = numerics.is_float(np.asarray(held).dtype) and name not in _TO_FLOATS  # whose rounding is no mistake
        if not np.any(twin.differs):
            wrap = None  # it came back right, and whatever differs later began to differ later
        elif wrap is None and not floating:
            wrap = self.wrap(name, result, exact)
        return Twin(exact, held, wrap, sides)

    def counted(self, operation: str, exact: int, type_: Any) -> Twin:
        """A number that only the machine's code counts up to."""
        held = np.int64(exact).astype(numerics.ELEMENT[type_.name])
        wrap = Wrap(self.locator.line(), operation, exact, str(type_)) if exact != held else None
        return Twin(np.int64(exact), held, wrap)

    def wrap(self, operation: str, result: Handle, exact: Any) -> Wrap:
        largest = np.asarray(exact).reshape(-1)
        largest = largest[np.abs(largest.astype(np.float64)).argmax()]
        return Wrap(self.locator.line(), operation, int(largest), str(result.type))

    def reached(self, twin: Twin | None, ptr: Handle | None = None) -> None:
        """A number is used, perhaps in an access; report it if it wrapped around."""
        if twin is None or not np.any(twin.differs):
            return
        tensor = None if ptr is None or ptr.pointer is None else ptr.pointer.tensor
        wrap = twin.wrap or Wrap(self.locator.line(), "", 0, "")
        self.findings.add(
            "wrap",
            None,
            np.empty(0),
            line=wrap.line,
            operation=wrap.operation,
            type=wrap.type,
            values=(max(min(wrap.exact, 1 << 62), -(1 << 62)),),
            tensor=tensor and tensor.name,
            reached_line=self.locator.line(),
            count=1,
        )

    def accessed(self, ptr: Handle, mask: Handle | None) -> None:
        """A load or store: only the lanes that the mask should let through count."""
        if mask is not None:
            self.reached(mask.twin, ptr)
        if ptr.twin is not None:
            on = True if mask is None else exact(mask)
            self.reached(Twin(np.where(on, ptr.twin.exact, 0), np.where(on, ptr.twin.held, 0), ptr.twin.wrap), ptr)

    def give(self, arguments: Mapping[str, Any]) -> None:
        """The arguments that are numbers get their twins."""
        for name, number in self.larger.numbers.items():
            if is_tensor(arguments[name]):
                handle = handle_of(arguments[name])
                handle.twin = Twin(np.int64(number), np.asarray(handle.data).dtype.type(number))


class TwinBuilder(Builder):
    """A builder whose integers have twins."""

    twins: Twins

    def create_get_program_id(self, axis: int) -> Handle:
        handle = super().create_get_program_id(axis)
        number, count = self.program[axis], self.grid[axis]
        if number >= count - max(1, count // 2):  # the last of three, or a single one, counts from the end
            number += self.twins.larger.grid[axis] - count
        handle.twin = Twin(np.int64(number), np.int32(number))
        return handle

    def create_get_num_programs(self, axis: int) -> Handle:
        handle = super().create_get_num_programs(axis)
        number = self.twins.larger.grid[axis]
        handle.twin = Twin(np.int64(number), np.int32(number))
        return handle

    def create_make_block_ptr(self, base: Handle, *arguments: Any) -> Handle:
        for number in _handles((base, *arguments)):
            self.twins.reached(number.twin)
        return super().create_make_block_ptr(base, *arguments)

    def create_make_tensor_descriptor(self, base: Handle, *arguments: Any, **named: Any) -> Handle:
        for number in _handles((base, *arguments)):
            self.twins.reached(number.twin)
        return super().create_make_tensor_descriptor(base, *arguments, **named)

    def create_advance(self, ptr: BlockHandle, by: Sequence[Handle]) -> Handle:
        moved = super().create_advance(ptr, by)
        assert isinstance(moved, BlockHandle)
        for new, old, step in zip(moved.offsets, ptr.offsets, by, strict=True):
            new.twin = self.create_add(old, self.create_int_cast(step, tl.int32)).twin
        return moved

    def _lanes(self, ptr: BlockHandle, *arguments: Any) -> tuple[Handle, Handle]:
        for offset in ptr.offsets:
            self.twins.reached(offset.twin, ptr)
        return super()._lanes(ptr, *arguments)


class TwinReductions(Reductions):
    """`tl.max`, `tl.min`, `tl.sum` and `tl.cumsum` of numbers with twins."""

    @property
    def twins(self) -> Twins:
        twins: Twins = self.operations.twins  # type: ignore[attr-defined]
        return twins

    _library_reduce = _twinned("reduce", Reductions._library_reduce)
    _cumsum = _twinned("tl.cumsum", Reductions._cumsum)


_DATA = ("create_umulhi", "create_gather", "create_histogram", "create_make_range", "create_bitcast")
"""Primitives whose results have no twin."""


def _select(self: TwinBuilder, condition: Handle, *values: Handle) -> Handle:
    """A wrapped number may not decide what `tl.where` takes."""
    self.twins.reached(condition.twin)
    return Builder.create_select(self, condition, *values)


def _fill() -> None:
    for name in {n for kind in (Elementwise, Casts, Shapes) for n in vars(kind)} | {"create_addptr"}:
        if name.startswith("create_") and name not in _DATA:
            cast = name in vars(Casts)
            primitive = _select if name == "create_select" else getattr(Builder, name)
            setattr(TwinBuilder, name, _twinned(name, primitive, _exact_cast if cast else None))


_fill()


class TwinMemory(Memory):
    """Memory that looks at the twins of addresses and masks."""

    twins: Twins

    def load(self, ptr: Handle, mask: Handle | None, other: Handle | None, element: np.dtype) -> Handle:
        """A number that is loaded and counts as many as a size does is that size in the huge launch, too. Indices are larger there."""
        self.twins.accessed(ptr, mask)
        handle = super().load(ptr, mask, other, element)
        if element.kind in "iu":
            every = np.asarray(handle.data).astype(np.int64)
            larger = every.copy()
            known = ptr.pointer.tensor if ptr.pointer is not None else None
            if known is not None and known.name in self.twins.larger.indices:
                larger[every >= 0] += self.twins.larger.indices[known.name]
            else:
                for small, large in self.twins.larger.counts.items():
                    larger[every == small] = large
            handle.twin = Twin(larger, larger.astype(element))
        return handle

    def store(self, ptr: Handle, value: Handle, mask: Handle | None) -> None:
        self.twins.accessed(ptr, mask)
        super().store(ptr, value, mask)

    def atomic(self, op: str, ptr: Handle, value: Handle, mask: Handle | None, *more: Any) -> Handle:
        self.twins.accessed(ptr, mask)
        return super().atomic(op, ptr, value, mask, *more)


class TwinRange(Range):
    """A `range` with the rounds of the huge launch."""

    def __init__(self, twins: Twins, *bounds: Any, **named: Any) -> None:
        super().__init__(*bounds, **named)
        handles = [handle_of(b) if is_tensor(b) else Handle(np.int64(b), None) for b in range_bounds(*bounds, **named)]
        start, stop, step = (int(exact(handle)) for handle in handles)
        rounds = max(0, -(-(stop - start) // step)) if step else 0
        self.start, self.step = (start, step) if rounds < _MOST_ROUNDS else (self.numbers.start, self.numbers.step)
        self.more = max(rounds - len(self.numbers), 0) if rounds < _MOST_ROUNDS else 0
        for handle in handles if rounds < _MOST_ROUNDS else ():
            twins.reached(handle.twin)
        if 0 < rounds < _MOST_ROUNDS:  # the loop ends because the number after its last one is compared with the bound
            twins.reached(twins.counted("loop_end", start + rounds * step, self.type))
        self.leap = min(_ROUNDS, len(self.numbers) - 1)
        """The round that comes after all those that the small launch lacks."""

    def __iter__(self) -> Iterator[Any]:
        for i, number in enumerate(super().__iter__()):
            large = self.start + self.step * (i if i < self.leap else i + self.more)
            handle_of(number).twin = Twin(np.int64(large), np.int64(large).astype(self.element))
            yield number


class TwinLanguage(Language):
    """The language, in which a wrapped number may not decide a branch or the rounds of a loop."""

    def __init__(self, builder: TwinBuilder, *arguments: Any) -> None:
        super().__init__(builder, *arguments)
        self.twins = builder.twins
        self.range = partial(TwinRange, self.twins)

    def truth(self, tensor: Any) -> bool:
        self.twins.reached(handle_of(tensor).twin)
        return super().truth(tensor)


Snapshot = dict[str, Handle]


class TwinLocator(Locator):
    """Follows loops, and takes what grows in them as far as it would get in all rounds."""

    twins: Twins

    def for_loop(self, name: str, values: Iterable[Any]) -> Iterator[Any]:
        frame, seen = sys._getframe(1), list[Snapshot]()
        leap = values.leap if isinstance(values, TwinRange) else 0
        for i, value in enumerate(super().for_loop(name, values)):
            if i <= leap:
                seen.append(_integers(frame))
            if 0 < i == leap:
                assert isinstance(values, TwinRange)
                self._leap(seen, values.more)
            yield value

    def enter_while(self) -> tuple[int, list[Any]]:
        entered = super().enter_while()
        entered[1].extend(([], []))  # what it saw, and how far the condition was from its end
        return entered

    def next_visit(self, entered: tuple[int, list[Any]], condition: Any) -> bool:
        going = super().next_visit(entered, condition)
        _, visits, seen, left = entered[1]
        sides = handle_of(condition).twin.sides if is_tensor(condition) and handle_of(condition).twin else None
        if going and sides is not None and visits <= _ROUNDS + 1 and len(seen) == visits - 1:
            seen.append(_integers(sys._getframe(1)))
            left.append([abs(int(side(sides[1])) - int(side(sides[0]))) for side in (lambda h: h.data, exact)])
            pace = left[-2][0] - left[-1][0] if len(left) > 1 else 0
            if pace > 0 and (visits == _ROUNDS + 1 or left[-1][0] <= pace):
                self._leap(seen, (left[-1][1] - left[-1][0]) // pace)
                seen.append({})  # once
        return going

    def _leap(self, seen: Sequence[Snapshot], rounds: int) -> None:
        """Take what grew by the same amount in each round that was `seen` as far as `rounds` more would take it."""
        now, before = seen[-1], seen[-2]
        for name, handle in now.items():
            old = before.get(name)
            if old is None or old is handle or np.shape(old.data) != np.shape(handle.data):
                continue
            step = exact(handle) - exact(old)
            older = [then.get(name) for then in seen[:-2]]
            even = all(o is not None and np.array_equal(exact(old) - exact(o), step) for o in older)
            if even and np.any(step):
                narrow = held(handle) + (held(handle) - held(old)) * np.asarray(rounds).astype(handle.data.dtype)
                twin = Twin(exact(handle) + step * rounds, narrow)
                known = handle.twin.wrap if handle.twin is not None else None
                wrap = (known or self.twins.wrap("loop", handle, twin.exact)) if np.any(twin.differs) else None
                handle.twin = Twin(twin.exact, narrow, wrap)


def _integers(frame: FrameType) -> Snapshot:
    """The integers and pointers among the variables of a frame."""
    handles = {name: handle_of(value) for name, value in frame.f_locals.items() if is_tensor(value)}
    return {name: h for name, h in handles.items() if np.asarray(h.data).dtype.kind in "iu" and type(h) is Handle}
