"""Elementwise as the GPU does it: element types, casts, TF32, integer division.

bf16 values are `ml_dtypes.bfloat16` arrays: each operation computes in fp32 and rounds to nearest even, as `fma.rn.bf16`
and the fp32 fallback of older GPUs do. fp16 is NumPy's, which rounds after each operation as the GPU does.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

ELEMENT: dict[str, np.dtype] = {
    "int1": np.dtype(np.bool_),
    **{name: np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")},
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
}
"""NumPy's type for each Triton scalar type the simulator computes with, by Triton's name."""

POISON_INT = -0x21524111
"""The value of undefined integer lanes: far outside any tensor, and easy to recognise."""


def is_float(dtype: np.dtype) -> bool:
    """Whether `dtype` is a floating type (ml_dtypes' types have kind "V")."""
    return dtype.kind in "fV"


def constant(value: Any, dtype: np.dtype) -> Any:
    """A scalar of `dtype`; integers wrap as they do in a register."""
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        return np.array(int(value) & ((1 << bits) - 1), np.dtype(f"u{dtype.itemsize}")).view(dtype)[()]
    return np.array(value).astype(dtype)[()]


def poison(dtype: np.dtype) -> Any:
    """The value of an undefined lane: NaN, a wild integer, or True."""
    if is_float(dtype):
        return np.array(np.nan).astype(dtype)[()]
    if dtype.kind == "b":
        return np.bool_(True)
    return constant(POISON_INT, dtype)


def cast(data: Any, to: np.dtype) -> Any:
    """`data` as `to`: rounds to nearest even; float to integer truncates, saturates and turns NaN into 0 (PTX `cvt.rzi`)."""
    data = np.asarray(data)
    if data.dtype == to:
        return data
    if is_float(data.dtype) and to.kind in "iu":
        limits = np.iinfo(to)
        wide = np.trunc(np.nan_to_num(data.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        low, high = wide <= float(limits.min), wide >= float(limits.max)
        inside = np.where(low | high, 0.0, wide).astype(to)
        return np.where(low, to.type(limits.min), np.where(high, to.type(limits.max), inside))
    if is_float(data.dtype) and to.kind == "b":
        return data != 0
    if data.dtype == np.float64 and to == ELEMENT["bf16"]:
        return _round_odd(data).astype(to)
    return data.astype(to)


def _round_odd(data: np.ndarray) -> np.ndarray:
    """fp64 to fp32 rounding to odd, so that a second rounding to bf16 gives the correctly rounded result."""
    single = data.astype(np.float32)
    inexact = np.isfinite(single) & (single.astype(np.float64) != data)
    bits = single.view(np.uint32)
    away = np.abs(single.astype(np.float64)) > np.abs(data)
    truncated = np.where(inexact & away, bits - np.uint32(1), bits)
    return np.where(inexact, truncated | np.uint32(1), bits).astype(np.uint32).view(np.float32)


def to_tf32(data: np.ndarray) -> np.ndarray:
    """fp32 with the 10 mantissa bits that a tensor core reads.

    Triton passes fp32 registers (or shared memory) to `mma … tf32` and `wgmma … tf32` without a `cvt.rna.tf32`, as its PTX for
    sm_80 and sm_90 shows, and the tensor core ignores the low 13 bits. Operands are truncated, not rounded. NaN stays NaN.
    """
    data = np.ascontiguousarray(data, np.float32)
    cut = (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    nan = np.isnan(data)
    return np.where(nan, data, cut) if nan.any() else cut


def dot(a: Any, b: Any, c: Any, precision: str, result: np.dtype) -> np.ndarray:
    """`a @ b + c` as tensor cores do it: exact products, sums in fp32 (int32 for integers), rounded to `result` at the end.

    `precision` is about fp32 operands: "tf32" cuts them to TF32, "tf32x3" recovers almost fp32 and is computed in fp32,
    as "ieee" is. fp64 is computed in fp64. The order of sums does not depend on how NumPy happens to hold the operands.
    """
    if a.dtype.kind in "iub":
        product = np.matmul(a.astype(np.int32), b.astype(np.int32))
        return product + c
    if a.dtype == np.float64:
        return np.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b)) + c
    if a.dtype == np.float32 and precision == "tf32":
        a, b = to_tf32(a), to_tf32(b)
    product = np.matmul(np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32))
    return np.add(product, np.asarray(c, np.float32)).astype(result, copy=False)


def divide(a: Any, b: Any) -> Any:
    """Integer division that truncates towards zero, as in C and PTX. Division by zero gives all ones, as on NVIDIA GPUs."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "u":
        quotient = np.floor_divide(a, np.where(b == 0, b.dtype.type(1), b))
        return np.where(b == 0, np.iinfo(a.dtype).max, quotient).astype(a.dtype)
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = np.floor_divide(a - np.fmod(a, safe), safe)
    return np.where(b == 0, a.dtype.type(-1), quotient)


def remainder(a: Any, b: Any) -> Any:
    """The remainder that goes with `divide`: it has the sign of `a`. By zero it is `a`."""
    a, b = np.asarray(a), np.asarray(b)
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def multiply_high(a: Any, b: Any) -> Any:
    """The upper half of the product of two unsigned integers."""
    a, b = np.asarray(a), np.asarray(b)
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        wide = a.view(unsigned).astype(np.uint64) * b.view(unsigned).astype(np.uint64)
        return (wide >> np.uint64(bits)).astype(unsigned).view(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    xl, xh, yl, yh = x & low, x >> half, y & low, y >> half
    middle = xh * yl + ((xl * yl) >> half)
    return (xh * yh + (middle >> half) + ((xl * yh + (middle & low)) >> half)).view(a.dtype)


def fused_multiply_add(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c` with one rounding (fp64 operands: two, NumPy has no wider type)."""
    a, b, c = np.asarray(a), np.asarray(b), np.asarray(c)
    if not is_float(c.dtype) or c.dtype == np.float64:
        return a * b + c
    return cast(a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64), c.dtype)
