"""Types, constants and casts."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator import numerics
from checker.simulator.errors import Unsupported
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle, Pointer, given

_INTEGERS = (tl.int1, tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint16, tl.uint32, tl.uint64)
_FLOATS = {tl.float16: "half", tl.bfloat16: "bf16", tl.float32: "float", tl.float64: "double"}
_SPELLED = {**{type_: type_.name for type_ in _INTEGERS}, **_FLOATS}
"""How the builder spells each type where it is asked for the type itself."""


class Casts(Operations):
    """`get_<name>`, a constant, and `get_<name>_ty` are added below for every type."""

    def get_null_value(self, type_: Any) -> Handle:
        return Handle(numerics.constant(0, self.element(type_)), type_.scalar)

    def get_all_ones_value(self, type_: Any) -> Handle:
        return Handle(numerics.constant(-1, self.element(type_)), type_.scalar)

    def _cast(self, arg: Handle, to: Any, *_: Any) -> Handle:
        handle = Handle(numerics.cast(arg.data, self.element(to)), to.scalar, arg.taint)
        if self.nan_origin is not None:
            self.track_nans(f".to(tl.{to.scalar})", handle, [arg])
        return handle

    create_si_to_fp = create_ui_to_fp = create_fp_to_si = create_fp_to_ui = _cast
    create_fp_ext = create_fp_trunc = create_int_cast = _cast

    def create_fp_to_fp(self, arg: Handle, to: Any, rounding: Any = None) -> Handle:
        if rounding is not None and rounding.name != "RTNE":
            raise Unsupported("only rounding to nearest even is simulated. Leave fp_downcast_rounding out.")
        return self._cast(arg, to)

    def create_bitcast(self, arg: Handle, to: Any) -> Handle:
        if to.scalar.is_ptr():
            return Handle(arg.data, to.scalar, arg.taint, arg.pointer)
        handle = Handle(np.asarray(arg.data).view(self.element(to)), to.scalar, arg.taint)
        if self.nan_origin is not None and self.infs:
            handle.nan_origins = given(handle.data)
        return handle

    def create_int_to_ptr(self, arg: Handle, to: Any) -> Handle:
        return Handle(np.asarray(arg.data).astype(np.int64), to.scalar, arg.taint, Pointer(None, None))

    def create_ptr_to_int(self, arg: Handle, to: Any) -> Handle:
        return Handle(np.asarray(arg.data).astype(self.element(to)), to.scalar, arg.taint)


def _add(type_: Any, spelled: str) -> None:
    dtype = numerics.ELEMENT[type_.name]
    setattr(Casts, f"get_{type_.name}", lambda self, value: Handle(numerics.constant(value, dtype), type_))
    setattr(Casts, f"get_{spelled}_ty", lambda self: type_)


for _type, _spelled in _SPELLED.items():
    _add(_type, _spelled)
