"""From a Trace to a Film: which programs are shown, where each tensor stands, what is known at each moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from checker.puzzle import Allowance, Carried, Case, FilmSpec, Scores
from checker.simulator.trace import Event, Trace
from checker.view.attention_layout import Square, attention_stage
from checker.view.carried import states
from checker.view.carried_layout import CarriedStage, carried_stage
from checker.view.departures import Departure, departures
from checker.view.film_data import Table, player_data
from checker.view.film_model import Film, Moment, linear
from checker.view.layout import Flat, bare_panel, flatten, panels
from checker.view.poses import poses_of
from checker.view.scores import tile_size, visits
from checker.view.sides import build_sides, present
from checker.view.theme import count, number

DEPARTS = "running value"
MAX_EVENTS = 800
MOST_OF_ATTENTION = 620
MOST_OF_STATES = 380


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
    poses = poses_of(shown, attention, carried)
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
    film.data = player_data(
        film, trace, table, {n: w for n, w in spec.state.items() if n not in drawn}, budget, notes, drawn
    )
    return film


def _square(scores: Scores, trace: Trace) -> bool:
    """Whether the four tensors of attention are there, with at least two dimensions."""
    names = (scores.queries, scores.keys, scores.values, scores.output)
    return all(name in trace.tensors and len(trace.tensors[name].shape) >= 2 for name in names)


def _has_state(carried: Carried, trace: Trace) -> bool:
    """Whether keys and values (or what is added) are there, with at least two dimensions."""
    names = (carried.added,) if carried.added else (carried.keys, carried.values)
    return all(name in trace.tensors and len(trace.tensors[name].shape) >= 2 for name in names)


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
