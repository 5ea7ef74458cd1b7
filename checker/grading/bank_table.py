"""What the bank's wrong kernels do in each case, kept from run to run: the course's own kernels do the same every time.

A table lies in the user's cache, one for each puzzle, under a name made from everything that decides. A table that cannot be
read or written is no fault: the kernels run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import torch

from checker.grading.keys import machinery, packages, puzzle_version
from checker.judge.combined_kernel import MOST_REMEMBERED, Key, remembered
from checker.judge.likeness import Behaviour
from checker.judge.verdict import Gate
from checker.puzzle import Puzzle
from checker.workspace import write_atomically


class _Array(msgspec.Struct, array_like=True):
    dtype: str
    shape: list[int]
    data: bytes


class _Row(msgspec.Struct, array_like=True):
    """A `Behaviour` of a kernel that ran to its end, as data."""

    key: Key
    status: str
    fails: list[Gate]
    values: dict[str, _Array]
    errors: dict[str, _Array]
    stored: dict[str, _Array]
    lanes: list[tuple[tuple[str, str], int, list[tuple[int, ...]]]]
    traffic: dict[str, tuple[int, int]]
    undefined: bool


def load(puzzles: Iterable[Puzzle]) -> None:
    """Make known what earlier runs found out."""
    for puzzle in puzzles:
        known = remembered(puzzle).behaviours
        for key, behaviour in _read(_path(puzzle)).items():
            known.setdefault(key, behaviour)


def save(puzzles: Iterable[Puzzle]) -> None:
    """Keep what is known now, with what another run has found out meanwhile; of too much, what came last."""
    for puzzle in puzzles:
        path, known = _path(puzzle), dict(remembered(puzzle).behaviours)
        rows = _read(path)
        if known.keys() <= rows.keys():
            continue
        kept = list((rows | known).items())[-MOST_REMEMBERED:]
        data = msgspec.msgpack.encode([_row(key, behaviour) for key, behaviour in kept])
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _forget_others(path)
            write_atomically(path, zlib.compress(data, 1))


def _path(puzzle: Puzzle) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~"), ".cache"))
    parts = (puzzle_version(puzzle.name), machinery(), packages())
    return cache / "tile-by-tile" / f"{puzzle.name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.bank"


def _forget_others(path: Path) -> None:
    """Tables of the same puzzle that other versions made."""
    for other in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.bank"):
        if other != path:
            other.unlink(missing_ok=True)


def _read(path: Path) -> dict[Key, Behaviour]:
    try:
        rows = msgspec.msgpack.decode(zlib.decompress(path.read_bytes()), type=list[_Row])
        return {row.key: _behaviour(row) for row in rows}
    except (OSError, zlib.error, msgspec.DecodeError, ValueError, RuntimeError, AttributeError):
        return {}


def _row(key: Key, behaviour: Behaviour) -> _Row:
    return _Row(
        key=key,
        status=behaviour.status,
        fails=sorted(behaviour.fails),
        values={name: _array(tensor) for name, tensor in behaviour.values.items()},
        errors={name: _array(tensor) for name, tensor in behaviour.errors.items()},
        stored={name: _array(tensor) for name, tensor in behaviour.stored.items()},
        lanes=[(of, count, sorted(first)) for of, (count, first) in behaviour.lanes.items()],
        traffic=dict(behaviour.traffic),
        undefined=behaviour.undefined,
    )


def _behaviour(row: _Row) -> Behaviour:
    return Behaviour(
        ran=True,
        status=row.status,
        fails=frozenset(row.fails),
        values={name: _tensor(array) for name, array in row.values.items()},
        errors={name: _tensor(array) for name, array in row.errors.items()},
        stored={name: _tensor(array) for name, array in row.stored.items()},
        lanes={of: (count, frozenset(first)) for of, count, first in row.lanes},
        traffic=row.traffic,
        undefined=row.undefined,
    )


def _array(tensor: torch.Tensor) -> _Array:
    flat = tensor.detach().contiguous().reshape(-1)
    return _Array(
        str(tensor.dtype).removeprefix("torch."), list(tensor.shape), flat.view(torch.uint8).numpy().tobytes()
    )


def _tensor(array: _Array) -> torch.Tensor:
    dtype: Any = getattr(torch, array.dtype)
    if not array.data:
        return torch.empty(array.shape, dtype=dtype)
    return torch.frombuffer(bytearray(array.data), dtype=dtype).reshape(array.shape)
