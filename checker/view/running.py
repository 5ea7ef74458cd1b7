"""Which rows a kernel's running state belongs to at every moment, and its values as numbers for rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checker.puzzle import Running
from checker.simulator.trace import Event
from checker.view.layout import Flat

Span = tuple[int, int]


def vector(value: Any) -> list[float] | None:
    """A number, a vector or a one-column tile as a list of numbers; anything else has no rows."""
    if isinstance(value, (bool, str, dict)) or value is None:
        return None
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, list) and value:
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value):
            return [float(v) for v in value]
        if all(isinstance(v, list) and len(v) == 1 and isinstance(v[0], (int, float)) for v in value):
            return [float(v[0]) for v in value]
    return None


def held_rows(events: Sequence[tuple[Event, Flat | None]], running: Running) -> list[tuple[int, Span] | None]:
    """For every event: slice and rows that its program's state belongs to just after it, None before the first.

    Where the state lives in memory no rows at all, ``(0, 0)``, from the load of a tile until its state is computed: what the
    variables hold in between are numbers of the tile before.
    """
    if running.in_memory:
        return _visited_rows(events, running)
    now: dict[tuple[int, int, int], tuple[int, Span]] = {}
    out = []
    for event, flat in events:
        if event.tensor == running.rows and event.kind == "load" and flat is not None:
            now[event.program] = (flat.slice, (flat.box[0], flat.box[1]))
        out.append(now.get(event.program))
    return out


def _visited_rows(events: Sequence[tuple[Event, Flat | None]], running: Running) -> list[tuple[int, Span] | None]:
    out: list[tuple[int, Span] | None] = [None] * len(events)
    for mine in by_program(events):
        visits = list(visits_in_memory(events, mine, running))
        for visit, following in zip(visits, [*visits[1:], None], strict=True):
            stale, done = (events[mine[i]][0].state for i in (visit.at, visit.first_store))
            kept = [n for n in running.names if vector(done.get(n)) is not None]
            between = range(visit.at + 1, visit.first_store)
            fresh = (i for i in between if all(events[mine[i]][0].state.get(n) != stale.get(n) for n in kept))
            computed = next(fresh, visit.first_store)
            for i in range(visit.at, following.at if following else len(mine)):
                out[mine[i]] = (visit.slice, visit.rows) if i >= computed - 1 else (visit.slice, (0, 0))
    return out


@dataclass(frozen=True)
class Visit:
    """One tile of rows meets one tile of what is walked over, and stores its state: positions among the program's events."""

    at: int  # the load of the second of the two
    first_store: int
    end: int  # the last store
    slice: int
    rows: Span
    walked: Flat


def visits_in_memory(events: Sequence[tuple[Event, Flat | None]], mine: list[int], running: Running) -> Iterator[Visit]:
    """Every tile of rows that meets a tile of what is walked over, of one program."""
    rows: Flat | None = None
    walked: Flat | None = None
    at = first = end = -1
    for position, k in enumerate([*mine, None]):
        event, flat = events[k] if k is not None else (None, None)
        loads = event is not None and event.kind == "load" and event.tensor in (running.rows, running.walked)
        if first >= 0 and (loads or event is None):
            assert rows is not None
            assert walked is not None
            yield Visit(at, first, end, rows.slice, (rows.box[0], rows.box[1]), walked)
            first = -1
        if event is not None and loads and flat is not None:
            rows, walked = (flat, walked) if event.tensor == running.rows else (rows, flat)
            at = position
        elif event is not None and event.kind == "store" and rows is not None and walked is not None:
            first, end = (first if first >= 0 else position), position


def by_program(events: Sequence[tuple[Event, Flat | None]]) -> list[list[int]]:
    """Positions of each program's events."""
    programs: dict[tuple[int, int, int], list[int]] = {}
    for k, (event, _) in enumerate(events):
        programs.setdefault(event.program, []).append(k)
    return list(programs.values())
