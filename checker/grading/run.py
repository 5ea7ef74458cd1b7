"""Grades submissions, one after another or several at a time. A broken submission does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from checker.checking import Device, check_source, infra_verdict
from checker.grading.collect import Entry, Submission, missing_verdict, unreadable_verdict
from checker.judge.launches import seed_from
from checker.judge.runner import Runner
from checker.judge.verdict import Status, Verdict
from checker.puzzle import Puzzle

RETRIES = 2  # for infra_error only: that is never the learner's doing

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
    batch, done = Batch(), {}
    try:
        work = [lambda s=s: _graded(s, puzzles, device, wanted, diagnose, secret, runner) for s in submissions]
        for index, graded in _as_they_end(work, jobs):
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
        waiting: dict[Future[Graded], int] = {pool.submit(task): index for index, task in enumerate(work)}
        while waiting:
            ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                yield waiting.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _graded(
    submission: Submission,
    puzzles: Sequence[Puzzle],
    device: Device,
    wanted: Sequence[Puzzle],
    diagnose: bool,
    secret: bytes | None,
    runner: Runner | None,
) -> Graded:
    verdicts = []
    for puzzle in puzzles:
        entries = submission.of(puzzle)
        if entries:
            tried = [
                _entry_verdict(entry, puzzle, submission.name, device, diagnose, secret, runner)
                for entry in _distinct(entries)
            ]
            verdicts.append(min(tried, key=lambda v: (_PREFERENCE.get(v.status, 5), -v.score)))
        elif puzzle in wanted:
            verdicts.append(missing_verdict(puzzle, submission.name, device))
    nameless = [entry for entry in submission.entries if entry.puzzle is None and entry.reason != "no_kernel"]
    verdicts += [unreadable_verdict(entry, None, submission.name, device) for entry in nameless]
    return Graded(submission, verdicts)


def _distinct(entries: Sequence[Entry]) -> list[Entry]:
    """The same kernel in a notebook and in a file is judged once."""
    kept: dict[object, Entry] = {}
    for entry in entries:
        key = (
            (entry.source.source, entry.source.configs, entry.source.problems)
            if entry.source
            else (entry.file, entry.error)
        )
        kept.setdefault(repr(key), entry)
    return list(kept.values())


def _entry_verdict(
    entry: Entry,
    puzzle: Puzzle,
    submission: str,
    device: Device,
    diagnose: bool,
    secret: bytes | None,
    runner: Runner | None,
) -> Verdict:
    if entry.source is None:
        return unreadable_verdict(entry, puzzle, submission, device)
    seed = None if secret is None else seed_from(secret, puzzle)
    try:
        for _ in range(1 + RETRIES):
            verdict = check_source(
                puzzle, entry.source, device, submission=submission, diagnose=diagnose, runner=runner, seed=seed
            )
            if verdict.status != "infra_error":
                break
    except Exception as error:  # one submission must not end the batch, whatever it found a way to break
        return infra_verdict(puzzle, submission, device, error)
    return verdict
