"""The builder that Triton's front end talks to while a kernel is simulated: every operation is computed at once.

Triton's own semantic layer does types, broadcasting and checks; it then asks the builder for one primitive after another.
A primitive that is not written here does not exist: it is refused by name, and never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from checker.simulator import numerics
from checker.simulator.memory import Memory
from checker.simulator.values import DeviceAssertion, Handle, Pointer, Refusal, Taint


@dataclass(frozen=True)
class BuilderOptions:
    """What Triton's front end asks about the target. `debug` keeps device assertions; integers wrap as on a GPU."""

    debug: bool = True
    sanitize_overflow: bool = False
    arch: str | None = None
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e5", "fp8e4nv")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = ("tf32", "tf32x3", "ieee")
    max_num_imprecise_acc_default: int = 0
    enable_fp_fusion: bool = True
    extern_libs: dict[str, str] = field(default_factory=dict)


INTEGERS = {"int1": 1, **{f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}}
FLOATS = {"fp16": "half", "bf16": "bf16", "fp32": "float", "fp64": "double"}

REFUSED = {
    "create_make_block_ptr": "block pointers (tl.make_block_ptr) are gone in Triton 3.8. Use pointer arithmetic and a mask.",
    "create_advance": "block pointers (tl.advance) are gone in Triton 3.8. Use pointer arithmetic and a mask.",
    "create_make_tensor_descriptor": "tensor descriptors are not simulated. Use pointer arithmetic and a mask.",
    "create_extern_elementwise": "functions of an external library (libdevice) are not simulated. Use those of tl.",
    "create_inline_asm": "inline assembly is not simulated.",
    "create_dot_scaled": "tl.dot_scaled is not simulated. Use tl.dot.",
    "create_map_elementwise": "tl.map_elementwise is not simulated. Write the operations on whole tiles.",
}


def merge_taint(handles: Sequence[Handle], shape: tuple[int, ...]) -> Taint | None:
    """A lane computed from an undefined lane is undefined."""
    tainted = [h.taint for h in handles if h.taint is not None]
    if not tainted:
        return None
    lanes = np.zeros(shape, bool)
    sources: frozenset[int] = frozenset()
    for taint in tainted:
        lanes = lanes | taint.lanes
        sources |= taint.sources
    return Taint(lanes, sources)


def merge_nans(handles: Sequence[Handle], shape: tuple[int, ...]) -> np.ndarray | None:
    """For each lane the birth of the first operand that knows one."""
    known = [h.nans for h in handles if h.nans is not None]
    if not known:
        return None
    out = np.zeros(shape, np.int32)
    for births in known:
        out = np.where(out == 0, births, out)
    return out


def isnan(data: Any) -> np.ndarray:
    data = np.asarray(data)
    return np.isnan(data) if numerics.is_float(data.dtype) else np.zeros(data.shape, bool)


class Builder:
    """Computes Triton's primitives on `Handle`s.

    `memory` serves loads, stores and atomics. `born`, where given, is called with the operation's name when its result holds
    a NaN in a lane where no operand did, and returns a number for that birth.
    """

    def __init__(self, memory: Memory, born: Callable[[str], int] | None = None) -> None:
        self.memory = memory
        self.born = born
        self.options = BuilderOptions()
        self.codegen_fns: dict[str, Callable[..., Any]] = {
            "min_dot_size": lambda lhs, rhs: (1, 1, 1),
            "convert_custom_types": self._refuse_custom_types,
        }
        self.program = (0, 0, 0)
        self.grid = (1, 1, 1)
        self.flops = 0
        self.lane_flops = 0
        self.printed: list[str] = []

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith(("create_", "get_")):
            raise Refusal(REFUSED.get(name, f"the simulator does not know this operation ({name})."))
        raise AttributeError(name)

    @staticmethod
    def _refuse_custom_types(*_: Any, **__: Any) -> NoReturn:
        raise Refusal("this fp8 format is not simulated. Use float8e5 or float8e4nv.")

    # results ----------------------------------------------------------------------------------------------------------

    def result(self, name: str, data: Any, type_: Any, operands: Sequence[Handle]) -> Handle:
        """The result of an elementwise operation, with what its operands were known for."""
        handle = Handle(data, type_)
        if any(h.taint is not None for h in operands):
            handle.taint = merge_taint(operands, np.shape(data))
        if self.born is not None:
            self.note_nan(name, handle, operands)
        return handle

    def note_nan(self, name: str, handle: Handle, operands: Sequence[Handle]) -> None:
        """Remember where each NaN of `handle` was born; operands have its shape or are scalars."""
        nan = isnan(handle.data)
        if self.born is None or not nan.any():
            return
        known = np.zeros(nan.shape, bool)
        for operand in operands:
            known = known | isnan(operand.data)
        births = merge_nans(operands, nan.shape)
        births = np.zeros(nan.shape, np.int32) if births is None else np.where(nan, births, 0)
        new = nan & ~known
        if new.any():
            births = np.where(new, self.born(name) + 1, births)
        handle.nans = births if births.any() else None

    def moved(self, arg: Handle, move: Callable[[Any], Any]) -> Handle:
        """`arg` with its lanes rearranged."""
        pointer = arg.pointer
        if pointer is not None and pointer.terms is not None:
            pointer = Pointer(pointer.region, tuple(move(t) if np.ndim(t) else t for t in pointer.terms))
        taint = Taint(move(arg.taint.lanes), arg.taint.sources) if arg.taint is not None else None
        nans = None if arg.nans is None else move(arg.nans)
        return Handle(move(arg.data), arg.type, taint, pointer, nans)

    def element(self, type_: Any) -> np.dtype:
        scalar = type_.scalar
        if scalar.is_ptr():
            return np.dtype(np.int64)
        if scalar.name not in numerics.ELEMENT:
            raise Refusal(f"numbers of type {scalar.name} are not simulated.")
        return numerics.ELEMENT[scalar.name]

    # types and constants (get_<type>_ty and get_<type> are added below) -----------------------------------------------

    def get_void_ty(self) -> None:
        return None

    def get_ptr_ty(self, element: Any, address_space: Any) -> Any:
        return self.types.pointer_type(element, address_space)

    def get_block_ty(self, element: Any, shape: Sequence[int]) -> Any:
        return self.types.block_type(element, list(shape))

    types: Any = None
    """`triton.language`, set by the seam."""

    def get_null_value(self, type_: Any) -> Handle:
        return Handle(numerics.constant(0, self.element(type_)), type_.scalar)

    def get_all_ones_value(self, type_: Any) -> Handle:
        return Handle(numerics.constant(-1, self.element(type_)), type_.scalar)

    def get_cache_policy(self, *_: Any, **__: Any) -> None:
        return None

    # programs ---------------------------------------------------------------------------------------------------------

    def create_get_program_id(self, axis: int) -> Handle:
        return Handle(np.int32(self.program[axis]), self.types.int32)

    def create_get_num_programs(self, axis: int) -> Handle:
        return Handle(np.int32(self.grid[axis]), self.types.int32)

    def create_barrier(self, *_: Any) -> None:
        return None

    def create_print(self, prefix: str, hex: bool, values: Sequence[Handle], *_: Any) -> None:
        if len(self.printed) < 1000:
            text = " ".join(np.array2string(np.asarray(v.data), threshold=32) for v in values)
            self.printed.append(f"pid {self.program}{prefix}{text}")

    def create_assert(self, condition: Handle, message: str, *_: Any) -> None:
        held = np.asarray(condition.data).astype(bool)
        if not held.all():
            raise DeviceAssertion(f"{message} ({int((~held).sum())} of {held.size} lanes)")

    def create_assume(self, condition: Handle) -> None:
        if not np.asarray(condition.data).all():
            raise DeviceAssertion("tl.assume was given something that is not true")

    # memory -----------------------------------------------------------------------------------------------------------

    def create_addptr(self, ptr: Handle, offset: Handle) -> Handle:
        steps = offset.data.astype(np.int64)
        bytes_each = max(1, ptr.type.scalar.element_ty.primitive_bitwidth // 8)
        pointer = ptr.pointer
        if pointer is not None and pointer.terms is not None:
            pointer = Pointer(pointer.region, (*pointer.terms, steps))
        handle = Handle(ptr.data + steps * bytes_each, ptr.type, pointer=pointer)
        if ptr.taint is not None or offset.taint is not None:
            handle.taint = merge_taint((ptr, offset), np.shape(handle.data))
        return handle

    def create_load(self, ptr: Handle, *_: Any, **__: Any) -> Handle:
        return self.memory.load(ptr, None, None, self.element(ptr.type.scalar.element_ty))

    def create_masked_load(self, ptr: Handle, mask: Handle, other: Handle | None, *_: Any, **__: Any) -> Handle:
        return self.memory.load(ptr, mask, other, self.element(ptr.type.scalar.element_ty))

    def create_store(self, ptr: Handle, value: Handle, *_: Any, **__: Any) -> None:
        self.memory.store(ptr, value, None)

    def create_masked_store(self, ptr: Handle, value: Handle, mask: Handle, *_: Any, **__: Any) -> None:
        self.memory.store(ptr, value, mask)

    def create_atomic_rmw(self, op: Any, ptr: Handle, value: Handle, mask: Handle, *_: Any) -> Handle:
        if op.name == "FADD":
            self.lane_flops += int(np.count_nonzero(np.broadcast_to(mask.data, np.shape(ptr.data))))
        return self.memory.atomic(op.name, ptr, value, mask)

    def create_atomic_cas(self, ptr: Handle, expected: Handle, value: Handle, *_: Any) -> Handle:
        return self.memory.atomic("CAS", ptr, value, None, expected)

    # casts ------------------------------------------------------------------------------------------------------------

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

    # elementwise operations that are not in the tables below ----------------------------------------------------------

    def create_select(self, condition: Handle, lhs: Handle, rhs: Handle) -> Handle:
        data = np.where(condition.data, lhs.data, rhs.data)
        pointer = None
        if lhs.pointer is not None and rhs.pointer is not None:
            same = lhs.pointer.region is rhs.pointer.region
            pointer = Pointer(lhs.pointer.region if same else None, None)
        handle = Handle(data, lhs.type, pointer=pointer)
        if condition.taint is not None or lhs.taint is not None or rhs.taint is not None:
            chosen = (
                np.where(condition.data, *(h.taint.lanes if h.taint is not None else False for h in (lhs, rhs))),
                frozenset().union(*(h.taint.sources for h in (lhs, rhs) if h.taint is not None)),
            )
            shape = np.shape(data)
            parts = [Handle(data, lhs.type, Taint(np.broadcast_to(chosen[0], shape), chosen[1])), condition]
            handle.taint = merge_taint(parts, shape)
        if self.born is not None and isnan(data).any():
            births = [0 if h.nans is None else h.nans for h in (lhs, rhs)]
            handle.nans = np.broadcast_to(np.where(condition.data, *births), np.shape(data))
        return handle

    def _bitwise(self, name: str, ufunc: Any, lhs: Handle, rhs: Handle) -> Handle:
        handle = Handle(ufunc(lhs.data, rhs.data), lhs.type)
        if lhs.taint is not None or rhs.taint is not None:
            taint = merge_taint((lhs, rhs), np.shape(handle.data))
            if taint is not None and np.asarray(handle.data).dtype == bool and name != "xor":
                # False & anything is False and True | anything is True: an undefined lane cannot change that
                deciding = name == "or"
                decided = np.zeros(np.shape(handle.data), bool)
                for side in (lhs, rhs):
                    known = ~side.taint.lanes if side.taint is not None else True
                    decided = decided | ((np.asarray(side.data) == deciding) & known)
                handle.data = np.where(decided, deciding, handle.data)
                taint = Taint(taint.lanes & ~decided, taint.sources)
            handle.taint = taint
        return handle

    def create_and(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._bitwise("and", np.bitwise_and, lhs, rhs)

    def create_or(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._bitwise("or", np.bitwise_or, lhs, rhs)

    def create_xor(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._bitwise("xor", np.bitwise_xor, lhs, rhs)

    def _shift(self, name: str, ufunc: Any, kind: str, lhs: Handle, rhs: Handle) -> Handle:
        """PTX shifts: by the width of the type or more gives 0, or copies of the sign."""
        own = np.asarray(lhs.data).dtype
        width = 8 * own.itemsize
        work = np.dtype(f"{kind}{own.itemsize}")
        value, by = np.asarray(lhs.data).view(work), np.asarray(rhs.data).astype(np.int64)
        far = (by < 0) | (by >= width)
        shifted = ufunc(value, np.where(far, width - 1, by).astype(work))
        if name != "ashr":
            shifted = np.where(far, work.type(0), shifted)
        return self.result(name, shifted.view(own), lhs.type, (lhs, rhs))

    def create_shl(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._shift("shl", np.left_shift, "u", lhs, rhs)

    def create_lshr(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._shift("lshr", np.right_shift, "u", lhs, rhs)

    def create_ashr(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._shift("ashr", np.right_shift, "i", lhs, rhs)

    def create_fma(self, x: Handle, y: Handle, z: Handle) -> Handle:
        data = np.asarray(numerics.fused_multiply_add(x.data, y.data, z.data))
        self.lane_flops += 2 * data.size
        return self.result("fma", data, z.type, (x, y, z))

    def create_clampf(self, x: Handle, low: Handle, high: Handle, propagate: Any) -> Handle:
        upper, lower = (np.minimum, np.maximum) if propagate.name == "ALL" else (np.fmin, np.fmax)
        data = upper(lower(x.data, low.data), high.data)
        self.lane_flops += 2 * np.size(data)
        return self.result("clamp", data, x.type, (x, low, high))

    # shapes -----------------------------------------------------------------------------------------------------------

    def create_make_range(self, _: Any, start: int, stop: int) -> Handle:
        return Handle(np.arange(start, stop, dtype=np.int32), self.types.int32)

    def create_reshape(self, arg: Handle, shape: Sequence[int], *_: Any) -> Handle:
        handle = self.moved(arg, lambda a: np.reshape(a, tuple(shape)))
        if handle.pointer is not None:
            handle.pointer = Pointer(handle.pointer.region, None)
        return handle

    def create_expand_dims(self, arg: Handle, axis: int) -> Handle:
        return self.moved(arg, lambda a: np.expand_dims(a, axis))

    def create_broadcast(self, arg: Handle, shape: Sequence[int]) -> Handle:
        return self.moved(arg, lambda a: np.broadcast_to(a, tuple(shape)))

    def create_splat(self, type_: Any, arg: Handle) -> Handle:
        shape = tuple(int(n) for n in type_.shape)
        taint = arg.taint and Taint(np.broadcast_to(arg.taint.lanes, shape), arg.taint.sources)
        nans = None if arg.nans is None else np.broadcast_to(arg.nans, shape)
        return Handle(np.broadcast_to(np.reshape(arg.data, ()), shape), arg.type, taint, arg.pointer, nans)

    def create_unsplat(self, arg: Handle) -> Handle:
        return self.moved(arg, lambda a: np.reshape(a, ()))

    def create_trans(self, arg: Handle, order: Sequence[int]) -> Handle:
        return self.moved(arg, lambda a: np.transpose(a, tuple(order)))

    def _combined(self, handles: Sequence[Handle], join: Callable[[list[Any]], Any]) -> Handle:
        taint = None
        if any(h.taint is not None for h in handles):
            lanes = [h.taint.lanes if h.taint is not None else np.zeros(np.shape(h.data), bool) for h in handles]
            taint = Taint(join(lanes), frozenset().union(*(h.taint.sources for h in handles if h.taint is not None)))
        data = join([h.data for h in handles])
        nans = None
        if any(h.nans is not None for h in handles):
            nans = join([np.zeros(np.shape(h.data), np.int32) if h.nans is None else h.nans for h in handles])
        return Handle(data, handles[0].type, taint, nans=nans)

    def create_cat(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._combined((lhs, rhs), np.concatenate)

    def create_join(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._combined((lhs, rhs), lambda parts: np.stack(parts, axis=-1))

    def create_split(self, arg: Handle) -> tuple[Handle, Handle]:
        return self.moved(arg, lambda a: a[..., 0]), self.moved(arg, lambda a: a[..., 1])

    def create_gather(self, src: Handle, index: Handle, axis: int) -> Handle:
        where = np.asarray(index.data)
        outside = (where < 0) | (where >= src.data.shape[axis])
        if outside.any():
            raise Refusal(f"tl.gather was given the index {where[outside][0]}, outside its source.")
        handle = self.moved(src, lambda a: np.take_along_axis(a, where.astype(np.int64), axis=axis))
        handle.pointer = None
        if index.taint is not None:
            handle.taint = merge_taint((handle, index), where.shape)
        return handle

    def create_histogram(self, arg: Handle, bins: int, mask: Handle | None = None) -> Handle:
        counted = (
            np.asarray(arg.data)[np.asarray(mask.data, bool)] if mask is not None else np.asarray(arg.data).ravel()
        )
        counted = counted[(counted >= 0) & (counted < bins)]
        data = np.bincount(counted.astype(np.int64), minlength=bins).astype(np.int32)
        lanes = arg.taint.lanes if arg.taint is not None else np.zeros(1, bool)
        tainted = bool((lanes & (np.asarray(mask.data, bool) if mask is not None else True)).any())
        taint = Taint(np.ones(bins, bool), arg.taint.sources) if tainted and arg.taint is not None else None
        return Handle(data, self.types.int32, taint)

    def create_dot(self, a: Handle, b: Handle, c: Handle, precision: Any, *_: Any) -> Handle:
        name = getattr(precision, "name", str(precision)).lower()
        data = numerics.dot(np.asarray(a.data), np.asarray(b.data), np.asarray(c.data), name, self.element(c.type))
        m, k, n = a.data.shape[-2], a.data.shape[-1], b.data.shape[-1]
        flops = 2 * m * k * n * int(np.prod(data.shape[:-2], dtype=np.int64))
        self.flops += flops
        self.memory.record_dot()
        handle = Handle(data, c.type)
        if a.taint is not None or b.taint is not None or c.taint is not None:
            parts = [c]
            if a.taint is not None:
                rows = np.broadcast_to(a.taint.lanes.any(-1, keepdims=True), data.shape)
                parts.append(Handle(data, c.type, Taint(rows, a.taint.sources)))
            if b.taint is not None:
                columns = np.broadcast_to(b.taint.lanes.any(-2, keepdims=True), data.shape)
                parts.append(Handle(data, c.type, Taint(columns, b.taint.sources)))
            handle.taint = merge_taint(parts, data.shape)
        if self.born is not None:
            self.note_nan("tl.dot", handle, (self._spread(a, -1, data.shape), self._spread(b, -2, data.shape), c))
        return handle

    @staticmethod
    def _spread(arg: Handle, axis: int, shape: tuple[int, ...]) -> Handle:
        """`arg` reduced to where a sum along `axis` would be NaN because of it, in the shape of the result."""
        nan = isnan(arg.data).any(axis, keepdims=True)
        births = None if arg.nans is None else np.broadcast_to(arg.nans.max(axis, keepdims=True), shape)
        return Handle(np.broadcast_to(np.where(nan, np.float32(np.nan), np.float32(0)), shape), arg.type, nans=births)


def _binary(
    name: str, compute: Callable[[Any, Any], Any], boolean: bool = False, flops: int = 0
) -> Callable[..., Handle]:
    """`flops` is how many floating-point operations each element of the result counts for."""

    def operation(self: Builder, lhs: Handle, rhs: Handle) -> Handle:
        data = compute(lhs.data, rhs.data)
        if flops:
            self.lane_flops += flops * data.size
        type_ = self.types.int1 if boolean else lhs.type
        if lhs.taint is None and rhs.taint is None and self.born is None:
            return Handle(data, type_)
        return self.result(name, data, type_, (lhs, rhs))

    return operation


def _unary(name: str, compute: Callable[[Any], Any], flops: int = 0) -> Callable[..., Handle]:
    def operation(self: Builder, arg: Handle) -> Handle:
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
    import math

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


def _constant_maker(name: str) -> Callable[[Builder, Any], Handle]:
    dtype = numerics.ELEMENT[name]
    return lambda self, value: Handle(
        numerics.constant(value, dtype), getattr(self.types, _LANGUAGE_NAME.get(name, name))
    )


def _type_getter(name: str) -> Callable[[Builder], Any]:
    return lambda self: getattr(self.types, _LANGUAGE_NAME.get(name, name))


_LANGUAGE_NAME = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}


def _fill() -> None:
    for method, (label, compute) in _BINARY.items():
        setattr(Builder, method, _binary(label, compute, flops=int(method in _LANE_FLOPS)))
    for method, (label, function) in _UNARY.items():
        setattr(Builder, method, _unary(label, function, flops=int(method not in _FREE)))
    for suffix, compare in _COMPARISONS.items():
        for prefix in ("S", "U") if suffix not in ("EQ", "NE") else ("",):
            setattr(Builder, f"create_icmp{prefix}{suffix}", _binary("comparison", compare, boolean=True))
        setattr(Builder, f"create_fcmpO{suffix}", _binary("comparison", compare, boolean=True))
        setattr(Builder, f"create_fcmpU{suffix}", _binary("comparison", _unordered(compare), boolean=True))
    for name in INTEGERS:
        setattr(Builder, f"get_{name}", _constant_maker(name))
        setattr(Builder, f"get_{name}_ty", _type_getter(name))
    for name, spelled in FLOATS.items():
        setattr(Builder, f"get_{name}", _constant_maker(name))
        setattr(Builder, f"get_{spelled}_ty", _type_getter(name))


_fill()
