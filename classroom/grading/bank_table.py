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

from checker.judge.combined_kernel import MOST_REMEMBERED, Key, remembered
from checker.judge.likeness import Behaviour
from checker.puzzle import Puzzle
from checker.workspace import write_atomically
from classroom.grading.keys import machinery, packages, puzzle_version


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
        data = msgspec.msgpack.encode(kept, enc_hook=_data)
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
        data = zlib.decompress(path.read_bytes())
        return dict(msgspec.msgpack.decode(data, type=list[tuple[Key, Behaviour]], dec_hook=_tensor))
    except (OSError, zlib.error, msgspec.DecodeError, ValueError, RuntimeError, AttributeError):
        return {}


def _data(tensor: torch.Tensor) -> tuple[str, list[int], bytes]:
    flat = tensor.detach().contiguous().reshape(-1)
    return str(tensor.dtype).removeprefix("torch."), list(tensor.shape), flat.view(torch.uint8).numpy().tobytes()


def _tensor(_: type[torch.Tensor], data: tuple[str, list[int], bytes]) -> torch.Tensor:
    name, shape, content = data
    dtype: Any = getattr(torch, name)
    if not content:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(content), dtype=dtype).reshape(shape)
