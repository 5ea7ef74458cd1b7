"""The one module that uses names which Triton does not promise to keep.

It uses these, each with a test: `TritonSemantic(builder)`, which turns language calls into builder calls; `is_builtin`, and the
`_semantic` keyword that builtins take; `tensor(handle, type)` and `tensor.handle`; `dtype.to_ir`; `JITFunction.raw_src`,
`.starting_line_number`, `.fn` and `.__call__`; `InterpretedFunction` (what `@triton.jit` makes under TRITON_INTERPRET=1);
`mangle_type`; the library's three combining functions for sum, max and min; `core.block_type(element, shape)`, `with_element_ty`
and `to_ir` of types, the wrapper that `core.builtin` makes; `semantic.builder`, exchanged while an operation is recorded, and that
the front end sees nothing of a tensor but its type.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType, FrameType, FunctionType, NoneType
from typing import Any, ClassVar

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.language.semantic import TritonSemantic
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction, mangle_type

from checker.simulator.builder_calls import BuilderCalls, NotRecorded, Recording, filled, replay
from checker.simulator.values import Handle

Call = Callable[..., Any]

LOCK = threading.RLock()
"""Held while Triton's language is patched: nothing else may compile or simulate a kernel meanwhile."""

mangle_type(torch.zeros(1))  # its first call imports gluon, which must not see a patched language

JITTED = (JITFunction, InterpretedFunction)

_LIBRARY_REDUCTIONS = {"_sum_combine": "sum", "_elementwise_max": "max", "_elementwise_min": "min"}


def function_of(jitted: Any) -> FunctionType:
    """The Python function that was jitted."""
    function: FunctionType = jitted.fn
    return function


def source_of(jitted: Any) -> tuple[list[str], int]:
    """The source lines of a jitted function, decorators included, and the number of the first."""
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


def library_reduction(function: Any) -> str | None:
    """ "sum", "max" or "min" if `function` is the library's combining function for it, else None."""
    reductions = _LIBRARY_REDUCTIONS.items()
    return next((meaning for name, meaning in reductions if function is getattr(tl.standard, name, None)), None)


def constant_value(value: Any) -> Any:
    """The value of a constexpr; anything else unchanged."""
    return value.value if isinstance(value, tl.constexpr) else value


def is_tensor(value: Any) -> bool:
    """Whether a value of a kernel is a tensor of the language: a tile, a scalar or a pointer."""
    return isinstance(value, tl.tensor)


def handle_of(tensor: Any) -> Handle:
    handle: Handle = tensor.handle
    return handle


def scalar_tensor(number: Any, type_: Any) -> Any:
    """A number as a scalar of the language."""
    return tl.tensor(Handle(number, type_), type_)


def with_handle(tensor: Any, handle: Handle) -> Any:
    """A tensor of the same type."""
    return tl.tensor(handle, tensor.type)


def tensor_of(handle: Handle, front: int = 0) -> Any:
    """A handle as a tensor of the language; its first `front` axes do not belong to the shape."""
    shape = list(np.shape(handle.data)[front:])
    return tl.tensor(handle, tl.block_type(handle.type, shape) if shape else handle.type)


def pointer_argument(tensor: torch.Tensor, handle: Handle) -> Any:
    """A tensor argument as the kernel sees it; sets the handle's type."""
    handle.type = _type_named(mangle_type(tensor))
    return tensor_of(handle)


@lru_cache(maxsize=64)
def _type_named(name: str) -> Any:
    """One object for each type, because the operations below compare types by identity."""
    return tl.str_to_ty(name, None)


def number_argument(value: Any) -> Any:
    """A number argument with the type the launcher gives it: i32, i64, u64, fp32 or int1."""
    if isinstance(value, bool):
        return scalar_tensor(np.bool_(value), tl.int1)
    if isinstance(value, int):
        type_ = _type_named(mangle_type(value))
        element = {"int32": np.int32, "int64": np.int64, "uint64": np.uint64}[type_.name]
        return scalar_tensor(element(value), type_)
    if isinstance(value, float):
        return scalar_tensor(np.float32(value), tl.float32)
    return value


def stacked_numbers(numbers: Sequence[Any], launch: np.ndarray) -> Any:
    """The `number_argument`s of several launches, one for each program, or one scalar if they are equal.

    `launch` has the launch of each program. All numbers have one type.
    """
    if not is_tensor(numbers[0]) or all(n.handle.data == numbers[0].handle.data for n in numbers):
        return numbers[0]
    return scalar_tensor(np.stack([n.handle.data for n in numbers])[launch], numbers[0].type)


@lru_cache(maxsize=1)
def _builtins() -> tuple[tuple[Any, str, Any], ...]:
    """Every builtin of the language: the module or class that holds it, its name, itself."""
    classes = tl.core.tensor, tl.core.tensor_descriptor_base
    places: list[Any] = [tl, tl.core, tl.math, tl.standard, tl.random, *classes, cuda_libdevice]
    return tuple(
        (place, name, member)
        for place in places
        for name, member in list(vars(place).items())
        if callable(member) and tl.core.is_builtin(member)
    )


_WRAPPER = tl.core.builtin(lambda: None).__code__
"""The code of the wrapper that `core.builtin` puts around a function to check for `_semantic`."""


class _Types:
    """Makes each type once, where Triton's front end makes it anew for every operation.

    The key holds the identity of the element type, which the entry keeps alive.
    """

    MOST = 4096

    def __init__(self) -> None:
        self._block_type: Any = tl.core.block_type
        self._tensor_init: Any = tl.core.tensor.__init__
        self._blocks: dict[tuple[int, tuple[int, ...]], Any] = {}
        self._attributes: dict[int, tuple[Any, dict[str, Any]]] = {}

    def block(self, element: Any, shape: Any) -> Any:
        sizes = tuple(constant_value(n) for n in shape)
        if any(type(n) is not int for n in sizes):
            return self._block_type(element, shape)  # raises the right error
        key = (id(element), sizes)
        if key not in self._blocks:
            self._blocks[key] = self._block_type(element, list(sizes))
        return self._blocks[key]

    def init_tensor(self, tensor: Any, handle: Handle, type_: Any) -> None:
        """`tensor.__init__`: everything except the handle follows from the type."""
        entry = self._attributes.get(id(type_))
        if entry is not None:
            vars(tensor).update(entry[1])
            tensor.handle = handle
            return
        self._tensor_init(tensor, handle, type_)
        if len(self._attributes) < self.MOST:
            self._attributes[id(type_)] = type_, {k: v for k, v in vars(tensor).items() if k != "handle"}

    def changes(self) -> Iterator[tuple[Any, str, Any]]:
        interned = _Interned("block_type", (), {"types": self, "original": self._block_type})
        yield tl, "block_type", interned
        yield tl.core, "block_type", interned
        yield self._block_type, "with_element_ty", lambda type_, element: self.block(element, type_.shape)
        yield self._block_type, "to_ir", lambda type_, builder: type_
        yield tl.core.tensor, "__init__", lambda tensor, handle, type: self.init_tensor(tensor, handle, type)


_TYPES = _Types()


class _Interned(type):
    """The metaclass of the replacement for `block_type`: calls use the table, and instances are the original's."""

    types: _Types
    original: type

    def __call__(cls, element_ty: Any, shape: Any) -> Any:
        return cls.types.block(element_ty, shape)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.original)


def _front_end_asks(frame: FrameType) -> bool:
    """Whether Triton's front end asks for a tensor's truth, which only tests if an optional argument was given."""
    asking = frame.f_globals.get("__name__", "")
    return asking in ("triton.language.semantic", "triton.language.core")


class _Semantic(TritonSemantic):
    """Triton's front end, which need not broadcast tiles that have the same shape."""

    def broadcast_impl_value(self, lhs: Any, rhs: Any) -> Any:
        left, right = lhs.type, rhs.type
        if left.is_block() and right.is_block() and left.shape == right.shape:
            return lhs, rhs
        return super().broadcast_impl_value(lhs, rhs)


_CONSTANTS = (int, bool, str, NoneType, EllipsisType)


def _described(value: Any, operands: list[Handle], alive: list[Any]) -> Any:
    """An argument as the front end sees it. Its handles are added to `operands`, and objects keyed by identity to `alive`.

    Raises NotRecorded for any other kind of argument.
    """
    kind = type(value)
    if kind is tl.core.tensor:
        operands.append(value.handle)
        alive.append(value.type)
        return id(value.type)
    if kind in _CONSTANTS:
        return kind, value
    if kind is float:
        return kind, value.hex()  # 0.0 is not -0.0 here
    if kind is tl.core.constexpr:
        return kind, _described(value.value, operands, alive)
    if kind in (list, tuple, tl.core.tuple):
        return kind, *[_described(inner, operands, alive) for inner in value]
    if kind is slice:
        return kind, *[_described(inner, operands, alive) for inner in (value.start, value.stop, value.step)]
    if isinstance(value, tl.core.dtype):
        alive.append(value)
        return kind, id(value)
    if isinstance(value, tl.core.tensor_descriptor_base):
        operands.append(value.handle)
        alive.append(value.block_type)
        return kind, id(value.block_type)
    raise NotRecorded


@dataclass(frozen=True, slots=True)
class _Result:
    """A tensor that an operation returns: the part that stands for its handle, and its other attributes."""

    handle: Any
    attributes: dict[str, Any]

    def tensor(self, handles: Sequence[Any]) -> Any:
        tensor = object.__new__(tl.core.tensor)
        vars(tensor).update(self.attributes)
        tensor.handle = filled(self.handle, handles)
        return tensor


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation of the language for operands of certain types. `alive` keeps the objects that its key identifies."""

    calls: BuilderCalls
    results: tuple[_Result, ...] | _Result | None
    alive: tuple[Any, ...]

    def compute(self, builder: Any, operands: Sequence[Handle]) -> Any:
        handles = replay(self.calls, builder, operands)
        results = self.results
        if isinstance(results, tuple):
            return tuple(result.tensor(handles) for result in results)
        return None if results is None else results.tensor(handles)


class _Operations:
    """Computes operations of the language on a builder: the first time through Triton's front end, then without it.

    The builder calls follow from the function, the types of its operands, and its constants. An operation that these do not
    determine, or that fails, goes through the front end each time.
    """

    MOST = 4096
    recorded: ClassVar[dict[Any, _Operation | None]] = {}
    """None: an operation that cannot be recorded."""

    def __init__(self, builder: Any) -> None:
        self.semantic = _Semantic(builder)
        self.recording = False

    def compute(self, function: Call, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        named["_semantic"] = self.semantic
        if self.recording:  # part of another operation
            return function(*arguments, **named)
        builder = self.semantic.builder
        operands: list[Handle] = []
        alive: list[Any] = [function]
        try:
            described = [_described(argument, operands, alive) for argument in arguments]
            for name, argument in named.items():
                if name != "_semantic":
                    described += name, _described(argument, operands, alive)
        except NotRecorded:
            return function(*arguments, **named)
        key = (id(function), builder.front, _same(operands), *described)
        if key not in self.recorded:
            return self._record(key, tuple(alive), operands, lambda: function(*arguments, **named))
        operation = self.recorded[key]
        if operation is None:
            return function(*arguments, **named)
        return operation.compute(builder, operands)

    def _record(self, key: Any, alive: tuple[Any, ...], operands: Sequence[Handle], compute: Callable[[], Any]) -> Any:
        builder = self.semantic.builder
        record = Recording(builder, operands)
        self.semantic.builder, self.recording = record, True
        try:
            result = compute()
        finally:
            self.semantic.builder, self.recording = builder, False
        if len(self.recorded) >= self.MOST:
            self.recorded.clear()
        try:
            self.recorded[key] = _Operation(record.finished(), _results(result, record), alive)
        except NotRecorded:
            self.recorded[key] = None
        return result


def _same(operands: list[Handle]) -> Any:
    """Which operands are the same: the calls for `x * x` differ from those for `x * y`."""
    if len(operands) < 2:
        return None
    if len(operands) == 2:
        return operands[0] is operands[1]
    numbers = [id(operand) for operand in operands]
    return tuple(map(numbers.index, numbers))


def _results(result: Any, record: Recording) -> tuple[_Result, ...] | _Result | None:
    """Raises NotRecorded for anything but tensors."""
    if result is None:
        return None
    if type(result) is tuple:
        return tuple(_result(one, record) for one in result)
    return _result(result, record)


def _result(tensor: Any, record: Recording) -> _Result:
    if type(tensor) is not tl.core.tensor:
        raise NotRecorded
    return _Result(record.part(tensor.handle), {k: v for k, v in vars(tensor).items() if k != "handle"})


class Binding:
    """Triton's language, bound to one builder during one launch.

    The builder has `options`, `codegen_fns`, and a method for each primitive. Once the language is patched, `replaced` holds the
    replacement of each of its functions, by the identity of the original.
    """

    def __init__(self, builder: Any) -> None:
        self.operations = _Operations(builder)
        self.semantic = self.operations.semantic
        self.replaced: dict[int, Any] = {}

    def to_tensor(self, value: Any) -> Any:
        """An assigned value as in the compiler: a number becomes a scalar of the language."""
        return self.semantic.to_tensor(value, False)

    def not_(self, tile: Any) -> Any:
        """`not`, lane by lane."""
        return self.semantic.not_(tile)

    def _bind(self, member: Callable[..., Any]) -> Callable[..., Any]:
        member = member.__wrapped__ if getattr(member, "__code__", None) is _WRAPPER else member  # type: ignore[attr-defined]
        return lambda *arguments, **named: self.operations.compute(member, arguments, named)

    def _changes(
        self, device: Call, functions: Mapping[str, Any], methods: Mapping[str, Any], truth: Callable[[Any], bool]
    ) -> Iterator[tuple[Any, str, Any]]:
        bound: dict[int, Any] = {}
        for place, name, member in _builtins():
            replacement = bound.setdefault(id(member), self._bind(member))
            self.replaced[id(member)] = replacement
            yield place, name, replacement
        for name, stub in vars(libdevice).items():  # the stubs for any GPU; the compiler picks the current GPU's
            member = vars(cuda_libdevice).get(name)
            if id(member) in bound:
                self.replaced[id(stub)] = bound[id(member)]
                yield libdevice, name, bound[id(member)]
        for name, member in list(vars(tl.core.tensor).items()):
            if isinstance(member, FunctionType) and not name.startswith("_") and not tl.core.is_builtin(member):
                if callable(getattr(tl, name, None)):  # x.exp() and the like do not show that they are builtins
                    yield tl.core.tensor, name, (lambda n: lambda x, *a, **k: getattr(tl, n)(x, *a, **k))(name)
            elif isinstance(member, JITTED):
                yield tl.core.tensor, name, (lambda m: lambda x, *a, **k: device(m, x, *a, **k))(member)
        for jitted in JITTED:  # the library passes the front end on, which is ours anyway
            yield jitted, "__call__", lambda jf, *a, _semantic=None, **k: device(jf, *a, **k)
        for name, replacement in functions.items():
            self.replaced[id(getattr(tl, name))] = replacement
            yield tl, name, replacement
            yield tl.core, name, replacement
        for name, replacement in methods.items():
            yield tl.core.tensor, name, replacement
        yield tl.core.tensor, "__bool__", lambda x: _front_end_asks(sys._getframe(1)) or truth(x)
        yield tl.core.dtype, "to_ir", lambda type_, builder: type_
        yield from _TYPES.changes()

    @contextlib.contextmanager
    def patched(
        self, device: Call, functions: Mapping[str, Any], methods: Mapping[str, Any], truth: Callable[[Any], bool]
    ) -> Iterator[None]:
        """Inside this context Triton's language computes with our builder; afterwards it is exactly what it was before.

        `device(jitted, *arguments)` runs a jitted function. `functions` replace functions of the language, `methods` replace
        methods of its tensors, and `truth` gives a tensor's value as a condition.
        """
        missing = object()
        undo: list[tuple[Any, str, Any]] = []
        with LOCK:
            try:
                for place, name, replacement in list(self._changes(device, functions, methods, truth)):
                    undo.append((place, name, vars(place).get(name, missing)))
                    setattr(place, name, replacement)
                yield
            finally:
                for place, name, original in reversed(undo):
                    if original is missing:
                        delattr(place, name)
                    else:
                        setattr(place, name, original)
