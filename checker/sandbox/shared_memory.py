"""Launches in shared memory: whole storages, so that guard bands and the gaps of strided views cross as well.

The trusted side copies every storage into one file, and the job works in place on a mapping of it. Results are copied out before
use. On Linux the file is anonymous and sealed against changes of size, so that a job cannot pull it away under the reader.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from checker.puzzle import Launch, Scalar
from checker.sandbox.protocol import ProtocolError
from checker.sandbox.tasks import LaunchArguments, Launches, Storage, View
from checker.simulator.trace import SimulateOptions, Trace

_PAGE = 4096
_PLAIN = [f.name for f in fields(Launch) if f.name not in ("grid", "arguments")]
"""Fields of a launch that cross as they are."""


class SharedLaunches:
    """Launches in one shared file, as the trusted side holds them. `message` describes them to the job; `fds` go with it.

    The file is anonymous, or lies in `folder`, where a job cannot be given a descriptor.
    """

    def __init__(self, launches: Sequence[Launch], options: SimulateOptions, folder: Path | None = None) -> None:
        described, sources, end = [], list[tuple[Storage, torch.UntypedStorage]](), 0
        for launch in launches:
            arguments, own, end = _describe(launch, end)
            described.append(arguments)
            sources += zip(arguments.storages, own, strict=True)
        size, file = max(end, _PAGE), ""
        self._originals = tuple(launches)
        self.fds: tuple[int, ...] = ()
        if folder is None:
            self.fds, self._map = _anonymous(size)
        else:
            file, self._map = _in_folder(folder, size)
        self.message = Launches(tuple(described), size, options, file)
        for place, source in sources:
            _bytes(self._map, place).copy_(torch.empty(0, dtype=torch.uint8).set_(source))

    def results(self, launch: LaunchArguments) -> dict[str, torch.Tensor]:
        """Every tensor argument as it is now, in private memory with the same geometry; shared storages stay shared."""
        private = [_bytes(self._map, place).clone() for place in launch.storages]
        return {name: _view(view, private[view.storage]) for name, view in launch.views.items()}

    def verify(self, launch: LaunchArguments, trace: Trace | None, after: Mapping[str, torch.Tensor]) -> None:
        """Check a job's trace against what the job cannot make up: the launch it got, and which bytes have changed.

        A job that ran untrusted code can send anything in the simulator's name, because nothing inside one process tells the two
        apart. Raises ProtocolError.
        """
        original = next(o for o, d in zip(self._originals, self.message.launches, strict=True) if d is launch)
        if trace is None:
            raise ProtocolError("a simulated launch has no trace")
        if trace.grid != (*launch.grid, 1, 1)[:3]:
            raise ProtocolError("the trace has the grid of another launch")
        layouts = {name: (info.shape, info.strides, info.dtype) for name, info in trace.tensors.items()}
        expected = {name: (view.shape, view.strides, view.dtype) for name, view in launch.views.items()}
        if layouts != expected or trace.traffic.keys() != after.keys():
            raise ProtocolError("the trace has the tensors of another launch")
        if set(trace.writers) != set(launch.outputs):
            raise ProtocolError("the trace does not say who stored the outputs")
        for name in launch.outputs:
            before = original.arguments[name]
            assert isinstance(before, torch.Tensor)
            _verify_stores(trace, name, before, after)

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds, self._originals = (), ()
        del self._map
        if self.message.file:
            with contextlib.suppress(OSError):  # on Windows a job may still map it; it goes with its folder then
                Path(self.message.file).unlink()


def _anonymous(size: int) -> tuple[tuple[int, ...], mmap.mmap]:
    import fcntl

    fd = os.memfd_create("launch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return (fd,), mmap.mmap(fd, size)
    except BaseException:
        os.close(fd)
        raise


def _in_folder(folder: Path, size: int) -> tuple[str, mmap.mmap]:
    with tempfile.NamedTemporaryFile(dir=folder, prefix="launch-", delete=False) as file:
        file.truncate(size)
        return file.name, mmap.mmap(file.fileno(), size)


def _verify_stores(trace: Trace, name: str, before: torch.Tensor, all_after: Mapping[str, torch.Tensor]) -> None:
    """Reported stores must be paid for in bytes, and every other element must be unchanged."""
    after = all_after[name]
    stored = torch.from_numpy(trace.writers[name] >= 0)
    if int(stored.sum()) * after.element_size() > trace.traffic[name].stored:
        raise ProtocolError(f"the trace stores more elements of {name} than bytes")
    if bool(stored.all()) or _overlaps(name, all_after):
        return
    rest = ~stored.reshape(after.shape)
    # compared as bytes, because NaN does not equal itself
    if not torch.equal(before[rest].view(torch.uint8), after[rest].view(torch.uint8)):
        raise ProtocolError(f"elements of {name} have changed that nothing stored, says the trace")


def _overlaps(name: str, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Whether an element may also be stored under another name or index."""
    own = tensors[name]
    place = own.untyped_storage().data_ptr()
    shared = any(other.untyped_storage().data_ptr() == place for key, other in tensors.items() if key != name)
    return shared or any(size > 1 and stride == 0 for size, stride in zip(own.shape, own.stride(), strict=True))


def _describe(launch: Launch, end: int) -> tuple[LaunchArguments, list[torch.UntypedStorage], int]:
    """The launch without its bytes, the storages to copy from `end` on, and where they end."""
    places: list[Storage] = []
    sources: list[torch.UntypedStorage] = []
    numbers: dict[int, int] = {}
    arguments: dict[str, View | Scalar] = {}
    for name, value in launch.arguments.items():
        if not isinstance(value, torch.Tensor):
            arguments[name] = value
            continue
        storage = value.detach().cpu().untyped_storage()
        number = numbers.get(storage.data_ptr()) if storage.nbytes() else None
        if number is None:
            number = numbers[storage.data_ptr()] = len(places)
            places.append(Storage(end, storage.nbytes()))
            sources.append(storage)
            end += -(-storage.nbytes() // _PAGE) * _PAGE + _PAGE
        dtype = str(value.dtype).removeprefix("torch.")
        arguments[name] = View(number, dtype, tuple(value.shape), tuple(value.stride()), int(value.storage_offset()))
    plain: dict[str, Any] = {}
    for name in _PLAIN:
        held = getattr(launch, name)
        plain[name] = dict(held) if isinstance(held, Mapping) else held
    grid = tuple(int(n) for n in launch.grid)
    description = LaunchArguments(grid=grid, arguments=arguments, storages=tuple(places), **plain)
    return description, sources, end


def attach(message: Launches, fds: Sequence[int]) -> list[Launch]:
    """The launches as the job sees them: their tensors are the shared memory itself. Takes over the descriptor, if one came."""
    fd = fds[0] if fds else os.open(message.file, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        if os.fstat(fd).st_size < message.size:
            raise ProtocolError("the shared file is smaller than the launches")
        memory = mmap.mmap(fd, message.size)
    finally:
        os.close(fd)
    return [_attached(arguments, memory) for arguments in message.launches]


def _attached(message: LaunchArguments, memory: mmap.mmap) -> Launch:
    storages = [_bytes(memory, place) for place in message.storages]
    arguments = {
        name: _view(value, storages[value.storage]) if isinstance(value, View) else value
        for name, value in message.arguments.items()
    }
    return Launch(grid=message.grid, arguments=arguments, **{name: getattr(message, name) for name in _PLAIN})


def _bytes(memory: mmap.mmap, place: Storage) -> torch.Tensor:
    if place.size == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(memory, dtype=torch.uint8, count=place.size, offset=place.offset)


def _view(view: View, storage: torch.Tensor) -> torch.Tensor:
    dtype = getattr(torch, view.dtype)
    return torch.empty(0, dtype=dtype).set_(storage.untyped_storage(), view.offset, view.shape, view.strides)
