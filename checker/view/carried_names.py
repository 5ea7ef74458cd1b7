"""Which variable of a kernel is the state: one that holds what is loaded from, or stored to, a state in memory; else one by name."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.view.running import vector
from checker.view.scores import matrix

if TYPE_CHECKING:
    from checker.view.film_model import Moment

MOST = 24
"""Events that are looked at."""
Hold = Callable[[Any], np.ndarray | None]


def row(value: Any) -> np.ndarray | None:
    """A vector as a matrix of one row."""
    values = vector(value) if isinstance(value, list) else None
    return None if values is None else np.array([values])


def turned(value: Any) -> np.ndarray | None:
    """A matrix that a kernel holds on its side."""
    found = matrix(value)
    return None if found is None else found.T


def large(value: Any) -> bool:
    """A matrix of which only the shape was kept."""
    return isinstance(value, dict) and len(value.get("shape", ())) == 2


def found(
    moments: Sequence[Moment], memory: Sequence[str], names: Sequence[str], values: Mapping[str, np.ndarray], flat: bool
) -> tuple[str, Hold]:
    """The variable's name, empty where there is none, and how to read it. `memory` are tensors, `flat` that it is a vector."""
    ways: tuple[Hold, ...] = (row,) if flat else (matrix, turned)
    by_program: dict[int, list[Moment]] = {}
    for moment in moments:
        by_program.setdefault(moment.program, []).append(moment)
    pairs = [pair for mine in by_program.values() for pair in itertools.zip_longest(mine, mine[1:])]
    telling = [(m, later) for m, later in pairs if m.event.tensor in memory and m.event.tensor in values]
    matches: Counter[tuple[str, int]] = Counter()
    for moment, later in telling[:MOST]:
        holder = moment if moment.event.kind == "store" else later
        want = _part(moment, values[moment.event.tensor], 1 if flat else 2)
        if holder is not None and want is not None:
            state = {n: v for n, v in holder.event.state.items() if _floats(v)}
            matches.update((n, i) for n, v in state.items() for i, hold in enumerate(ways) if _holds(hold(v), want))
    if matches:
        known = {name: -i for i, name in enumerate(names)}
        name, way = max(matches, key=lambda m: (matches[m], known.get(m[0], -len(known)), -m[1]))
        return name, ways[way]
    hold = ways[0]
    for name in names:
        if any(
            hold(m.event.state.get(name)) is not None or (not flat and large(m.event.state.get(name))) for m in moments
        ):
            return name, hold
    return "", hold


def stores_it(moment: Moment, have: np.ndarray | None, values: Mapping[str, np.ndarray]) -> bool:
    """Whether a store of a vector's numbers is of those in `have`."""
    event = moment.event
    if event.kind != "store" or event.tensor not in values or event.tile is None or event.tile.active is None:
        return False
    part = values[event.tensor][tuple(slice(*side) for side in event.tile.active)].reshape(-1, 1).T
    return part.shape[1] <= (have.shape[1] if have is not None else 0) and _holds(have, part)


def _floats(value: Any) -> bool:
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, float)


def _part(moment: Moment, array: np.ndarray, rank: int) -> np.ndarray | None:
    """What a tile touches, as a matrix; None where it cannot tell one variable from another."""
    tile = moment.event.tile
    if tile is None or tile.active is None or tile.elements is not None or array.ndim != len(tile.active):
        return None
    if any(stop != start + 1 for start, stop in tile.active[:-rank]):
        return None
    part = array[tuple(slice(*side) for side in tile.active)].reshape(-1, tile.active[-1][1] - tile.active[-1][0])
    return part if np.isfinite(part).all() and part.any() and part.size > 1 else None


def _holds(have: np.ndarray | None, want: np.ndarray) -> bool:
    if have is None or any(h < w for h, w in zip(have.shape, want.shape, strict=True)):
        return False
    here = have[: want.shape[0], : want.shape[1]]
    # values in a trace have four digits
    return bool(np.isclose(here, want, rtol=2e-3, atol=1e-6 * np.abs(want).max()).all())
