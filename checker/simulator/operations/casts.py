"""Types, constants and casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle, Pointer, Refusal, isnan

INTEGERS = ("int1", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
FLOATS = {"fp16": "half", "bf16": "bf16", "fp32": "float", "fp64": "double"}
"""The names of the types, and for floats how the builder spells them where it is asked for the type itself."""


class Casts(Operations):
    """`get_<type>_ty` and `get_<type>` of every type are added below."""

    def get_void_ty(self) -> None:
        return None

    def get_ptr_ty(self, element: Any, address_space: Any) -> Any:
        return self.types.pointer_type(element, address_space)

    def get_block_ty(self, element: Any, shape: Sequence[int]) -> Any:
        return self.types.block_type(element, list(shape))

    def get_null_value(self, type_: Any) -> Handle:
        return Handle(numerics.constant(0, self.element(type_)), type_.scalar)

    def get_all_ones_value(self, type_: Any) -> Handle:
        return Handle(numerics.constant(-1, self.element(type_)), type_.scalar)

    def get_cache_policy(self, *_: Any, **__: Any) -> None:
        return None

    def _cast(self, arg: Handle, to: Any, *_: Any) -> Handle:
        handle = Handle(numerics.cast(arg.data, self.element(to)), to.scalar, arg.taint)
        if self.born is not None and isnan(handle.data).any():
            handle.nans = arg.nans
        return handle

    create_si_to_fp = create_ui_to_fp = create_fp_to_si = create_fp_to_ui = _cast
    create_fp_ext = create_fp_trunc = create_int_cast = _cast

    def create_fp_to_fp(self, arg: Handle, to: Any, rounding: Any = None) -> Handle:
        if rounding is not None and rounding.name != "RTNE":
            raise Refusal("only rounding to nearest even is simulated. Leave fp_downcast_rounding out.")
        return self._cast(arg, to)

    def create_bitcast(self, arg: Handle, to: Any) -> Handle:
        if to.scalar.is_ptr():
            return Handle(arg.data, to.scalar, arg.taint, arg.pointer)
        return Handle(np.asarray(arg.data).view(self.element(to)), to.scalar, arg.taint)

    def create_int_to_ptr(self, arg: Handle, to: Any) -> Handle:
        return Handle(np.asarray(arg.data).astype(np.int64), to.scalar, arg.taint, Pointer(None, None))

    def create_ptr_to_int(self, arg: Handle, to: Any) -> Handle:
        return Handle(np.asarray(arg.data).astype(self.element(to)), to.scalar, arg.taint)


def _constant_maker(name: str) -> Callable[[Casts, Any], Handle]:
    dtype = numerics.ELEMENT[name]
    return lambda self, value: Handle(
        numerics.constant(value, dtype), getattr(self.types, _LANGUAGE_NAME.get(name, name))
    )


def _type_getter(name: str) -> Callable[[Casts], Any]:
    return lambda self: getattr(self.types, _LANGUAGE_NAME.get(name, name))


_LANGUAGE_NAME = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}


def _fill() -> None:
    for name in INTEGERS:
        setattr(Casts, f"get_{name}", _constant_maker(name))
        setattr(Casts, f"get_{name}_ty", _type_getter(name))
    for name, spelled in FLOATS.items():
        setattr(Casts, f"get_{name}", _constant_maker(name))
        setattr(Casts, f"get_{spelled}_ty", _type_getter(name))


_fill()
