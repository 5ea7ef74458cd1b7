"""`score`: roster × collected × verdicts × policy. Nothing is judged, and the same files give the same result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource
from checker.verbs.result_json import versions
from classroom.grading.judging import tried
from classroom.grading.keys import Setting, key_of, machinery, normalised, puzzle_version
from classroom.grading.policy import GATES, Policy
from classroom.grading.records import (
    Asked,
    Chosen,
    Environment,
    Facts,
    Kernel,
    Lateness,
    Learner,
    LearnerResult,
    PuzzleResult,
    PuzzleStatus,
    Result,
    RowStatus,
    Source,
    VerdictRecord,
)
from classroom.grading.store import RunFolder

_OF_REASON: Mapping[str, PuzzleStatus] = {
    "syntax": "compile_error",
    "no_kernel": "not_attempted",
    "not_a_function": "forbidden",
}
_QUIET = ("left_out", "other_kind", "empty", "no_kernel")
"""Reasons that are listed for the learner, but do not make a puzzle unreadable."""


@dataclass(frozen=True)
class _Try:
    """One kernel of a learner beside what was decided about it; `verdict` None where it was not judged."""

    kernel: Kernel
    source: KernelSource | None
    key: str | None
    verdict: VerdictRecord | None
    points: Mapping[str, float]
    late: Lateness | None

    @property
    def score(self) -> float:
        return sum(self.points.values()) * (self.late.factor if self.late else 1.0)


def score(folder: RunFolder, puzzles: Sequence[Puzzle], policy: Policy, setting: Setting) -> Result:
    """Raises FileNotFoundError where nothing was collected."""
    collected = folder.collected
    scorer = _Scorer(folder, puzzles, policy, setting)
    learners = tuple(map(scorer.learner, collected.learners))
    seen = scorer.verdicts
    return Result(
        environment=Environment(
            **versions(),
            checker=machinery(),
            device=setting.device,
            isolation=tuple(sorted({verdict.run.isolation for verdict in seen.values()})),
            secret=setting.secret_id,
        ),
        policy=policy.as_json(),
        puzzles=tuple(
            Asked(puzzle=p.name, title=p.title, points=scorer.worth(p), version=puzzle_version(p.name)) for p in puzzles
        ),
        learners=learners,
        told=collected.told,
        seconds={key: seen[key].run.seconds for key in sorted(seen)},
    )


def points_of(facts: Facts, worth: float, weights: Mapping[str, float]) -> dict[str, float]:
    """A puzzle's points by gate. `values` gives its share of right cases; without a GPU the gate `gpu` is worth nothing.

    The other gates give their points where they passed. Gates after one that failed were not run and give none.
    """
    gates = {gate.gate: gate for gate in facts.gates}
    asked = {name: weights.get(name, 0.0) for name in GATES if name != "gpu" or facts.device != "cpu"}
    whole = sum(asked.values())
    if not whole:
        return {}
    points = {}
    for name, weight in asked.items():
        share = 1.0 if facts.status == "passed" or gates[name].status == "passed" else 0.0
        if name == "values" and not share and gates[name].status != "skipped" and facts.cases is not None:
            share = min(facts.cases.right / facts.cases.run, 1 - 1 / facts.cases.run)
        points[name] = round(worth * weight / whole * share, 6)
    return points


class _Scorer:
    def __init__(self, folder: RunFolder, puzzles: Sequence[Puzzle], policy: Policy, setting: Setting) -> None:
        self.folder, self.puzzles, self.policy, self.setting = folder, puzzles, policy, setting
        self.verdicts: dict[str, VerdictRecord] = {}
        self.sources: dict[str, tuple[KernelSource, str]] = {}

    def worth(self, puzzle: Puzzle) -> float:
        return float(self.policy.puzzles.get(puzzle.name, puzzle.points))

    def learner(self, learner: Learner) -> LearnerResult:
        results = self._dropped([self._puzzle(learner, puzzle) for puzzle in self.puzzles])
        counted = [result for result in results if not result.dropped]
        return LearnerResult(
            person=learner.person,
            on_roster=learner.on_roster,
            returned_as=learner.returned_as,
            status=_row_status(learner, results),
            score=round(sum(result.score for result in counted), 2),
            max_score=round(sum(result.max_score for result in counted), 2),
            puzzles=tuple(results),
            files=learner.files,
            told=learner.told,
        )

    def _dropped(self, results: list[PuzzleResult]) -> list[PuzzleResult]:
        """Without the puzzles that the policy leaves out of the sum: those with the lowest share of their points."""
        worth = [n for n, result in enumerate(results) if result.max_score]
        lowest = sorted(worth, key=lambda n: (results[n].score / results[n].max_score, n))
        lowest = lowest[: min(self.policy.drop_lowest, max(len(worth) - 1, 0))]
        return [replace(result, dropped=True) if n in lowest else result for n, result in enumerate(results)]

    def _puzzle(self, learner: Learner, puzzle: Puzzle) -> PuzzleResult:
        mine = [kernel for kernel in learner.kernels if kernel.puzzle == puzzle.name]
        if self.policy.attempts.most:
            first = sorted({kernel.attempt for kernel in mine})[: self.policy.attempts.most]
            mine = [kernel for kernel in mine if kernel.attempt in first]
        tries = [self._try(kernel, puzzle) for kernel in tried(mine)]
        if not tries:
            return self._nothing(learner, puzzle)
        return self._result(self._chosen(tries), puzzle, len({one.kernel.source or one.kernel.place for one in tries}))

    def _try(self, kernel: Kernel, puzzle: Puzzle) -> _Try:
        late = self.policy.lateness(kernel.time, kernel.late, kernel.file_time)
        if kernel.source is None:
            return _Try(kernel, None, None, None, {}, late)
        if kernel.source not in self.sources:
            source = self.folder.kernel(kernel.source)
            self.sources[kernel.source] = source, key_of(puzzle, normalised(source), self.setting)
        source, key = self.sources[kernel.source]
        verdict = self.verdicts.get(key) or self.folder.verdict(key)
        points: Mapping[str, float] = {}
        if verdict is not None:
            self.verdicts[key] = verdict
            points = points_of(verdict.facts, self.worth(puzzle), self.policy.points)
        return _Try(kernel, source, key, verdict, points, late)

    def _chosen(self, tries: Sequence[_Try]) -> _Try:
        """The try that counts. A pass counts whatever was not judged; without one, a try that was not judged comes first."""
        if self.policy.attempts.count == "last":
            return max(enumerate(tries), key=lambda one: (one[1].kernel.attempt, one[1].kernel.time or "", one[0]))[1]
        waiting = [one for one in tries if one.source is not None and one.verdict is None]
        passed = [one for one in tries if one.verdict is not None and one.verdict.facts.status == "passed"]
        if waiting and not passed:
            return waiting[0]
        return max(tries, key=lambda one: (one.score, _attempted(one), one.kernel.source is not None))

    def _result(self, one: _Try, puzzle: Puzzle, tries: int) -> PuzzleResult:
        kernel = one.kernel
        chosen = Chosen(
            file=kernel.file,
            place=kernel.place,
            line=kernel.line,
            attempt=kernel.attempt,
            time=kernel.time,
            tries=tries,
        )
        if one.source is None:
            status = _OF_REASON.get(kernel.reason, "unreadable")
            return replace(self._without_points(puzzle, status, kernel.message), chosen=chosen, late=one.late)
        source = Source(text=one.source.text, first_line=one.source.first_line)
        if one.verdict is None:
            fault = self.folder.fault(one.key or "")
            why = fault.message if fault is not None else "it has not been judged yet"
            message = f"Not graded: {why}. This costs nothing; judge again."
            result = self._without_points(puzzle, "ungraded", message)
            return replace(result, verdict=one.key, chosen=chosen, source=source)
        facts = one.verdict.facts
        return PuzzleResult(
            puzzle=puzzle.name,
            status=facts.status,
            score=round(one.score, 2),
            max_score=self.worth(puzzle),
            points=one.points,
            verdict=one.key,
            gates=facts.gates,
            cases=facts.cases,
            diagnosis=facts.diagnosis,
            smallest=facts.smallest,
            chosen=chosen,
            late=one.late,
            source=source,
        )

    def _nothing(self, learner: Learner, puzzle: Puzzle) -> PuzzleResult:
        doubtful = [told for told in learner.told if told.reason not in _QUIET]
        status: PuzzleStatus = "unreadable" if doubtful else "not_attempted"
        message = f"no kernel called {puzzle.kernel} was handed in"
        if doubtful:
            message += f"; {doubtful[0].file}: {doubtful[0].message}"
        return self._without_points(puzzle, status, message)

    def _without_points(self, puzzle: Puzzle, status: PuzzleStatus, message: str) -> PuzzleResult:
        return PuzzleResult(
            puzzle=puzzle.name, status=status, score=0.0, max_score=self.worth(puzzle), points={}, message=message
        )


def _attempted(one: _Try) -> bool:
    return one.verdict is not None and one.verdict.facts.status != "not_attempted"


def _row_status(learner: Learner, results: Sequence[PuzzleResult]) -> RowStatus:
    if any(result.status == "ungraded" for result in results):
        return "ungraded"
    if not (learner.files or learner.told or learner.kernels):
        return "missing"
    if not any(kernel.source for kernel in learner.kernels) and (learner.told or learner.kernels):
        return "unreadable"
    return "graded"
