"""Launches in shared memory: whole storages, so that guard bands and the gaps of strided views cross as well.

The trusted side copies every storage of some launches into one anonymous file; the job maps it and works in place. The file is
sealed against a change of size, so a job cannot pull it away under the reader, and results are copied out before use.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence

import torch

from checker.puzzle import Launch
from checker.sandbox.protocol import ProtocolError
from checker.sandbox.tasks import LaunchArguments, Launches, Storage, View
from checker.simulator.trace import SimulateOptions

_PAGE = 4096


class SharedLaunches:
    """Launches in one shared file, as the trusted side holds them."""

    def __init__(self, launches: Sequence[Launch], options: SimulateOptions) -> None:
        laid_out, sources, end = [], [], 0
        for launch in launches:
            arguments, own, end = _lay_out(launch, end)
            laid_out.append(arguments)
            sources.append(own)
        self.message = Launches(tuple(laid_out), max(end, _PAGE), options)
        self._originals = tuple(launches)
        self.fd = os.memfd_create("launch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, self.message.size)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._map = mmap.mmap(self.fd, self.message.size)
        except BaseException:
            os.close(self.fd)
            raise
        for arguments, own in zip(laid_out, sources, strict=True):
            for place, source in zip(arguments.storages, own, strict=True):
                _bytes(self._map, place).copy_(torch.empty(0, dtype=torch.uint8).set_(source))

    def results(self, launch: LaunchArguments) -> dict[str, torch.Tensor]:
        """Every tensor argument of a launch as it is now, in private memory, same geometry; shared storages stay shared."""
        private = [_bytes(self._map, place).clone() for place in launch.storages]
        return {name: _view(view, private[view.storage]) for name, view in launch.views.items()}

    def original(self, launch: LaunchArguments) -> Launch:
        """The launch as it was before it was handed over."""
        return next(was for was, told in zip(self._originals, self.message.launches, strict=True) if told is launch)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self._originals = ()
        del self._map


def _lay_out(launch: Launch, end: int) -> tuple[LaunchArguments, list[torch.UntypedStorage], int]:
    """The launch without its bytes, the storages to copy, in order, and where they end; they begin at `end`."""
    places: list[Storage] = []
    sources: list[torch.UntypedStorage] = []
    seen: dict[int, int] = {}
    views: dict[str, View] = {}
    for name, value in launch.arguments.items():
        if not isinstance(value, torch.Tensor):
            continue
        storage = value.detach().cpu().untyped_storage()
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
        LaunchArguments(
            grid=tuple(int(n) for n in launch.grid),
            parameters=tuple(launch.arguments),
            scalars=scalars,
            views=views,
            meta=dict(launch.meta),
            outputs=tuple(launch.outputs),
            options=dict(launch.options),
            far={name: tuple(strides) for name, strides in launch.far.items()},
            skipped=launch.skipped,
            begins=dict(launch.begins),
            storages=tuple(places),
        ),
        sources,
        end,
    )


def attach(message: Launches, fd: int) -> list[Launch]:
    """The launches as the job sees them: their tensors are the shared memory itself. Takes over `fd`."""
    try:
        if os.fstat(fd).st_size < message.size:
            raise ProtocolError("the shared file is smaller than the launches")
        memory = mmap.mmap(fd, message.size)
    finally:
        os.close(fd)
    return [_attached(arguments, memory) for arguments in message.launches]


def _attached(message: LaunchArguments, memory: mmap.mmap) -> Launch:
    storages = [_bytes(memory, place) for place in message.storages]
    tensors = {name: _view(view, storages[view.storage]) for name, view in message.views.items()}
    return Launch(
        grid=message.grid,
        arguments={name: tensors[name] if name in tensors else message.scalars[name] for name in message.parameters},
        meta=message.meta,
        outputs=message.outputs,
        options=message.options,
        far=message.far,
        skipped=message.skipped,
        begins=message.begins,
    )


def _bytes(memory: mmap.mmap, place: Storage) -> torch.Tensor:
    if place.size == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(memory, dtype=torch.uint8, count=place.size, offset=place.offset)


def _view(view: View, storage: torch.Tensor) -> torch.Tensor:
    dtype = getattr(torch, view.dtype)
    return torch.empty(0, dtype=dtype).set_(storage.untyped_storage(), view.offset, view.shape, view.strides)
