"""The tensors of a launch, and what loads, stores and atomics do to them. A lane outside its tensor is a finding and no crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from checker.simulator import numerics
from checker.simulator.access import Access, resolve
from checker.simulator.device_tensor import DeviceTensor, ShadowMemory
from checker.simulator.findings import Findings
from checker.simulator.races import RaceDetector
from checker.simulator.recorder import Recorder
from checker.simulator.values import Handle, Taint, merge_taint


class Memory:
    """All tensors of a launch, and the accesses of `program`, the linear id of the one that runs now."""

    def __init__(self, recorder: Recorder, findings: Findings) -> None:
        self.recorder = recorder
        self.findings = findings
        self.races = RaceDetector(findings)
        self.tensors: list[DeviceTensor] = []
        self.shadows: dict[int, ShadowMemory] = {}

    @property
    def program(self) -> int:
        return self.races.program

    @program.setter
    def program(self, linear: int) -> None:
        self.races.start(linear)

    def barrier(self) -> None:
        """What the program has stored can be loaded by all its threads from here on."""
        self.races.barrier()

    def add(self, name: str, tensor: torch.Tensor, far_strides: tuple[int, ...] = ()) -> DeviceTensor:
        """Give a tensor its addresses. Raises Unsupported for types that are not simulated."""
        added = DeviceTensor(name, len(self.tensors) + 1, tensor, self.shadows, far_strides)
        self.tensors.append(added)
        self.recorder.watch(name)
        return added

    def load(self, ptr: Handle, mask: Handle | None, other: Handle | None, element: np.dtype) -> Handle:
        """What the lanes read: their element, `other` where they are masked off, and poison where there is nothing to read."""
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
        undefined = other is None and access.active is not None
        line = self.recorder.access("load", access, undefined)
        self.races.load(access)
        handle = Handle(data, ptr.type.scalar.element_ty)
        if undefined or any(h is not None and h.taint is not None for h in (ptr, mask, other)):
            handle.taint = self._undefined(access, line, ptr, mask, other)
        if other is not None and other.nan_origins is not None and access.active is not None:
            handle.nan_origins = np.where(access.active, 0, other.nan_origins)
        return handle

    def _undefined(
        self, access: Access, line: int, ptr: Handle, mask: Handle | None, other: Handle | None
    ) -> Taint | None:
        """The undefined lanes of a load: masked without `other`, or by an undefined address, mask or `other`."""
        active = access.active
        taints = []
        if active is not None and other is None:
            taints.append(Taint(~active, frozenset({self.findings.undefined_load(access, line)})))
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
        line = self.recorder.access("store", access)
        self.races.store(access)
        self.findings.stored_value(access, value, mask, ptr, values)
        access.tensor.viewed_as(values.dtype)[access.valid_offsets] = values
        self._written(access, line)

    def atomic(
        self, op: str, ptr: Handle, value: Handle, mask: Handle | None, expected: Handle | None = None
    ) -> Handle:
        """Read, change and write each lane's element, lane after lane. Returns what was there before.

        It counts as a barrier: a lock is one, and a kernel that takes it loads what it stored under it before.
        """
        access = resolve(self.tensors, ptr, mask)
        line = self.recorder.access("atomic", access)
        self.races.atomic(access)
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
        self._written(access, line)
        return Handle(before, value.type)

    def _written(self, access: Access, line: int) -> None:
        elements = access.tensor.elements(access.valid_offsets)
        access.tensor.writer[elements] = self.program
        access.tensor.writer_line[elements] = line


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
