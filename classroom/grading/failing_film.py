"""The film of the smallest case that a kernel fails, for the learner's page. Made once for each kernel, and kept."""

from __future__ import annotations

import hashlib

import torch
from msgspec import convert

from checker.course import PUZZLES
from checker.films.page import film_html
from checker.judge.launches import prepare
from checker.judge.runner import Runner
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource
from checker.workspace import write_atomically
from classroom.grading.records import Collected, LearnerResult, PuzzleResult
from classroom.grading.store import RunFolder

MOST_EVENTS = 2000
"""A film with more moments than this makes a page too large to be sent round."""


class FailingFilms:
    """Called with a learner: their films, by puzzle. A kernel that does not run to its end has none.

    Learners whose kernels are equal, line numbers included, share a film.
    """

    def __init__(self, folder: RunFolder, collected: Collected, runner: Runner) -> None:
        self._folder, self._runner = folder, runner
        self._kernels = {learner.person.id: learner.kernels for learner in collected.learners}

    def __call__(self, learner: LearnerResult) -> dict[str, str]:
        films = {}
        for result in learner.puzzles:
            source = self._source(learner, result) if result.status == "failed" else None
            if source is not None and result.smallest is not None:
                case = convert(result.smallest, Case, from_attributes=True)
                films[result.puzzle] = self._film(source, result, case)
        return {puzzle: film for puzzle, film in films.items() if film}

    def _film(self, source: KernelSource, result: PuzzleResult, case: Case) -> str:
        lines = [(piece.start, piece.origin_start) for piece in source.pieces]
        name = hashlib.sha256(repr((result.verdict, source.source, lines)).encode()).hexdigest()[:40]
        path = self._folder.path / "films" / f"{name}.html"
        if not path.exists():
            write_atomically(path, film_of(PUZZLES[result.puzzle], source, case, self._runner))
        return path.read_text("utf-8")

    def _source(self, learner: LearnerResult, result: PuzzleResult) -> KernelSource | None:
        """The kernel that counted, among those that were collected."""
        chosen = result.chosen
        if chosen is None:
            return None
        wanted = (result.puzzle, chosen.place, chosen.attempt)
        kernels = self._kernels.get(learner.person.id, ())
        key = next((k.source for k in kernels if (k.puzzle, k.place, k.attempt) == wanted), None)
        return self._folder.kernel(key) if key is not None else None


def film_of(puzzle: Puzzle, source: KernelSource, case: Case, runner: Runner) -> str:
    """The film of one case, empty where there is none to show."""
    launch = prepare(puzzle, case).launch
    options = SimulateOptions(events=True, state=True)
    result = next(iter(runner.simulate(source, [launch], options)))
    if result.status != "passed" or result.trace is None or len(result.trace.events) > MOST_EVENTS:
        return ""
    tensors = {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor)}
    values = {name: result.tensors[name] if name in puzzle.outputs else tensor for name, tensor in tensors.items()}
    title = f"{puzzle.title}: {source.kernel}, {case.name}"
    return film_html(result.trace, puzzle, source, case=case, budget=puzzle.budget(case), title=title, values=values)
