"""The tensors of a launch, and what loads, stores and atomics do to them. A lane outside its tensor is an event, and not a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from checker.simulator import numerics, races
from checker.simulator.access import Access, resolve
from checker.simulator.recorder import Recorder
from checker.simulator.region import Region
from checker.simulator.values import Handle, Taint, merge_taint


class Memory:
    """All tensors of a launch, and the accesses of the program that runs now (`me`, its linear id)."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.regions: list[Region] = []
        self.shadows: dict[int, races.Shadow] = {}
        self.me = 0

    def add(self, name: str, tensor: torch.Tensor, far: tuple[int, ...] = ()) -> Region:
        region = Region(name, len(self.regions) + 1, tensor, self.shadows, far)
        self.regions.append(region)
        self.recorder.watch(name)
        return region

    def load(self, ptr: Handle, mask: Handle | None, other: Handle | None, element: np.dtype) -> Handle:
        """What the lanes read: their element, `other` where they are masked off, and poison where there is nothing to read."""
        access = resolve(self.regions, ptr, mask)
        source = _data(access.region, element)
        if access.good is None:
            data = source[access.places]
        else:
            poison = numerics.poison(element)
            data = np.full(access.places.shape, poison)
            if access.active is not None:
                fill = poison if other is None else other.data
                data = np.where(access.active, poison, np.where(access.good, poison, fill).astype(element))
            data[access.good] = source[access.chosen]
        undefined = other is None and access.active is not None
        line = self.recorder.load(access, undefined)
        races.check_load(access, self.me, self.recorder.findings)
        handle = Handle(data, ptr.type.scalar.element_ty)
        if undefined or any(h is not None and h.taint is not None for h in (ptr, mask, other)):
            handle.taint = self._undefined(access, line, ptr, mask, other)
        if other is not None and other.nans is not None and access.active is not None:
            handle.nans = np.where(access.active, 0, other.nans)
        return handle

    def _undefined(
        self, access: Access, line: int, ptr: Handle, mask: Handle | None, other: Handle | None
    ) -> Taint | None:
        """The undefined lanes of a load: masked without `other`, or by an undefined address, mask or `other`."""
        active = access.active
        taints = []
        if active is not None and other is None:
            taints.append(Taint(~active, frozenset({self.recorder.findings.undefined_source(access, line)})))
        if active is not None and other is not None and other.taint is not None:
            taints.append(other.taint.moved(lambda lanes: lanes & ~active))
        if ptr.taint is not None:
            taints.append(ptr.taint if active is None else ptr.taint.moved(lambda lanes: lanes & active))
        if mask is not None and mask.taint is not None:
            taints.append(mask.taint)
        return merge_taint([taint for taint in taints if taint.lanes.any()], access.places.shape)

    def store(self, ptr: Handle, value: Handle, mask: Handle | None) -> None:
        access = resolve(self.regions, ptr, mask)
        region = access.region
        data = np.broadcast_to(np.asarray(value.data), access.places.shape)
        chosen = data.reshape(-1) if access.good is None else data[access.good]
        line = self.recorder.store(access)
        races.check_store(access, self.me, self.recorder.findings)
        self.recorder.findings.stored_value(access, (value, mask, ptr), chosen)
        target = _data(region, data.dtype)
        target[access.chosen] = chosen
        elements = region.elements(access.chosen)
        region.writer[elements] = self.me
        region.writer_line[elements] = line

    def atomic(
        self, op: str, ptr: Handle, value: Handle, mask: Handle | None, expected: Handle | None = None
    ) -> Handle:
        """Read, change and write each lane's element, lane after lane. Returns what was there before."""
        access = resolve(self.regions, ptr, mask)
        region = access.region
        line = self.recorder.atomic(access)
        races.check_atomic(access, self.me, self.recorder.findings)
        operand = np.broadcast_to(np.asarray(value.data), access.places.shape)
        target = _data(region, operand.dtype)
        before = np.full(access.places.shape, numerics.poison(operand.dtype))
        good = np.ones(access.places.shape, bool) if access.good is None else access.good
        self.recorder.findings.stored_value(access, (value, mask, ptr), operand[good])
        old = np.empty(len(access.chosen), operand.dtype)
        if op == "CAS" and expected is not None:
            wanted = np.broadcast_to(np.asarray(expected.data), access.places.shape)[good]
            for lane, (place, new) in enumerate(zip(access.chosen, operand[good], strict=True)):
                old[lane] = target[place]
                if old[lane] == wanted[lane]:
                    target[place] = new
        else:
            combine = _COMBINE[op]
            for lane, (place, new) in enumerate(zip(access.chosen, operand[good], strict=True)):
                old[lane] = target[place]
                target[place] = combine(old[lane], new)
        before[good] = old
        elements = region.elements(access.chosen)
        region.writer[elements] = self.me
        region.writer_line[elements] = line
        return Handle(before, value.type)

    def record_dot(self) -> None:
        self.recorder.dot()


def _data(region: Region, element: np.dtype) -> np.ndarray:
    return region.flat if region.flat.dtype == element else region.flat.view(element)


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
