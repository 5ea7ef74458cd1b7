"""The commands of grading: the stages for a class, and one submission at a time.

What they do is in `stages`, which needs torch; help is shown without it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from checker.api.command_line import App, DeviceName, NoDiagnosis, Secret, UnavailableHere

GROUP = "Grade a class, stage by stage"


def add_to(app: App) -> None:
    """Register the commands."""
    for command in (all_stages, collect, judge, score, report, one):
        app.verb("all" if command is all_stages else command.__name__, group=GROUP)(command)


Run = Annotated[Path, Argument(metavar="RUN", help="the folder of this run")]
Exported = Annotated[Path, Argument(metavar="PATH", help="a folder or zip, as the learning platform gave it")]
Roster = Annotated[
    Path | None, Option(metavar="CSV", help="everyone in the class: columns id, name, email; or the platform's export")
]
Match = Annotated[Path | None, Option(metavar="CSV", help="whose are the unmatched ones: RUN/unmatched.csv, filled in")]
Assignment = Annotated[str | None, Option(metavar="NAME", help="which assignment, if nbgrader's folder has several")]
Puzzles = Annotated[list[str] | None, Option("--puzzle", metavar="NAME", help="a puzzle of the assignment; repeat it")]
Output = Annotated[Path, Option("--output", "-o", metavar="RUN", help="the folder of this run")]
Jobs = Annotated[int | None, Option(metavar="N", help="verdicts at a time (default: as processors and memory allow)")]
TimeLimit = Annotated[float, Option(metavar="S", help="seconds for one kernel")]
LearnerLimit = Annotated[float, Option(metavar="S", help="seconds for one learner; 0 is no limit")]
Isolation = Annotated[
    str | None, Option(metavar="LAYERS", help="refuse to start with less isolation, e.g. landlock+seccomp, or full")
]
PolicyFile = Annotated[
    Path | None,
    Option("--policy", metavar="TOML", help="points by gate, attempts, late days, puzzles that are dropped"),
]
GradeBook = Annotated[
    Path | None, Option(metavar="CSV", help="the grade book that Canvas or Moodle exported, to be filled in")
]
Column = Annotated[str, Option(metavar="NAME", help="the column in Canvas's grade book")]
Anonymous = Annotated[bool, Option("--anonymous", help="leave out every name")]
Films = Annotated[bool, Option("--films", help="add a film of a plain case that each wrong kernel fails")]


def all_stages(
    path: Exported,
    roster: Roster = None,
    match: Match = None,
    assignment: Assignment = None,
    puzzle: Puzzles = None,
    output: Output = Path("run"),
    device: DeviceName = "auto",
    secret: Secret = None,
    jobs: Jobs = None,
    no_diagnosis: NoDiagnosis = False,
    time_limit: TimeLimit = 600.0,
    learner_limit: LearnerLimit = 600.0,
    require_isolation: Isolation = None,
    policy: PolicyFile = None,
    gradebook: GradeBook = None,
    column: Column = "Tile by Tile",
    anonymous: Anonymous = False,
    films: Films = False,
) -> int:
    """Run the four stages one after another."""
    from classroom.grading import stages

    judging = stages.Judging(device, secret, jobs, not no_diagnosis, time_limit, learner_limit, require_isolation)
    codes = [
        _stage(stages.collect, path, roster, assignment, puzzle or [], output, match),
        _stage(stages.judge, output, judging),
        _stage(stages.score_run, output, policy),  # what could not be judged is scored and reported as ungraded
        _stage(stages.report, output, gradebook, column, anonymous, films),
    ]
    return max(codes)


def collect(
    path: Exported,
    roster: Roster = None,
    match: Match = None,
    assignment: Assignment = None,
    puzzle: Puzzles = None,
    output: Output = Path("run"),
) -> int:
    """Find out who handed in what: collected.json."""
    from classroom.grading import stages

    return _stage(stages.collect, path, roster, assignment, puzzle or [], output, match)


def judge(
    run: Run,
    device: DeviceName = "auto",
    secret: Secret = None,
    jobs: Jobs = None,
    no_diagnosis: NoDiagnosis = False,
    time_limit: TimeLimit = 600.0,
    learner_limit: LearnerLimit = 600.0,
    require_isolation: Isolation = None,
    shard: Annotated[str, Option(metavar="I/N", help="only this part of N, for N processes on one folder")] = "1/1",
) -> int:
    """Judge what has no verdict yet: verdicts/."""
    from classroom.grading import stages

    judging = stages.Judging(
        device, secret, jobs, not no_diagnosis, time_limit, learner_limit, require_isolation, shard
    )
    return _stage(stages.judge, run, judging)


def score(run: Run, policy: PolicyFile = None) -> int:
    """Make scores from verdicts and a policy, without judging: results.json."""
    from classroom.grading import stages

    return _stage(stages.score_run, run, policy)


def report(
    run: Run,
    gradebook: GradeBook = None,
    column: Column = "Tile by Tile",
    anonymous: Anonymous = False,
    films: Films = False,
) -> int:
    """Write grade books, feedback and pages: report/."""
    from classroom.grading import stages

    return _stage(stages.report, run, gradebook, column, anonymous, films)


def one(
    submission: Annotated[Path, Argument(metavar="PATH", help="the learner's file or folder")],
    puzzle: Puzzles = None,
    gradescope: Annotated[Path | None, Option(metavar="JSON", help="write Gradescope's results.json here")] = None,
    secret: Secret = None,
    policy: Annotated[Path | None, Option(metavar="TOML", help="points by gate")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="RUN", help="keep the findings in this folder")
    ] = None,
) -> int:
    """Grade one submission, e.g. inside Gradescope's container."""
    from classroom.grading import stages

    return _stage(stages.one, submission, puzzle or [], gradescope, secret, policy, output)


def _stage(stage: Callable[..., int], *arguments: Any) -> int:
    """Run a stage. A full disk or a folder without permission is the machine's failing."""
    try:
        return stage(*arguments)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise UnavailableHere(f"{error.filename or 'a file'} could not be written or read: {error.strerror}") from error
