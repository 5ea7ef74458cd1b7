"""Records the builder calls of one operation of the language, and replays them for other operands.

Triton's front end sees only the types of operands and the constants among them; values are hidden in handles. So `x + y` always
leads to the same primitives for one pair of types, and the front end takes far longer than the primitives do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
    """One primitive, with slots in place of handles; a sequence that contains slots is a `_Sequence`. `results` are slots, too."""

    method: str
    arguments: tuple[Any, ...]
    results: tuple[_Slot, ...]
    is_tuple: bool


class _Sequence(tuple[Any, ...]):
    """A sequence of arguments that contains slots."""


Replay = Callable[[Any, Sequence[Handle]], Any]
"""Makes the builder calls of one operation, on a builder and for these operands, and returns what the operation does."""


class _Text:
    """The text of a replay. Constants have names in it, so that operations which differ in nothing else share their code."""

    def __init__(self) -> None:
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"

    def part(self, part: Any) -> str:
        if type(part) is _Slot:
            return f"h{part.number}"
        if type(part) is _Sequence:
            return f"[{', '.join(map(self.part, part))}]"
        return self.constant(part)

    def call(self, call: _Call) -> str:
        names = "".join(f"{self.part(slot)}, " for slot in call.results)
        left = names if call.is_tuple else names.rstrip(", ")
        right = f"builder.{call.method}({', '.join(map(self.part, call.arguments))})"
        return f"{left} = {right}" if left else right


@lru_cache(maxsize=1024)
def _maker(body: str, constants: int) -> Callable[..., Replay]:
    names = ", ".join(f"c{i}" for i in range(constants))
    scope: dict[str, Any] = {}
    exec(f"def make(new, kind, {names}):\n def replay(builder, operands):\n  {body}\n return replay", scope)
    make: Callable[..., Replay] = scope["make"]
    return make


class Recording:
    """Stands in for a builder and records its calls. Constants are computed now and never again."""

    def __init__(self, builder: Any, operands: Sequence[Handle]) -> None:
        self._builder = builder
        self._operands = self._handles = len(operands)
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

    def replay(self, kind: type, results: Sequence[Mapping[str, Any]]) -> Replay:
        """Makes all calls again, and returns objects of this kind with these attributes: several as a tuple, none as None.

        Raises NotRecorded if a call cannot be made again.
        """
        if not self._complete:
            raise NotRecorded
        text = _Text()
        lines = [f"{', '.join(f'h{i}' for i in range(self._operands))}, = operands"] if self._operands else []
        lines += map(text.call, self._calls)
        for i, attributes in enumerate(results):
            lines.append(f"t{i} = new(kind)")
            lines += [f"t{i}.{name} = {text.part(self.part(value))}" for name, value in attributes.items()]
        lines.append(f"return {', '.join(f't{i}' for i in range(len(results))) or None}")
        return _maker("; ".join(lines), len(text.constants))(object.__new__, kind, *text.constants)

    def part(self, value: Any) -> Any:
        """What stands for `value` in a call. Raises NotRecorded for an unknown handle."""
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
        is_tuple = type(result) is tuple
        slots = []
        for one in result if is_tuple else (result,):
            slots.append(_Slot(self._handles))
            self._handles += 1
            if isinstance(one, Handle):
                self._parts[id(one)] = slots[-1]
        self._calls.append(_Call(name, parts, tuple(slots), is_tuple))
