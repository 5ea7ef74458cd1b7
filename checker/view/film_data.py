"""The compact data that a film is played from: every repeated thing is said once and numbered."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from checker.puzzle import Allowance
from checker.simulator.trace import Trace
from checker.view.film_model import Film, program_name
from checker.view.layout import Panel
from checker.view.theme import number, short

LEVELS = ((2, 2, 26_000), (1, 2, 26_000), (0, 2, 36_000), (0, 1, 42_000), (-1, 1, 42_000), (-1, 0, 0))
"""What is kept of local values, most first: the highest rank of unnamed and of named ones, and the characters of JSON
that all data may then take; what needs more goes on to the next."""
STATE_ROWS = 8
KINDS = ("load", "store", "atomic", "dot")


class Table:
    """Numbers things in the order they are first seen."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._at: dict[str, int] = {}

    def at(self, item: Any) -> int:
        key = json.dumps(item, ensure_ascii=False)
        if key not in self._at:
            self._at[key] = len(self.items)
            self.items.append(item)
        return self._at[key]


def player_data(
    film: Film,
    trace: Trace,
    table: Table,
    state: Mapping[str, str],
    budget: Mapping[str, Allowance],
    notes: list[list[Any]],
    drawn: set[str],
) -> dict[str, Any]:
    """`drawn` are variables that the stage shows."""
    at = {panel.name: i for i, panel in enumerate(film.panels)}
    data: dict[str, Any] = {
        "programs": [program_name(p, trace.grid) for p in film.programs],
        "panels": [
            [
                short(p.name),
                p.x,
                p.y,
                p.ux,
                p.uy,
                p.rows,
                p.cols,
                p.r0,
                p.c0,
                p.r1,
                p.c1,
                list(p.shape[:-2]) if p.slices > 1 and p.axes else [],
                *_columns(p),
                int(p.transposed),
            ]
            for p in film.panels
        ],
        "cells": [
            film.cells[p.name] if p.name in film.cells and (p.name in film.written or p.slices > 1) else 0
            for p in film.panels
        ],
        "written": [int(p.name in film.written) for p in film.panels],
        "tiles": table.items,
        "traffic": traffic_rows(film, trace, budget),
        "findings": notes,
        "sides": film.sides.data if film.sides else 0,
        "scores": film.visits.data if film.visits else 0,
        "states": film.states.data if film.states else 0,
    }
    said: dict[int, Any] = {}
    for level, (*_, room) in enumerate(LEVELS):
        names, vals, loops = Table(), Table(), Table()
        loops.at([])
        data["events"] = _events(film, at, state, level, names, vals, loops, said, drawn)
        words = [state.get(name, "") for name in names.items]
        data |= {"names": names.items, "words": words, "vals": vals.items, "loops": loops.items}
        if len(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) <= room:
            break
    return data


def _columns(panel: Panel) -> list[Any]:
    return [[panel.side_x(i) for i in range(len(panel.sides))], panel.side_width] if panel.sides else [0, 0]


def _events(
    film: Film,
    at: Mapping[str, int],
    state: Mapping[str, str],
    level: int,
    names: Table,
    vals: Table,
    loops: Table,
    said: dict[int, Any],
    drawn: set[str],
) -> list[list[Any]]:
    """`said` keeps what was formatted before, by identity."""
    rows, before = [], dict[int, dict[int, int]]()
    for name in state:
        if any(name in m.event.state for m in film.moments):
            names.at(name)
    for moment in film.moments:
        event = moment.event
        now = {}
        for name, value in event.state.items():
            if (
                name in dict(event.loops)
                or name in drawn
                or not _kept(name, value, state, level)
                or (name not in names.items and len(names.items) >= STATE_ROWS + len(state))
            ):
                continue
            if id(value) not in said:
                said[id(value)] = _value(value)
            now[names.at(name)] = vals.at(said[id(value)])
        last = before.get(moment.program, {})
        delta = [x for n, v in now.items() if last.get(n) != v for x in (n, v)]
        before[moment.program] = {**last, **now}
        loop = loops.at([[n, v] for n, v in event.loops])
        row: list[Any] = [
            moment.program,
            KINDS.index(event.kind),
            at.get(event.tensor, -1),
            event.line,
            moment.tile,
            event.bytes,
            loop,
        ]
        row += [delta, event.masked, event.undefined, event.out_of_bounds]
        while len(row) > 5 and not row[-1]:
            row.pop()
        rows.append(row)
    return rows


def _kept(name: str, value: Any, state: Mapping[str, str], level: int) -> bool:
    """As the film grows, unnamed tiles go first, then unnamed vectors, named tiles, unnamed numbers, named vectors."""
    rank = 0 if not isinstance(value, list) else (2 if value and isinstance(value[0], list) else 1)
    unnamed, named, _ = LEVELS[level]
    return rank <= (named if name in state else unnamed)


def _value(value: Any) -> Any:
    """Formatted as it will be shown; large tiles are cut, and say so."""
    if isinstance(value, list):
        cut = value[:8] if value and isinstance(value[0], list) else value[:16]
        return [_value(v) for v in cut] + (["…"] if len(cut) < len(value) else [])
    if isinstance(value, (int, float, np.number, np.bool_)):
        return number(value.item() if isinstance(value, np.generic) else value)
    return str(value)[:40]


def traffic_rows(film: Film, trace: Trace, budget: Mapping[str, Allowance]) -> list[list[Any]]:
    """``[panel, 0 loaded | 1 stored, total, allowed or -1, bytes of the tensor]`` for everything that moved or may move.

    Where a tensor is updated atomically, what is stored has ``updates, bytes of one`` behind it: an update is one number that
    one lane reads and writes back.
    """
    rows: list[list[Any]] = []
    for i, panel in enumerate(film.panels):
        moved, may = trace.traffic.get(panel.name), budget.get(panel.name)
        sizes = {"float16": 2, "bfloat16": 2, "int64": 8, "float64": 8, "int8": 1, "bool": 1, "uint8": 1, "int16": 2}
        item = sizes.get(panel.dtype, 4)
        whole = math.prod(panel.said or panel.shape) * item
        updated = sum(e.bytes for e in trace.events if e.kind == "atomic" and e.tensor == panel.name) // item
        for kind, total, allowed in (
            (0, moved.loaded if moved else 0, may.loaded if may else 0),
            (1, moved.stored if moved else 0, may.stored if may else 0),
        ):
            if total or allowed:
                rows.append([i, kind, total, allowed if budget else -1, whole])
                rows[-1] += [updated, item] if kind and updated else []
    return rows
