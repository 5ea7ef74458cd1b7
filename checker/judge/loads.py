"""What a program loaded: NaN from memory that holds no number, and indices that lead out of a tensor."""

from __future__ import annotations

import numpy as np
import torch

from checker.judge.outcome import Outcome
from checker.judge.phrases import element
from checker.phrases import short
from checker.puzzle import Puzzle
from checker.simulator.trace import Event, Finding
from checker.submission.kernel import KernelSource


def nan_loaded(outcome: Outcome, program: tuple[int, int, int] | None) -> tuple[Event, str] | None:
    """The first load by which a program gets a NaN from an input, and the name of one such element."""
    for event in outcome.trace.events if outcome.trace else ():
        x = outcome.prepared.tensors.get(event.tensor)
        if event.kind != "load" or event.program != program or x is None or event.tensor in outcome.prepared.expected:
            continue
        indices = _indices(event, x)
        nan = x[indices].isnan().nonzero()
        if len(nan):
            return event, element(event.tensor, [int(axis[nan[0, 0]]) for axis in indices])
    return None


def followed_entry(puzzle: Puzzle, outcome: Outcome, finding: Finding, source: KernelSource) -> str:
    """Advice about an address that comes from a loaded index and leaves its tensor; empty if this one does not."""
    info = outcome.trace.tensors.get(finding.tensor or "") if outcome.trace else None
    if outcome.trace is None or info is None or short(finding.tensor or "") in puzzle.domain.indices:
        return ""
    outside = {index[0] for index in finding.elements if not 0 <= index[0] < info.shape[0]}
    for event in outcome.trace.events:
        if event.kind == "load" and short(event.tensor) in puzzle.domain.indices:
            x = outcome.prepared.tensors[event.tensor]
            followed = outside.intersection(x[_indices(event, x)].tolist())
            if followed:
                table, line = short(event.tensor), source.line_words(event.line)
                return (
                    f"{min(followed)} is an entry of {table} that means nothing, and {line} loads it. "
                    f"Does that address lead to the right row of {table}, and does the mask leave out what lies behind its last entry?"
                )
    return ""


def _indices(event: Event, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The elements of a tensor that an event touched: for each dimension, their indices."""
    tile = event.tile
    if tile is None or tile.active is None:
        return tuple(torch.zeros(0, dtype=torch.long) for _ in x.shape)
    if tile.elements is not None:
        return tuple(
            torch.from_numpy(axis) for axis in np.unravel_index(np.array(tile.elements, dtype=int), tuple(x.shape))
        )
    axes = np.meshgrid(*(np.arange(max(start, 0), stop) for start, stop in tile.active), indexing="ij")
    return tuple(torch.from_numpy(axis.reshape(-1)) for axis in axes)
