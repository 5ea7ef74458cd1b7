"""Tensors at virtual addresses: a lane outside its tensor is an event to record, and not a crash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import torch

from checker.simulator import numerics
from checker.simulator.recorder import Recorder
from checker.simulator.trace import TensorInfo
from checker.simulator.values import Handle, Pointer, Refusal, Taint

WINDOW = 44
"""Argument number i starts at address i << 44: 16 TiB apart, so that no stray lane of one looks like another."""

NOBODY, MANY = -1, -2

_NUMPY_VIEW: dict[torch.dtype, tuple[torch.dtype, Any]] = {
    torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
    torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
    torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
}


class Shadow:
    """Who touched each element of one storage: the program that stored, loaded or updated it, NOBODY or MANY."""

    def __init__(self, elements: int, item: int) -> None:
        self.item = item
        self.stored = np.full(elements, NOBODY, np.int64)
        self.loaded = np.full(elements, NOBODY, np.int64)
        self.updated = np.full(elements, NOBODY, np.int64)  # by atomics
        self.any_stored = False
        self.any_updated = False


def touch(who: np.ndarray, where: np.ndarray, me: int) -> None:
    """Add program `me` to those who touched elements `where`."""
    before = who[where]
    who[where] = np.where((before == NOBODY) | (before == me), me, MANY)


def others(who: np.ndarray, where: np.ndarray, me: int) -> np.ndarray:
    """Which of the elements `where` some program other than `me` touched."""
    seen = who[where]
    return (seen != NOBODY) & (seen != me)


class Region:
    """One tensor argument: its memory, its geometry, and what happened to it."""

    def __init__(
        self, name: str, number: int, tensor: torch.Tensor, shadows: dict[int, Shadow], far: tuple[int, ...] = ()
    ) -> None:
        tensor = tensor.detach()
        self.name = name
        self.base = number << WINDOW
        self.shape = tuple(tensor.shape)
        self.strides = tuple(tensor.stride())
        self.far = far  # the strides that the kernel was told, where they are not the real ones
        self.item = tensor.element_size()
        self.count = tensor.numel()
        self.span = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) if self.count else 0
        self.flat = _numpy(tensor.as_strided((self.span,), (1,)))
        self.info = TensorInfo(self.shape, self.strides, str(tensor.dtype).removeprefix("torch."))
        self.dense = tensor.is_contiguous()
        self.logical = None if self.dense else self._table()
        self.writer = np.full(self.count, NOBODY, np.int64)
        self.writer_line = np.zeros(self.count, np.int32)
        storage = tensor.untyped_storage()
        self.offset = tensor.storage_offset()
        self.storage_elements = storage.nbytes() // self.item
        self.shadow = shadows.setdefault(storage.data_ptr(), Shadow(self.storage_elements, self.item))
        if self.shadow.item != self.item:
            raise Refusal(f"{name} shares its memory with a tensor of another element size, which is not simulated.")

    def _table(self) -> np.ndarray:
        """Row-major element number for every place in the span, -1 in gaps."""
        places = np.zeros(1, np.int64)
        for n, stride in zip(self.shape, self.strides, strict=True):
            places = (places[:, None] + np.arange(n) * stride).reshape(-1)
        table = np.full(self.span, -1, np.int64)
        table[places] = np.arange(self.count)
        return table

    def elements(self, places: np.ndarray) -> np.ndarray:
        """Row-major element numbers for element offsets that are inside the tensor."""
        return places if self.logical is None else self.logical[places]

    def inside(self, places: np.ndarray) -> np.ndarray:
        """Which element offsets hit an element of the tensor, and not a gap, its surroundings or another tensor."""
        ok = (places >= 0) & (places < self.span)
        if self.logical is not None and self.span:
            ok &= self.logical[np.where(ok, places, 0)] >= 0
        return ok

    def near(self, places: np.ndarray) -> np.ndarray:
        """Where the elements really lie that far offsets mean; -1 for an offset that is no element's."""
        rest, found, ok = places, np.zeros_like(places), places >= 0
        for dim in sorted(range(len(self.shape)), key=lambda d: -self.far[d]):
            if self.shape[dim] > 1:
                steps, rest = np.divmod(rest, self.far[dim])
                ok = ok & (steps < self.shape[dim])
                found = found + steps * self.strides[dim]
        return np.where(ok & (rest == 0), found, -1)

    def index(self, place: int) -> tuple[int, ...]:
        """The index a kernel meant by an element offset, also outside the tensor: row first, then what is left."""
        out = [0] * len(self.shape)
        for dim in sorted(range(len(self.shape)), key=lambda d: -self.strides[d]):
            if self.strides[dim] > 0 and self.shape[dim] > 1:
                out[dim], place = divmod(place, self.strides[dim])
        if place and self.shape:
            out[-1] += place
        return tuple(int(i) for i in out)


def _numpy(flat: torch.Tensor) -> np.ndarray:
    if flat.dtype in _NUMPY_VIEW:
        bits, element = _NUMPY_VIEW[flat.dtype]
        return flat.view(bits).numpy().view(element)
    try:
        return flat.numpy()
    except TypeError as error:
        raise Refusal(f"tensors of type {flat.dtype} are not simulated.") from error


@dataclass(slots=True)
class Access:
    """One load, store or atomic, resolved: element offsets of all lanes, which lanes are on, which of those are inside."""

    region: Region
    pointer: Pointer
    places: np.ndarray
    active: np.ndarray | None  # None: every lane
    good: np.ndarray | None  # None: every lane is active and inside
    chosen: np.ndarray  # element offsets of the good lanes, one-dimensional

    @property
    def lanes(self) -> int:
        return self.places.size

    @property
    def outside(self) -> np.ndarray:
        """Active lanes outside the tensor."""
        if self.good is None:
            return np.zeros(self.places.shape, bool)
        return ~self.good if self.active is None else self.active & ~self.good


class Memory:
    """All tensors of a launch, and the accesses of the program that runs now (`me`, its linear id)."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.regions: list[Region] = []
        self.shadows: dict[int, Shadow] = {}
        self.me = 0

    def add(self, name: str, tensor: torch.Tensor, far: tuple[int, ...] = ()) -> Region:
        region = Region(name, len(self.regions) + 1, tensor, self.shadows, far)
        self.regions.append(region)
        return region

    # resolving --------------------------------------------------------------------------------------------------------

    def _region(self, ptr: Handle, addresses: np.ndarray, active: np.ndarray | None) -> Region:
        if ptr.pointer is not None and ptr.pointer.region is not None:
            return ptr.pointer.region
        used = addresses.reshape(-1) if active is None else addresses[active]
        numbers = np.unique((used + (1 << (WINDOW - 1))) >> WINDOW) if used.size else np.array([1])
        if len(numbers) > 1:
            raise Refusal(
                "one load or store reaches into two tensors, which is not simulated. Use one for each tensor."
            )
        if not 1 <= numbers[0] <= len(self.regions):
            raise Refusal("an address was made from a number, and points into no tensor.")
        return self.regions[int(numbers[0]) - 1]

    def _resolve(self, ptr: Handle, mask: Handle | None) -> Access:
        addresses = np.asarray(ptr.data)
        active = None
        if mask is not None:
            active = np.broadcast_to(np.asarray(mask.data, bool), addresses.shape)
            if active.all():
                active = None
        region = self._region(ptr, addresses, active)
        if ptr.type.scalar.element_ty.primitive_bitwidth != 8 * region.item and region.item > 1:
            raise Refusal(f"{region.name} is read as elements of another size than its own, which is not simulated.")
        places = addresses - region.base
        if region.item > 1:
            places >>= region.item.bit_length() - 1
        if region.far:
            places = region.near(places)
        good = region.inside(places)
        if active is not None:
            good &= active
        elif good.all():
            return Access(region, ptr.pointer or Pointer(None, None), places, None, None, places.reshape(-1))
        return Access(region, ptr.pointer or Pointer(None, None), places, active, good, places[good])

    def _data(self, region: Region, element: np.dtype) -> np.ndarray:
        return region.flat if region.flat.dtype == element else region.flat.view(element)

    # accesses ---------------------------------------------------------------------------------------------------------

    def load(self, ptr: Handle, mask: Handle | None, other: Handle | None, element: np.dtype) -> Handle:
        access = self._resolve(ptr, mask)
        region = access.region
        source = self._data(region, element)
        undefined = other is None and access.active is not None
        if access.good is None:
            data = source[access.places]
        else:
            fill = other.data if other is not None else numerics.poison(element)
            data = np.where(access.good, numerics.poison(element), fill).astype(element)
            if access.active is not None:
                data = np.where(access.active, numerics.poison(element), data)
            else:
                data = np.full(access.places.shape, numerics.poison(element))
            data[access.good] = source[access.chosen]
        handle = Handle(data, ptr.type.scalar.element_ty)
        line = self.recorder.load(access, undefined)
        self._check_load(access)
        if undefined and access.active is not None:
            off = ~access.active
            handle.taint = Taint(off, frozenset({self.recorder.undefined_source(access, line)}))
        if other is not None and other.taint is not None and access.active is not None:
            lanes = ~access.active & other.taint.lanes
            handle.taint = (
                Taint(np.broadcast_to(lanes, data.shape), other.taint.sources) if lanes.any() else handle.taint
            )
        for part in (ptr, mask):
            if part is not None and part.taint is not None:
                lanes = np.broadcast_to(part.taint.lanes, data.shape)
                if part is ptr and access.active is not None:
                    lanes = lanes & access.active
                if lanes.any():
                    before = handle.taint or Taint(np.zeros(data.shape, bool), frozenset())
                    handle.taint = Taint(before.lanes | lanes, before.sources | part.taint.sources)
        return handle

    def _check_load(self, access: Access) -> None:
        shadow = access.region.shadow
        where = access.chosen + access.region.offset
        if shadow.any_stored:
            clash = others(shadow.stored, where, self.me)
            if clash.any():
                self.recorder.race("loads what another program stores", access, clash, shadow.stored, where)
        if shadow.any_updated:
            clash = others(shadow.updated, where, self.me)
            if clash.any():
                self.recorder.race(
                    "loads what another program updates atomically", access, clash, shadow.updated, where
                )
        touch(shadow.loaded, where, self.me)

    def store(self, ptr: Handle, value: Handle, mask: Handle | None) -> None:
        access = self._resolve(ptr, mask)
        region = access.region
        data = np.broadcast_to(np.asarray(value.data), access.places.shape)
        chosen = data.reshape(-1) if access.good is None else data[access.good]
        line = self.recorder.store(access)
        self._check_store(access)
        self.recorder.stored_value(access, (value, mask, ptr), chosen)
        target = self._data(region, data.dtype) if region.item == data.dtype.itemsize else region.flat
        target[access.chosen] = chosen
        elements = region.elements(access.chosen)
        region.writer[elements] = self.me
        region.writer_line[elements] = line

    def _check_store(self, access: Access) -> None:
        shadow, region = access.region.shadow, access.region
        where = access.chosen + region.offset
        if len(where) > 1:
            ordered = np.sort(where)
            twice = ordered[1:] == ordered[:-1]
            if twice.any():
                places = ordered[1:][twice] - region.offset
                self.recorder.race_in_store(access, places)
        for who, what in (
            (shadow.stored, "stores what another program also stores"),
            (shadow.loaded, "stores what another program loads"),
            (shadow.updated, "stores what another program updates atomically"),
        ):
            if who is shadow.updated and not shadow.any_updated:
                continue
            clash = others(who, where, self.me)
            if clash.any():
                self.recorder.race(what, access, clash, who, where)
        touch(shadow.stored, where, self.me)
        shadow.any_stored = True

    def atomic(
        self, op: str, ptr: Handle, value: Handle, mask: Handle | None, expected: Handle | None = None
    ) -> Handle:
        """Read, change and write each lane's element, lane after lane. Returns what was there before."""
        access = self._resolve(ptr, mask)
        region, shadow = access.region, access.region.shadow
        line = self.recorder.atomic(access)
        where = access.chosen + region.offset
        for who, what in ((shadow.stored, "stores"), (shadow.loaded, "loads")):
            clash = others(who, where, self.me)
            if clash.any():
                self.recorder.race(f"updates atomically what another program {what} plainly", access, clash, who, where)
        touch(shadow.updated, where, self.me)
        shadow.any_updated = True
        operand = np.broadcast_to(np.asarray(value.data), access.places.shape)
        target = self._data(region, operand.dtype)
        before = np.full(access.places.shape, numerics.poison(operand.dtype))
        good = np.ones(access.places.shape, bool) if access.good is None else access.good
        self.recorder.stored_value(access, (value, mask, ptr), operand[good])
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
