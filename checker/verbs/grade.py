"""Grades submissions, one after another or several at a time. A broken submission does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rich.text import Text

from checker.checking import Device, check_source, infra_verdict
from checker.judge.launches import seed_from
from checker.judge.runner import Runner
from checker.judge.verdict import Status, Verdict
from checker.puzzle import Puzzle
from checker.submission.from_path import Found
from checker.submission.kernel import KernelSource
from checker.verbs.submissions import Submission, missing_verdict, unreadable_verdict
from checker.verbs.tables import one_line, print_table, status_text

RETRIES = 2
"""How often a kernel is judged again after a fault of the machine."""
_PREFERENCE: dict[Status, int] = {"passed": 0, "infra_error": 1, "not_attempted": 9}
"""Which of several verdicts on a puzzle counts: first a pass, then a fault of the grader, then a failure."""


@dataclass
class Graded:
    """One submission's verdicts, by puzzle in the order of the ladder."""

    submission: Submission
    verdicts: list[Verdict]


@dataclass
class Batch:
    """The outcome of a run; `interrupted` where it was stopped before the end."""

    graded: list[Graded] = field(default_factory=list)
    interrupted: bool = False

    @property
    def verdicts(self) -> list[Verdict]:
        return [verdict for graded in self.graded for verdict in graded.verdicts]

    @property
    def exit_code(self) -> int:
        """0: all passed; 1: some did not; 2: nothing was found; 3: the grader could not do its work."""
        statuses = [verdict.status for verdict in self.verdicts]
        if self.interrupted or "infra_error" in statuses:
            return 3
        if not statuses:
            return 2
        return 0 if all(status == "passed" for status in statuses) else 1


def grade(
    submissions: Sequence[Submission],
    puzzles: Sequence[Puzzle],
    device: Device,
    *,
    wanted: Sequence[Puzzle] = (),
    jobs: int = 1,
    diagnose: bool = True,
    secret: bytes | None = None,
    report: Callable[[Graded], None] = lambda graded: None,
    runner: Runner | None = None,
) -> Batch:
    """Grade every submission. A `wanted` puzzle that a submission lacks is ``not_attempted`` there.

    A `secret` draws the cases of each puzzle, the same in every submission. `report` is called in this thread after each
    submission. Ctrl-C ends the run; the batch then holds what was graded, in the order of `submissions`.
    """
    grader = _Grader(puzzles, device, wanted, diagnose, secret, runner)
    batch, done = Batch(), {}
    try:
        for index, graded in _as_they_end([partial(grader.graded, one) for one in submissions], jobs):
            done[index] = graded
            report(graded)
    except KeyboardInterrupt:
        batch.interrupted = True
    batch.graded = [done[index] for index in sorted(done)]
    return batch


def _as_they_end(work: Sequence[Callable[[], Graded]], jobs: int) -> Iterator[tuple[int, Graded]]:
    """The place of each task among `work` and what came of it, `jobs` at a time, whichever ends first."""
    if jobs <= 1:
        yield from ((index, task()) for index, task in enumerate(work))
        return
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="grade")
    try:
        places = {pool.submit(task): index for index, task in enumerate(work)}
        yield from ((places[future], future.result()) for future in as_completed(places))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class _Grader:
    """What every submission is graded with."""

    puzzles: Sequence[Puzzle]
    device: Device
    wanted: Sequence[Puzzle]
    diagnose: bool
    secret: bytes | None
    runner: Runner | None

    def graded(self, submission: Submission) -> Graded:
        name, verdicts = submission.name, []
        for puzzle in self.puzzles:
            if entries := submission.of(puzzle):
                tried = [self._verdict(entry, puzzle, name) for entry in _distinct(entries)]
                verdicts.append(min(tried, key=lambda v: (_PREFERENCE.get(v.status, 5), -v.score)))
            elif puzzle in self.wanted:
                verdicts.append(missing_verdict(puzzle, name, self.device))
        nameless = [entry for entry in submission.entries if entry.puzzle is None and entry.reason != "no_kernel"]
        verdicts += [unreadable_verdict(entry, None, name, self.device) for entry in nameless]
        return Graded(submission, verdicts)

    def _verdict(self, entry: Found, puzzle: Puzzle, submission: str) -> Verdict:
        if entry.source is None:
            return unreadable_verdict(entry, puzzle, submission, self.device)
        return retried(
            puzzle,
            entry.source,
            self.device,
            submission=submission,
            diagnose=self.diagnose,
            runner=self.runner,
            seed=None if self.secret is None else seed_from(self.secret, puzzle),
        )


def _distinct(entries: Sequence[Found]) -> list[Found]:
    """The same kernel in a notebook and in a file is judged once."""
    kept: dict[object, Found] = {}
    for entry in entries:
        key = (
            (entry.source.source, entry.source.configs, entry.source.problems)
            if entry.source
            else (entry.submission, entry.error)
        )
        kept.setdefault(repr(key), entry)
    return list(kept.values())


def retried(puzzle: Puzzle, source: KernelSource, device: Device, *, submission: str = "", **options: Any) -> Verdict:
    """`check_source` with its `options`, tried again after a fault of the machine. Never raises for what a kernel does."""
    for _ in range(1 + RETRIES):
        try:
            verdict = check_source(puzzle, source, device, submission=submission, **options)
        except Exception as error:  # one kernel must not end the run, whatever it found a way to break
            verdict = infra_verdict(puzzle, submission, device, error)
        if verdict.status != "infra_error":
            break
    return verdict


def summary(batch: Batch) -> None:
    """Print a row per submission and puzzle, with the first thing that is wrong."""
    rows = [
        (
            Text(one_line(graded.submission.name)),
            verdict.puzzle,
            status_text(verdict.status),
            f"{verdict.score:g}/{verdict.max_score:g}",
            Text(one_line(verdict.failure.message) if verdict.failure is not None else ""),
        )
        for graded in batch.graded
        for verdict in graded.verdicts
    ]
    passed = sum(verdict.passed for verdict in batch.verdicts)
    print_table(["submission", "puzzle", "status", "score", ""], rows, f"{passed} of {len(rows)} passed")
