"""Launches in shared memory: whole storages, so that guard bands and the gaps of strided views cross as well.

The trusted side copies every storage of a launch into one anonymous file; the job maps it and works in place. The file is
sealed against a change of size, so a job cannot pull it away under the reader, and results are copied out before use.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from checker.puzzle import Launch, Scalar
from checker.sandbox import codec
from checker.sandbox.wire import ProtocolError

_PAGE = 4096


@dataclass(frozen=True)
class Storage:
    """Where one storage lies in the shared file, in bytes."""

    offset: int
    size: int


@dataclass(frozen=True)
class View:
    """One tensor: `shape`, `strides` and `offset` in elements of `dtype`, within storage number `storage`."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Plan:
    """A launch without its bytes."""

    grid: tuple[int, ...]
    scalars: Mapping[str, Scalar]
    views: Mapping[str, View]
    order: tuple[str, ...]
    meta: Mapping[str, Scalar]
    outputs: tuple[str, ...]
    options: Mapping[str, int]
    far: Mapping[str, tuple[int, ...]]
    storages: tuple[Storage, ...]
    size: int


class Shared:
    """One launch in shared memory, as the trusted side holds it."""

    def __init__(self, launch: Launch) -> None:
        self.plan, sources = plan(launch)
        self.fd = os.memfd_create("launch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, self.plan.size)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._map = mmap.mmap(self.fd, self.plan.size)
        except BaseException:
            os.close(self.fd)
            raise
        for place, source in zip(self.plan.storages, sources, strict=True):
            _bytes(self._map, place).copy_(torch.empty(0, dtype=torch.uint8).set_(source))

    def body(self) -> dict[str, Any]:
        return codec.encode(self.plan, [])

    def results(self) -> dict[str, torch.Tensor]:
        """Every tensor argument as it is now, in private memory, same geometry; shared storages stay shared."""
        private = [_bytes(self._map, place).clone() for place in self.plan.storages]
        return {name: _view(view, private[view.storage]) for name, view in self.plan.views.items()}

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        del self._map


def plan(launch: Launch) -> tuple[Plan, list[torch.UntypedStorage]]:
    """The layout of a launch in one file, and the storages to copy, in order."""
    places: list[Storage] = []
    sources: list[torch.UntypedStorage] = []
    seen: dict[int, int] = {}
    views: dict[str, View] = {}
    end = 0
    for name, value in launch.arguments.items():
        if not isinstance(value, torch.Tensor):
            continue
        storage = (
            value.detach().cpu().untyped_storage() if value.device.type != "cpu" else value.detach().untyped_storage()
        )
        index = seen.get(storage.data_ptr()) if storage.nbytes() else None
        if index is None:
            index = len(places)
            seen[storage.data_ptr()] = index
            places.append(Storage(end, storage.nbytes()))
            sources.append(storage)
            end += -(-storage.nbytes() // _PAGE) * _PAGE + _PAGE
        dtype = str(value.dtype).removeprefix("torch.")
        views[name] = View(index, dtype, tuple(value.shape), tuple(value.stride()), int(value.storage_offset()))
    scalars = {name: value for name, value in launch.arguments.items() if not isinstance(value, torch.Tensor)}
    return (
        Plan(
            grid=tuple(int(n) for n in launch.grid),
            scalars=scalars,
            views=views,
            order=tuple(launch.arguments),
            meta=dict(launch.meta),
            outputs=tuple(launch.outputs),
            options=dict(launch.options),
            far={name: tuple(strides) for name, strides in launch.far.items()},
            storages=tuple(places),
            size=max(end, _PAGE),
        ),
        sources,
    )


def attach(body: Any, fd: int) -> Launch:
    """The launch as the job sees it: its tensors are the shared memory itself. Takes over `fd`."""
    layout: Plan = codec.decode(Plan, body, (), "launch")
    try:
        if os.fstat(fd).st_size < layout.size:
            raise ProtocolError("the shared file is smaller than the launch")
        memory = mmap.mmap(fd, layout.size)
    finally:
        os.close(fd)
    storages = [_bytes(memory, place) for place in layout.storages]
    tensors = {name: _view(view, storages[view.storage]) for name, view in layout.views.items()}
    return Launch(
        grid=layout.grid,
        arguments={name: tensors[name] if name in tensors else layout.scalars[name] for name in layout.order},
        meta=layout.meta,
        outputs=layout.outputs,
        options=layout.options,
        far=layout.far,
    )


def _bytes(memory: mmap.mmap, place: Storage) -> torch.Tensor:
    if place.size == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(memory, dtype=torch.uint8, count=place.size, offset=place.offset)


def _view(view: View, storage: torch.Tensor) -> torch.Tensor:
    dtype = getattr(torch, view.dtype)
    return torch.empty(0, dtype=dtype).set_(storage.untyped_storage(), view.offset, view.shape, view.strides)
