"""The seam to Triton: the only module of the simulator that uses names Triton does not promise to keep.

What is used, each with a test: `TritonSemantic(builder)`, which turns language calls into builder calls; `is_builtin`, and the `_semantic`
keyword that builtins take; `tensor.handle`; `dtype.to_ir`; `JITFunction.raw_src`, `.starting_line_number`, `.fn` and
`.__call__`; `InterpretedFunction` (what `@triton.jit` makes under TRITON_INTERPRET=1); `mangle_type`; the library's three
combining functions for sum, max and min.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction, mangle_type

from checker.simulator.builder import Builder
from checker.simulator.values import Handle, Refusal

LOCK = threading.RLock()
"""Held while Triton's language is patched. Nothing else may compile or simulate a kernel meanwhile."""

mangle_type(torch.zeros(1))  # its first call imports gluon, which must not see a patched language

JITTED = (JITFunction, InterpretedFunction)

_COMBINE_NAMES = {"_sum_combine": "sum", "_elementwise_max": "max", "_elementwise_min": "min"}


def unwrap_kernel(kernel: Any) -> Any:
    """The jitted function inside autotune and heuristics wrappers. Raises TypeError where there is none."""
    while not isinstance(kernel, JITTED) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    if not isinstance(kernel, JITTED):
        raise TypeError(f"expected a @triton.jit function, got {type(kernel).__name__}")
    return kernel


def source_of(jitted: Any) -> tuple[list[str], int]:
    """Source lines of a jitted function (decorators included) and the number of the first."""
    if isinstance(jitted, JITFunction):
        return list(jitted.raw_src), int(jitted.starting_line_number)
    return inspect.getsourcelines(jitted.fn)


def constexpr_parameters(jitted: Any) -> set[str]:
    """Parameters annotated `tl.constexpr`, by name."""
    out = set()
    for name, parameter in inspect.signature(jitted.fn).parameters.items():
        annotation = parameter.annotation
        if annotation is tl.constexpr or (isinstance(annotation, str) and "constexpr" in annotation):
            out.add(name)
    return out


def combination(function: Any) -> str | None:
    """ "sum", "max" or "min" where `function` is the one the library reduces with, else None."""
    for name, meaning in _COMBINE_NAMES.items():
        if function is getattr(tl.standard, name, None):
            return meaning
    return None


def unconst(value: Any) -> Any:
    """A constexpr's value, anything else as it is."""
    return value.value if isinstance(value, tl.constexpr) else value


def pointer_argument(tensor: torch.Tensor, handle: Handle) -> Any:
    """A tensor argument as the kernel sees it; sets the handle's type."""
    type_ = tl.str_to_ty(mangle_type(tensor), None)
    handle.type = type_
    return tl.tensor(handle, type_)


def number_argument(value: Any) -> Any:
    """A number argument with the type the launcher gives it: i32, i64, u64, fp32 or int1."""
    if isinstance(value, bool):
        return tl.tensor(Handle(np.bool_(value), tl.int1), tl.int1)
    if isinstance(value, int):
        type_ = tl.str_to_ty(mangle_type(value), None)
        element = {"int32": np.int32, "int64": np.int64, "uint64": np.uint64}[type_.name]
        return tl.tensor(Handle(element(value), type_), type_)
    if isinstance(value, float):
        return tl.tensor(Handle(np.float32(value), tl.float32), tl.float32)
    return value


class Range:
    """`range` and `tl.range`: as the compiler does, the loop variable is a scalar of the language and not a Python number."""

    def __init__(self, *bounds: Any, **named: Any) -> None:
        bounds = tuple(named.pop(n) for n in ("start", "end") if n in named) + bounds if "end" in named else bounds
        step = named.pop("step", 1)
        bounds = tuple(unconst(b) for b in bounds)
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) > 2 else unconst(step)
        numbers = [_integer(b) for b in (start, stop, step)]
        wide = any(isinstance(b, tl.tensor) and b.dtype.primitive_bitwidth > 32 for b in (start, stop, step))
        wide = wide or any(not -(2**31) <= n < 2**31 for n in numbers)
        self.type = tl.int64 if wide else tl.int32
        self.element = np.int64 if wide else np.int32
        self.numbers = range(*numbers)

    def __iter__(self) -> Iterator[Any]:
        for number in self.numbers:
            yield tl.tensor(Handle(self.element(number), self.type), self.type)


def _integer(value: Any) -> int:
    if isinstance(value, tl.tensor):
        if not value.dtype.is_int():
            raise TypeError(f"a range needs integers, got {value.dtype}")
        return _integer_of(value)
    if isinstance(value, float):
        raise TypeError(f"a range needs integers, got {value}")
    return int(value)


def _integer_of(tensor: Any) -> int:
    data = np.asarray(tensor.handle.data)
    if data.size != 1 or data.dtype.kind not in "iub":
        raise TypeError("only a scalar integer can be used as a number")
    return int(data.reshape(())[()])


def static_range(*bounds: Any, step: Any = None, **_: Any) -> range:
    """`tl.static_range`: the loop variable is a constant."""
    numbers = [_integer(unconst(b)) for b in bounds]
    if step is not None:
        numbers = [0, *numbers] if len(numbers) == 1 else numbers
        numbers.append(_integer(unconst(step)))
    return range(*numbers)


def _static_assert(condition: Any, message: Any = "", **_: Any) -> None:
    if not unconst(condition):
        raise AssertionError(unconst(message) or "tl.static_assert does not hold")


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


@lru_cache(maxsize=1)
def _builtins() -> tuple[tuple[Any, str, Any], ...]:
    """Every builtin of the language: where it hangs, its name, itself."""
    places: list[Any] = [tl, tl.core, tl.math, tl.standard, tl.random, tl.core.tensor, tl.core.tensor_descriptor_base]
    return tuple(
        (place, name, member)
        for place in places
        for name, member in list(vars(place).items())
        if callable(member) and tl.core.is_builtin(member)
    )


class Language:
    """Triton's language, bound to one builder for the length of one launch.

    `device(jitted, *arguments)` runs a jitted function; `undefined` is told about branches on undefined values.
    """

    def __init__(
        self, builder: Builder, device: Callable[..., Any], undefined: Callable[[frozenset[int]], None]
    ) -> None:
        self.builder = builder
        builder.types = tl
        self.semantic = TritonSemantic(builder)
        self.device = device
        self.undefined = undefined
        self.replaced: dict[int, Any] = {}

    def value(self, value: Any) -> Any:
        """What an assignment keeps: a number becomes a scalar of the language, as in the compiler."""
        return self.semantic.to_tensor(value, False)

    def both(self, left: Any, right: Callable[[], Any]) -> Any:
        """`left and right`, lane by lane where `left` is a tensor."""
        if isinstance(left, tl.tensor):
            return left.logical_and(right())
        return left and right()

    def either(self, left: Any, right: Callable[[], Any]) -> Any:
        """`left or right`, lane by lane where `left` is a tensor."""
        if isinstance(left, tl.tensor):
            return left.logical_or(right())
        return left or right()

    def opposite(self, value: Any) -> Any:
        """`not value`, lane by lane where it is a tile."""
        if isinstance(value, tl.tensor) and np.ndim(value.handle.data):
            return self.semantic.not_(value)
        return not value

    def namespace(self, given: dict[str, Any]) -> dict[str, Any]:
        """A copy of a learner's globals in which the language is the bound one."""
        out = dict(given)
        for name, value in given.items():
            if isinstance(value, tl.constexpr):
                out[name] = value.value
            elif isinstance(value, ModuleType) and value.__name__.startswith("triton.language.extra"):
                out[name] = _Refusing(name)
            elif id(value) in self.replaced:
                out[name] = self.replaced[id(value)]
        out.setdefault("range", Range)
        out.setdefault("min", self._either(min, tl.minimum))
        out.setdefault("max", self._either(max, tl.maximum))
        out.setdefault("print", _ignored)
        return out

    @staticmethod
    def _either(plain: Callable[..., Any], tiles: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*values: Any) -> Any:
            if len(values) == 2 and any(isinstance(v, tl.tensor) for v in values):
                return tiles(*values)
            return plain(*values)

        return choose

    def _bind(self, member: Callable[..., Any]) -> Callable[..., Any]:
        semantic = self.semantic

        def bound(*arguments: Any, **named: Any) -> Any:
            named["_semantic"] = semantic
            return member(*arguments, **named)

        return bound

    def _changes(self, reduce: Callable[..., Any], scan: Callable[..., Any]) -> Iterator[tuple[Any, str, Any]]:
        bound: dict[int, Any] = {}
        for place, name, member in _builtins():
            replacement = bound.setdefault(id(member), self._bind(member))
            self.replaced[id(member)] = replacement
            yield place, name, replacement
        device = self.device
        for name, member in list(vars(tl.core.tensor).items()):
            if isinstance(member, FunctionType) and not name.startswith("_") and not tl.core.is_builtin(member):
                if callable(getattr(tl, name, None)):  # x.exp() and its like hide that they are builtins
                    yield tl.core.tensor, name, (lambda n: lambda x, *a, **k: getattr(tl, n)(x, *a, **k))(name)
            elif isinstance(member, JITTED):
                yield tl.core.tensor, name, (lambda m: lambda x, *a, **k: device(m, x, *a, **k))(member)
        for jitted in JITTED:
            yield jitted, "__call__", lambda jf, *a, **k: device(jf, *a, **k)
        plain: dict[str, Any] = {
            "range": Range,
            "static_range": static_range,
            "static_assert": _static_assert,
            "static_print": _ignored,
            "reduce": reduce,
            "associative_scan": scan,
            **{name: lambda x, *_, **__: x for name in ("multiple_of", "max_contiguous", "max_constancy")},
        }
        for name in ("make_block_ptr", "advance"):
            if hasattr(tl, name):
                plain[name] = _refuse_block_pointers
        for name, replacement in plain.items():
            original = getattr(tl, name)
            self.replaced[id(original)] = replacement
            yield tl, name, replacement
            yield tl.core, name, replacement
        yield tl.core.tensor, "reduce", lambda x, *a, **k: reduce(x, *a, **k)
        yield tl.core.tensor, "associative_scan", lambda x, *a, **k: scan(x, *a, **k)
        yield tl.core.dtype, "to_ir", lambda type_, builder: type_
        yield tl.core.tensor, "__bool__", lambda x: self._truth(x, sys._getframe(1).f_globals.get("__name__", ""))
        yield tl.core.tensor, "__index__", lambda x: _integer_of(x)
        yield tl.core.tensor, "__repr__", lambda x: repr(x.handle.data)
        yield tl.core.tensor, "__str__", lambda x: str(x.handle.data)
        yield tl.core.tensor, "T", property(lambda x: tl.trans(x))

    def _truth(self, tensor: Any, asked_by: str) -> bool:
        if asked_by.startswith("triton.language.") and asked_by.rsplit(".", 1)[1] in ("semantic", "core"):
            return True  # Triton's front end asks whether an optional argument was given
        handle = tensor.handle
        if np.size(handle.data) != 1 or np.ndim(handle.data):
            shape = " × ".join(str(n) for n in np.shape(handle.data))
            raise Refusal(
                f"a tile of {shape} values is neither true nor false. Use tl.where to choose lane by lane, and & | ~ between masks."
            )
        if handle.taint is not None and handle.taint.lanes.any():
            self.undefined(handle.taint.sources)
        return bool(np.asarray(handle.data))

    @contextlib.contextmanager
    def patched(self, reduce: Callable[..., Any], scan: Callable[..., Any]) -> Iterator[None]:
        """Triton's language computes with our builder inside, and is exactly what it was before afterwards."""
        missing = object()
        undo: list[tuple[Any, str, Any]] = []
        with LOCK:
            try:
                for place, name, replacement in list(self._changes(reduce, scan)):
                    undo.append((place, name, vars(place).get(name, missing)))
                    setattr(place, name, replacement)
                yield
            finally:
                for place, name, original in reversed(undo):
                    if original is missing:
                        delattr(place, name)
                    else:
                        setattr(place, name, original)


def version() -> str:
    return str(triton.__version__)
