"""Elementwise operations: arithmetic, comparisons, the functions of `tl.math`, `tl.where`, bits. Most are a line of a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator import numerics
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle, Pointer, merge_taint


class Elementwise(Operations):
    """The tables below add more methods. In `tl.where`, `&` and `|`, an undefined lane may not reach the result."""

    def create_clampf(self, x: Handle, low: Handle, high: Handle, propagate: Any) -> Handle:
        upper, lower = (np.minimum, np.maximum) if propagate.name == "ALL" else (np.fmin, np.fmax)
        data = upper(lower(x.data, low.data), high.data)
        self.count_flops(data, 2)
        return self.result("clamp", data, x.type, (x, low, high))

    def create_select(self, condition: Handle, lhs: Handle, rhs: Handle) -> Handle:
        data = np.where(condition.data, lhs.data, rhs.data)
        pointer = None
        if lhs.pointer is not None and rhs.pointer is not None:
            same = lhs.pointer.tensor is rhs.pointer.tensor
            pointer = Pointer(lhs.pointer.tensor if same else None, None)
        handle = Handle(data, lhs.type, pointer=pointer)
        taints = [condition.taint]
        if lhs.taint is not None:
            taints.append(lhs.taint.moved(lambda lanes: lanes & condition.data))
        if rhs.taint is not None:
            taints.append(rhs.taint.moved(lambda lanes: lanes & ~condition.data))
        handle.taint = merge_taint(taints, np.shape(data))
        if self.has_nans(handle):
            origins = [0 if h.nan_origins is None else h.nan_origins for h in (lhs, rhs)]
            handle.nan_origins = np.broadcast_to(np.where(condition.data, *origins), np.shape(data))
        return handle


def _bitwise(ufunc: Any, deciding: bool | None) -> Callable[..., Handle]:
    """`deciding` is the truth value that decides alone: False & anything is False, True | anything is True."""

    def operation(self: Elementwise, lhs: Handle, rhs: Handle) -> Handle:
        handle = Handle(ufunc(lhs.data, rhs.data), lhs.type)
        handle.taint = merge_taint((lhs.taint, rhs.taint), np.shape(handle.data))
        if handle.taint is not None and np.asarray(handle.data).dtype == bool and deciding is not None:
            decided = np.zeros(np.shape(handle.data), bool)  # which an undefined lane cannot change
            for side in (lhs, rhs):
                defined = ~side.taint.lanes if side.taint is not None else True
                decided = decided | ((np.asarray(side.data) == deciding) & defined)
            handle.data = np.where(decided, deciding, handle.data)
            handle.taint = handle.taint.moved(lambda lanes: lanes & ~decided)
        return handle

    return operation


def _shift(name: str, ufunc: Any, kind: str) -> Callable[..., Handle]:
    """PTX shifts: a shift by the width of the type or more gives 0, or copies of the sign."""

    def operation(self: Elementwise, lhs: Handle, rhs: Handle) -> Handle:
        own = np.asarray(lhs.data).dtype
        width = 8 * own.itemsize
        work = np.dtype(f"{kind}{own.itemsize}")
        value, by = np.asarray(lhs.data).view(work), np.asarray(rhs.data).astype(np.int64)
        too_far = (by < 0) | (by >= width)
        shifted = ufunc(value, np.where(too_far, width - 1, by).astype(work))
        if kind == "u":
            shifted = np.where(too_far, work.type(0), shifted)
        return self.result(name, shifted.view(own), lhs.type, (lhs, rhs))

    return operation


def _lane_by_lane(name: str, compute: Callable[..., Any], type_: Any = None, flops: int = 0) -> Callable[..., Handle]:
    """Each element of the result, by default of the first operand's type, counts `flops` floating-point operations."""

    def operation(self: Elementwise, *operands: Handle) -> Handle:
        data = compute(*[operand.data for operand in operands])
        if flops:
            self.count_flops(data, flops)
        return self.result(name, data, type_ or operands[0].type, operands)

    return operation


def _unordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison that is also true where an operand is NaN."""
    return lambda a, b: compare(a, b) | (a != a) | (b != b)


def _in_type(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`compute` in fp32 at least, rounded back once."""

    def function(a: Any) -> Any:
        a = np.asarray(a)
        wide = a if a.dtype.itemsize >= 4 else a.astype(np.float32)
        return np.asarray(compute(wide)).astype(a.dtype)

    return function


def _erf(a: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(a.astype(np.float64)) if a.size else a


def _mod(a: Any, b: Any) -> Any:
    return (
        np.fmod(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype) if a.dtype.itemsize < 4 else np.fmod(a, b)
    )


def _of_one_bit(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Sums and differences of truth values have one bit: True + True is False."""
    return lambda a, b: np.logical_xor(a, b) if np.asarray(a).dtype == bool else compute(a, b)


_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "create_fadd": ("+", np.add),
    "create_fsub": ("-", np.subtract),
    "create_fmul": ("*", np.multiply),
    "create_fdiv": ("/", np.divide),
    "create_precise_divf": ("tl.div_rn", np.divide),
    "create_approx_divf": ("/", np.divide),
    "create_frem": ("%", _mod),
    "create_add": ("+", _of_one_bit(np.add)),
    "create_sub": ("-", _of_one_bit(np.subtract)),
    "create_mul": ("*", np.multiply),
    **dict.fromkeys(("create_sdiv", "create_udiv"), ("//", numerics.divide)),
    **dict.fromkeys(("create_srem", "create_urem"), ("%", numerics.remainder)),
    "create_umulhi": ("tl.umulhi", numerics.multiply_high),
    # "minimum" and "maximum" return NaN if either is; "minnum" and "maxnum" return the one that is a number
    **dict.fromkeys(("create_minsi", "create_minui", "create_minimumf"), ("tl.minimum", np.minimum)),
    **dict.fromkeys(("create_maxsi", "create_maxui", "create_maximumf"), ("tl.maximum", np.maximum)),
    "create_minnumf": ("tl.minimum", np.fmin),
    "create_maxnumf": ("tl.maximum", np.fmax),
}

_BITS: dict[str, Callable[..., Handle]] = {
    "create_and": _bitwise(np.bitwise_and, deciding=False),
    "create_or": _bitwise(np.bitwise_or, deciding=True),
    "create_xor": _bitwise(np.bitwise_xor, deciding=None),
    "create_shl": _shift("shl", np.left_shift, "u"),
    "create_lshr": _shift("lshr", np.right_shift, "u"),
    "create_ashr": _shift("ashr", np.right_shift, "i"),
}

_LANE_FLOPS = frozenset({name for name in _BINARY if name.startswith("create_f") or name.endswith("f")})
"""Operations on two floats: one FLOP per element."""

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}

_AS_IN_NUMPY = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "floor", "ceil")
_FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "create_fma": ("fma", numerics.fused_multiply_add),
    **{f"create_{name}": (f"tl.{name}", _in_type(getattr(np, name))) for name in _AS_IN_NUMPY},
    "create_precise_sqrt": ("tl.sqrt_rn", _in_type(np.sqrt)),
    "create_rsqrt": ("tl.rsqrt", _in_type(lambda a: 1 / np.sqrt(a))),
    "create_erf": ("tl.erf", _in_type(_erf)),
    "create_fabs": ("tl.abs", np.abs),
    "create_iabs": ("tl.abs", np.abs),
    "create_fneg": ("-", np.negative),
}


_FLOPS = {"create_fma": 2, "create_fabs": 0, "create_iabs": 0}
"""FLOPS per element where they are not one: to clear a bit is none."""


def _fill() -> None:
    for method, operation in _BITS.items():
        setattr(Elementwise, method, operation)
    for method, (label, compute) in _BINARY.items():
        setattr(Elementwise, method, _lane_by_lane(label, compute, flops=int(method in _LANE_FLOPS)))
    for method, (label, function) in _FUNCTIONS.items():
        setattr(Elementwise, method, _lane_by_lane(label, function, flops=_FLOPS.get(method, 1)))
    for suffix, compare in _COMPARISONS.items():
        for prefix in ("S", "U") if suffix not in ("EQ", "NE") else ("",):
            setattr(Elementwise, f"create_icmp{prefix}{suffix}", _lane_by_lane("comparison", compare, tl.int1))
        setattr(Elementwise, f"create_fcmpO{suffix}", _lane_by_lane("comparison", compare, tl.int1))
        setattr(Elementwise, f"create_fcmpU{suffix}", _lane_by_lane("comparison", _unordered(compare), tl.int1))


_fill()
