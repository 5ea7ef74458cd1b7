"""The one module that uses names which Triton does not promise to keep.

It uses these, each with a test: `TritonSemantic(builder)`, which turns language calls into builder calls; `is_builtin`, and the
`_semantic` keyword that builtins take; `tensor(handle, type)` and `tensor.handle`; `JITFunction.raw_src`, `.starting_line_number`, `.fn` and `.__call__`; `InterpretedFunction` (what `@triton.jit` makes under TRITON_INTERPRET=1);
`mangle_type`; the library's three combining functions for sum, max and min; `to_ir` and `name` of types; the wrapper that
`core.builtin` makes; `semantic.builder`, exchanged while an operation is recorded, and that the front end sees nothing of a tensor
but its type.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import EllipsisType, FrameType, FunctionType, ModuleType, NoneType
from typing import Any, ClassVar

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.language.semantic import TritonSemantic
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction, TensorWrapper, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from checker.simulator.builder_calls import NotRecorded, Recording, Replay
from checker.simulator.values import Handle

Call = Callable[..., Any]

LOCK = threading.RLock()
"""Held while Triton's language is patched: nothing else may compile or simulate a kernel meanwhile."""

_NUMBERS = {f"{kind[0]}{bits}": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
_NUMBERS |= {"fp16": np.dtype("float16"), "fp32": np.dtype("float32"), "fp64": np.dtype("float64")}
"""What a parameter's annotation may say of a number."""

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


@lru_cache(maxsize=64)
def parameters_of(function: FunctionType) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function that was jitted, by name."""
    return inspect.signature(function).parameters


def constexpr_parameters(jitted: Any) -> set[str]:
    """Parameters annotated `tl.constexpr`, by name."""
    parameters = parameters_of(jitted.fn).items()
    return {name for name, parameter in parameters if "constexpr" in str(parameter.annotation)}


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
    copy = object.__new__(tl.tensor)  # its constructor takes ten times as long
    vars(copy).update(vars(tensor), handle=handle)
    return copy


def tensor_of(handle: Handle, front: int = 0) -> Any:
    """A handle as a tensor of the language; its first `front` axes do not belong to the shape."""
    shape = list(np.shape(handle.data)[front:])
    return tl.tensor(handle, tl.block_type(handle.type, shape) if shape else handle.type)


def pointer_argument(tensor: torch.Tensor, handle: Handle) -> Any:
    """A tensor argument as the kernel sees it; sets the handle's type."""
    handle.type = tl.str_to_ty(mangle_type(tensor), None)
    return tensor_of(handle)


def unwrapped_tensor(value: Any) -> Any:
    """The tensor in what `triton.reinterpret` returns, or in an object of the program's own; anything else unchanged."""
    if not isinstance(value, TensorWrapper):
        return _of_own_class(value)
    names = {"fp8e5": "float8_e5m2", "fp8e4nv": "float8_e4m3fn", "int1": "bool", "bf16": "bfloat16"}
    names |= {short: str(element) for short, element in _NUMBERS.items()}
    name = str(value.dtype)
    return value.base.view(getattr(torch, names.get(name, name)))


def _of_own_class(value: Any) -> Any:
    """Triton takes any object with `data_ptr()` and `dtype`. If it holds a tensor of that memory: a view from there to its end."""
    if isinstance(value, torch.Tensor) or not (hasattr(value, "data_ptr") and hasattr(value, "dtype")):
        return value
    for base in vars(value).values():
        if isinstance(base, torch.Tensor):
            whole = base.detach().untyped_storage()
            elements = torch.empty(0, dtype=value.dtype).set_(whole)
            start, odd = divmod(value.data_ptr() - whole.data_ptr(), value.dtype.itemsize)
            if not odd and 0 <= start < elements.numel():
                return elements[start:]
    return value


def is_descriptor(value: Any) -> bool:
    """Whether an argument is a descriptor that the host made."""
    return isinstance(value, TensorDescriptor)


def descriptor_argument(base: Any, made: TensorDescriptor) -> Any:
    """A host's descriptor as the kernel sees it; `base` is its tensor as the kernel would see that."""
    block = list(made.block_shape)
    return tl.make_tensor_descriptor(base, list(made.shape), list(made.strides), block, made.padding)


def annotated_type(jitted: Any, name: str) -> str:
    """The type that a parameter's annotation gives its numbers, such as ``i64``; empty without one."""
    return next((str(p.annotation_type) for p in getattr(jitted, "params", ()) if p.name == name), "")


def const_parameters(jitted: Any) -> set[str]:
    """Parameters annotated `tl.const`, by name: pointers that the kernel promises not to store to."""
    return {p.name for p in getattr(jitted, "params", ()) if p.is_const}


def number_argument(value: Any, annotated: str = "") -> Any:
    """A number argument with the type that its annotation or the launcher gives it: i32, i64, u64, fp32 or int1."""
    if annotated in _NUMBERS and isinstance(value, bool | int | float):
        type_ = tl.str_to_ty(annotated, None)
        return scalar_tensor(np.asarray(value).astype(_NUMBERS[annotated])[()], type_)
    if isinstance(value, bool):
        return scalar_tensor(np.bool_(value), tl.int1)
    if isinstance(value, int):
        type_ = tl.str_to_ty(mangle_type(value), None)
        element = {"int32": np.int32, "int64": np.int64, "uint64": np.uint64}[type_.name]
        return scalar_tensor(element(value), type_)
    if isinstance(value, float):
        return scalar_tensor(np.float32(value), tl.float32)
    return value


def stacked_numbers(numbers: Sequence[Any], launch: np.ndarray | None) -> Any:
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


def _front_end_asks(frame: FrameType) -> bool:
    """Whether Triton's front end asks for a tensor's truth, which only tests if an optional argument was given."""
    asking = frame.f_globals.get("__name__", "")
    return asking in ("triton.language.semantic", "triton.language.core")


_CONSTANTS = (int, bool, str, NoneType, EllipsisType)


def _described(value: Any, operands: list[Handle]) -> Any:
    """An argument as the front end sees it. Its handles are added to `operands`. Raises NotRecorded for other kinds of argument."""
    kind = type(value)
    if kind is tl.core.tensor:
        operands.append(value.handle)
        return value.type.name
    if kind in _CONSTANTS:
        return kind, value
    if kind is float:
        return kind, value.hex()  # 0.0 is not -0.0 here
    if kind is tl.core.constexpr:
        return kind, _described(value.value, operands)
    if kind in (list, tuple, tl.core.tuple):
        return kind, *[_described(inner, operands) for inner in value]
    if kind is slice:
        return kind, *[_described(inner, operands) for inner in (value.start, value.stop, value.step)]
    if isinstance(value, tl.core.dtype):
        return kind, value.name
    if isinstance(value, tl.core.tensor_descriptor_base):
        operands.append(value.handle)
        return kind, value.block_type.name
    raise NotRecorded


class _Operations:
    """Computes operations of the language on a builder: the first time through Triton's front end, then without it.

    The builder calls follow from the function, the types of its operands, and its constants. An operation that these do not
    determine, or that fails, goes through the front end each time.
    """

    MOST = 4096
    recorded: ClassVar[dict[Any, Replay | None]] = {}
    """What computes each operation without the front end; None for one that cannot be recorded."""

    def __init__(self, builder: Any) -> None:
        self.semantic = TritonSemantic(builder)
        self.recording = False

    def compute(self, function: Call, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        named.pop("_semantic", None)
        if self.recording:  # part of another operation
            return function(*arguments, **named, _semantic=self.semantic)
        builder = self.semantic.builder
        operands: list[Handle] = []
        key = [function, builder.front]
        try:
            for argument in arguments:
                if type(argument) is tl.core.tensor:  # as `_described` has it, in less time
                    operands.append(argument.handle)
                    key.append(argument.type.name)
                else:
                    key.append(_described(argument, operands))
            for name, argument in named.items():
                key += name, _described(argument, operands)
        except NotRecorded:
            return function(*arguments, **named, _semantic=self.semantic)
        if len(operands) > 1:  # the calls for `x * x` differ from those for `x * y`
            if len(operands) == 2:
                key.append(operands[0] is operands[1])
            else:
                key.append(tuple(map(operands.index, operands)))
        whole = tuple(key)
        if whole not in self.recorded:
            return self._record(whole, operands, partial(function, *arguments, **named, _semantic=self.semantic))
        operation = self.recorded[whole]
        if operation is None:
            return function(*arguments, **named, _semantic=self.semantic)
        return operation(builder, operands)

    def _record(self, key: Any, operands: Sequence[Handle], with_front_end: Callable[[], Any]) -> Any:
        builder = self.semantic.builder
        record = Recording(builder, operands)
        self.semantic.builder, self.recording = record, True
        try:
            result = with_front_end()
        finally:
            self.semantic.builder, self.recording = builder, False
        results = () if result is None else result if type(result) is tuple else (result,)
        if len(self.recorded) >= self.MOST:
            self.recorded.clear()
        try:
            if any(type(one) is not tl.core.tensor for one in results):
                raise NotRecorded
            self.recorded[key] = record.replay(tl.core.tensor, [vars(one) for one in results])
        except NotRecorded:
            self.recorded[key] = None
        return result


_running: list[_Operations] = []
"""Of the launches whose language is patched in, one inside the other: the last one computes."""
_Change = tuple[Any, str, Any]
"""A module or class, a name in it, and what the name stands for during a launch."""


@dataclass(frozen=True)
class _Replacements:
    """What changes in the same way for every launch, and is made once: a launch of a few programs takes no longer than that.

    `of` has the replacement of each function by the identity of the original. `in_modules` are names and what they stand for, by
    module. `jitted_methods` are left to the launch.
    """

    in_modules: tuple[tuple[Any, Mapping[str, Any]], ...]
    in_classes: tuple[_Change, ...]
    of: Mapping[int, Any]
    jitted_methods: tuple[tuple[str, Any], ...]


@lru_cache(maxsize=1)
def _replacements() -> _Replacements:
    replaced: dict[int, Any] = {}
    changes: list[_Change] = []
    jitted: list[tuple[str, Any]] = []
    for place, name, member in _builtins():
        replacement = replaced.setdefault(id(member), _computed_by_the_launch(member))
        changes.append((place, name, replacement))
    for name, stub in vars(libdevice).items():  # the stubs for any GPU; the compiler picks the current GPU's
        if (replacement := replaced.get(id(vars(cuda_libdevice).get(name)))) is not None:
            replaced[id(stub)] = replacement
            changes.append((libdevice, name, replacement))
    for name, member in vars(tl.core.tensor).items():
        if isinstance(member, FunctionType) and not name.startswith("_") and not tl.core.is_builtin(member):
            if callable(getattr(tl, name, None)):  # x.exp() and the like do not show that they are builtins
                by_name = (lambda n: lambda x, *a, **k: getattr(tl, n)(x, *a, **k))(name)
                changes.append((tl.core.tensor, name, by_name))
        elif isinstance(member, JITTED):
            jitted.append((name, member))
    for kind in (tl.core.dtype, tl.core.pointer_type, tl.core.block_type):
        changes.append((kind, "to_ir", lambda type_, builder: type_))
    in_modules: dict[ModuleType, dict[str, Any]] = {}
    for place, name, replacement in changes:
        if isinstance(place, ModuleType):
            in_modules.setdefault(place, {})[name] = replacement
    in_classes = tuple(change for change in changes if not isinstance(change[0], ModuleType))
    return _Replacements(tuple(in_modules.items()), in_classes, replaced, tuple(jitted))


def _computed_by_the_launch(member: Call) -> Call:
    member = member.__wrapped__ if getattr(member, "__code__", None) is _WRAPPER else member  # type: ignore[attr-defined]
    return lambda *arguments, **named: _running[-1].compute(member, arguments, named)


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

    def _changes(
        self, device: Call, functions: Mapping[str, Any], methods: Mapping[str, Any], truth: Callable[[Any], bool]
    ) -> Iterator[_Change]:
        always = _replacements()
        self.replaced = dict(always.of)
        yield from always.in_classes
        for name, member in always.jitted_methods:
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
        # a helper that gets a type as an argument asks for its `value`: where Triton compiles, it is a constexpr
        yield tl.core.dtype, "value", property(lambda dtype: dtype)

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
            modules = [(vars(module), names) for module, names in _replacements().in_modules]
            originals = [{name: module[name] for name in names} for module, names in modules]
            try:
                # hundreds of names at once, in a tenth of the time that one after another takes
                for module, names in modules:
                    module.update(names)
                for place, name, replacement in list(self._changes(device, functions, methods, truth)):
                    undo.append((place, name, vars(place).get(name, missing)))
                    setattr(place, name, replacement)
                _running.append(self.operations)
                try:
                    yield
                finally:
                    _running.pop()
            finally:
                for place, name, original in reversed(undo):
                    if original is missing:
                        delattr(place, name)
                    else:
                        setattr(place, name, original)
                for (module, _), names in zip(modules, originals, strict=True):
                    module.update(names)
