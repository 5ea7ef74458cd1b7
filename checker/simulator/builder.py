"""The builder that Triton's front end calls while a kernel is simulated; it computes every operation at once.

Triton's own semantic layer handles types, broadcasting and checks, and then asks the builder for one primitive after another.
Primitives that are defined neither here nor in `operations/` are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import triton.language as tl

from checker.simulator import numerics
from checker.simulator.errors import DeviceAssertion, Unsupported
from checker.simulator.memory import Memory
from checker.simulator.operations.block_pointers import BlockHandle, Descriptors
from checker.simulator.operations.casts import Casts
from checker.simulator.operations.dot import Dot
from checker.simulator.operations.elementwise import Elementwise
from checker.simulator.operations.libdevice import Libdevice
from checker.simulator.operations.shapes import Shapes
from checker.simulator.trace import Order
from checker.simulator.values import Handle, Pointer, merge_taint


@dataclass(frozen=True)
class BuilderOptions:
    """The target's properties for Triton's front end. `debug` keeps device assertions; integers wrap as on a GPU."""

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


_UNSUPPORTED = {
    "create_inline_asm": "inline assembly is not simulated.",
    "create_dot_scaled": "tl.dot_scaled is not simulated. Use tl.dot.",
    "create_map_elementwise": "tl.map_elementwise is not simulated. Write the operations on whole tiles.",
}


def _refuse_custom_types(*_: Any, **__: Any) -> NoReturn:
    raise Unsupported("this fp8 format is not simulated. Use float8e5 or float8e4nv.")


def _order(sem: Any, scope: Any) -> Order:
    """What an atomic promises to other programs; one for its own thread block promises them nothing."""
    orders: dict[str, Order] = {"ACQUIRE_RELEASE": "acq_rel", "ACQUIRE": "acquire", "RELEASE": "release"}
    return "relaxed" if scope.name == "CTA" else orders.get(sem.name, "relaxed")


class Primitives(Elementwise, Casts, Shapes, Dot, Libdevice, Descriptors):
    """The primitives that work alike for one program and for many side by side: `operations/`, and addresses."""

    def __init__(self, nan_origin: Callable[[str], int] | None = None, infs: bool = False) -> None:
        super().__init__(nan_origin, infs)
        self.options = BuilderOptions()
        self.codegen_fns: dict[str, Callable[..., Any]] = {
            "min_dot_size": lambda lhs, rhs: (1, 1, 1),
            "convert_custom_types": _refuse_custom_types,
        }

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith(("create_", "get_")):
            raise Unsupported(_UNSUPPORTED.get(name, f"the simulator does not know this operation ({name})."))
        raise AttributeError(name)

    def create_barrier(self, *_: Any) -> None:
        self.memory.barrier()

    def discarded(self) -> None:
        """Nobody uses the result of the last operation."""

    def create_addptr(self, ptr: Handle, offset: Handle) -> Handle:
        steps = offset.data.astype(np.int64, copy=False)
        bytes_each = max(1, ptr.type.scalar.element_ty.primitive_bitwidth // 8)
        pointer = ptr.pointer
        if pointer is not None and pointer.terms is not None:
            pointer = Pointer(pointer.tensor, (*pointer.terms, steps))
        handle = Handle(ptr.data + (steps * bytes_each if bytes_each > 1 else steps), ptr.type, pointer=pointer)
        if ptr.taint is not None or offset.taint is not None:
            handle.taint = merge_taint((ptr.taint, offset.taint), np.shape(handle.data))
        return handle

    def get_cache_policy(self, *_: Any) -> None:
        """What Triton 3.9 asks for before each load and store. Caches change no value."""

    def create_load(self, ptr: Handle, *_: Any, **__: Any) -> Handle:
        return self.memory.load(ptr, None, None, self.element(ptr.type.scalar.element_ty))

    def create_masked_load(self, ptr: Handle, mask: Handle, other: Handle | None, *_: Any, **__: Any) -> Handle:
        return self.memory.load(ptr, mask, other, self.element(ptr.type.scalar.element_ty))

    def create_store(self, ptr: Handle, value: Handle, *_: Any, **__: Any) -> None:
        self.memory.store(ptr, value, None)

    def create_masked_store(self, ptr: Handle, value: Handle, mask: Handle, *_: Any, **__: Any) -> None:
        self.memory.store(ptr, value, mask)


class Builder(Primitives):
    """All primitives for the running program: also program ids, prints, assertions and atomics."""

    memory: Memory

    def __init__(self, memory: Memory, nan_origin: Callable[[str], int] | None = None, infs: bool = False) -> None:
        super().__init__(nan_origin, infs)
        self.memory = memory
        self.program = (0, 0, 0)
        self.grid = (1, 1, 1)
        self.printed: list[str] = []

    def discarded(self) -> None:
        self.memory.discarded()

    def create_get_program_id(self, axis: int) -> Handle:
        return Handle(np.int32(self.program[axis]), tl.int32)

    def create_get_num_programs(self, axis: int) -> Handle:
        return Handle(np.int32(self.grid[axis]), tl.int32)

    def create_print(self, prefix: str, hex: bool, values: Sequence[Handle], *_: Any) -> None:
        text = prefix + " ".join(np.array2string(np.asarray(v.data), threshold=32) for v in values)
        self.memory.printed(text)
        if len(self.printed) < 1000:
            self.printed.append(f"pid {self.program}{text}")

    def create_assert(self, condition: Handle, message: str, *_: Any) -> None:
        held = np.asarray(condition.data).astype(bool)
        if not held.all():
            raise DeviceAssertion(f"{message} ({int((~held).sum())} of {held.size} lanes)")

    def create_assume(self, condition: Handle) -> None:
        if not np.asarray(condition.data).all():
            self.memory.findings.false_promise("tl.assume")

    def create_atomic_rmw(self, op: Any, ptr: Handle, value: Handle, mask: Handle, sem: Any, scope: Any) -> Handle:
        return self._atomic(op.name, ptr, value, mask, _order(sem, scope))

    def _atomic(self, name: str, ptr: Handle, value: Handle, mask: Handle, order: Order = "relaxed") -> Handle:
        if name == "FADD":
            self.lane_flops += int(np.count_nonzero(np.broadcast_to(mask.data, np.shape(ptr.data))))
        return self.memory.atomic(name, ptr, value, mask, order)

    def create_atomic_cas(self, ptr: Handle, expected: Handle, value: Handle, sem: Any, scope: Any) -> Handle:
        return self.memory.atomic("CAS", ptr, value, None, _order(sem, scope), expected)

    def create_descriptor_reduce(
        self, kind: Any, descriptor: BlockHandle, value: Handle, offsets: Sequence[Handle]
    ) -> None:
        """Update each element of the block atomically."""
        lanes, mask = self._block(descriptor, offsets)
        floating = numerics.is_float(self.element(descriptor.element))
        self._atomic("FADD" if kind.name == "ADD" and floating else kind.name, lanes, value, mask)
