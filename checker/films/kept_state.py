"""A state that a kernel keeps on chip: its variable, what each step does with it, and which pairs go through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from checker.films.diagram import KeptState, Square
from checker.films.kernel_text import Dot, made_from, products
from checker.films.square import Visits
from checker.films.state import first_number, levels, matrix, quantised, signed_root, span_of, unchanged, vector
from checker.films.steps import Box, Span, Step, by_program, colon, joined
from checker.films.svg import Heat
from checker.phrases import short
from checker.simulator.trace import Event
from checker.view.formats import number

ROOM = 14_000
"""Characters for all heat maps of the state: more of them are drawn with fewer cells."""
MOST = 24
"""Steps that are looked at to find the variable."""
Action = Literal["", "starts", "adds", "reads"]
Reader = Callable[[Any], "np.ndarray | None"]


@dataclass
class StateAt:
    """The state around one step: `place` is ``(first row, first column, rows, columns)`` of the whole, overhang included."""

    pictures: dict[str, Heat | str] = field(default_factory=dict)
    """As in ``Layout.state``: heat maps of the state, levels of its vector."""
    place: tuple[int, int, int, int] | None = None
    action: Action = ""
    words: str = ""
    reads: tuple[tuple[int, Box], ...] = ()
    """``(slice, box)``: what these rows saw of these columns came out of the state in this step."""


@dataclass
class StateSteps:
    """The state at every step. `name` and `total` are the variables of the state and of its vector; empty if there is none."""

    at: list[StateAt]
    name: str
    total: str
    ranges: list[str] = field(default_factory=list)
    """What the colours and bars mean, in words."""


@dataclass
class _History:
    """What one program has loaded and added so far."""

    queries: tuple[int, Span] | None = None  # slice, rows
    takers: Span | None = None
    """Rows of the last tile that takes something back."""
    last: Span | None = None
    """Rows of the last tile that goes into the state."""
    loaded: list[Span] = field(default_factory=list)
    """Those since the last addition."""
    seen: list[Span] = field(default_factory=list)
    complete: bool = True
    """Whether `seen` is everything in the state: additions to it are visible, or it was loaded with a known content."""


@dataclass(frozen=True)
class _Kernel:
    """The names in a kernel: its state, and every product in its text."""

    spec: KeptState
    name: str
    source: str
    dots: Mapping[int, Dot]
    """By step."""
    stored: frozenset[int]
    """Steps at which a flat state goes to memory as it is."""
    chunk: int


def state_steps(
    steps: Sequence[Step], spec: KeptState, source: str, chunk: int, values: Mapping[str, np.ndarray]
) -> StateSteps:
    """Follow every program. `source` is the kernel's, `chunk` the rows in a chunk; `values` are tensors, outputs as the kernel left them."""
    memory = [group for group in (spec.start, spec.end, spec.chunks) if group]
    if spec.flat:
        (name, held), total = (
            _variable(steps, [n for group in memory for n in group], spec.names, values, flat=True),
            "",
        )
    else:
        name, held = _variable(steps, [group[0] for group in memory], spec.names, values, flat=False)
        total = _variable(steps, [n for group in memory for n in group[1:]], spec.sums, values, flat=True)[0]
    stored = {s.at for s in steps if spec.flat and _stores_state(s, held(s.event.state.get(name)), values)}
    kernel = _Kernel(spec, name, source, products(steps, source), frozenset(stored), chunk)
    out = StateSteps([StateAt() for _ in steps], name, total)
    kept: dict[str, list[tuple[StateAt, np.ndarray]]] = {"before": [], "after": [], "sums before": [], "sums": []}
    for program_steps in by_program(steps):
        starts = {
            tensor: next((_start(s) for s in program_steps if s.loads(tensor)), 0)
            for tensor in (spec.rows, spec.columns)
        }
        for step in program_steps:
            if step.event.kind == "load" and step.event.tensor in starts and step.tile:
                starts[step.event.tensor] = _start(step)
            old, new = step.event.state, (step.later or step.event).state
            now = {"before": held(old.get(name)), "after": held(new.get(name))}
            now |= {"sums before": _row(old.get(total)), "sums": _row(new.get(total))}
            at = out.at[step.at]
            for key, value in now.items():
                if value is not None:
                    kept[key].append((at, value))
            shown = now["before"] if now["after"] is None else now["after"]
            if shown is not None:
                at.place = (0 if spec.flat else starts[spec.rows], starts[spec.columns], *shown.shape)
        _follow_program(out, program_steps, kernel)
    _quantise(out, steps, kept)
    return out


def _start(step: Step) -> int:
    """The first column of a load."""
    return max(step.tile.box[2], 0) if step.tile else 0


def _quantise(out: StateSteps, steps: Sequence[Step], kept: dict[str, list[tuple[StateAt, np.ndarray]]]) -> None:
    arrays = [array for key in ("before", "after") for _, array in kept[key]]
    heats, _, cells = quantised([signed_root(array) for array in arrays], ROOM, signed=True)
    drawn = iter(heats)
    _, top = span_of([values for key in ("sums before", "sums") for _, values in kept[key]])
    for key, pictures in kept.items():
        for at, values in pictures:
            at.pictures[key] = levels(values[0], 0.0, max(top, 1e-30)) if key.startswith("sums") else next(drawn)
    low, high = span_of(arrays)
    if not heats:
        large = any(_large(s.event.state.get(out.name)) for s in steps)
        out.ranges = ["too large to be captured" if out.name and large else "no variable holds one"]
    else:
        out.ranges = [f"orange: up to {number(high, 5)}"] if high > 0 else []
        out.ranges += [f"blue: down to {number(low, 5)}"] if low < 0 else []
        out.ranges += [f"a cell: the mean of {cells} × {cells}"] if cells > 1 else []
        out.ranges = out.ranges or ["all zero"]
    if kept["sums before"] or kept["sums"]:
        out.ranges.append(f"{out.total}: 0 … {number(top, 5)}")


# ---- which variable it is ----------------------------------------------------------------------------------------------


def _row(value: Any) -> np.ndarray | None:
    """A vector as a matrix of one row."""
    values = vector(value) if isinstance(value, list) else None
    return None if values is None else np.array([values])


def _transposed(value: Any) -> np.ndarray | None:
    """A matrix that a kernel keeps transposed."""
    array = matrix(value)
    return None if array is None else array.T


def _variable(
    steps: Sequence[Step], memory: Sequence[str], names: Sequence[str], values: Mapping[str, np.ndarray], flat: bool
) -> tuple[str, Reader]:
    """The variable whose value is loaded from or stored to `memory`, else the first of `names`, and how to read it. Empty if there is none."""
    ways: tuple[Reader, ...] = (_row,) if flat else (matrix, _transposed)
    accesses = [s for s in steps if s.event.tensor in memory and s.event.tensor in values]
    matches: Counter[tuple[str, int]] = Counter()
    for step in accesses[:MOST]:
        holder = step.event if step.event.kind == "store" else step.later
        want = _part(step.event, values[step.event.tensor], 1 if flat else 2)
        if holder is not None and want is not None:
            state = {n: v for n, v in holder.state.items() if isinstance(first_number(v), float)}
            matches.update((n, i) for n, v in state.items() for i, hold in enumerate(ways) if _holds(hold(v), want))
    if matches:
        order = {name: -i for i, name in enumerate(names)}
        name, way = max(matches, key=lambda m: (matches[m], order.get(m[0], -len(order)), -m[1]))
        return name, ways[way]
    for name in names:
        states = [s.event.state.get(name) for s in steps]
        if any(ways[0](value) is not None or (not flat and _large(value)) for value in states):
            return name, ways[0]
    return "", ways[0]


def _large(value: Any) -> bool:
    """A matrix too large for the trace, which keeps only its shape."""
    return isinstance(value, dict) and len(value.get("shape", ())) == 2


def _stores_state(step: Step, have: np.ndarray | None, values: Mapping[str, np.ndarray]) -> bool:
    """Whether a store of a vector's numbers is of those in `have`."""
    event = step.event
    if event.kind != "store" or event.tensor not in values or event.tile is None or event.tile.active is None:
        return False
    part = values[event.tensor][tuple(slice(*side) for side in event.tile.active)].reshape(-1, 1).T
    return part.shape[1] <= (have.shape[1] if have is not None else 0) and _holds(have, part)


def _part(event: Event, array: np.ndarray, rank: int) -> np.ndarray | None:
    """What a tile touches, as a matrix; None where it cannot tell one variable from another."""
    tile = event.tile
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


# ---- what each step does with it ---------------------------------------------------------------------------------------


def _follow_program(out: StateSteps, program_steps: Sequence[Step], kernel: _Kernel) -> None:
    """What every step of one program does, in words too, and which pairs go through the state."""
    spec, history = kernel.spec, _History()
    history.complete = spec.given or any(_action_of(step, kernel.name) == "adds" for step in program_steps)
    reading = any(_reads(kernel, step) for step in program_steps)  # else the state is read where the output leaves
    for step in program_steps:
        at, event, flat = out.at[step.at], step.event, step.tile
        _load(history, step, kernel)
        read, action = "", _action_of(step, kernel.name)
        if _takes_back(kernel, step):
            at.action, at.words = "reads", spec.takes_back.format(rows=_span(history.takers), state=kernel.name)
            continue
        outputs = step.stores and event.tensor == spec.output
        if step.at in kernel.stored or (not spec.flat and (_reads(kernel, step) or (not reading and outputs))):
            read, action = _words("reads", history, step, kernel), action or "reads"
            rows = history.queries if reading or flat is None or not flat.active else (flat.slice, flat.active[:2])
            if rows and not spec.flat:
                at.reads = tuple((rows[0], (*rows[1], *span)) for span in joined(history.seen))
        at.action = action
        if action == "adds":
            history.seen += history.loaded if spec.flat else [history.last] if history.last else []
        words = _words(action, history, step, kernel)
        if action == "adds":
            history.loaded.clear()
        at.words = f"{read}; then {words}" if read and action != "reads" else words


def _action_of(step: Step, name: str) -> Action:
    old, new = step.event.state.get(name), (step.later or step.event).state.get(name)
    if new is None or unchanged(old, new):
        return ""
    return "starts" if old is None and step.event.kind != "dot" else "adds"


def _load(history: _History, step: Step, kernel: _Kernel) -> None:
    event, flat, spec = step.event, step.tile, kernel.spec
    if event.kind != "load" or event.tile is None or flat is None:
        return
    if event.tensor == spec.queries and flat.active:
        history.queries = (flat.slice, flat.active[:2])
    if event.tensor == spec.taken_by and flat.active:
        history.takers = flat.active[:2]
    if event.tensor == spec.added and flat.active:
        history.last = flat.active[:2]
        history.loaded.append(history.last)
    if spec.given and event.tensor == spec.chunks[0]:
        start = event.tile.box[-3][0] * kernel.chunk
        history.seen = [(0, start)] if start > 0 else []


def _reads(kernel: _Kernel, step: Step) -> bool:
    dot = kernel.dots.get(step.at)
    return dot is not None and kernel.name in dot.names


def _takes_back(kernel: _Kernel, step: Step) -> bool:
    """Whether a step multiplies the state by what it is corrected by."""
    if not kernel.spec.taken_by or not _reads(kernel, step):
        return False
    return kernel.spec.taken_by in made_from(kernel.source, kernel.dots[step.at].names - {kernel.name})


def _words(action: Action, history: _History, step: Step, kernel: _Kernel) -> str:
    """What a step does with the state, in the puzzle's formulas."""
    spec, event, name = kernel.spec, step.event, kernel.name
    seen = ", ".join(map(colon, joined(history.seen)))
    if action == "starts":
        if event.kind != "load" or event.tensor not in (*spec.start, *spec.chunks) or event.tile is None:
            return f"{name} starts here"
        chunk = f", chunk {event.tile.box[-3][0]}" if event.tensor in spec.chunks else ""
        return f"{name} starts from {short(event.tensor)}{chunk}{spec.tokens.format(seen=seen) if seen else ''}"
    if action == "adds":
        ranges = joined(history.loaded) if spec.flat else [history.last]
        sign = "+=" if name in event.state and not spec.decays else "="
        return f"{name} {sign} " + " + ".join(spec.adds.format(added=_span(r)) for r in ranges)
    if action == "reads" and name:
        queries = _span(history.queries[1] if history.queries else None)
        held = (spec.holds if seen else spec.empty).format(seen=seen) if history.complete else ""
        return spec.reads.format(queries=queries, state=name, stored=short(event.tensor)) + held
    return ""


def _span(rows: Span | None) -> str:
    if rows is None:
        return ""
    return f"[{rows[0]}]" if rows[1] == rows[0] + 1 else f"[{colon(rows)}]"


def weights_in_words(out: StateSteps, steps: Sequence[Step], source: str, square: Square, held: Visits) -> None:
    """Captions for products that leave the state alone: what they do with the tile of weights."""
    dots, tile = products(steps, source), held.names[0]
    for step in steps:
        pair, at = held.at[step.at].pair, out.at[step.at]
        if step.event.kind != "dot" or at.words or pair is None:
            continue
        old, new = step.event.state.get(tile), (step.later or step.event).state.get(tile)
        template = "" if unchanged(old, new) else square.made
        template = template or (square.used if step.at in dots and tile in dots[step.at].names else "")
        at.words = template.format(tile=tile, rows=colon(pair.rows), columns=colon(pair.columns))
