"""Functions of libdevice, CUDA's library of mathematics: `tl.extra.libdevice.tanh` and its like.

They are computed in float64 and rounded once, which is within CUDA's documented errors of a few units in the last place. The
`fast_` functions use powers and logarithms of two in float32, as the hardware does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.errors import Unsupported
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle

Compute = Callable[..., Any]


def _by_python(function: Callable[[float], float]) -> Compute:
    return lambda a: np.vectorize(function, otypes=[np.float64])(a) if np.size(a) else a


def _round(a: Any) -> Any:
    """To the nearest whole number, halves away from zero."""
    whole = np.trunc(a)
    return whole + np.where(np.abs(a - whole) >= 0.5, np.copysign(1.0, a), 0.0)


def _fdim(a: Any, b: Any) -> Any:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a > b, a - b, 0.0))


_AS_IN_NUMPY = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh exp exp2 expm1 floor fmod hypot "
    "log log10 log1p log2 rint sin sinh sqrt tan tanh trunc"
)
_DOUBLE: dict[str, tuple[str, Compute]] = {
    **{name: (f"{name}f {name}", getattr(np, name)) for name in _AS_IN_NUMPY.split()},
    "div_rn": ("fdiv_rn ddiv_rn", np.divide),
    "erf": ("erff erf", _by_python(math.erf)),
    "erfc": ("erfcf erfc", _by_python(math.erfc)),
    "exp10": ("exp10f exp10", lambda a: np.power(10.0, a)),
    "fdim": ("fdimf fdim", _fdim),
    "finitef": ("finitef", np.isfinite),
    "fma": ("fmaf fma", lambda a, b, c: a * b + c),
    "isfinited": ("isfinited", np.isfinite),
    "isinf": ("isinff isinfd", np.isinf),
    "isnan": ("isnanf isnand", np.isnan),
    "llrint": ("llrintf llrint", np.rint),
    "llround": ("llroundf llround", _round),
    "nearbyint": ("nearbyintf nearbyint", np.rint),
    "normcdf": ("normcdff normcdf", lambda a: 0.5 * _by_python(math.erfc)(-a / math.sqrt(2))),
    "pow": ("powf pow powif powi", np.power),
    "rcbrt": ("rcbrtf rcbrt", lambda a: 1 / np.cbrt(a)),
    "rcp_rn": ("frcp_rn drcp_rn", lambda a: 1 / a),
    "remainder": ("remainderf remainder", lambda a, b: a - b * np.rint(a / b)),
    "round": ("roundf round", _round),
    "rsqrt": ("rsqrtf rsqrt", lambda a: 1 / np.sqrt(a)),
    "rsqrt_rn": ("frsqrt_rn", lambda a: 1 / np.sqrt(a)),
    "signbit": ("signbitf signbitd", np.signbit),
    "sqrt_rn": ("fsqrt_rn dsqrt_rn", np.sqrt),
}
"""By name: the library's symbols for each type, and the function, computed in float64."""

_LOG2_E, _LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_LOG2_10, _LOG10_2 = np.float32(3.321928094887362), np.float32(0.3010299956639812)

_SINGLE: dict[str, tuple[str, Compute]] = {
    "abs": ("abs llabs fabsf fabs", np.abs),
    "fast_cosf": ("fast_cosf", np.cos),
    "fast_dividef": ("fast_fdividef", lambda a, b: a * np.where(np.abs(b) > 2.0**126, np.float32(0), 1 / b)),
    "fast_exp10f": ("fast_exp10f", lambda a: np.exp2(a * _LOG2_10)),
    "fast_expf": ("fast_expf", lambda a: np.exp2(a * _LOG2_E)),
    "fast_log10f": ("fast_log10f", lambda a: np.log2(a) * _LOG10_2),
    "fast_log2f": ("fast_log2f", np.log2),
    "fast_logf": ("fast_logf", lambda a: np.log2(a) * _LN_2),
    "fast_powf": ("fast_powf", lambda a, b: np.exp2(b * np.log2(a))),
    "fast_sinf": ("fast_sinf", np.sin),
    "fast_tanf": ("fast_tanf", lambda a: np.sin(a) / np.cos(a)),
}
"""Likewise, computed in the type of the operands."""

_BY_SYMBOL: dict[str, tuple[str, Compute, bool]] = {
    f"__nv_{symbol}": (name, compute, wide)
    for table, wide in ((_DOUBLE, True), (_SINGLE, False))
    for name, (symbols, compute) in table.items()
    for symbol in symbols.split()
}
SIMULATED = frozenset(_DOUBLE) | frozenset(_SINGLE)
"""The libdevice functions that are simulated."""


class Libdevice(Operations):
    """Calls into libdevice, by symbol."""

    def create_extern_elementwise(
        self, library: str, path: str, symbol: str, operands: Sequence[Handle], type_: Any, is_pure: bool
    ) -> Handle:
        if symbol not in _BY_SYMBOL:
            raise Unsupported(
                f"The simulator has no libdevice function `{symbol.removeprefix('__nv_')}`. Use the functions of tl."
            )
        name, compute, wide = _BY_SYMBOL[symbol]
        numbers = [np.asarray(h.data) for h in operands]
        if wide:
            numbers = [n.astype(np.float64) if numerics.is_float(n.dtype) else n for n in numbers]
        data = numerics.cast(compute(*numbers), self.element(type_))
        if numerics.is_float(data.dtype) and name != "abs":
            self.count_flops(data, 2 if name == "fma" else 1)
        return self.result(f"libdevice.{name}", data, type_.scalar, operands)
