"""``python -m checker grade all``, or ``collect | judge | rescore | report | one``: the arguments of grading a class.

What the stages do is in `grade_stages`, which needs torch; usage is shown without it.
"""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

from checker.verbs.arguments import UnavailableHere

DONE, BROKEN = 0, 3
STAGES = {
    "all": "the four stages one after another",
    "collect": "who handed in what: collected.json",
    "judge": "judge what has no verdict yet: verdicts/",
    "rescore": "scores from verdicts and a policy, without judging: results.json",
    "report": "grade books, feedback and pages: report/",
    "one": "one submission, inside Gradescope's container or on a Classroom 50 runner",
}
DEVICES = ("auto", "cpu", "cuda")


def main(arguments: Sequence[str]) -> int:
    """Run one stage; `arguments` begin with its name. Raises UsageError, OSError."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    from classroom import grade_stages

    try:
        return grade_stages.RUN[options.stage](options)
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
    parsers = {name: stages.add_parser(name, help=summary) for name, summary in STAGES.items()}
    for name, add in (("collect", _collect), ("judge", _judge), ("rescore", _rescore), ("report", _report)):
        add(parsers["all"])
        if name != "collect":
            parsers[name].add_argument("folder", metavar="RUN")
        add(parsers[name])
    parsers["all"].set_defaults(shard="1/1", watch=None)
    p = parsers["judge"]
    p.add_argument("--shard", metavar="I/N", default="1/1", help="only this part of N, for N processes on one folder")
    p.add_argument("--watch", metavar="FOLDER", help="collect this folder again and again, and grade what arrives")
    p.add_argument("--policy", metavar="TOML", help="with --watch: how to score")
    _one(parsers["one"])
    return parser


def _collect(p: ArgumentParser) -> None:
    p.add_argument("path", metavar="PATH", help="a folder or zip, as the learning platform gave it")
    roster = "everyone in the class: columns id, name, email; or the platform's export"
    p.add_argument("--roster", metavar="CSV", help=roster)
    p.add_argument("--assignment", metavar="NAME", help="which assignment, where nbgrader's folder holds several")
    _puzzles(p)
    p.add_argument("-o", "--output", metavar="RUN", default="run", help="the folder of this run (default: run)")


def _judge(p: ArgumentParser) -> None:
    device = "auto (default) also uses a GPU where there is one"
    p.add_argument("--device", choices=DEVICES, default="auto", help=device)
    _secret(p)
    jobs = "verdicts at a time (default: as many as there are processors, and memory for)"
    p.add_argument("--jobs", metavar="N", type=int, help=jobs)
    p.add_argument("--no-diagnosis", action="store_true", help="do not look for the misconception behind a failure")
    p.add_argument("--time-limit", metavar="S", type=float, default=600.0, help="seconds for one kernel (default 600)")
    limit = "seconds for one learner (default: none)"
    p.add_argument("--learner-limit", metavar="S", type=float, default=0.0, help=limit)
    engine = "this machine (default), or a Ray cluster"
    p.add_argument("--engine", choices=("local", "ray"), default="local", help=engine)
    address = "of the cluster (default: the one that runs here)"
    p.add_argument("--ray-address", metavar="ADDRESS", default="auto", help=address)
    layers = "refuse to start with less isolation than this, e.g. landlock+seccomp, or full"
    p.add_argument("--require-isolation", metavar="LAYERS", help=layers)


def _rescore(p: ArgumentParser) -> None:
    p.add_argument("--policy", metavar="TOML", help="points by gate, attempts, late days, puzzles that are dropped")


def _report(p: ArgumentParser) -> None:
    p.add_argument("--gradebook", metavar="CSV", help="the grade book that Canvas or Moodle exported, to be filled in")
    p.add_argument("--column", metavar="NAME", default="Tile by Tile", help="its column, in Canvas's")
    p.add_argument("--anonymous", action="store_true", help="name no one")
    p.add_argument("--films", action="store_true", help="with a film of the smallest case that each wrong kernel fails")


def _one(p: ArgumentParser) -> None:
    p.add_argument("submission", metavar="PATH", help="the learner's file or folder")
    _puzzles(p)
    p.add_argument("--gradescope", metavar="JSON", help="write Gradescope's results.json to this file")
    classroom = "write Classroom 50's result.json, and release-body.md beside it"
    p.add_argument("--classroom50", metavar="JSON", help=classroom)
    _secret(p)
    p.add_argument("--policy", metavar="TOML", help="points by gate")
    p.add_argument("-o", "--output", metavar="RUN", help="keep the findings in this folder")


def _puzzles(p: ArgumentParser) -> None:
    puzzle = "a puzzle of the assignment; repeat it"
    p.add_argument("--puzzle", metavar="NAME", action="append", default=[], help=puzzle)


def _secret(p: ArgumentParser) -> None:
    p.add_argument("--secret", metavar="FILE", help="draw the cases from what is in this file")
