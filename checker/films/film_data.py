"""Everything that a film shows, before anything is drawn: steps, places, states, mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from checker.films.diagram import Diagram
from checker.films.flaws import Flaws
from checker.films.kept_state import StateSteps, state_steps, weights_in_words
from checker.films.kernel_text import Dot, products
from checker.films.layout import LENS, Layout, PlacedTensor, banded, flowing, unplaced
from checker.films.square import Visits, visits
from checker.films.state import matrix, vector
from checker.films.state_divergence import Divergence, state_divergences, walks_of
from checker.films.steps import Program, Step, choose, colon, plane_of, steps_of
from checker.films.updates import RowUpdates, row_updates
from checker.judge.finding_words import in_words
from checker.phrases import count, program_number, short
from checker.puzzle import Case, FilmSpec
from checker.simulator.trace import Trace
from checker.submission.kernel import KernelSource
from checker.view.formats import number, size

MOST_STEPS = 380
DIVERGES = "running value"
WRONG = "wrong number"


@dataclass(frozen=True)
class Note:
    """A mistake, and its step if it has one. Only the first of several alike is listed below the film."""

    at: int | None
    kind: str
    message: str
    listed: bool = True

    @property
    def alarm(self) -> str:
        return self.message if self.kind in (DIVERGES, WRONG) else self.kind


class Filmed(Protocol):
    """What a film takes from a puzzle, or from whatever else a kernel belongs to."""

    @property
    def title(self) -> str: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...
    @property
    def film(self) -> FilmSpec: ...


@dataclass
class FilmData:
    """A launch, step by step."""

    trace: Trace
    puzzle: Filmed
    diagram: Diagram
    source: KernelSource
    steps: list[Step]
    programs: list[Program]
    left_out: int
    """Programs that are not shown."""
    cut: int
    """Steps of a program that are shown, where it has more."""
    layout: Layout
    cells: dict[str, list[str]] = field(default_factory=dict)
    """Formatted values by tensor, row-major, all slices; tensors that the kernel writes hold what was there at the end."""
    entries: np.ndarray | None = None
    """Of the table that leads to pages."""
    visits: Visits | None = None
    state: StateSteps | None = None
    divergences: list[Divergence] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    flaws: Flaws | None = None
    """Where the kernel does not pass."""
    updates: list[RowUpdates] = field(default_factory=list)
    """How the sums of one row of each program take in its chunks."""
    lines: tuple[str, ...] = ()
    """Variables of the running state that are drawn over the steps."""

    @property
    def written(self) -> set[str]:
        return {s.event.tensor for s in self.steps if s.stores} & set(self.puzzle.outputs)

    @cached_property
    def dots(self) -> dict[int, Dot]:
        """By step the product that it computes."""
        return products(self.steps, self.source.source)

    def who(self, step: Step) -> str:
        return program_number(step.event.program, self.trace.grid)

    def product(self, step: Step) -> str:
        """What a `tl.dot` does, in the puzzle's words, if it has any."""
        if self.state:
            return self.state.at[step.at].words
        square, held = self.diagram.square, self.visits.at[step.at] if self.visits else None
        if square is None or self.visits is None or held is None or held.pair is None:
            return ""
        after = [i for i, e in enumerate(square.lens) if e.when == "after"]
        makes = 0 in held.pictures and not any(i in held.pictures for i in after)
        result = next(
            (self.visits.names[i] for i in after if i in held.pictures or makes),
            self.visits.names[after[-1]] if after else "",
        )
        dot = self.dots.get(step.at)
        template = (square.products.get(dot.target) if dot else None) or (square.made if makes else square.used)
        return template.format(
            tile=self.visits.names[0], result=result, rows=colon(held.pair.rows), columns=colon(held.pair.columns)
        )

    def sentence(self, step: Step) -> str:
        """What happens at a step."""
        event, who = step.event, self.who(step)
        if event.kind == "dot":
            words = self.state.at[step.at].words if self.state else ""
            return f"Program {who}: {words}." if words else f"Program {who} multiplies two tiles."
        verb = {"load": "loads", "store": "stores", "atomic": "updates"}[event.kind]
        return f"Program {who} {verb} {short(event.tensor)}{step.tile.label if step.tile else ''}."

    def wrong(self, tensor: str) -> np.ndarray | None:
        """Which elements end up wrong, [slices, rows · columns] of the tensor's plane; None if the output is right."""
        if self.flaws is None or tensor not in self.flaws.outputs:
            return None
        plane = self.layout.tensor(tensor).plane
        return plane.lay(self.flaws.outputs[tensor].wrong, fill=False).reshape(plane.slices, -1)

    def first_wrong(self, tensor: str) -> tuple[int, int]:
        """Slice and place in it of the first wrong element."""
        assert self.flaws is not None
        output, plane = self.flaws.outputs[tensor], self.layout.tensor(tensor).plane
        numbers = plane.lay(np.arange(output.wrong.size).reshape(output.wrong.shape), fill=-1)
        at = int((numbers == int(output.wrong.argmax())).argmax())
        return divmod(at, plane.rows * plane.columns)

    def row_words(self, row: RowUpdates | None) -> str:
        """`` of query 3``; empty if there is only one row, or none."""
        running = self.diagram.running
        if row is None or running is None or self.layout.tensor(running.rows).rows == 1:
            return ""
        return f" of {self._row_axis} {row.row}"

    @property
    def _row_axis(self) -> str:
        drawn = self.diagram.tensors.get(self.diagram.running.rows) if self.diagram.running else None
        return drawn.axes[0] if drawn else "row"

    def change(self, step: Step) -> str:
        """A sentence for what a step does to the state: the puzzle's own, else the new values of the variables it names."""
        row = next((row for row in self.updates if step.at in row.words), None)
        if row and (sentence := row.words[step.at]):
            whose = f"{self._row_axis.capitalize()} {row.row}: "
            return sentence if row.only_row else f"{whose}{sentence[0].lower()}{sentence[1:]}"
        if step.later is None or self.state:
            return ""
        fresh = []
        for name, words in self.puzzle.film.state.items():
            old, new = step.event.state.get(name), step.later.state.get(name)
            if isinstance(new, int | float) and not isinstance(new, bool) and repr(old) != repr(new):
                fresh.append(f"The {words} is {number(new, 6)}.")
        return " ".join(fresh)

    def summary(self) -> str:
        """How many programs, loads and stores the launch had, and how many of them are shown."""
        trace = self.trace
        loads, stores = (sum(getattr(t, name) for t in trace.traffic.values()) for name in ("loads", "stores"))
        atomics = sum(e.kind == "atomic" for e in trace.events)  # each is counted as a load and as a store
        total = trace.grid[0] * trace.grid[1] * trace.grid[2]
        text = f"{count(total, 'program')}, {count(loads - atomics, 'load')}, {count(stores - atomics, 'store')}"
        text += f", {count(atomics, 'atomic operation')}." if atomics else "."
        if self.left_out:
            text += f" Shown: {len(self.programs)} programs (the first ones and the last)."
        if self.cut:
            text += f" Of a program, the first {self.cut} steps are shown."
        return text

    def facts(self, step: Step) -> str:
        event, facts = step.event, [f"program {self.who(step)}"]
        if event.kind != "dot":
            facts.append(size(event.bytes))
        if event.kind == "atomic":
            facts.append("read and written back in one step")
        if event.masked:
            holding = "" if event.filler is None else f", holding {number(event.filler)}"
            facts.append(f"{count(event.masked, 'lane')} masked" + (", no `other`" if event.undefined else holding))
        return " · ".join(facts)

    def alarm(self, step: Step) -> str:
        alarms = [note.alarm for note in self.notes if note.at == step.at]
        if step.event.out_of_bounds:
            alarms.append(f"{count(step.event.out_of_bounds, 'lane')} outside the tensor")
        return "⚠ " + ", ".join(alarms) if alarms else ""


def film_data(
    trace: Trace,
    puzzle: Filmed,
    source: KernelSource,
    case: Case,
    values: Mapping[str, Any],
    flaws: Flaws | None = None,
) -> FilmData:
    """Select what the film shows, place it, and compute its values."""
    diagram = _present(puzzle.film.diagram, trace)
    events, programs, left_out = choose(trace, MOST_STEPS)
    shown = list(diagram.tensors) + [e.tensor for e in events if e.tensor in trace.tensors]
    shapes = {n: tuple(trace.tensors[n].shape) for n in dict.fromkeys(shown)}
    rows = [shapes[n][-1] for n, d in diagram.tensors.items() if d.in_a_row and len(d.axes) == 2]
    planes = {n: plane_of(shape, diagram.tensors.get(n), max(rows, default=1)) for n, shape in shapes.items()}
    steps = steps_of(events, planes, shapes)

    arrays = {name: array(value) for name, value in values.items()}
    small = {n for n, a in arrays.items() if n in shapes and 0 < a.size <= 4096}
    tiles = {n: [s.tile for s in steps if s.tile and s.event.tensor == n] for n in shapes}
    tensors = [unplaced(n, planes[n], shapes[n], trace.tensors[n].dtype, tiles[n]) for n in shapes]
    if flaws:  # room for what the first wrong element should be
        tensors = [replace(t, foot=28) if t.name in flaws.outputs else t for t in tensors]
    running = diagram.running
    if running:
        there = tuple(n for n in running.names if any(vector(s.event.state.get(n)) for s in steps))
        tensors = [replace(t, columns=there) if t.name == running.rows else t for t in tensors]

    state = held = None
    if diagram.state:
        memory = {
            n: a for n, a in arrays.items() if n in {*diagram.state.start, *diagram.state.end, *diagram.state.chunks}
        }
        state = state_steps(
            steps, diagram.state, source.source, int(case.meta.get(diagram.state.chunk_size, 1)), memory
        )
    if diagram.square:
        extent = planes[diagram.square.rows].rows, planes[diagram.square.columns].rows
        held = visits(steps, diagram.square, extent)
        if state:
            weights_in_words(state, steps, source.source, diagram.square, held)
    if diagram.down:
        total = bool(state and any({"sums", "sums before"} & set(at.pictures) for at in state.at))
        layout = banded(tensors, diagram, _lens(diagram, steps, held), total)
    else:
        layout = flowing(tensors, diagram, frozenset(small))
    film = FilmData(
        trace, puzzle, diagram, source, steps, programs, left_out, 0, layout, visits=held, state=state, flaws=flaws
    )
    film.cut = MOST_STEPS if max(Counter(e.program for e in trace.events).values(), default=0) > MOST_STEPS else 0
    film.cells = {
        t.name: [number(v.item(), 5 if t.ux >= 34 else 4) for v in arrays[t.name].reshape(-1)]
        for t in layout.tensors
        if t.cells
    }
    film.entries = arrays.get(diagram.gather.table) if diagram.gather else None
    film.notes = [*_findings(trace, source, steps), *_wrong(film)]
    if running and not running.in_memory:
        film.lines = layout.tensor(running.rows).columns
    if (
        running
        and running.exact
        and layout.tensor(running.rows).columns
        and {running.rows, running.walked} <= set(values)
    ):
        inputs = {name: value for name, value in values.items() if name not in puzzle.outputs}
        walks = walks_of(steps, shapes[running.rows], shapes[running.walked], running, case, inputs)
        way, film.divergences = state_divergences(steps, walks, running)
        if way == 0:
            film.updates = row_updates(steps, walks, running)
        rows_of = planes[running.rows]
        film.notes += _diverged(film.divergences, rows_of.rows * rows_of.slices > 1)
    return film


def _present(diagram: Diagram, trace: Trace) -> Diagram:
    """The parts of a diagram whose tensors exist and have enough dimensions."""
    tensors = {
        n: d for n, d in diagram.tensors.items() if n in trace.tensors and len(trace.tensors[n].shape) >= len(d.axes)
    }
    out = replace(diagram, tensors=tensors)
    if out.running and not {out.running.rows, out.running.walked} <= set(trace.tensors):
        out = replace(out, running=None)
    if out.square and not {out.square.rows, out.square.columns} <= set(tensors):
        out = replace(out, square=None)
    if out.state and not {out.state.added, out.state.columns, out.state.rows or out.state.columns} <= set(tensors):
        out = replace(out, state=None)
    if out.gather and not {out.gather.table, *out.gather.pages} <= set(tensors):
        out = replace(out, gather=None)
    if (diagram.square and not out.square) or (diagram.state and not out.state):
        out = replace(out, down=(), across=())
    return out


def _lens(diagram: Diagram, steps: Sequence[Step], held: Visits | None) -> list[float]:
    """Widths of the enlarged pictures."""
    square = diagram.square
    if square is None or held is None:
        return []
    tall, wide = next((p.size for p in held.pairs), (16, 16))
    out: list[float] = []
    for enlarged, name in zip(square.lens, held.names, strict=True):
        tiles = (matrix(s.event.state.get(name)) for s in steps)
        result = next((tile.shape[1] for tile in tiles if tile is not None), 16)
        width = LENS * (wide if enlarged.when == "made" else result) / tall
        out.append(52.0 if enlarged.vector else min(max(width, 40.0), 100.0 if out else 200.0))
    return out


def array(value: Any) -> np.ndarray:
    if hasattr(value, "detach"):  # a torch tensor; numpy has no bfloat16
        value = value.detach().cpu()
        value = (value.double() if value.is_floating_point() else value).contiguous().numpy()
    return np.asarray(value)


def _diverged(divergences: list[Divergence], several_rows: bool) -> list[Note]:
    """The first divergence of each program. Only the first program's is listed below the film."""
    firsts = sorted({d.program: d for d in reversed(divergences)}.values(), key=lambda d: d.at)
    return [Note(d.at, DIVERGES, d.words(several_rows), listed=i == 0) for i, d in enumerate(firsts)]


def _wrong(film: FilmData) -> list[Note]:
    """The first wrong element of an output, at the last step that stores it."""
    if film.flaws is None or not film.flaws.first:
        return []
    name = next(iter(film.flaws.outputs))
    slice_, element = film.first_wrong(name)
    tensor = film.layout.tensor(name)
    stores = (s for s in reversed(film.steps) if s.event.tensor == name and s.stores and s.tile)
    last = next((s.at for s in stores if s.tile and s.tile.slice == slice_ and element in elements(tensor, s)), None)
    never = " No step stores it." if last is None else ""
    return [Note(last, WRONG, film.flaws.first + never)]


def elements(t: PlacedTensor, step: Step) -> list[int]:
    """The elements that a step touches, as row-major indices in their slice."""
    boxes = step.tile.touched if step.tile else []
    return [
        r * t.cols + c
        for r0, r1, c0, c1 in boxes
        for r in range(max(r0, 0), min(r1, t.rows))
        for c in range(max(c0, 0), min(c1, t.cols))
    ]


def _findings(trace: Trace, source: KernelSource, steps: Sequence[Step]) -> list[Note]:
    """Each finding, at its first step."""
    notes = []
    for finding in trace.findings:
        at = next(
            (
                s.at
                for s in steps
                if finding.line is not None
                and s.event.line == finding.line
                and finding.program in (None, s.event.program)
                and finding.tensor in (None, s.event.tensor)
                and (s.event.out_of_bounds or not finding.kind.startswith("out_of_bounds"))
            ),
            None,
        )
        notes.append(Note(at, finding.kind.replace("_", " "), str(in_words(finding, source, trace))))
    return notes
