"""Records the builder calls of one operation of the language, and replays them for other operands.

Triton's front end sees only the types of operands and the constants among them; values are hidden in handles. So `x + y` always
leads to the same primitives for one pair of types, and the front end takes far longer than the primitives do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checker.simulator.values import Handle

_OF_CONSTANTS = frozenset({"create_splat", "create_expand_dims", "create_broadcast", "create_make_range"})
"""Primitives whose result is a constant if their operands are."""


class NotRecorded(Exception):
    """This operation must go through the front end each time."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """Stands for a handle, by its number among the operands and the results so far."""

    number: int


@dataclass(frozen=True, slots=True)
class _Call:
    """One primitive, with slots in place of handles; a sequence that contains slots is a `_Sequence`."""

    method: str
    arguments: tuple[Any, ...]


class _Sequence(tuple[Any, ...]):
    """A sequence of arguments that contains slots."""


BuilderCalls = tuple[_Call, ...]
"""The primitives of one operation."""


def replay(calls: BuilderCalls, builder: Any, operands: Sequence[Handle]) -> list[Any]:
    """Make the calls for these operands. Returns the operands followed by the results, as `filled` needs them."""
    handles: list[Any] = list(operands)
    for call in calls:
        result = getattr(builder, call.method)(*[filled(part, handles) for part in call.arguments])
        if type(result) is tuple:
            handles.extend(result)
        else:
            handles.append(result)
    return handles


def filled(part: Any, handles: Sequence[Any]) -> Any:
    """An argument or a result of a recorded call, with handles in place of slots."""
    if type(part) is _Slot:
        return handles[part.number]
    if type(part) is _Sequence:
        return [filled(inner, handles) for inner in part]
    return part


class Recording:
    """Stands in for a builder and records its calls. Constants are computed now and never again."""

    def __init__(self, builder: Any, operands: Sequence[Handle]) -> None:
        self._builder = builder
        self._handles: list[Any] = list(operands)
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
        """All calls. Raises NotRecorded if one of them cannot be replayed."""
        if not self._complete:
            raise NotRecorded
        return tuple(self._calls)

    def part(self, value: Any) -> Any:
        """The part that `filled` turns back into `value`. Raises NotRecorded for an unknown handle."""
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
                self._parts[id(one)] = _Slot(len(self._handles))
            self._handles.append(one)
