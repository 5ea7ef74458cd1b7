"""`score`: roster × collected × verdicts × policy. Nothing is judged, and the same files give the same result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from checker.api.grading import (
    KernelSource,
    Lateness,
    Puzzle,
    PuzzleResult,
    Result,
    RowStatus,
    Source,
    Submission,
    SubmittedKernel,
    Task,
    environment,
    infra_verdict,
    missing_verdict,
    result_of,
    source_of,
    unreadable_verdict,
    without_broken,
)
from classroom.grading.judging import tried
from classroom.grading.keys import Setting, key_of, machinery, puzzle_version, without_origin
from classroom.grading.policy import GATES, Policy
from classroom.grading.records import Kernel, Learner, StoredVerdict, described
from classroom.grading.store import RunFolder

_QUIET = ("left_out", "other_kind", "empty", "no_kernel", "time")
"""Reasons that are listed for the learner, but do not make a puzzle unreadable."""
_UNCOMPILED = "the policy requires Triton's compiler, and it was judged on a machine without one"


@dataclass(frozen=True)
class _Try:
    """One kernel of a learner and its result; `judged` is False if it waits for a verdict."""

    kernel: Kernel
    result: PuzzleResult
    late: Lateness | None
    judged: bool = True

    @property
    def score(self) -> float:
        return sum(self.result.points.values()) * (self.late.factor if self.late else 1.0)


def score(folder: RunFolder, puzzles: Sequence[Puzzle], policy: Policy, setting: Setting) -> Result:
    """Raises FileNotFoundError if nothing was collected."""
    collected = folder.collected
    scorer = _Scorer(folder, puzzles, policy, setting)
    submissions = tuple(map(scorer.submission, collected.learners))
    sandboxes = sorted({verdict.sandbox for verdict in scorer.verdicts.values()})
    return Result(
        environment=environment(setting.device, " and ".join(sandboxes), checker=machinery(), secret=setting.secret_id),
        puzzles=tuple(
            Task(puzzle=p.name, title=p.title, points=scorer.worth(p), version=puzzle_version(p.name)) for p in puzzles
        ),
        submissions=submissions,
        policy=policy.as_json(),
        unread=collected.unread,
    )


def points_of(result: PuzzleResult, worth: float, weights: Mapping[str, float]) -> dict[str, float]:
    """A puzzle's points by gate. `values` gives its share of right cases; without a GPU the gate `gpu` is worth nothing.

    The other gates give their points if they passed. Gates after one that failed did not run and give none.
    """
    gates = {gate.gate: gate for gate in result.gates}
    counted = {name: weights.get(name, 0.0) for name in GATES if name != "gpu" or result.device != "cpu"}
    whole = sum(counted.values())
    if not whole:
        return {}
    points = {}
    for name, weight in counted.items():
        share = 1.0 if result.status == "passed" or gates[name].status == "passed" else 0.0  # type: ignore[index]
        if name == "values" and not share and gates["values"].status != "skipped" and result.cases is not None:
            share = min(result.cases.right / result.cases.run, 1 - 1 / result.cases.run)
        points[name] = round(worth * weight / whole * share, 6)
    return points


class _Scorer:
    def __init__(self, folder: RunFolder, puzzles: Sequence[Puzzle], policy: Policy, setting: Setting) -> None:
        self.folder, self.puzzles, self.policy, self.setting = folder, puzzles, policy, setting
        self.verdicts: dict[str, StoredVerdict] = {}
        self.sources: dict[str, tuple[KernelSource, str]] = {}

        self._worths = sorted(filter(None, map(self.worth, puzzles)))
        self._left_out = min(policy.drop_lowest, max(len(self._worths) - 1, 0))

    def worth(self, puzzle: Puzzle) -> float:
        return float(self.policy.puzzles.get(puzzle.name, puzzle.points))

    def submission(self, learner: Learner) -> Submission:
        """The learner's row. If the grader fails at it, that is no fault of theirs: they are ungraded."""
        try:
            if not learner.fault:
                return self._submission(learner)
            why = learner.fault
        except Exception as error:
            why = described(error)
        return Submission(
            learner=learner.person,
            status="ungraded",
            score=0.0,
            max_score=round(sum(self._worths[self._left_out :]), 2),
            puzzles=tuple(self._ungraded(puzzle, why) for puzzle in self.puzzles),
            files=learner.files,
            unread=learner.unread,
            on_roster=learner.on_roster,
            returned_as=learner.returned_as,
        )

    def _submission(self, learner: Learner) -> Submission:
        results = self._dropped([self._puzzle(learner, puzzle) for puzzle in self.puzzles])
        counted = [result for result in results if not result.dropped]
        most = sum(result.max_score for result in counted)
        whole = sum(self._worths[self._left_out :])  # the same for everyone, whatever is dropped
        return Submission(
            learner=learner.person,
            status=_row_status(learner, results),
            score=round(sum(result.score for result in counted) * whole / most, 2) if most else 0.0,
            max_score=round(whole, 2),
            puzzles=tuple(results),
            files=learner.files,
            unread=learner.unread,
            on_roster=learner.on_roster,
            returned_as=learner.returned_as,
            matched=learner.matched,
            candidates=learner.candidates,
        )

    def _dropped(self, results: list[PuzzleResult]) -> list[PuzzleResult]:
        """Mark the puzzles that the policy leaves out of the sum: those with the lowest share of their points."""
        worth = [n for n, result in enumerate(results) if result.max_score]
        lowest = sorted(worth, key=lambda n: (results[n].score / results[n].max_score, -results[n].max_score, n))
        lowest = lowest[: self._left_out]
        return [changed(result, dropped=True) if n in lowest else result for n, result in enumerate(results)]

    def _puzzle(self, learner: Learner, puzzle: Puzzle) -> PuzzleResult:
        mine = [kernel for kernel in learner.kernels if kernel.puzzle == puzzle.name]
        if self.policy.attempts.most:
            first = sorted({kernel.attempt for kernel in mine})[: self.policy.attempts.most]
            mine = [kernel for kernel in mine if kernel.attempt in first]
        tries = [self._try(kernel, puzzle) for kernel in tried(mine)]
        if not tries:
            return self._nothing(learner, puzzle)
        best = self._counting(tries)
        return changed(
            best.result,
            score=round(best.score, 2),
            max_score=self.worth(puzzle),
            attempt=best.kernel.attempt,
            attempts=len({one.kernel.source or (one.kernel.file, one.kernel.line) for one in tries}),
            time=best.kernel.time,
            late=best.late,
        )

    def _try(self, kernel: Kernel, puzzle: Puzzle) -> _Try:
        late = self.policy.lateness(kernel.time, kernel.late, kernel.file_time)
        if kernel.source is None:
            unread = SubmittedKernel(
                kernel.file, puzzle.name, None, kernel.message, kernel.line, kernel.file, kernel.reason
            )
            result = result_of(unreadable_verdict(unread, puzzle, "", self._device))
            return _Try(kernel, changed(result, source=Source(file=kernel.file, line=kernel.line)), late)
        if kernel.source not in self.sources:
            source = self.folder.kernel(kernel.source)
            self.sources[kernel.source] = source, key_of(puzzle, without_origin(source), self.setting)
        source, key = self.sources[kernel.source]
        stored = self.verdicts.get(key) or self._counting_verdict(key)
        where = source_of(kernel.file, source)
        if stored is None:
            return _Try(kernel, changed(self._not_judged(puzzle, key), source=where), late, judged=False)
        self.verdicts[key] = stored
        points = points_of(stored.result, self.worth(puzzle), self.policy.points)
        rest = without_broken(without_origin(source), puzzle) if self.policy.rules.share else None
        if rest is not None:
            left_key = key_of(puzzle, rest[0], self.setting)
            left = self._counting_verdict(left_key)
            if left is None:
                return _Try(kernel, changed(self._not_judged(puzzle, left_key), source=where), late, judged=False)
            share = self.policy.rules.share
            points = points_of(left.result, self.worth(puzzle) * share, self.policy.points)
            result = changed(stored.result, source=where, points=points, verdict=key)
            return _Try(kernel, changed(result, left_out=rest[1] if any(points.values()) else ()), late)
        return _Try(kernel, changed(stored.result, source=where, points=points, verdict=key), late)

    def _counting_verdict(self, key: str) -> StoredVerdict | None:
        """The stored verdict, unless the policy requires a compiler that it was made without."""
        stored = self.folder.verdict(key)
        return None if stored and self.policy.rules.compiler and stored.result.front_end_only else stored

    @property
    def _device(self) -> str:
        return "cpu" if self.setting.device == "cpu" else "cuda"

    def _not_judged(self, puzzle: Puzzle, key: str) -> PuzzleResult:
        fault = self.folder.fault(key)
        why = fault.message if fault is not None else "it has not been judged yet"
        if self.folder.verdict(key) is not None:
            why = _UNCOMPILED
        return changed(self._ungraded(puzzle, why), verdict=key)

    def _ungraded(self, puzzle: Puzzle, why: str) -> PuzzleResult:
        verdict = infra_verdict(puzzle, "", self._device, RuntimeError(why))
        first = replace(verdict.gates[0], message=f"Not graded: {why}. This costs nothing; judge again.")
        return changed(result_of(replace(verdict, gates=(first, *verdict.gates[1:]))), max_score=self.worth(puzzle))

    def _counting(self, tries: Sequence[_Try]) -> _Try:
        """The try that counts. A pass counts whatever was not judged; without one, a try that waits for its verdict comes first."""
        if self.policy.attempts.count == "last":
            return max(enumerate(tries), key=lambda one: (one[1].kernel.attempt, one[1].kernel.time or "", one[0]))[1]
        waiting = [one for one in tries if not one.judged]
        if waiting and not any(one.result.status == "passed" for one in tries):
            return waiting[0]

        def rank(one: _Try) -> tuple[float, bool, bool]:
            read = one.kernel.source is not None
            return one.score, read and one.judged and one.result.status != "not_attempted", read

        return max(tries, key=rank)

    def _nothing(self, learner: Learner, puzzle: Puzzle) -> PuzzleResult:
        doubtful = next((unread for unread in learner.unread if unread.reason not in _QUIET), None)
        if doubtful is None:
            verdict = missing_verdict(puzzle, "", self._device)
        else:
            why = f"no kernel called {puzzle.kernel} was found, and {doubtful.file} was not read: {doubtful.message}"
            entry = SubmittedKernel(doubtful.file, puzzle.name, None, why, None, doubtful.file, doubtful.reason)
            verdict = unreadable_verdict(entry, puzzle, "", self._device)
        return changed(result_of(verdict), max_score=self.worth(puzzle))


def _row_status(learner: Learner, results: Sequence[PuzzleResult]) -> RowStatus:
    if any(result.status == "infra_error" for result in results):
        return "ungraded"
    if learner.candidates:
        return "unmatched"
    if not (learner.files or learner.unread or learner.kernels):
        return "missing"
    if not any(kernel.source for kernel in learner.kernels) and (learner.unread or learner.kernels):
        return "unreadable"
    return "graded"
