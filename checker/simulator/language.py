"""The meaning of the language while a kernel is simulated: loops, conditions, `and`, `or`, `min`, `max`, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import triton.language as tl

from checker.phrases import shape
from checker.simulator.builder import Primitives
from checker.simulator.endless import Turns, refuse_too_many
from checker.simulator.errors import Unsupported
from checker.simulator.promises import Promises
from checker.simulator.triton_internals import (
    Binding,
    Call,
    constant_value,
    handle_of,
    is_tensor,
    scalar_tensor,
)


def range_bounds(*bounds: Any, **named: Any) -> tuple[Any, Any, Any]:
    """Start, stop and step of a `range` or `tl.range` with these arguments."""
    bounds = tuple(named.pop(n) for n in ("start", "end") if n in named) + bounds if "end" in named else bounds
    step = named.pop("step", 1)
    bounds = tuple(constant_value(b) for b in bounds)
    start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    return start, stop, bounds[2] if len(bounds) > 2 else constant_value(step)


class Range:
    """`range` and `tl.range`. As in the compiler, the loop variable is a scalar of the language."""

    def __init__(self, *bounds: Any, **named: Any) -> None:
        limits = range_bounds(*bounds, **named)
        numbers = [_integer(b) for b in limits]
        wide = any(is_tensor(b) and b.dtype.primitive_bitwidth > 32 for b in limits)
        wide = wide or any(not -(2**31) <= n < 2**31 for n in numbers)
        self.type = tl.int64 if wide else tl.int32
        self.element = np.int64 if wide else np.int32
        self.numbers = range(*numbers)
        refuse_too_many(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        for number in self.numbers:
            yield scalar_tensor(self.element(number), self.type)


def _integer(value: Any) -> int:
    """A constant or a scalar as a whole number. Raises TypeError."""
    data = np.asarray(handle_of(value).data if is_tensor(value) else value)
    if data.size != 1 or data.dtype.kind not in "iub":
        raise TypeError(f"a whole number is needed here, got {data.dtype} of {data.size} values")
    return int(data.reshape(())[()])


def static_range(*bounds: Any, **named: Any) -> range:
    """`tl.static_range`: the loop variable is a constant."""
    return range(*map(_integer, range_bounds(*bounds, **named)))


def _static_assert(condition: Any, message: Any = "", **_: Any) -> None:
    if not constant_value(condition):
        raise AssertionError(constant_value(message) or "tl.static_assert does not hold")


def _condition(condition: Any, disable_licm: bool = False) -> Any:
    """`while tl.condition(n < N, disable_licm=True):` only affects how the loop is compiled."""
    return condition


def _ignored(*_: Any, **__: Any) -> None:
    return None


def _tiles_or_numbers(numbers: Callable[..., Any], tiles: Callable[..., Any]) -> Callable[..., Any]:
    """Python's `min` or `max` that also takes two tiles."""

    def choose(*values: Any) -> Any:
        if len(values) == 2 and any(is_tensor(v) for v in values):
            return tiles(*values)
        return numbers(*values)

    return choose


class Language:
    """The meaning of a kernel's names and operators during one launch.

    `on_branch` is called if a number decides a branch, with the loads that left it undefined.
    """

    range: Callable[..., Any] = Range
    static_range: Callable[..., Any] = staticmethod(static_range)

    def __init__(
        self,
        builder: Primitives,
        promises: Promises,
        on_branch: Callable[[frozenset[int]], None],
    ) -> None:
        self.builder = builder
        self.binding = Binding(builder)
        self.promises = promises
        self.on_branch = on_branch

    def turns(self, names: Sequence[str]) -> Turns:
        """Counts the turns of a `while` loop that these names decide."""
        return Turns(names, lambda: self.builder.memory.stores)

    def integer(self, tensor: Any) -> int:
        """A tensor as a whole number, for Python. Raises TypeError."""
        return _integer(tensor)

    def assigned(self, value: Any) -> Any:
        """The assigned value: as in the compiler, a number becomes a scalar of the language."""
        return self.binding.to_tensor(value)

    def and_(self, left: Any, right: Callable[[], Any]) -> Any:
        """`left and right`, lane by lane for tensors; as in the compiler, a constant decides alone or drops out."""
        if not is_tensor(left):
            return left and right()
        other = right()
        return left.logical_and(other) if is_tensor(other) else left if other else other

    def or_(self, left: Any, right: Callable[[], Any]) -> Any:
        """`left or right`, likewise."""
        if not is_tensor(left):
            return left or right()
        other = right()
        return left.logical_or(other) if is_tensor(other) else other if other else left

    def not_(self, value: Any) -> Any:
        """`not value`, lane by lane for a tile."""
        if is_tensor(value) and np.ndim(handle_of(value).data):
            return self.binding.not_(value)
        return not value

    def discarded(self, value: Any) -> None:
        """A statement that is only a call, with this result."""
        if is_tensor(value):
            self.builder.discarded()

    def namespace(self, names: dict[str, Any]) -> dict[str, Any]:
        """A copy of a learner's globals with our language in place of Triton's."""
        out = dict(names)
        for name, value in names.items():
            if isinstance(value, tl.constexpr):
                out[name] = value.value
            elif id(value) in self.binding.replaced:
                out[name] = self.binding.replaced[id(value)]
        out.setdefault("range", self.range)
        out.setdefault("min", _tiles_or_numbers(min, tl.minimum))
        out.setdefault("max", _tiles_or_numbers(max, tl.maximum))
        out.setdefault("print", tl.device_print)
        return out

    def asserted(self, condition: Any, message: Any) -> None:
        """`assert condition, message`: a device assertion if the condition is a tensor."""
        if is_tensor(condition):
            self.builder.create_assert(handle_of(condition), str(message))
        elif not constant_value(condition):
            raise AssertionError(str(message))

    def truth(self, tensor: Any) -> bool:
        """A tensor as a condition, for Python. Raises Unsupported for a tile, which is neither true nor false."""
        handle = handle_of(tensor)
        if np.size(handle.data) != 1 or np.ndim(handle.data):
            size = shape(np.shape(handle.data)) if np.ndim(handle.data) > 1 else f"{np.size(handle.data)}"
            raise Unsupported(
                f"a tile of {size} values is neither true nor false. Use tl.where to choose lane by lane, and & | ~ between masks."
            )
        taint = handle.taint
        self.on_branch(taint.loads if taint is not None and taint.lanes.any() else frozenset())
        return bool(np.asarray(handle.data))

    def patched(self, device: Call, reduce: Call, scan: Call) -> AbstractContextManager[None]:
        """Inside this context, Triton's language computes with our builder.

        `device(jitted, *arguments)` runs a jitted function; `reduce` and `scan` replace the language's own.
        """
        functions: dict[str, Any] = {
            "range": self.range,
            "static_range": self.static_range,
            "static_assert": _static_assert,
            "static_print": _ignored,
            "condition": _condition,
            "reduce": reduce,
            "associative_scan": scan,
            **self.promises.functions(),
        }
        methods: dict[str, Any] = {
            "reduce": lambda x, *a, **k: reduce(x, *a, **k),
            "associative_scan": lambda x, *a, **k: scan(x, *a, **k),
            "__index__": lambda x: self.integer(x),
            "__repr__": lambda x: repr(handle_of(x).data),
            "__str__": lambda x: str(handle_of(x).data),
            "T": property(lambda x: tl.trans(x)),
        }
        return self.binding.patched(device, functions, methods, self.truth)
