"""Loads and stores of many programs at once. What `simulate` would have to tell of, the launch is doubted for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from checker.simulator.device_tensor import MANY, NOBODY
from checker.simulator.lockstep.programs import GiveUp, Programs
from checker.simulator.lockstep.stacked import StackedTensor
from checker.simulator.values import Handle, Taint, merge_taint, spread

MOST_WAITING = 1 << 23
"""So many lanes of loads may wait for a first store to their tensor; each keeps 8 bytes."""


@dataclass(slots=True)
class Access:
    """One load or store of all running programs: [programs, or 1 for all of them, ...the tile]."""

    tensor: StackedTensor
    places: np.ndarray
    """Of all lanes, `nowhere` for those that are not valid."""
    active: np.ndarray | None
    """Lanes that the mask lets through. None: every lane."""
    valid: np.ndarray | None
    """Active lanes of running programs, inside their tensor. None: every lane of every program."""
    lanes: Any
    """Valid lanes of each program: one number for all, or an array."""


class Memory:
    """The stacked tensors of a run. `line` returns the learner's current line."""

    def __init__(self, programs: Programs, line: Callable[[], int]) -> None:
        self.programs = programs
        self.line = line
        self.interval = np.zeros(programs.count, np.int64)
        self.stores = 0

    def load(self, ptr: Handle, mask: Handle | None, other: Handle | None, element: np.dtype) -> Handle:
        """What the lanes read, as in the other `Memory`; lanes of programs that do not run hold anything."""
        access = self._resolve(ptr, mask)
        tensor = access.tensor
        data = tensor.viewed_as(element).take(access.places)
        if access.active is not None and other is not None:
            data = np.where(access.active, data, other.data)
        self._count(access, tensor.loads, tensor.loaded)
        if tensor.is_output:
            self._loaded(access)
        handle = Handle(data, ptr.type.scalar.element_ty)
        taints: list[Taint | None] = [mask.taint if mask is not None else None]
        if access.active is None:
            taints.append(ptr.taint)
        else:
            taints += [_within(ptr.taint, access.active), _within(other.taint if other else None, ~access.active)]
            if other is None:
                taints.append(Taint(~access.active, frozenset()))
        handle.taint = merge_taint([t for t in taints if t is not None and t.lanes.any()], data.shape)
        return handle

    def store(self, ptr: Handle, value: Handle, mask: Handle | None) -> None:
        self.stores += 1
        access = self._resolve(ptr, mask)
        tensor, programs = access.tensor, self.programs
        self._count(access, tensor.stores, tensor.stored)
        for part in (value, mask, ptr):
            if part is not None and part.taint is not None:
                lanes = part.taint.lanes
                # a lane switched off by an undefined mask is as wrong as one switched on
                programs.doubt(lanes if part is mask or access.valid is None else lanes & access.valid)
        if not tensor.is_output:
            programs.doubt(np.ones((1, 1), bool) if access.valid is None else access.valid)
            return
        tensor.any_stored = True
        for waiting in tensor.waiting:
            self._note_load(waiting)
        tensor.waiting.clear()
        places, who = self._flat(access)
        values = self._of_valid(access, np.asarray(value.data))
        numbers = np.arange(len(places))
        tensor.scratch[places] = numbers
        self._doubt_programs(who[tensor.scratch[places] != numbers])  # two lanes meet
        self._doubt_beside_another(tensor.stored_by, places, who)
        if tensor.any_loaded:
            self._doubt_beside_another(tensor.loaded_by, places, who)
        tensor.viewed_as(values.dtype)[places] = values
        tensor.stored_by[places] = who
        tensor.stored_in[places] = self.interval[who]
        tensor.line[places] = self.line()

    def dot(self) -> None:
        """Nobody observes a run of many programs."""

    def barrier(self) -> None:
        """The threads of each running program wait for one another: a new interval begins."""
        self.interval += 1 if self.programs.running is None else self.programs.running

    def _resolve(self, ptr: Handle, mask: Handle | None) -> Access:
        tensor = cast(Any, ptr.pointer.tensor) if ptr.pointer is not None else None
        if not isinstance(tensor, StackedTensor):
            raise GiveUp("an address of no known tensor")
        if max(8, ptr.type.scalar.element_ty.primitive_bitwidth) != 8 * tensor.itemsize:  # one bit takes a byte
            raise GiveUp("elements of another size")
        addresses = np.asarray(ptr.data)
        if addresses.ndim == 0:
            addresses = addresses.reshape(1)
        places, inside = tensor.places(tensor.offsets(addresses))
        active = None if mask is None else np.asarray(mask.data, bool)
        if active is not None and active.all():
            active = None
        if np.count_nonzero(inside) < inside.size:  # twice as fast as `all`
            self.programs.doubt(~inside if active is None else ~inside & active)
        valid = inside if active is None else inside & active
        running = self.programs.running_column(addresses.ndim - 1)
        if running is not None:
            valid = valid & running
        if np.count_nonzero(valid) == valid.size:
            return Access(tensor, places, active, None, math.prod(places.shape[1:]))
        of_programs = valid.reshape(len(valid), -1)
        lanes = np.count_nonzero(valid) if len(valid) == 1 else np.count_nonzero(of_programs, axis=1)
        return Access(tensor, np.where(valid, places, tensor.nowhere), active, valid, lanes)

    def _count(self, access: Access, instructions: np.ndarray, elements: np.ndarray) -> None:
        running = self.programs.running
        instructions += 1 if running is None else running
        elements += access.lanes

    def _flat(self, access: Access) -> tuple[np.ndarray, np.ndarray]:
        """The places of the valid lanes and the program of each, one-dimensional."""
        return self._of_valid(access, access.places), np.repeat(np.arange(self.programs.count), access.lanes)

    def _of_valid(self, access: Access, lanes: np.ndarray) -> np.ndarray:
        shape = (self.programs.count, *access.places.shape[1:])
        lanes = spread(lanes, shape)
        return lanes.reshape(-1) if access.valid is None else lanes[spread(access.valid, shape)]

    def _loaded(self, access: Access) -> None:
        """A load from an output: of what another program stores, or another thread since the last barrier, nobody knows the order."""
        tensor = access.tensor
        if tensor.any_stored:
            places, who = self._flat(access)
            self._doubt_beside_another(tensor.stored_by, places, who)
            self._doubt_programs(who[tensor.stored_in[places] == self.interval[who]])
        elif sum(earlier.places.size for earlier in tensor.waiting) < MOST_WAITING:
            tensor.waiting.append(access)  # most tensors are never stored to
            return
        self._note_load(access)

    def _note_load(self, access: Access) -> None:
        """Who loaded which elements, for stores to come."""
        tensor = access.tensor
        if self.programs.count == 1:  # no other can store
            return
        tensor.any_loaded = True
        places, who = self._flat(access)
        tensor.loaded_by[places] = np.where(_by_another(tensor.loaded_by[places], who), MANY, who)
        after = tensor.loaded_by[places]
        tensor.loaded_by[places[(after != who) & (after != MANY)]] = MANY

    def _doubt_beside_another(self, touched_by: np.ndarray, places: np.ndarray, who: np.ndarray) -> None:
        """Doubt the programs that touch a place which another has touched."""
        if self.programs.count > 1:
            self._doubt_programs(who[_by_another(touched_by[places], who)])

    def _doubt_programs(self, who: np.ndarray) -> None:
        if who.size:
            lanes = np.zeros((self.programs.count, 1), bool)
            lanes[who] = True
            self.programs.doubt(lanes)


def _by_another(touched_by: np.ndarray, who: np.ndarray) -> np.ndarray:
    return (touched_by != NOBODY) & (touched_by != who)


def _within(taint: Taint | None, lanes: np.ndarray) -> Taint | None:
    return None if taint is None else Taint(taint.lanes & lanes, taint.loads)
