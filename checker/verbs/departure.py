"""Where a kernel with an unknown mistake first leaves the right path: what its card says when no belief can be named."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

import torch

from checker.course import PUZZLES
from checker.films.diagram import RunningState
from checker.films.film_data import film_data
from checker.films.state_divergence import Divergence
from checker.judge.launches import prepare
from checker.judge.verdict import Diagnosis, Verdict
from checker.phrases import join
from checker.puzzle import Case, Puzzle
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource
from checker.view.card_content import failing_case


def with_departure(verdict: Verdict, source: KernelSource) -> Verdict:
    """The verdict with a note on the running state, if its numbers are wrong for an unknown reason and its puzzle has such a state."""
    case, failure = failing_case(verdict), verdict.failure
    unknown = verdict.diagnosis is not None and verdict.diagnosis.misconception is None
    if case is None or failure is None or failure.mismatch is None or not unknown:
        return verdict
    puzzle = PUZZLES[verdict.puzzle]
    running = puzzle.film.diagram.running
    if running is None or running.exact is None:
        return verdict
    departure = _departure(puzzle, source, case, running, failure.mismatch.first)
    return verdict if departure is None else replace(verdict, diagnosis=departure)


def _departure(
    puzzle: Puzzle, source: KernelSource, case: Case, running: RunningState, wrong: tuple[int, ...]
) -> Diagnosis | None:
    """`wrong` is the index of an output's first wrong element."""
    prepared = prepare(puzzle, case)
    result = next(iter(Sandbox.shared().simulate(source, [prepared.launch], SimulateOptions(events=True, state=True))))
    if result.status != "passed" or result.trace is None:
        return None
    tensors = {name: value for name, value in prepared.launch.arguments.items() if isinstance(value, torch.Tensor)}
    values = {name: result.tensors[name] if name in puzzle.outputs else tensor for name, tensor in tensors.items()}
    film = film_data(result.trace, puzzle, source, case, values)
    if film.divergences:
        rows = math.prod(result.trace.tensors[running.rows].shape[:-1])
        return _first(film.divergences[0], source, several_rows=rows > 1)
    followed = [name for name in running.names if name in film.layout.tensor(running.rows).columns]
    if not followed or not _known(running, case, tensors, wrong):
        return None
    is_are = "is" if len(followed) == 1 else "are"
    note = f"{join(followed)} {is_are} right after every chunk that your kernel loads. Either it misses a chunk, or the mistake comes later."
    return Diagnosis(None, note=note, try_="Start at the line that stores the wrong number and work backwards.")


def _known(running: RunningState, case: Case, tensors: dict[str, torch.Tensor], wrong: tuple[int, ...]) -> bool:
    """Whether the state of the row with the wrong element has an exact value at the end: a query that sees no key has none."""
    assert running.exact is not None
    *lead, rows, columns = tensors[running.rows].shape
    if running.walked != running.rows:
        columns = tensors[running.walked].shape[-2]
    inputs = {name: tensor.double() for name, tensor in tensors.items()}
    exact = running.exact(case, inputs, torch.ones(rows, columns, dtype=torch.int32), wrong[: len(lead)])
    row = wrong[len(lead)]
    return not any(exact[0].during[name][0, row].isnan() for name in running.names)


def _first(departure: Divergence, source: KernelSource, several_rows: bool) -> Diagnosis:
    lines = _assignments(source.source, departure.name, after=not departure.looping)
    line = lines[0] if len(lines) == 1 else None
    where = f" {source.line_words(line).capitalize()} computes it." if line is not None else ""
    way = "through the loop" if departure.looping else "through the loop and the lines after it"
    return Diagnosis(
        None,
        note=f"The running state goes wrong first. {departure.words(several_rows)}{where}",
        try_=f"Take the numbers of chunk {departure.chunk} {way} by hand. Where does {departure.name} become something else?",
        line=line if line is None else source.locate(line)[1],
    )


def _assignments(source: str, name: str, after: bool) -> list[int]:
    """The lines inside of loops that give a variable a value; with `after`, those behind the first loop, too."""
    module = ast.parse(source)
    loops: list[ast.stmt] = [node for node in ast.walk(module) if isinstance(node, ast.For | ast.While)]
    if after:
        ends = [loop.end_lineno or 0 for loop in loops]
        loops += [
            node for node in ast.walk(module) if isinstance(node, ast.stmt) and node.lineno > min(ends, default=0)
        ]
    lines = set()
    for loop in loops:
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(part, ast.Name) and part.id == name for t in targets for part in ast.walk(t)):
                    lines.add(node.lineno)
    return sorted(lines)
