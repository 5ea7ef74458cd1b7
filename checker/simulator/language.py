"""What the language means while a kernel is simulated: loops, conditions, `and`, `or`, `min`, `max`, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator import seam
from checker.simulator.builder import Builder
from checker.simulator.values import Refusal


class Range:
    """`range` and `tl.range`: as the compiler does, the loop variable is a scalar of the language and not a Python number."""

    def __init__(self, *bounds: Any, **named: Any) -> None:
        bounds = tuple(named.pop(n) for n in ("start", "end") if n in named) + bounds if "end" in named else bounds
        step = named.pop("step", 1)
        bounds = tuple(seam.unconst(b) for b in bounds)
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) > 2 else seam.unconst(step)
        numbers = [_integer(b) for b in (start, stop, step)]
        wide = any(seam.is_tensor(b) and b.dtype.primitive_bitwidth > 32 for b in (start, stop, step))
        wide = wide or any(not -(2**31) <= n < 2**31 for n in numbers)
        self.type = tl.int64 if wide else tl.int32
        self.element = np.int64 if wide else np.int32
        self.numbers = range(*numbers)

    def __iter__(self) -> Iterator[Any]:
        for number in self.numbers:
            yield seam.scalar(self.element(number), self.type)


def _integer(value: Any) -> int:
    if seam.is_tensor(value):
        if not value.dtype.is_int():
            raise TypeError(f"a range needs integers, got {value.dtype}")
        return _integer_of(value)
    if isinstance(value, float):
        raise TypeError(f"a range needs integers, got {value}")
    return int(value)


def _integer_of(tensor: Any) -> int:
    data = np.asarray(seam.handle_of(tensor).data)
    if data.size != 1 or data.dtype.kind not in "iub":
        raise TypeError("only a scalar integer can be used as a number")
    return int(data.reshape(())[()])


def static_range(*bounds: Any, step: Any = None, **_: Any) -> range:
    """`tl.static_range`: the loop variable is a constant."""
    numbers = [_integer(seam.unconst(b)) for b in bounds]
    if step is not None:
        numbers = [0, *numbers] if len(numbers) == 1 else numbers
        numbers.append(_integer(seam.unconst(step)))
    return range(*numbers)


def _static_assert(condition: Any, message: Any = "", **_: Any) -> None:
    if not seam.unconst(condition):
        raise AssertionError(seam.unconst(message) or "tl.static_assert does not hold")


def _ignored(*_: Any, **__: Any) -> None:
    return None


def _refuse_block_pointers(*_: Any, **__: Any) -> None:
    raise Refusal("block pointers are gone in Triton 3.8. Use pointer arithmetic and a mask.")


class _Refusing:
    """Stands for a module whose functions only exist on a GPU."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        raise Refusal(f"{self._name}.{attribute} only exists on a GPU and is not simulated. Use the functions of tl.")


class Language:
    """The words of a kernel, for the length of one launch. `undefined` is told about branches on undefined values."""

    def __init__(self, builder: Builder, undefined: Callable[[frozenset[int]], None]) -> None:
        self.builder = builder
        self.triton = seam.Binding(builder)
        self.undefined = undefined

    def value(self, value: Any) -> Any:
        """What an assignment keeps: a number becomes a scalar of the language, as in the compiler."""
        return self.triton.to_tensor(value)

    def both(self, left: Any, right: Callable[[], Any]) -> Any:
        """`left and right`, lane by lane where `left` is a tensor."""
        if seam.is_tensor(left):
            return left.logical_and(right())
        return left and right()

    def either(self, left: Any, right: Callable[[], Any]) -> Any:
        """`left or right`, lane by lane where `left` is a tensor."""
        if seam.is_tensor(left):
            return left.logical_or(right())
        return left or right()

    def opposite(self, value: Any) -> Any:
        """`not value`, lane by lane where it is a tile."""
        if seam.is_tensor(value) and np.ndim(seam.handle_of(value).data):
            return self.triton.not_(value)
        return not value

    def namespace(self, given: dict[str, Any]) -> dict[str, Any]:
        """A copy of a learner's globals in which the language is the bound one."""
        out = dict(given)
        for name, value in given.items():
            if isinstance(value, tl.constexpr):
                out[name] = value.value
            elif isinstance(value, ModuleType) and value.__name__.startswith("triton.language.extra"):
                out[name] = _Refusing(name)
            elif id(value) in self.triton.replaced:
                out[name] = self.triton.replaced[id(value)]
        out.setdefault("range", Range)
        out.setdefault("min", self._either(min, tl.minimum))
        out.setdefault("max", self._either(max, tl.maximum))
        out.setdefault("print", _ignored)
        return out

    @staticmethod
    def _either(plain: Callable[..., Any], tiles: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*values: Any) -> Any:
            if len(values) == 2 and any(seam.is_tensor(v) for v in values):
                return tiles(*values)
            return plain(*values)

        return choose

    def check(self, condition: Any, message: Any) -> None:
        """`assert condition, message`: a device assertion where the condition is a tensor."""
        if seam.is_tensor(condition):
            self.builder.create_assert(seam.handle_of(condition), str(message))
        elif not seam.unconst(condition):
            raise AssertionError(str(message))

    def truth(self, tensor: Any) -> bool:
        """What a tensor is where Python asks for a condition. Raises Refusal for a tile, which is neither true nor false."""
        handle = seam.handle_of(tensor)
        if np.size(handle.data) != 1 or np.ndim(handle.data):
            shape = " × ".join(str(n) for n in np.shape(handle.data))
            raise Refusal(
                f"a tile of {shape} values is neither true nor false. Use tl.where to choose lane by lane, and & | ~ between masks."
            )
        if handle.taint is not None and handle.taint.lanes.any():
            self.undefined(handle.taint.sources)
        return bool(np.asarray(handle.data))

    def patched(self, device: seam.Call, reduce: seam.Call, scan: seam.Call) -> AbstractContextManager[None]:
        """Triton's language computes with our builder inside.

        `device(jitted, *arguments)` runs a jitted function, `reduce` and `scan` stand in for the language's own.
        """
        functions: dict[str, Any] = {
            "range": Range,
            "static_range": static_range,
            "static_assert": _static_assert,
            "static_print": _ignored,
            "reduce": reduce,
            "associative_scan": scan,
            **{name: lambda x, *_, **__: x for name in ("multiple_of", "max_contiguous", "max_constancy")},
            **{name: _refuse_block_pointers for name in ("make_block_ptr", "advance") if hasattr(tl, name)},
        }
        methods: dict[str, Any] = {
            "reduce": lambda x, *a, **k: reduce(x, *a, **k),
            "associative_scan": lambda x, *a, **k: scan(x, *a, **k),
            "__index__": lambda x: _integer_of(x),
            "__repr__": lambda x: repr(seam.handle_of(x).data),
            "__str__": lambda x: str(seam.handle_of(x).data),
            "T": property(lambda x: tl.trans(x)),
        }
        return self.triton.patched(device, functions, methods, self.truth)
