"""The rungs of a ladder side by side: their films, and the bytes and the time of each, for the end of a notebook.

A rung that the learner has solved is shown with their own kernel, the newest that passed. One that they skipped is counted
with the course's solution, so that the comparison is whole, but not filmed: a film shows the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from checker import workspace
from checker.course import PUZZLES
from checker.puzzle import Case, Puzzle
from checker.verbs import display
from checker.verbs.naming import Misuse
from checker.workspace import Workspace

if TYPE_CHECKING:
    from rich.console import Console

    from checker.submission.kernel import KernelSource

GPU_ROWS = 4096
"""On a GPU each rung is timed with this many times the rows, so that every multiprocessor has work."""


@dataclass(frozen=True)
class Rung:
    """One rung at one size: the bytes its budget allows, the bytes its kernel moved, and its time where there is a GPU."""

    puzzle: str
    predicted: int
    counted: int
    own: bool  # the learner's kernel, not the course's
    seconds: float | None = None
    timed_bytes: int = 0


@dataclass(frozen=True)
class Comparison:
    """What `rungs` found; a notebook shows it as a plot."""

    rungs: tuple[Rung, ...]
    device: str = ""

    def _repr_html_(self) -> str:
        from checker.view.plots import traffic_plot

        bars = [(_label(rung), rung.predicted, rung.counted) for rung in self.rungs]
        plot = traffic_plot(bars, title="Bytes between memory and chip")._repr_html_()
        words = "".join(f"<p>{escape(line)}</p>" for line in self._words())
        return plot + words

    def __repr__(self) -> str:
        lines = [
            f"{_label(r)}: {r.predicted:,} B predicted, {r.counted:,} counted"
            + (f", {_time(r.seconds)}" if r.seconds else "")
            for r in self.rungs
        ]
        note = [] if all(r.own for r in self.rungs) else ["* the course's solution"]
        return "\n".join(lines + note)

    def _words(self) -> list[str]:
        timed = [rung for rung in self.rungs if rung.seconds]
        words = [
            f"{r.puzzle}: {_time(r.seconds)}, {_rate(r)} on the {self.device}, with {GPU_ROWS} times the rows."
            for r in timed
        ]
        if not all(rung.own for rung in self.rungs):
            words.append("Rungs marked with * you have not solved yet: what is counted there is the course's solution.")
        return words


def rungs(sizes: Mapping[str, Mapping[str, int]]) -> Comparison:
    """Run each rung at its sizes in the simulator and count its bytes; time it as well where there is a GPU.

    `sizes` names the rungs in order: ``{"chunked_softmax": {"M": 4, "N": 1000, "BLOCK_N": 256}}``. Raises Misuse for a
    puzzle or a size that does not exist.
    """
    from checker import gpu

    space, device = workspace.find(), gpu.device_name() if gpu.available() else ""
    with display.working("Counting bytes …") as card:
        found = tuple(_rung(space, _puzzle(name), chosen, bool(device)) for name, chosen in sizes.items())
        card.show(lambda: "", lambda console: None)
    return Comparison(found, device)


def films(names: Mapping[str, Mapping[str, int]]) -> None:
    """Show the films of several rungs below one another, at the given sizes; a rung that is not solved yet says so."""
    from checker.verbs.actions import Film, film_of
    from checker.verbs.sizes import case_for

    space = workspace.find()
    for name, sizes in names.items():
        puzzle = _puzzle(name)
        case_for(puzzle, sizes, puzzle.film.case)  # sizes that do not exist are refused, solved or not
        kept = _kept(space, puzzle)
        if kept is None:
            _say(f"{puzzle.title}: there will be a film here once your kernel has passed.")
            continue
        made = film_of(puzzle, kept, sizes)
        if isinstance(made, Film):
            html, text = made.html, repr(made)
            display.show(lambda html=html: html, lambda console, text=text: console.print(text, markup=False))  # type: ignore[misc]


def moved(name: str, sizes: Sequence[Mapping[str, int]]) -> list[int]:
    """Bytes between memory and chip at each of several sizes, counted in the simulator: ``moved("flash_attention", [{"D": 16}])``.

    Of the learner's newest kernel that passed, else of the course's solution. Raises Misuse as `rungs` does.
    """
    from checker.verbs.sizes import case_for

    space, puzzle = workspace.find(), _puzzle(name)
    source = _kept(space, puzzle) or _course(space, puzzle)
    return _counted(puzzle, source, [case_for(puzzle, one, puzzle.film.case) for one in sizes])


def _counted(puzzle: Puzzle, source: KernelSource, cases: Sequence[Case]) -> list[int]:
    from checker.judge.prepare import prepare
    from checker.sandbox import Sandbox
    from checker.simulator.trace import SimulateOptions

    launches = [prepare(puzzle, case).launch for case in cases]
    found = []
    for case, result in zip(cases, Sandbox.shared().simulate(source, launches, SimulateOptions()), strict=False):
        if result.trace is None:
            raise Misuse(f"{puzzle.kernel} did not run at {case.name}: {result.message or result.status}")
        found.append(sum(t.loaded + t.stored for t in result.trace.traffic.values()))
    return found


def _rung(space: Workspace, puzzle: Puzzle, sizes: Mapping[str, int], timed: bool) -> Rung:
    from checker.judge.prepare import prepare
    from checker.sandbox import Sandbox
    from checker.verbs.sizes import case_for

    case = case_for(puzzle, sizes, puzzle.film.case)
    kept = _kept(space, puzzle)
    source = kept or _course(space, puzzle)
    (counted,) = _counted(puzzle, source, [case])
    rung = Rung(puzzle.name, _allowed(puzzle, case), counted, kept is not None)
    if not timed:
        return rung
    large = replace(case, sizes={**case.sizes, "M": case.sizes["M"] * GPU_ROWS})
    seconds = Sandbox.shared().time(source, prepare(puzzle, large).launch).median
    return replace(rung, seconds=seconds, timed_bytes=_allowed(puzzle, large))


def _puzzle(name: str) -> Puzzle:
    if name not in PUZZLES:
        raise Misuse(f"There is no puzzle called {name}. The puzzles are {', '.join(PUZZLES)}.")
    return PUZZLES[name]


def _kept(space: Workspace, puzzle: Puzzle) -> KernelSource | None:
    """The learner's newest kernel that passed."""
    files = sorted((space.ours / "passed").glob(f"{puzzle.name}-*.py"), key=lambda path: path.stat().st_mtime)
    return _read(files[-1], puzzle) if files else None


def _course(space: Workspace, puzzle: Puzzle) -> KernelSource:
    path = space.solution_file(puzzle.name)
    source = _read(path, puzzle) if path else None
    if source is None:
        raise Misuse(f"{puzzle.name} is not solved yet, and the folder solutions/ is not here to count with.")
    return source


def _read(path: Path, puzzle: Puzzle) -> KernelSource | None:
    from checker.submission.read import from_path

    return next((found.source for found in from_path(path, [puzzle]) if found.source is not None), None)


def _allowed(puzzle: Puzzle, case: Case) -> int:
    return sum(allowance.loaded + allowance.stored for allowance in puzzle.budget(case).values())


def _label(rung: Rung) -> str:
    return rung.puzzle + ("" if rung.own else " *")


def _time(seconds: float | None) -> str:
    seconds = seconds or 0.0
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def _rate(rung: Rung) -> str:
    return f"{rung.timed_bytes / (rung.seconds or 1.0) / 1e9:,.0f} GB/s"


def _say(sentence: str) -> None:
    def text(console: Console) -> None:
        console.print(sentence, markup=False)

    display.show(lambda: f"<p>{escape(sentence)}</p>", text)
