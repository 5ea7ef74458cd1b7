"""What one operation of the language asks the builder for, recorded once and then asked again for other operands.

Triton's front end sees the types of operands and the constants among them; values are hidden in handles. So it asks the builder
for the same primitives whenever `x + y` is computed for one pair of types, and it takes far longer than the primitives do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checker.simulator.values import Handle

_OF_CONSTANTS = frozenset({"create_splat", "create_expand_dims", "create_broadcast", "create_make_range"})
"""Primitives whose result is a constant where their operands are."""


class NotRecorded(Exception):
    """This operation has to go through the front end each time."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """In place of a handle: its number among the operands and the results so far."""

    number: int


@dataclass(frozen=True, slots=True)
class _Call:
    """One primitive, with slots in place of handles; a sequence that has some is a tuple of type `_Sequence`."""

    method: str
    arguments: tuple[Any, ...]


class _Sequence(tuple[Any, ...]):
    """A sequence of arguments among which are slots."""


BuilderCalls = tuple[_Call, ...]
"""The primitives of one operation."""


def replay(calls: BuilderCalls, builder: Any, operands: Sequence[Handle]) -> list[Any]:
    """Ask for them again. Returns the operands, and after them the results: what `filled` needs."""
    known: list[Any] = list(operands)
    for call in calls:
        result = getattr(builder, call.method)(*[filled(part, known) for part in call.arguments])
        if type(result) is tuple:
            known.extend(result)
        else:
            known.append(result)
    return known


def filled(part: Any, known: Sequence[Any]) -> Any:
    """An argument or a result of a recorded call, with handles in place of slots."""
    if type(part) is _Slot:
        return known[part.number]
    if type(part) is _Sequence:
        return [filled(inner, known) for inner in part]
    return part


class Recording:
    """Stands in for a builder, and records what it is asked for. Constants are computed now and never again."""

    def __init__(self, builder: Any, operands: Sequence[Handle]) -> None:
        self._builder = builder
        self._known: list[Any] = list(operands)
        self._parts: dict[int, Any] = {id(handle): _Slot(number) for number, handle in enumerate(operands)}
        self._calls: list[_Call] = []
        self._complete = True

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._builder, name)
        if not name.startswith(("create_", "get_")):
            return member

        def primitive(*arguments: Any, **named: Any) -> Any:
            result = member(*arguments, **named)
            try:
                if named:
                    raise NotRecorded
                self._record(name, tuple(self.part(argument) for argument in arguments), result)
            except NotRecorded:
                self._complete = False
            return result

        return primitive

    def finished(self) -> BuilderCalls:
        """All that was asked for. Raises NotRecorded."""
        if not self._complete:
            raise NotRecorded
        return tuple(self._calls)

    def part(self, value: Any) -> Any:
        """What stands for a value that the front end passes or returns; see `filled`. Raises NotRecorded for an unknown handle."""
        if isinstance(value, Handle):
            if id(value) not in self._parts:
                raise NotRecorded
            return self._parts[id(value)]
        if isinstance(value, list | tuple) and any(isinstance(inner, Handle) for inner in value):
            return _Sequence(self.part(inner) for inner in value)
        return value

    def _record(self, name: str, parts: tuple[Any, ...], result: Any) -> None:
        of_constants = not any(type(part) in (_Slot, _Sequence) for part in parts)
        if name.startswith("get_") or (name in _OF_CONSTANTS and of_constants):
            if isinstance(result, Handle):
                if isinstance(result.data, np.ndarray):
                    result.data.flags.writeable = False
                self._parts[id(result)] = result
            return
        self._calls.append(_Call(name, parts))
        for one in result if type(result) is tuple else (result,):
            if isinstance(one, Handle):
                self._parts[id(one)] = _Slot(len(self._known))
            self._known.append(one)
