"""The tensors of a launch, and its loads, stores and atomics. A lane outside its tensor is a finding, not a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from checker.simulator import numerics
from checker.simulator.access import Access, resolve
from checker.simulator.device_tensor import DeviceTensor, ShadowMemory
from checker.simulator.findings import Findings
from checker.simulator.location import Locator
from checker.simulator.recorder import Observer
from checker.simulator.trace import EventKind, Order
from checker.simulator.values import Handle, Taint, given, merge_taint


class Memory:
    """All tensors of a launch, and the accesses of the running program."""

    def __init__(self, locator: Locator, findings: Findings, observers: Sequence[Observer]) -> None:
        self.locator = locator
        self.findings = findings
        self.observers = observers
        self.tensors: list[DeviceTensor] = []
        self.shadows: dict[int, ShadowMemory] = {}
        self.program = 0
        self.stores = 0
        """Of the launch so far, atomics included."""
        self.marks_given = False
        """Whether loads mark the NaN and inf that they find."""

    def start(self, program: int) -> None:
        """The program with this linear id runs from here on."""
        self.program = program
        for observer in self.observers:
            observer.start(program)

    def barrier(self) -> None:
        """From here on, every thread can load what the program has stored."""
        for observer in self.observers:
            observer.barrier()

    def dot(self) -> None:
        """Tell the observers of a `tl.dot`."""
        for observer in self.observers:
            observer.dot()

    def printed(self, text: str) -> None:
        """Tell the observers of a print."""
        for observer in self.observers:
            observer.printed(text)

    def add(self, name: str, tensor: torch.Tensor) -> DeviceTensor:
        """Give a tensor of the launch its addresses. Raises Unsupported for tensors that are not simulated."""
        added = DeviceTensor(name, len(self.tensors) + 1, tensor, self.shadows)
        self.tensors.append(added)
        return added

    def _check(self, kind: EventKind, access: Access) -> None:
        """Report lanes out of bounds, and show the access to the observers."""
        if access.is_stray:
            self.findings.out_of_bounds(kind, access)
        for observer in self.observers:
            observer.access(kind, access)

    def load(self, ptr: Handle, mask: Handle | None, other: Handle | None, element: np.dtype) -> Handle:
        """Each lane gets its element, `other` if it is masked off, and poison where there is nothing to read."""
        access = resolve(self.tensors, ptr, mask)
        source = access.tensor.viewed_as(element)
        if access.valid is None:
            data = source[access.offsets]
        else:
            poison = numerics.poison(element)
            data = np.full(access.offsets.shape, poison)
            if access.active is not None:
                fill = poison if other is None else other.data
                data = np.where(access.active, poison, np.where(access.valid, poison, fill).astype(element))
            data[access.valid] = source[access.valid_offsets]
        access.leaves_undefined = other is None and access.active is not None
        access.other = None if other is None else other.data
        self._check("load", access)
        handle = Handle(data, ptr.type.scalar.element_ty)
        if access.leaves_undefined or any(h is not None and h.taint is not None for h in (ptr, mask, other)):
            handle.taint = self._undefined(access, ptr, mask, other)
        handle.nan_origins = given(data) if self.marks_given else None
        if other is not None and access.active is not None:
            masked = 0 if other.nan_origins is None else other.nan_origins
            origins = np.where(access.active, 0 if handle.nan_origins is None else handle.nan_origins, masked)
            handle.nan_origins = origins if origins.any() else None
        return handle

    def _undefined(self, access: Access, ptr: Handle, mask: Handle | None, other: Handle | None) -> Taint | None:
        """The undefined lanes of a load: masked without `other`, or with an undefined address, mask or `other`."""
        active = access.active
        taints = []
        if active is not None and other is None:
            taints.append(Taint(~active, frozenset({self.findings.undefined_load(access)})))
        if active is not None and other is not None and other.taint is not None:
            taints.append(other.taint.moved(lambda lanes: lanes & ~active))
        if ptr.taint is not None:
            taints.append(ptr.taint if active is None else ptr.taint.moved(lambda lanes: lanes & active))
        if mask is not None and mask.taint is not None:
            taints.append(mask.taint)
        return merge_taint([taint for taint in taints if taint.lanes.any()], access.offsets.shape)

    def store(self, ptr: Handle, value: Handle, mask: Handle | None) -> None:
        access = resolve(self.tensors, ptr, mask)
        values = access.valid_lanes(np.asarray(value.data))
        self._check("store", access)
        self.findings.stored_value(access, value, mask, ptr, values)
        access.tensor.viewed_as(values.dtype)[access.valid_offsets] = values
        self._written(access)

    def discarded(self) -> None:
        """Tell the observers that nobody uses the result of the last operation."""
        for observer in self.observers:
            observer.discarded()

    def branch(self, undefined: frozenset[int]) -> None:
        """A number decides a branch; these loads left it undefined."""
        if undefined:
            self.findings.undefined_branch(undefined)
        for observer in self.observers:
            observer.branch()

    def atomic(
        self,
        op: str,
        ptr: Handle,
        value: Handle,
        mask: Handle | None,
        order: Order = "acq_rel",
        expected: Handle | None = None,
    ) -> Handle:
        """Read, change and write each lane's element, lane after lane. Returns what was there before.

        An atomic counts as a barrier: a kernel may take a lock with it, and load what it stored under that lock before.
        """
        access = resolve(self.tensors, ptr, mask)
        self._check("atomic", access)
        for observer in self.observers:
            observer.synchronise(access, order)
        self.barrier()
        operands = access.valid_lanes(np.asarray(value.data))
        self.findings.stored_value(access, value, mask, ptr, operands)
        target = access.tensor.viewed_as(operands.dtype)
        old = np.empty(len(access.valid_offsets), operands.dtype)
        wanted = None if expected is None else access.valid_lanes(np.asarray(expected.data))
        for lane, (offset, new) in enumerate(zip(access.valid_offsets, operands, strict=True)):
            old[lane] = target[offset]
            if wanted is None:
                target[offset] = _COMBINE[op](old[lane], new)
            elif old[lane] == wanted[lane]:
                target[offset] = new
        before = np.full(access.offsets.shape, numerics.poison(operands.dtype))
        before[np.ones(access.offsets.shape, bool) if access.valid is None else access.valid] = old
        self._written(access)
        return Handle(before, value.type)

    def _written(self, access: Access) -> None:
        self.stores += 1
        elements = access.tensor.elements(access.valid_offsets)
        access.tensor.writer[elements] = self.program
        access.tensor.writer_line[elements] = self.locator.line()


def _unsigned(ufunc: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def combine(old: Any, new: Any) -> Any:
        unsigned = np.dtype(f"u{old.dtype.itemsize}")
        return ufunc(old.view(unsigned), new.view(unsigned)).view(old.dtype)

    return combine


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": np.add,
    "FADD": np.add,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "UMAX": _unsigned(np.maximum),
    "UMIN": _unsigned(np.minimum),
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "XCHG": lambda old, new: new,
}
