"""The stages of grading a class. Each returns an exit code: 0 done, 3 the grader could not do all of its work."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace
from rich.text import Text

from checker.api.command_line import UnavailableHere, UsageError
from checker.api.grading import (
    JUDGED,
    LANDLOCK,
    LAYERS,
    NAMESPACES,
    NO_COMPILER,
    NO_ISOLATION,
    NOT_ISOLATED,
    SECCOMP,
    DeviceMissing,
    KernelSource,
    Person,
    ProgressBar,
    Puzzle,
    Reader,
    Result,
    Sandbox,
    entries,
    gpu,
    has_compiler,
    one_line,
    print_table,
    puzzle_named,
    resolve_device,
    status_text,
    words,
    write_atomically,
)
from classroom.grading import collect as collecting
from classroom.grading.gradebook import name_of
from classroom.grading.gradescope import write_results
from classroom.grading.judging import (
    Judged,
    Local,
    Task,
    jobs_here,
    judge_missing,
    shard,
    tasks,
)
from classroom.grading.keys import Setting, secret_id
from classroom.grading.layouts import Layout, Place
from classroom.grading.policy import Policy, PolicyError, read_policy
from classroom.grading.records import Collected, Fault, StoredVerdict
from classroom.grading.roster import Roster, read_matches, read_roster
from classroom.grading.score import score
from classroom.grading.store import RunFolder
from classroom.grading.tables import TableError, as_csv
from classroom.grading.written import write_report

DONE, BROKEN = 0, 3
COMMAND = "python -m classroom"


@dataclass(frozen=True)
class Judging:
    """The options of judging. `jobs` None: as many as processors and memory allow; `learner_limit` 0: no limit."""

    device: str = "auto"
    secret: Path | None = None
    jobs: int | None = None
    diagnose: bool = True
    time_limit: float = 600.0
    learner_limit: float = 600.0
    require_isolation: str | None = None
    shard: str = "1/1"

    @cached_property
    def secret_bytes(self) -> bytes | None:
        return self.secret.read_bytes() if self.secret else None

    def setting(self) -> Setting:
        """Raises UnavailableHere."""
        return Setting(
            device=_device_name(self.device),
            secret_id=secret_id(self.secret_bytes),
            diagnose=self.diagnose,
            seconds=self.time_limit,
        )


# ----------------------------------------------------------------------------------------------------------------- collect


def collect(
    path: Path,
    roster_file: Path | None,
    assignment: str | None,
    requested: Sequence[str],
    output: Path,
    match_file: Path | None,
) -> int:
    """Find out who handed in what."""
    puzzles = [puzzle_named(name, "collect") for name in dict.fromkeys(requested)] or list(JUDGED.values())
    try:
        roster = read_roster(roster_file) if roster_file else None
        settled = read_matches(match_file) if match_file else {}
        with Reader() as reader:
            collected, sources = collecting.collect(
                path, puzzles, reader, roster=roster, assignment=assignment, settled=settled, aside=output
            )
    except collecting.SeveralAssignments as error:
        raise UsageError(f"{error}, with --assignment NAME") from None
    except TableError as error:
        raise UsageError(str(error)) from None
    if not collected.learners:
        raise UsageError(f"{path} holds nothing that was handed in, and there is no roster")
    if not requested:
        collected = _with_puzzles_handed_in(collected)
    folder = RunFolder(output)
    folder.keep_collected(collected, sources)
    _print_collected(collected, folder)
    return DONE


def _with_puzzles_handed_in(collected: Collected) -> Collected:
    """Without --puzzle the assignment is every puzzle that anyone handed in."""
    seen = {kernel.puzzle for learner in collected.learners for kernel in learner.kernels}
    return replace(collected, puzzles=tuple(name for name in collected.puzzles if name in seen))


def _print_collected(collected: Collected, folder: RunFolder) -> None:
    learners = collected.learners
    nothing = [x for x in learners if not (x.files or x.unread or x.kernels)]
    unreadable = [x for x in learners if not any(k.source for k in x.kernels) and x not in nothing]
    strangers = [x for x in learners if not x.on_roster and not x.candidates]
    doubtful = [x for x in learners if x.candidates]
    alike = ", ".join(f"{one_line(x.matched)} is {one_line(name_of(x.person))}" for x in learners if x.matched)
    kernels = sum(len(x.kernels) for x in learners)
    print(f"{collected.layout}: {len(learners)} learners, {kernels} kernels of {len(collected.puzzles)} puzzles")
    if nothing:
        print(f"handed in nothing: {_names(x.person for x in nothing)}")
    if unreadable:
        print(f"handed in no kernel that could be read: {_names(x.person for x in unreadable)}")
    if strangers and len(strangers) < len(learners):
        print(f"not on the roster: {_names(x.person for x in strangers)}")
    if alike:
        print(f"matched by likeness: {alike}")
    if doubtful:
        print(f"unmatched, because they may be several people: {_names(x.person for x in doubtful)}")
        rows = [[x.person.id, "", " or ".join(x.candidates)] for x in doubtful]
        write_atomically(folder.unmatched, as_csv([["handed_in", "id", "candidates"], *rows]))
        print(f"Fill in the column id of {folder.unmatched}, empty for nobody, and collect again with --match FILE.")
    untimed = [x for x in learners if any(file.reason == "time" for file in x.unread)]
    if untimed:
        who = _names(x.person for x in untimed)
        print(f"checker: ATTENTION, times that cannot be read count as on time: {who}", file=sys.stderr)
    unread = sum(len(x.unread) for x in learners) + len(collected.unread)
    print(
        f"{unread} files were not read. Look at {folder.path / 'collected.json'}, then: {COMMAND} judge {folder.path}"
    )


def _names(people: Iterable[Person]) -> str:
    names = [one_line(name_of(person)) for person in people]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


# ------------------------------------------------------------------------------------------------------------------- judge


def judge(run: Path, judging: Judging) -> int:
    """Judge every kernel of the class that has no verdict yet."""
    if judging.jobs is not None and judging.jobs < 1:
        raise UsageError(f"--jobs has to be at least 1, not {judging.jobs}")
    index, count = _shard(judging.shard)
    folder, setting = RunFolder(run), judging.setting()
    folder.keep_setting(setting)
    with _ended_by_sigterm():
        wanted = shard(_tasks(folder, setting), index, count)
        judged = _judged(judging, folder, wanted, setting)
    return _print_judged(judged, folder, len(wanted))


def _tasks(folder: RunFolder, setting: Setting) -> list[Task]:
    collected = _collected(folder)
    return tasks(collected, folder, _puzzles(collected), setting)


def _judged(judging: Judging, folder: RunFolder, wanted: Sequence[Task], setting: Setting) -> Judged:
    missing = len(folder.missing(task.key for task in wanted))
    print(f"checker: {len(wanted)} different kernels, {missing} of them to be judged", file=sys.stderr)
    if not missing:
        return Judged()
    required = _required_layers(judging.require_isolation)
    sandbox, jobs = _isolated(Sandbox.shared(), required), judging.jobs or jobs_here()
    engine = Local(sandbox, judging.secret_bytes, jobs if setting.device == "cpu" else gpu.verdicts_at_a_time(jobs))
    names = {task.key: task.puzzle.name for task in wanted}
    with ProgressBar(missing) as bar:

        def done(made: StoredVerdict | Fault) -> None:
            outcome = "not graded" if isinstance(made, Fault) else words(made.result.status)
            bar.step(f"{names[made.key]} {made.key[:8]}", outcome)

        return judge_missing(folder, wanted, setting, engine, learner_seconds=judging.learner_limit, report=done)


def _print_judged(judged: Judged, folder: RunFolder, wanted: int) -> int:
    print(f"{judged.stored} verdicts made, {wanted - judged.stored - len(judged.faults)} there already or left")
    for fault in judged.faults[:5]:
        print(f"checker: not graded: {fault.message.splitlines()[0][:300]}", file=sys.stderr)
    if judged.interrupted:
        print(
            f"checker: stopped. The same command continues where it was: {COMMAND} judge {folder.path}", file=sys.stderr
        )
    return BROKEN if judged.interrupted or judged.faults else DONE


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """A scheduler's request to end is taken like Ctrl-C: what is stored stays, and the process ends at once."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _required_layers(required: str | None) -> tuple[str, ...]:
    """The layers that --require-isolation names. Raises UsageError."""
    if required is None:
        return ()
    layers = (NAMESPACES, LANDLOCK, SECCOMP) if required == "full" else tuple(required.replace(",", "+").split("+"))
    known = (*LAYERS, "rlimits")
    if unknown := [layer for layer in layers if layer not in known]:
        raise UsageError(
            f"--require-isolation takes full, or layers out of {', '.join(known)}, not {', '.join(unknown)}"
        )
    return layers


def _isolated(sandbox: Sandbox, required: Sequence[str]) -> Sandbox:
    """Say how kernels are isolated on this machine, and what it lacks. Raises UnavailableHere where that is less than what is required."""
    if sandbox.tier == NO_ISOLATION:
        raise UnavailableHere(NOT_ISOLATED)
    if not has_compiler():
        print(f"checker: {NO_COMPILER} A policy with `compiler = true` counts none of these verdicts.", file=sys.stderr)
    parts = [sandbox.tier]
    parts += [f"gaps: {', '.join(sandbox.gaps)}"] if sandbox.gaps else []
    parts += [f"not in force: {reason}" for reason in sandbox.lost]
    print(f"checker: kernels are isolated by {'; '.join(parts)}", file=sys.stderr)
    if lacking := [*sorted({*required} - {*sandbox.tier.split("+")}), *sandbox.gaps] if required else []:
        raise UnavailableHere(
            f"isolation by {', '.join(required)} is required; this machine lacks {', '.join(lacking)}"
        )
    return sandbox


# --------------------------------------------------------------------------------------------------------- score, report


def score_run(run: Path, policy_file: Path | None) -> int:
    """Make scores from the verdicts that there are, without judging."""
    folder = RunFolder(run)
    puzzles, policy = _puzzles(_collected(folder)), _policy(policy_file)
    try:
        setting = folder.setting
    except FileNotFoundError:
        raise UsageError(f"nothing was judged in {folder.path} yet: {COMMAND} judge {folder.path}") from None
    result = score(folder, puzzles, policy, setting)
    folder.keep_results(result)
    _print_class(result)
    left = [one.learner for one in result.submissions if one.status == "ungraded"]
    if left:
        print(f"checker: ungraded: {_names(left)}; judge again: {COMMAND} judge {folder.path}", file=sys.stderr)
    return BROKEN if left else DONE


def _print_class(result: Result) -> None:
    """A row for each learner: the points, and how each puzzle went."""
    rows = [
        (
            Text(one_line(name_of(one.learner))),
            one.status,
            f"{one.score:g}/{one.max_score:g}",
            *(status_text(p.status, f"{p.score:g}/{p.max_score:g}") for p in one.puzzles),
        )
        for one in result.submissions
    ]
    print_table(["learner", "status", "points", *(task.puzzle for task in result.puzzles)], rows)


def report(run: Path, gradebook: Path | None, column: str, anonymous: bool, with_films: bool) -> int:
    """Write everything that is made of a result."""
    folder = RunFolder(run)
    with _readable(f"nothing was scored in {folder.path} yet: {COMMAND} score {folder.path}"):
        result = folder.results
    if anonymous and gradebook:
        raise UsageError("a grade book names everyone: leave out --anonymous or --gradebook")
    if anonymous and with_films:
        raise UsageError("a film shows the learner's comments, with names in them: leave out --anonymous or --films")
    try:
        written = write_report(
            folder, result, gradebook=gradebook, column=column, without_names=anonymous, with_films=with_films
        )
    except TableError as error:
        raise UsageError(str(error)) from None
    for line in written.lines:
        print(line)
    for line in written.without_page:
        print(f"checker: no page could be made for {one_line(line)}", file=sys.stderr)
    return BROKEN if written.without_page else DONE


@contextlib.contextmanager
def _readable(missing: str) -> Iterator[None]:
    """Raises UsageError for a file that is not there, with the message `missing`, or that is another kind of file."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError(missing) from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _collected(folder: RunFolder) -> Collected:
    with _readable(f"nothing was collected in {folder.path} yet: {COMMAND} collect PATH -o {folder.path}"):
        return folder.collected


def _policy(path: Path | None) -> Policy:
    try:
        return read_policy(path, JUDGED) if path else Policy()
    except PolicyError as error:
        raise UsageError(str(error)) from None


def _puzzles(collected: Collected) -> list[Puzzle]:
    return [JUDGED[name] for name in collected.puzzles if name in JUDGED]


def _device_name(requested: str) -> str:
    try:
        return gpu.device_name() if resolve_device(requested) == "cuda" else "cpu"
    except DeviceMissing as missing:
        raise UnavailableHere(str(missing)) from None


def _shard(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise UsageError(f"--shard takes I/N with I from 1 to N, for example 1/8, not {text}")
    return int(index), int(count)


# --------------------------------------------------------------------------------------------------------- one submission


def one(
    submission: Path,
    requested: Sequence[str],
    gradescope: Path | None,
    secret_file: Path | None,
    policy_file: Path | None,
    output: Path | None,
) -> int:
    """Grade one submission. The exit code is 0 also for a wrong kernel: any other code means that the grader failed."""
    if not requested:
        raise UsageError("one needs the puzzles of the assignment: --puzzle NAME, once for each")
    puzzles = [puzzle_named(name, "one") for name in dict.fromkeys(requested)]
    judging, policy = Judging(secret=secret_file), _policy(policy_file)
    setting = judging.setting()
    with tempfile.TemporaryDirectory() as temporary:
        folder = RunFolder(output or Path(temporary))
        folder.keep_collected(*_one_learner(submission, puzzles))
        wanted = tasks(folder.collected, folder, puzzles, setting)
        judge_missing(folder, wanted, setting, Local(Sandbox.shared(), judging.secret_bytes))
        result = score(folder, puzzles, policy, setting)
    (graded,) = result.submissions
    if graded.status == "ungraded":  # without a result the platform reports a failure of its grader, and no points
        raise UnavailableHere("the kernels could not be judged here; this says nothing about them. Run it again")
    if gradescope:
        write_results(gradescope, graded, result, _metadata())
    print(f"{graded.score:g} of {graded.max_score:g} points")
    return DONE


def _one_learner(submission: Path, puzzles: Sequence[Puzzle]) -> tuple[Collected, dict[str, KernelSource]]:
    """Every file at or below `submission` belongs to one learner."""
    layout = Layout("one", lambda name: (Place(("submission",), name, "submission"),))
    with Reader() as reader:
        collector = collecting.Collector(puzzles, reader, Roster([Person(id="submission")]), layout, None)
        for entry in entries(submission):
            collector.add(entry)
    return collector.collection(submission.name)


def _metadata() -> dict[str, object]:
    """What Gradescope says of the submission; empty elsewhere."""
    try:
        found = json.loads(Path("/autograder/submission_metadata.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
