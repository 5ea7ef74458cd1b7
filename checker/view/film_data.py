"""From a Trace to the compact data that a film is played from: every repeated thing is said once and numbered."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checker.puzzle import Allowance, Carried, Case, FilmSpec, Scores
from checker.simulator.trace import Event, TensorInfo, Tile, Trace
from checker.view.attention_layout import Square, attention_stage
from checker.view.carried import States, states
from checker.view.carried_layout import CarriedStage, carried_stage, pitch_of
from checker.view.layout import Flat, Panel, bare_panel, flatten, in_a_row, panels
from checker.view.running import Departure, departures
from checker.view.scores import Visits, tile_size, visits
from checker.view.sides import Sides, build_sides, present
from checker.view.theme import count, number, short

DEPARTS = "running value"
KINDS = ("load", "store", "atomic", "dot")
MAX_EVENTS = 800
MOST_OF_ATTENTION = 620
MOST_OF_STATES = 380
STATE_ROWS = 10
LEVELS = ((2, 2, 26_000), (1, 2, 26_000), (0, 2, 36_000), (0, 1, 42_000), (-1, 1, 42_000), (-1, 0, 0))
"""What is kept of local values, most first: the highest rank of unnamed and of named ones, and the characters of JSON
that all data may then take; what needs more goes on to the next."""


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


@dataclass
class Moment:
    """One event as the film tells it, ready to be drawn or written out."""

    event: Event
    program: int
    flat: Flat | None
    tile: int
    findings: list[int] = field(default_factory=list)


@dataclass
class Film:
    """All that the static frame and the player need."""

    panels: list[Panel]
    width: float
    height: float
    moments: list[Moment]
    programs: list[tuple[int, int, int]]
    left_out: int
    """Programs that are not shown."""
    cells: dict[str, list[str]]
    """Formatted values by tensor, row-major, all slices; tensors that the kernel writes hold what was there at the end."""
    written: frozenset[str]
    sides: Sides | None = None
    """The running state in columns beside one of the panels."""
    visits: Visits | None = None
    """Attention's tiles of scores."""
    states: States | None = None
    """Linear attention's state."""
    cut: int = 0
    """Steps of a program that are shown, where it has more."""
    data: dict[str, Any] = field(default_factory=dict)


def linear(program: tuple[int, int, int], grid: tuple[int, int, int]) -> int:
    """The linear id of a program, x fastest."""
    return program[0] + grid[0] * (program[1] + grid[1] * program[2])


def program_name(program: tuple[int, int, int], grid: tuple[int, int, int]) -> str:
    """``3`` on a one-dimensional grid, ``(3, 0)`` on a two-dimensional one."""
    rank = max((i + 1 for i in range(3) if grid[i] > 1), default=1)
    return str(program[0]) if rank == 1 else "(" + ", ".join(map(str, program[:rank])) + ")"


def build(
    trace: Trace,
    spec: FilmSpec,
    case: Case,
    values: Mapping[str, Any],
    budget: Mapping[str, Allowance],
    outputs: Sequence[str],
    source: str = "",
) -> Film:
    """Choose what is shown, place it, and number it. `source` is the kernel's text."""
    running = spec.running if spec.running and {spec.running.rows, spec.running.walked} <= set(trace.tensors) else None
    most = MOST_OF_STATES if spec.carried else MOST_OF_ATTENTION if spec.scores else MAX_EVENTS
    events, left_out = _choose(trace, most)
    order = sorted({e.program for e in events}, key=lambda p: linear(p, trace.grid))
    rank = {program: i for i, program in enumerate(order)}

    shown = {name: trace.tensors[name] for name in spec.tensors if name in trace.tensors}
    shown |= {e.tensor: trace.tensors[e.tensor] for e in events if e.tensor in trace.tensors}
    attention = spec.scores if spec.scores and _square(spec.scores, trace) else None
    carried = spec.carried if spec.carried and _has_state(spec.carried, trace) else None
    poses = _poses(shown, attention, carried)
    tiles: dict[str, list[Flat]] = {name: [] for name in shown}
    moments, table = [], Table()
    for event in events:
        flat = None
        if event.tile is not None and event.tensor in shown:
            shape = shown[event.tensor].shape
            flat = flatten(event.tile, shape)
            if event.tensor in poses:
                flat = replace(poses[event.tensor].flatten(event.tile, shape), label=flat.label)
            tiles[event.tensor].append(flat)
        packed = [flat.slice, flat.label, flat.box, flat.active or 0, flat.runs or 0] if flat else None
        moments.append(Moment(event, rank[event.program], flat, table.at(packed) if packed else -1))

    arrays = {name: _array(value) for name, value in values.items() if name in shown}
    arrays = {name: array for name, array in arrays.items() if 0 < array.size <= 4096}
    beside = {running.rows: names} if running and (names := present(moments, running)) else {}
    square: Square | None = None
    stage: CarriedStage | None = None
    if attention or carried:
        bare = {}
        for name, info in shown.items():
            pose = poses.get(name)
            panel = bare_panel(name, replace(info, shape=pose.shape) if pose else info, tiles[name])
            panel = replace(panel, sides=beside.get(name, ()), said=tuple(info.shape))
            bare[name] = replace(panel, blocks=pose.blocks) if pose else panel
        size = tile_size(events, attention) if attention else None
        if carried:
            by_name, width, height, stage = carried_stage(bare, carried, size)
            placed, square = [by_name[name] for name in shown], stage.square
        elif attention and size:
            placed, width, height, square = attention_stage(list(bare.values()), attention, size)
    else:
        placed, width, height = panels(shown, tiles, values=frozenset(arrays), sides=beside)
    cells = {p.name: _cells(arrays[p.name], 5 if p.ux >= 30 else 4) for p in placed if p.cells}
    written = frozenset(e.tensor for e in events if e.kind in ("store", "atomic")) & frozenset(outputs)

    notes = _findings(trace, moments)
    film = Film(placed, width, height, moments, order, left_out, cells, written)
    film.cut = most if max(Counter(e.program for e in trace.events).values(), default=0) > most else 0
    if attention and square:
        film.visits = visits(moments, attention, square)
    if carried and stage:
        weights = film.visits.names[0] if film.visits else ""
        memory = {n: _array(v) for n, v in values.items() if n in {*carried.start, *carried.end, *carried.chunks}}
        film.states = states(moments, carried, stage, source, int(case.meta.get("CHUNK", 1)), weights, memory)
        if film.visits:
            film.visits.skipped = []  # what has no tile of its own was read out of the state, or comes later
    if running and beside:
        found: list[Departure] = []
        if running.exact and {running.rows, running.walked} <= set(values):
            inputs = {name: value for name, value in values.items() if name not in outputs}
            shape, walked = trace.tensors[running.rows].shape, trace.tensors[running.walked].shape
            found = departures([(m.event, m.flat) for m in moments], shape, walked, running, case, inputs)
        at = next(i for i, p in enumerate(placed) if p.name == running.rows)
        film.sides = build_sides(moments, at, placed[at], running, found)
        for note in _departed(found, placed[at].rows * placed[at].slices > 1):
            moments[note[0]].findings.append(len(notes))
            notes.append(note)
    drawn = {film.states.names[0]} if film.states else set()  # on the stage, and not in the table too
    film.data = _data(film, trace, table, {n: w for n, w in spec.state.items() if n not in drawn}, budget, notes, drawn)
    return film


def _square(scores: Scores, trace: Trace) -> bool:
    """Whether the four tensors of attention are there, with at least two dimensions."""
    names = (scores.queries, scores.keys, scores.values, scores.output)
    return all(name in trace.tensors and len(trace.tensors[name].shape) >= 2 for name in names)


def _has_state(carried: Carried, trace: Trace) -> bool:
    """Whether keys and values (or what is added) are there, with at least two dimensions."""
    names = (carried.added,) if carried.added else (carried.keys, carried.values)
    return all(name in trace.tensors and len(trace.tensors[name].shape) >= 2 for name in names)


@dataclass(frozen=True)
class Pose:
    """A tensor drawn as one of another shape: `shape` is that of its picture."""

    shape: tuple[int, ...]
    upright: bool
    blocks: tuple[int, int] = (0, 0)

    def flatten(self, tile: Tile, shape: Sequence[int]) -> Flat:
        if self.upright and not self.blocks[0]:
            return flatten(upright_tile(tile), self.shape)
        if self.upright:  # one column for each chunk
            tile, shape = (
                replace(tile, box=(*tile.box, (0, 1)), active=tile.active and (*tile.active, (0, 1))),
                (*shape, 1),
            )
        flat = in_a_row(tile, shape, self.blocks[1])
        wide = (*shape[:-3], shape[-2], shape[-3] * self.blocks[1])
        return flatten(flat, wide)


def _poses(shown: Mapping[str, TensorInfo], attention: Scores | None, carried: Carried | None) -> dict[str, Pose]:
    """Vectors that stand upright in a plane of their own, and a state for each chunk, side by side."""
    poses = {n: Pose(upright(shown[n].shape), True) for n in (attention.per_query if attention else ()) if n in shown}
    if carried is None:
        return poses
    memory = [n for n in (*carried.start, *carried.end) if n in shown and n not in carried.chunks]
    whole = len(shown[carried.added or carried.keys].shape)
    poses |= {n: Pose(upright(shown[n].shape), True) for n in memory if len(shown[n].shape) == whole - 1}
    if carried.added:
        return poses
    columns = shown[carried.values].shape[-1]
    for name in (n for n in carried.chunks if n in shown):
        shape = shown[name].shape
        bare = shape if len(shape) > whole else (*shape, 1)  # a sum of features is one column
        wide = (bare[-3] - 1) * pitch_of(columns) + bare[-1]
        poses[name] = Pose((*bare[:-3], bare[-2], wide), len(shape) <= whole, (bare[-1], pitch_of(columns)))
    return poses


def upright(shape: Sequence[int]) -> tuple[int, ...]:
    """[..., N] as [..., 1, N]: one line of N in a plane of its own."""
    return (*shape[:-1], 1, *shape[-1:])


def upright_tile(tile: Tile) -> Tile:
    """The tile in the plane of `upright`."""
    active = None if tile.active is None else (*tile.active[:-1], (0, 1), *tile.active[-1:])
    return replace(tile, box=(*tile.box[:-1], (0, 1), *tile.box[-1:]), active=active)


def _choose(trace: Trace, most: int) -> tuple[list[Event], int]:
    """Whole programs only: the first ones, as many as there is room for, and the last one."""
    by_program: dict[tuple[int, int, int], list[Event]] = {}
    for event in trace.events:
        by_program.setdefault(event.program, []).append(event)
    programs = sorted(by_program, key=lambda p: linear(p, trace.grid))
    room = most - (len(by_program[programs[-1]]) if programs else 0)
    kept: list[tuple[int, int, int]] = []
    for program in programs[:-1]:
        room -= len(by_program[program])
        if room < 0 and kept:
            break
        kept.append(program)
    kept += programs[-1:]
    return [e for p in kept for e in by_program[p][:most]], len(programs) - len(kept)


def _array(value: Any) -> np.ndarray:
    if hasattr(value, "detach"):  # a torch tensor; numpy has no bfloat16
        value = value.detach().cpu()
        value = (value.double() if value.is_floating_point() else value).contiguous().numpy()
    return np.asarray(value)


def _cells(array: np.ndarray, width: int) -> list[str]:
    return [number(v.item(), width) for v in array.reshape(-1)]


def _departed(found: list[Departure], several_rows: bool) -> list[list[Any]]:
    """The first departure of every program as a note; that of the first program is listed below the film, with what follows it."""
    firsts = sorted({d.program: d for d in reversed(found)}.values(), key=lambda d: d.at)
    notes: list[list[Any]] = [[d.at, DEPARTS, d.words(several_rows), 0] for d in firsts]
    if notes:
        others = len(notes) - 1
        notes[0][3] = f"{count(others, 'other program')} {'goes' if others == 1 else 'go'} wrong too." if others else ""
    return notes


def _findings(trace: Trace, moments: list[Moment]) -> list[list[Any]]:
    """``[moment, kind, message]`` of every finding; the first moment it belongs to, -1 where it belongs to none."""
    notes: list[list[Any]] = []
    for finding in trace.findings:
        at = -1
        for k, moment in enumerate(moments):
            event = moment.event
            if finding.line is None or event.line != finding.line:
                continue
            if finding.program is not None and event.program != finding.program:
                continue
            if finding.tensor is not None and event.tensor != finding.tensor:
                continue
            if finding.kind.startswith("out_of_bounds") and not event.out_of_bounds:
                continue
            at = k
            break
        notes.append([at, finding.kind.replace("_", " "), finding.message])
        if at >= 0:
            moments[at].findings.append(len(notes) - 1)
    return notes


def _data(
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
                or (name not in state and len(names.items) >= STATE_ROWS + len(state))
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
