"""``python -m checker grade all``, or ``collect | judge | rescore | report``: a class, in stages, each of which leaves a file behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from checker.verbs.arguments import UnavailableHere, UsageError, puzzle_named

if TYPE_CHECKING:
    from checker.grading.judging import Engine, Judged, Task
    from checker.grading.keys import Setting
    from checker.grading.policy import Policy
    from checker.grading.records import Collected, Fault, Result, VerdictRecord
    from checker.grading.store import RunFolder
    from checker.grading.written import Films
    from checker.puzzle import Puzzle
    from checker.sandbox import Sandbox

DONE, USAGE, BROKEN = 0, 2, 3
STAGES = ("all", "collect", "judge", "rescore", "report", "one")
DEVICES = ("auto", "cpu", "cuda")


def main(arguments: Sequence[str]) -> int:
    """Run one stage; `arguments` begin with its name. Raises UsageError, OSError."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        return int(options.run(options))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:  # a full disk, a folder that only reads
        raise UnavailableHere(f"{error.filename or 'a file'} could not be written or read: {error.strerror}") from error


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m checker grade",
        description="Grade a class, in stages. Each leaves a file that you can read, and can be run again at any time.",
        epilog="exit status: 0 done, 2 wrong usage, 3 the grader could not do (all of) its work",
        formatter_class=RawDescriptionHelpFormatter,
    )
    stages = parser.add_subparsers(dest="stage", required=True)
    collecting, judging, scoring, reporting = _collecting(), _judging(), _scoring(), _reporting()
    p = stages.add_parser(
        "all", help="the four stages one after another", parents=[collecting, judging, scoring, reporting]
    )
    p.set_defaults(run=all_stages, shard="1/1", watch=None)
    p = stages.add_parser("collect", help="who handed in what: collected.json", parents=[collecting])
    p.set_defaults(run=collect)
    p = stages.add_parser("judge", help="judge what has no verdict yet: verdicts/", parents=[judging])
    p.set_defaults(run=judge)
    p.add_argument("folder", metavar="RUN")
    p.add_argument("--shard", metavar="I/N", default="1/1", help="only this part of N, for N processes on one folder")
    p.add_argument("--watch", metavar="FOLDER", help="collect this folder again and again, and grade what arrives")
    p.add_argument("--policy", metavar="TOML", help="with --watch: how to score")
    p = stages.add_parser(
        "rescore", help="scores from verdicts and a policy, without judging: results.json", parents=[scoring]
    )
    p.set_defaults(run=rescore)
    p.add_argument("folder", metavar="RUN")
    p = stages.add_parser("report", help="grade books, feedback and pages: report/", parents=[reporting])
    p.set_defaults(run=report)
    p.add_argument("folder", metavar="RUN")
    p = stages.add_parser("one", help="one submission, inside Gradescope's container or on a Classroom 50 runner")
    p.set_defaults(run=one)
    p.add_argument("submission", metavar="PATH", help="the learner's file or folder")
    p.add_argument(
        "--puzzle", metavar="NAME", action="append", default=[], help="a puzzle of the assignment; repeat it"
    )
    p.add_argument("--gradescope", metavar="JSON", help="write Gradescope's results.json to this file")
    p.add_argument(
        "--classroom50", metavar="JSON", help="write Classroom 50's result.json, and release-body.md beside it"
    )
    p.add_argument("--secret", metavar="FILE", help="draw the cases from what is in this file")
    p.add_argument("--policy", metavar="TOML", help="points by gate")
    p.add_argument("-o", "--output", metavar="RUN", help="keep the findings in this folder")
    return parser


def _collecting() -> ArgumentParser:
    p = ArgumentParser(add_help=False)
    p.add_argument("path", metavar="PATH", help="a folder or zip, as the learning platform gave it")
    p.add_argument(
        "--roster", metavar="CSV", help="everyone in the class: columns id, name, email; or the platform's export"
    )
    p.add_argument("--assignment", metavar="NAME", help="which assignment, where nbgrader's folder holds several")
    p.add_argument(
        "--puzzle", metavar="NAME", action="append", default=[], help="a puzzle of the assignment; repeat it"
    )
    p.add_argument("-o", "--output", metavar="RUN", default="run", help="the folder of this run (default: run)")
    return p


def _judging() -> ArgumentParser:
    p = ArgumentParser(add_help=False)
    p.add_argument(
        "--device", choices=DEVICES, default="auto", help="auto (default) also uses a GPU where there is one"
    )
    p.add_argument("--secret", metavar="FILE", help="draw the cases from what is in this file")
    p.add_argument("--jobs", metavar="N", type=int, default=1, help="verdicts at a time (default 1)")
    p.add_argument("--no-diagnosis", action="store_true", help="do not look for the misconception behind a failure")
    p.add_argument("--time-limit", metavar="S", type=float, default=600.0, help="seconds for one kernel (default 600)")
    p.add_argument(
        "--learner-limit", metavar="S", type=float, default=0.0, help="seconds for one learner (default: none)"
    )
    engine = "this machine (default), or a Ray cluster"
    p.add_argument("--engine", choices=("local", "ray"), default="local", help=engine)
    address = "of the cluster (default: the one that runs here)"
    p.add_argument("--ray-address", metavar="ADDRESS", default="auto", help=address)
    p.add_argument(
        "--require-isolation",
        metavar="LAYERS",
        help="refuse to start with less isolation than this, e.g. landlock+seccomp, or full",
    )
    return p


def _scoring() -> ArgumentParser:
    p = ArgumentParser(add_help=False)
    p.add_argument("--policy", metavar="TOML", help="points by gate, attempts, late days, puzzles that are dropped")
    return p


def _reporting() -> ArgumentParser:
    p = ArgumentParser(add_help=False)
    p.add_argument("--gradebook", metavar="CSV", help="the grade book that Canvas or Moodle exported, to be filled in")
    p.add_argument("--column", metavar="NAME", default="Tile by Tile", help="its column, in Canvas's")
    p.add_argument("--anonymous", action="store_true", help="name no one")
    p.add_argument("--films", action="store_true", help="with a film of the smallest case that each wrong kernel fails")
    return p


def all_stages(options: Namespace) -> int:
    """In one process, which imports torch once. What is left ungraded is scored and reported all the same."""
    options.folder = options.output
    ends = [collect(options), judge(options), rescore(options), report(options)]
    return max(ends)


# ----------------------------------------------------------------------------------------------------------------- collect


def collect(options: Namespace) -> int:
    from checker.course import LADDER
    from checker.grading.handed_in import SeveralAssignments
    from checker.grading.reader import Reader
    from checker.grading.roster import RosterError, read_roster
    from checker.grading.store import RunFolder

    puzzles = [puzzle_named(name, "grade collect") for name in dict.fromkeys(options.puzzle)] or list(LADDER)
    try:
        roster = read_roster(Path(options.roster)) if options.roster else None
        with Reader() as reader:
            from checker.grading import handed_in

            found = handed_in.collect(Path(options.path), puzzles, reader, roster=roster, assignment=options.assignment)
    except RosterError as error:
        raise UsageError(str(error)) from None
    except SeveralAssignments as error:
        raise UsageError(f"{error}, with --assignment NAME") from None
    if not found.record.learners:
        raise UsageError(f"{options.path} holds nothing that was handed in, and there is no roster")
    record = found.record if options.puzzle else _asked_for(found.record)
    folder = RunFolder(Path(options.output))
    folder.keep_collected(record, found.sources)
    _tell_collected(record, folder)
    return DONE


def _asked_for(collected: Collected) -> Collected:
    """Without --puzzle the assignment is every puzzle that anyone handed in."""
    from msgspec.structs import replace

    seen = {kernel.puzzle for learner in collected.learners for kernel in learner.kernels}
    return replace(collected, puzzles=tuple(name for name in collected.puzzles if name in seen))


def _tell_collected(collected: Collected, folder: RunFolder) -> None:
    learners = collected.learners
    nothing = [x for x in learners if not (x.files or x.told or x.kernels)]
    unread = [x for x in learners if not any(k.source for k in x.kernels) and x not in nothing]
    strangers = [x for x in learners if not x.on_roster]
    kernels = sum(len(x.kernels) for x in learners)
    print(f"{collected.layout}: {len(learners)} learners, {kernels} kernels of {len(collected.puzzles)} puzzles")
    if nothing:
        print(f"handed in nothing: {_names(nothing)}")
    if unread:
        print(f"handed in no kernel that could be read: {_names(unread)}")
    if strangers and len(strangers) < len(learners):
        print(f"not on the roster: {_names(strangers)}")
    told = sum(len(x.told) for x in learners) + len(collected.told)
    print(f"{told} files were not read. Look at {folder.path / 'collected.json'}, then: grade judge {folder.path}")


def _names(learners: Sequence[object]) -> str:
    from checker.grading.report import one_line

    shown = [one_line(getattr(x, "person").name or getattr(x, "person").id) for x in learners[:8]]  # noqa: B009
    return ", ".join(shown) + (f" and {len(learners) - 8} more" if len(learners) > 8 else "")


# ------------------------------------------------------------------------------------------------------------------- judge


def judge(options: Namespace) -> int:
    from checker.grading.judging import shard
    from checker.grading.keys import Setting, secret_id
    from checker.grading.store import RunFolder

    if options.jobs < 1:
        raise UsageError(f"--jobs has to be at least 1, not {options.jobs}")
    index, count = _shard(options.shard)
    folder = RunFolder(Path(options.folder))
    secret = Path(options.secret).read_bytes() if options.secret else None
    setting = Setting(
        device=_device_name(options.device),
        secret_id=secret_id(secret),
        diagnose=not options.no_diagnosis,
        seconds=options.time_limit,
    )
    if options.watch:
        return _watch(options, folder, setting, secret)
    folder.keep_setting(setting)
    with _ended_by_sigterm():
        wanted = shard(_tasks(folder, setting).values(), index, count)
        judged = _judge(options, folder, wanted, setting, secret)
    return _tell_judged(judged, folder, len(wanted))


def _tasks(folder: RunFolder, setting: Setting) -> dict[str, Task]:
    from checker.grading.judging import tasks

    collected = _collected(folder)
    return tasks(collected, folder, {p.name: p for p in _puzzles(collected)}, setting)


def _judge(
    options: Namespace, folder: RunFolder, wanted: Sequence[Task], setting: Setting, secret: bytes | None
) -> Judged:
    from checker.grading import bank_table
    from checker.grading.judging import Judged, Local, judge_missing
    from checker.grading.records import Fault
    from checker.grading.report import Progress, words
    from checker.sandbox import Sandbox

    missing = len(folder.missing(task.key for task in wanted))
    print(f"checker: {len(wanted)} different kernels, {missing} of them to be judged", file=sys.stderr)
    if not missing:
        return Judged()
    required = _required_layers(options.require_isolation)
    engine = _engine(options, setting, secret, required, _isolated(Sandbox.shared(), required))
    puzzles = {task.key: task.puzzle.name for task in wanted}
    asked = list({task.puzzle.name: task.puzzle for task in wanted if setting.diagnose}.values())
    with Progress(missing) as shown:

        def done(made: VerdictRecord | Fault) -> None:
            shown.step(
                f"{puzzles[made.key]} {made.key[:8]}",
                "not graded" if isinstance(made, Fault) else words(made.facts.status),
            )

        here = isinstance(engine, Local)  # judges elsewhere keep their own tables
        if here:
            bank_table.load(asked)
        try:
            return judge_missing(folder, wanted, setting, engine, learner_seconds=options.learner_limit, report=done)
        finally:
            if here:
                bank_table.save(asked)


def _engine(
    options: Namespace, setting: Setting, secret: bytes | None, required: Sequence[str], sandbox: Sandbox
) -> Engine:
    """What makes the verdicts: a cluster, a process for each GPU, or this process."""
    from checker.grading.judge_process import GpuPool, visible_gpus
    from checker.grading.judging import Local

    if options.engine == "ray":
        import importlib.util

        if importlib.util.find_spec("ray") is None:
            raise UnavailableHere("--engine ray needs Ray: pip install 'tile-by-tile[ray]'")
        from checker.grading.ray_engine import RayEngine

        return RayEngine(options.ray_address, secret, required)
    if setting.device == "cpu":
        return Local(sandbox, secret, options.jobs)
    gpus = visible_gpus()
    if len(gpus) < 2:
        return Local(sandbox, secret)
    print(f"checker: one judge on each of {len(gpus)} GPUs", file=sys.stderr)
    return GpuPool(gpus, secret, required)


def _tell_judged(judged: Judged, folder: RunFolder, wanted: int) -> int:
    print(f"{judged.stored} verdicts made, {wanted - judged.stored - len(judged.faults)} there already or left")
    for fault in judged.faults[:5]:
        print(f"checker: not graded: {fault.message.splitlines()[0][:300]}", file=sys.stderr)
    if judged.interrupted:
        print(f"checker: stopped. The same command continues where it was: grade judge {folder.path}", file=sys.stderr)
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
    from checker.sandbox.isolation import LANDLOCK, LAYERS, NAMESPACES, SECCOMP

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
    """Say how kernels are isolated on this machine. Raises UnavailableHere where that is less than what is required."""
    from checker.grading.judging import isolation_lacks

    said = [sandbox.tier]
    said += [f"gaps: {', '.join(sandbox.gaps)}"] if sandbox.gaps else []
    said += [f"not in force: {reason}" for reason in sandbox.lost]
    print(f"checker: kernels are isolated by {'; '.join(said)}", file=sys.stderr)
    if lacking := isolation_lacks(sandbox, required):
        raise UnavailableHere(
            f"isolation by {', '.join(required)} is required; this machine lacks {', '.join(lacking)}"
        )
    return sandbox


def _watch(options: Namespace, folder: RunFolder, setting: Setting, secret: bytes | None) -> int:
    """Collect, judge and score whenever the folder has changed, until Ctrl-C."""
    from checker.grading import handed_in
    from checker.grading.policy import Policy
    from checker.grading.reader import Reader
    from checker.grading.roster import Roster
    from checker.grading.score import score

    watched, seen = Path(options.watch), None
    before = _collected(folder) if (folder.path / "collected.json").exists() else None
    people = [x.person for x in before.learners if x.on_roster] if before else []
    puzzles = _puzzles(before) if before else _all_puzzles()
    folder.keep_setting(setting)
    with _ended_by_sigterm(), contextlib.suppress(KeyboardInterrupt), Reader() as reader:
        while True:
            now = _stamps(watched)
            if now != seen:
                seen = now
                found = handed_in.collect(watched, puzzles, reader, roster=Roster(people))
                folder.keep_collected(found.record, found.sources)
                judged = _judge(options, folder, list(_tasks(folder, setting).values()), setting, secret)
                policy = _policy(options.policy) if options.policy else Policy()
                folder.keep_results(score(folder, puzzles, policy, setting))
                if judged.interrupted:
                    break
            time.sleep(1.0)
    return DONE


def _stamps(watched: Path) -> frozenset[tuple[str, int, int]]:
    found = set()
    for path in watched.rglob("*"):
        with contextlib.suppress(OSError):
            about = path.lstat()
            found.add((str(path), about.st_mtime_ns, about.st_size))
    return frozenset(found)


# --------------------------------------------------------------------------------------------------------- rescore, report


def rescore(options: Namespace) -> int:
    from checker.grading.policy import Policy
    from checker.grading.report import class_table
    from checker.grading.score import score
    from checker.grading.store import RunFolder

    folder = RunFolder(Path(options.folder))
    puzzles = _puzzles(_collected(folder))
    policy = _policy(options.policy) if options.policy else Policy()
    try:
        setting = folder.setting
    except FileNotFoundError:
        raise UsageError(f"nothing was judged in {folder.path} yet: grade judge {folder.path}") from None
    result = score(folder, puzzles, policy, setting)
    folder.keep_results(result)
    class_table(result)
    left = [learner for learner in result.learners if learner.status == "ungraded"]
    if left:
        print(f"checker: ungraded: {_names(left)}; judge again: grade judge {folder.path}", file=sys.stderr)
    return BROKEN if left else DONE


def report(options: Namespace) -> int:
    from checker.grading.gradebook import GradeBookError
    from checker.grading.store import RunFolder
    from checker.grading.written import write_report

    folder = RunFolder(Path(options.folder))
    result = _result(folder)
    if options.anonymous and options.gradebook:
        raise UsageError("a grade book names everyone: leave out --anonymous or --gradebook")
    if options.anonymous and options.films:
        raise UsageError(
            "a film shows the kernel as it was written, names in comments too: leave out --anonymous or --films"
        )
    try:
        book = Path(options.gradebook) if options.gradebook else None
        films = _films(folder) if options.films else lambda learner: {}
        written = write_report(folder, result, book, options.column, options.anonymous, films)
    except GradeBookError as error:
        raise UsageError(str(error)) from None
    for line in written:
        print(line)
    return DONE


def _films(folder: RunFolder) -> Films:
    from checker.grading.failing_film import FailingFilms
    from checker.sandbox import Sandbox

    return FailingFilms(folder, _collected(folder), Sandbox.shared())


def _result(folder: RunFolder) -> Result:
    try:
        return folder.results
    except FileNotFoundError:
        raise UsageError(f"nothing was scored in {folder.path} yet: grade rescore {folder.path}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _collected(folder: RunFolder) -> Collected:
    try:
        return folder.collected
    except FileNotFoundError:
        raise UsageError(f"nothing was collected in {folder.path} yet: grade collect PATH -o {folder.path}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _policy(path: str) -> Policy:
    from checker.course import PUZZLES
    from checker.grading.policy import PolicyError, read_policy

    try:
        return read_policy(Path(path), PUZZLES)
    except PolicyError as error:
        raise UsageError(str(error)) from None


def _puzzles(collected: Collected) -> list[Puzzle]:
    from checker.course import PUZZLES

    return [PUZZLES[name] for name in collected.puzzles if name in PUZZLES]


def _all_puzzles() -> list[Puzzle]:
    from checker.course import LADDER

    return list(LADDER)


def _device_name(asked: str) -> str:
    from checker import gpu
    from checker.checking import DeviceMissing, resolve_device

    try:
        return gpu.device_name() if resolve_device(asked) == "cuda" else "cpu"
    except DeviceMissing as missing:
        raise UnavailableHere(str(missing)) from None


def _shard(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise UsageError(f"--shard takes I/N with I from 1 to N, for example 1/8, not {text}")
    return int(index), int(count)


# --------------------------------------------------------------------------------------------------------- one submission


def one(options: Namespace) -> int:
    """Exit status 0 also where a kernel is wrong: only what the grader could not do is an error there."""
    import tempfile

    from checker.grading.judging import Local
    from checker.grading.keys import Setting, secret_id
    from checker.grading.policy import Policy
    from checker.grading.single import grade_one, write_classroom50, write_gradescope
    from checker.grading.store import RunFolder
    from checker.sandbox import Sandbox

    if not options.puzzle:
        raise UsageError("grade one needs the puzzles of the assignment: --puzzle NAME, once for each")
    puzzles = [puzzle_named(name, "grade one") for name in dict.fromkeys(options.puzzle)]
    secret = Path(options.secret).read_bytes() if options.secret else None
    setting = Setting(device=_device_name("auto"), secret_id=secret_id(secret))
    policy = _policy(options.policy) if options.policy else Policy()
    with tempfile.TemporaryDirectory() as temporary:
        folder = RunFolder(Path(options.output or temporary))
        engine = Local(Sandbox.shared(), secret)
        learner, result = grade_one(Path(options.submission), puzzles, folder, engine, setting, policy)
    if (
        learner.status == "ungraded"
    ):  # without a result the platform says that grading failed, and gives no points, nor none
        raise UnavailableHere("the kernels could not be judged here; this says nothing about them. Run it again")
    if options.gradescope:
        write_gradescope(Path(options.gradescope), learner, result, _metadata())
    if options.classroom50:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            write_classroom50(Path(options.classroom50), learner, os.environ, now)
        except KeyError as missing:
            raise UnavailableHere(f"the runner sets no {missing.args[0]}: is this Classroom 50?") from None
    print(f"{learner.score:g} of {learner.max_score:g} points")
    return DONE


def _metadata() -> dict[str, object]:
    """What Gradescope says of the submission; empty elsewhere."""
    import json

    try:
        found = json.loads(Path("/autograder/submission_metadata.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
