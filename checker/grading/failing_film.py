"""The film of the smallest case that a kernel fails, for the learner's page. Made once for each kernel, and kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import torch

from checker.course import PUZZLES
from checker.films import film_html
from checker.grading.pages import case_of
from checker.grading.records import Collected, LearnerResult, PuzzleResult
from checker.grading.store import RunFolder
from checker.judge.launches import prepare
from checker.judge.runner import Runner
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource
from checker.workspace import write_atomically

MOST_EVENTS = 2000
"""A film with more moments than this makes a page too large to be sent round."""


@dataclass
class FailingFilms:
    """Called with a learner: their films, by puzzle. A kernel that does not run to its end has none."""

    folder: RunFolder
    collected: Collected
    runner: Runner
    made: dict[str, str] = field(default_factory=dict)

    def __call__(self, learner: LearnerResult) -> dict[str, str]:
        films = {}
        for result in learner.puzzles:
            if result.smallest is not None and result.status == "failed":
                film = self._kept(learner, result)
                if film:
                    films[result.puzzle] = film
        return films

    def _kept(self, learner: LearnerResult, result: PuzzleResult) -> str:
        key = self._source_key(learner, result)
        if key is None or result.smallest is None:
            return ""
        name = hashlib.sha256(f"{key}\0{result.verdict}".encode()).hexdigest()[:40]
        path = self.folder.path / "films" / f"{name}.html"
        if not path.exists():
            puzzle, source = PUZZLES[result.puzzle], self.folder.kernel(key)
            write_atomically(path, film_of(puzzle, source, case_of(result.smallest), self.runner))
        return path.read_text("utf-8")

    def _source_key(self, learner: LearnerResult, result: PuzzleResult) -> str | None:
        """The kernel that counted, among those that were collected."""
        mine = next((one for one in self.collected.learners if one.person.id == learner.person.id), None)
        chosen = result.chosen
        if mine is None or chosen is None:
            return None
        wanted = (result.puzzle, chosen.place, chosen.attempt)
        return next((k.source for k in mine.kernels if (k.puzzle, k.place, k.attempt) == wanted), None)


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
