"""`grade`: judge the kernels of submissions that belong to no class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from rich.text import Text

from checker import gpu
from checker.api.command_line import complain, write
from checker.checking import Device, check_source, infra_verdict
from checker.course.launchers import JUDGED
from checker.judge.launches import seed_from
from checker.judge.result import (
    Person,
    PuzzleResult,
    Result,
    Submission,
    Task,
    environment,
    plain,
    result_of,
    source_of,
    to_json,
)
from checker.judge.runner import Runner
from checker.judge.verdict import Status, Verdict
from checker.pure_triton import has_compiler
from checker.puzzle import Puzzle
from checker.sandbox import NO_ISOLATION, Sandbox
from checker.submission.from_path import SubmittedKernel
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import UsageError
from checker.verbs.submissions import Files, missing_verdict, submissions, unreadable_verdict
from checker.verbs.tables import ProgressBar, one_line, print_table, status_text, words

NOT_ISOLATED = "this machine runs kernels without isolation, so it grades nobody's: grade on Linux."
NO_COMPILER = "this machine has no Triton compiler: Triton's front end reads every kernel, but no machine code is made."
RETRIES = 2
"""How often a kernel is judged again after a fault of the machine."""
_PREFERENCE: dict[Status, int] = {"passed": 0, "infra_error": 1, "not_attempted": 9}
"""Which of several results on a puzzle counts: first a pass, then a fault of the grader, then a failure."""


def judged(
    puzzle: Puzzle,
    source: KernelSource,
    device: Device,
    *,
    secret: bytes | None = None,
    **options: Any,
) -> Verdict:
    """`check_source` with its `options`, tried again after a fault of the machine. Never raises for what a kernel does.

    A `secret` draws the cases.
    """
    seed = None if secret is None else seed_from(secret, puzzle)
    for _ in range(1 + RETRIES):
        try:
            verdict = check_source(puzzle, source, device, seed=seed, **options)
        except Exception as error:  # one kernel must not end the run, whatever it found a way to break
            verdict = infra_verdict(puzzle, "", device, error)
        if verdict.status != "infra_error":
            break
    return verdict


@dataclass
class Batch:
    """The outcome of a run; `interrupted` if it was stopped before the end."""

    submissions: list[Submission] = field(default_factory=list)
    interrupted: bool = False

    @property
    def puzzles(self) -> list[PuzzleResult]:
        return [puzzle for submission in self.submissions for puzzle in submission.puzzles]

    @property
    def exit_code(self) -> int:
        """0: all passed; 1: some did not; 2: nothing was found; 3: the grader could not do its work."""
        statuses = [puzzle.status for puzzle in self.puzzles]
        if self.interrupted or "infra_error" in statuses:
            return 3
        if not statuses:
            return 2
        return 0 if all(status == "passed" for status in statuses) else 1

    def result(self, device: str, sandbox: str) -> Result:
        """The file of the run; `sandbox` names the isolation that the kernels ran in."""
        graded = {puzzle.puzzle for puzzle in self.puzzles}
        tasks = tuple(
            Task(puzzle=p.name, title=p.title, points=float(p.points)) for p in JUDGED.values() if p.name in graded
        )
        return Result(environment=environment(device, sandbox), puzzles=tasks, submissions=tuple(self.submissions))


@dataclass(frozen=True)
class Grader:
    """Grades each submission on its own.

    A `requested` puzzle that a submission lacks is ``not_attempted`` there; if none is requested, all that it has are graded. A
    `secret` draws the cases of each puzzle, the same in every submission.
    """

    requested: Sequence[Puzzle]
    device: Device
    diagnose: bool = True
    secret: bytes | None = None
    runner: Runner | None = None

    @property
    def puzzles(self) -> Sequence[Puzzle]:
        return self.requested or tuple(JUDGED.values())

    def grade(
        self,
        submissions: Sequence[Files],
        jobs: int = 1,
        report: Callable[[Submission], None] = lambda submission: None,
    ) -> Batch:
        """Grade all, `jobs` at a time; `report` is called in this thread after each.

        Ctrl-C ends the run; the batch then has what was graded, in the order of `submissions`.
        """
        batch, done = Batch(), {}
        try:
            for index, graded in self._as_they_end(submissions, jobs):
                done[index] = graded
                report(graded)
        except KeyboardInterrupt:
            batch.interrupted = True
        batch.submissions = [done[index] for index in sorted(done)]
        return batch

    def _as_they_end(self, submissions: Sequence[Files], jobs: int) -> Iterator[tuple[int, Submission]]:
        """The place of each submission and its outcome, `jobs` at a time, whichever ends first.

        Many are graded in processes: threads of one process wait for each other while they prepare and compare. Those with the most
        points begin first, so that no long one is left alone at the end.
        """
        if jobs <= 1:
            yield from ((index, self.submission(files)) for index, files in enumerate(submissions))
            return
        pool: Executor
        if jobs <= MOST_THREADS or self.runner is not None:
            pool = ThreadPoolExecutor(jobs, thread_name_prefix="grade")
            grade = partial(self.submission, hurry=False)
        else:
            context = get_context("forkserver")
            context.set_forkserver_preload([__name__])
            pool = ProcessPoolExecutor(min(jobs, len(submissions)), context)
            names = tuple(puzzle.name for puzzle in self.requested)
            grade = partial(_graded, names, self.device, self.diagnose, self.secret)
        try:
            longest_first = sorted(enumerate(submissions), key=lambda one: -self._points(one[1]))
            places = {pool.submit(grade, files): index for index, files in longest_first}
            yield from ((places[future], future.result()) for future in as_completed(places))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _points(self, files: Files) -> float:
        return sum(puzzle.points for puzzle in self.puzzles if files.of(puzzle))

    def submission(self, files: Files, *, hurry: bool = True) -> Submission:
        """In a `hurry`, all processors work on one kernel."""
        results = []
        for puzzle in self.puzzles:
            if entries := files.of(puzzle):
                tries = [self._result(entry, puzzle, files.name, hurry) for entry in _distinct(entries)]
                results.append(min(tries, key=lambda one: (_PREFERENCE.get(one.status, 5), -one.score)))
            elif puzzle in self.requested:
                results.append(result_of(missing_verdict(puzzle, files.name, self.device)))
        nameless = [entry for entry in files.entries if entry.puzzle is None and entry.reason != "no_kernel"]
        results += [result_of(unreadable_verdict(entry, None, files.name, self.device)) for entry in nameless]
        return Submission(
            learner=Person(id=plain(files.name)),
            status="ungraded" if any(one.status == "infra_error" for one in results) else "graded",
            score=sum(one.score for one in results),
            max_score=sum(one.max_score for one in results),
            puzzles=tuple(results),
        )

    def _result(self, entry: SubmittedKernel, puzzle: Puzzle, submission: str, hurry: bool) -> PuzzleResult:
        if entry.source is None:
            return result_of(unreadable_verdict(entry, puzzle, submission, self.device))
        verdict = judged(
            puzzle,
            entry.source,
            self.device,
            secret=self.secret,
            submission=submission,
            diagnose=self.diagnose,
            runner=self.runner,
            hurry=hurry,
        )
        return result_of(verdict, source_of(entry.submission, entry.source))


MOST_THREADS = 4
"""More submissions at a time are graded in processes, each with a sandbox of its own."""


def _graded(names: Sequence[str], device: Device, diagnose: bool, secret: bytes | None, files: Files) -> Submission:
    """One submission, in a process of its own, among others that need the processors, too."""
    torch.set_num_threads(1)
    return Grader([JUDGED[name] for name in names], device, diagnose, secret).submission(files, hurry=False)


def _distinct(entries: Sequence[SubmittedKernel]) -> list[SubmittedKernel]:
    """The same kernel in a notebook and in a file is judged once."""

    def content(entry: SubmittedKernel) -> str:
        kernel = entry.source
        return repr((kernel.source, kernel.configs, kernel.problems) if kernel else (entry.submission, entry.error))

    return list({content(entry): entry for entry in reversed(entries)}.values())[::-1]


def grade_paths(
    paths: Sequence[Path], grader: Grader, jobs: int, json_file: str | None, require_compiler: bool = False
) -> int:
    """Grade what is at `paths`, print a table and write `json_file`; returns the exit code. Raises UsageError."""
    if Sandbox.shared().tier == NO_ISOLATION:
        complain(f"{NOT_ISOLATED} To judge your own kernel, use check.")
        return 3
    if not has_compiler():
        complain(NO_COMPILER + (" Nothing was graded, because of --require-compiler." if require_compiler else ""))
        if require_compiler:
            return 3
    handed_in = submissions(paths, grader.puzzles)
    if not any(files.entries for files in handed_in):
        raise UsageError(f"there is no .py, .ipynb or .zip to grade at {', '.join(map(str, paths))}")
    with ProgressBar(len(handed_in), quiet=json_file == "-") as bar:

        def done(graded: Submission) -> None:
            outcome = ", ".join(f"{one.puzzle} {words(one.status)}" for one in graded.puzzles)
            bar.step(graded.learner.id, outcome or "no kernel")

        batch = grader.grade(handed_in, jobs if grader.device == "cpu" else gpu.verdicts_at_a_time(jobs), done)
    if json_file != "-":
        print_summary(batch)
    if batch.interrupted:
        complain(f"stopped; {len(batch.submissions)} of {len(handed_in)} submissions were graded.")
    if empty := [one.learner.id for one in batch.submissions if not one.puzzles]:
        complain(f"no kernel of the course in: {', '.join(empty)}")
    if json_file is not None:
        write(json_file, to_json(batch.result(grader.device, Sandbox.shared().tier)))
    return batch.exit_code


def _remark(puzzle: PuzzleResult) -> str:
    """The first thing that is wrong, or else what a pass leaves open."""
    if puzzle.failure is not None:
        return puzzle.failure.message
    if puzzle.front_end_only:
        return "no machine code was made"
    return next((f"for review: line {one.line}: {one.condition}" for one in puzzle.unreached), "")


def print_summary(batch: Batch) -> None:
    """Print a row per submission and puzzle, with the first thing that is wrong or to be reviewed."""
    rows = [
        (
            Text(one_line(submission.learner.id)),
            puzzle.puzzle,
            status_text(puzzle.status),
            f"{puzzle.score:g}/{puzzle.max_score:g}",
            Text(one_line(_remark(puzzle))),
        )
        for submission in batch.submissions
        for puzzle in submission.puzzles
    ]
    passed = sum(puzzle.status == "passed" for puzzle in batch.puzzles)
    print_table(["submission", "puzzle", "status", "score", ""], rows, f"{passed} of {len(rows)} passed")
