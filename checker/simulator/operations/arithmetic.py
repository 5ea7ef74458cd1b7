"""Arithmetic, comparisons and the functions of `tl.math`: element by element, most of them one line of a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle


class Arithmetic(Operations):
    """The operations of the tables below are added to these."""

    def create_fma(self, x: Handle, y: Handle, z: Handle) -> Handle:
        data = np.asarray(numerics.fused_multiply_add(x.data, y.data, z.data))
        self.lane_flops += 2 * data.size
        return self.result("fma", data, z.type, (x, y, z))

    def create_clampf(self, x: Handle, low: Handle, high: Handle, propagate: Any) -> Handle:
        upper, lower = (np.minimum, np.maximum) if propagate.name == "ALL" else (np.fmin, np.fmax)
        data = upper(lower(x.data, low.data), high.data)
        self.lane_flops += 2 * np.size(data)
        return self.result("clamp", data, x.type, (x, low, high))


def _binary(
    name: str, compute: Callable[[Any, Any], Any], boolean: bool = False, flops: int = 0
) -> Callable[..., Handle]:
    """`flops` is how many floating-point operations each element of the result counts for."""

    def operation(self: Arithmetic, lhs: Handle, rhs: Handle) -> Handle:
        data = compute(lhs.data, rhs.data)
        if flops:
            self.lane_flops += flops * data.size
        type_ = self.types.int1 if boolean else lhs.type
        if lhs.taint is None and rhs.taint is None and self.born is None:
            return Handle(data, type_)
        return self.result(name, data, type_, (lhs, rhs))

    return operation


def _unary(name: str, compute: Callable[[Any], Any], flops: int = 0) -> Callable[..., Handle]:
    def operation(self: Arithmetic, arg: Handle) -> Handle:
        data = compute(arg.data)
        if flops:
            self.lane_flops += flops * data.size
        if arg.taint is None and self.born is None:
            return Handle(data, arg.type)
        return self.result(name, data, arg.type, (arg,))

    return operation


def _unordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison that is also true where an operand is NaN."""
    return lambda a, b: compare(a, b) | (a != a) | (b != b)


def _in_type(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`compute` done in fp32 at least and rounded back once."""

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


_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "create_fadd": ("+", np.add),
    "create_fsub": ("-", np.subtract),
    "create_fmul": ("*", np.multiply),
    "create_fdiv": ("/", np.divide),
    "create_precise_divf": ("tl.div_rn", np.divide),
    "create_approx_divf": ("/", np.divide),
    "create_frem": ("%", _mod),
    "create_add": ("+", np.add),
    "create_sub": ("-", np.subtract),
    "create_mul": ("*", np.multiply),
    "create_sdiv": ("//", numerics.divide),
    "create_udiv": ("//", numerics.divide),
    "create_srem": ("%", numerics.remainder),
    "create_urem": ("%", numerics.remainder),
    "create_umulhi": ("tl.umulhi", numerics.multiply_high),
    "create_minsi": ("tl.minimum", np.minimum),
    "create_minui": ("tl.minimum", np.minimum),
    "create_maxsi": ("tl.maximum", np.maximum),
    "create_maxui": ("tl.maximum", np.maximum),
    # "minimum" and "maximum" return NaN if either is; "minnum" and "maxnum" return the one that is a number
    "create_minimumf": ("tl.minimum", np.minimum),
    "create_maximumf": ("tl.maximum", np.maximum),
    "create_minnumf": ("tl.minimum", np.fmin),
    "create_maxnumf": ("tl.maximum", np.fmax),
}

_LANE_FLOPS = frozenset({name for name in _BINARY if name.startswith("create_f") or name.endswith("f")})
"""The operations on two floating numbers, one FLOP an element."""

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}

_UNARY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "create_exp": ("tl.exp", _in_type(np.exp)),
    "create_exp2": ("tl.exp2", _in_type(np.exp2)),
    "create_log": ("tl.log", _in_type(np.log)),
    "create_log2": ("tl.log2", _in_type(np.log2)),
    "create_sin": ("tl.sin", _in_type(np.sin)),
    "create_cos": ("tl.cos", _in_type(np.cos)),
    "create_sqrt": ("tl.sqrt", _in_type(np.sqrt)),
    "create_precise_sqrt": ("tl.sqrt_rn", _in_type(np.sqrt)),
    "create_rsqrt": ("tl.rsqrt", _in_type(lambda a: 1 / np.sqrt(a))),
    "create_erf": ("tl.erf", _in_type(_erf)),
    "create_floor": ("tl.floor", _in_type(np.floor)),
    "create_ceil": ("tl.ceil", _in_type(np.ceil)),
    "create_fabs": ("tl.abs", np.abs),
    "create_iabs": ("tl.abs", np.abs),
    "create_fneg": ("-", np.negative),
}


_FREE = frozenset({"create_fabs", "create_iabs"})  # a bit is cleared, or the number is an integer


def _fill() -> None:
    for method, (label, compute) in _BINARY.items():
        setattr(Arithmetic, method, _binary(label, compute, flops=int(method in _LANE_FLOPS)))
    for method, (label, function) in _UNARY.items():
        setattr(Arithmetic, method, _unary(label, function, flops=int(method not in _FREE)))
    for suffix, compare in _COMPARISONS.items():
        for prefix in ("S", "U") if suffix not in ("EQ", "NE") else ("",):
            setattr(Arithmetic, f"create_icmp{prefix}{suffix}", _binary("comparison", compare, boolean=True))
        setattr(Arithmetic, f"create_fcmpO{suffix}", _binary("comparison", compare, boolean=True))
        setattr(Arithmetic, f"create_fcmpU{suffix}", _binary("comparison", _unordered(compare), boolean=True))


_fill()
