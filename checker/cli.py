"""``python -m checker``: the verbs for a shell, and the grader.

Exit codes: 0 all passed, 1 some did not, 2 wrong usage or nothing found, 3 the checker itself could not do its work.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.verbs.naming import Misuse, Unavailable

if TYPE_CHECKING:
    from checker.grading.mutants import Row
    from checker.grading.run import Graded
    from checker.puzzle import Puzzle
    from checker.submission.kernel import KernelSource

PASSED, FAILED, USAGE, BROKEN = 0, 1, 2, 3
DEVICES = ("auto", "cpu", "cuda")

_CODES = "exit status: 0 all passed, 1 some did not, 2 wrong usage or nothing found, 3 the checker itself could not do its work"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse ends with 2 for wrong usage and with 0 for --help
        return int(stop.code or 0)
    if options.verb is None:
        parser.print_help()
        return USAGE
    try:
        return int(options.run(options))
    except Unavailable as missing:
        _complain(str(missing))
        return BROKEN
    except Misuse as misuse:
        return _complain(str(misuse))
    except (FileNotFoundError, NotADirectoryError) as error:
        return _complain(f"{error}. Is the path right, seen from {Path.cwd()}?")
    except BrokenPipeError:  # the reader of a pipe has gone, e.g. `… | head`
        sys.stderr.close()
        return FAILED
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return BROKEN
    except Exception as error:
        traceback.print_exc()
        print(
            f"\nThe checker itself failed ({type(error).__name__}); no kernel was judged by this. "
            "`python -m checker doctor` looks for what is missing on this machine.",
            file=sys.stderr,
        )
        return BROKEN


def _complain(message: str) -> int:
    print(f"checker: {message}", file=sys.stderr)
    return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m checker",
        description="Check, film and grade the Triton kernels of Tile by Tile.",
        epilog=f"{_CODES}\n\nstart with:  python -m checker doctor\nthen:        python -m checker check puzzles/vector_add.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")

    def verb(name: str, run: Any, summary: str, *examples: str) -> argparse.ArgumentParser:
        shown = "".join(f"\n  python -m checker {example}" for example in examples)
        made = verbs.add_parser(
            name,
            help=summary,
            description=summary[:1].upper() + summary[1:] + ".",
            epilog=f"examples:{shown}\n\n{_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    p = verb(
        "check",
        _check,
        "judge the kernels in a file and say what is wrong",
        "check puzzles/row_softmax.py",
        "check row_softmax",
    )
    _file(p)
    _device(p)
    p = verb(
        "film", _film, "film a kernel walking over its tensors", "film puzzles/row_softmax.py -o film.html --size N=13"
    )
    _file(p)
    p.add_argument("-o", "--output", metavar="HTML", help="the page to write (default: <puzzle>.film.html)")
    _sizes(p)
    p = verb(
        "xray",
        _xray,
        "show what the compiler makes of a kernel on each GPU of the course",
        "xray puzzles/row_softmax.py",
        "xray puzzles/row_softmax.py --dtype float16 --size BLOCK_N=2048 --num-warps 8",
    )
    _file(p)
    _sizes(p)
    p.add_argument("--dtype", metavar="DTYPE", help="float32, float16 or bfloat16")
    p.add_argument("--num-warps", metavar="N", type=int, help="warps per program: 1, 2, 4, 8, 16 or 32")
    p.add_argument("--num-stages", metavar="N", type=int, help="stages of pipelined loops: 1 to 8")
    p = verb("bench", _bench, "time a kernel on this machine's GPU", "bench puzzles/row_softmax.py")
    _file(p)
    p = verb("hint", _hint, "show the next hint of a puzzle", "hint row_softmax", "hint row_softmax --level 1")
    p.add_argument("puzzle", nargs="?", metavar="PUZZLE", help="the puzzle's name")
    p.add_argument("--level", metavar="LEVEL", help="1 (question), 2 (idea) or 3 (skeleton); default: the next one")
    verb("progress", _progress, "show what is solved and what comes next", "progress")
    p = verb("reset", _reset, "put a puzzle's empty stub back, after saving your version", "reset row_softmax")
    p.add_argument("puzzle", nargs="?", metavar="PUZZLE", help="the puzzle's name")
    p = verb("doctor", _doctor, "show what works on this machine and the commands that mend what does not", "doctor")
    p.add_argument("--json", metavar="FILE", help="also write the findings as JSON to FILE, or - for standard output")
    _grade_parser(verb)
    p = verb(
        "mutants",
        _mutants,
        "judge the wrong kernels of the course: the kill table",
        "mutants",
        "mutants --puzzle row_softmax --json -",
    )
    _puzzles(p)
    _device(p)
    p.add_argument("--json", metavar="FILE", help="write the table as mutants/v1 to FILE, or - for standard output")
    p.add_argument("--markdown", metavar="FILE", help="write the table as a page")
    p = verb("puzzles", _list, "list the puzzles", "puzzles", "puzzles --json -")
    p.add_argument("--json", metavar="FILE", help="write the list as puzzles/v1 to FILE, or - for standard output")
    return parser


def _grade_parser(verb: Any) -> None:
    p = verb(
        "grade",
        _grade,
        "grade submissions: .py, .ipynb, .zip, or folders of them",
        "grade solutions/",
        "grade submissions/ --puzzle row_softmax --json results.json",
        "grade alice.ipynb --json -",
    )
    p.add_argument(
        "paths", nargs="*", metavar="PATH", help="a file is one submission, and so is each thing in a folder"
    )
    _puzzles(p)
    _device(p)
    p.add_argument("--json", metavar="FILE", help="write the result as result/v1 to FILE, or - for standard output")
    p.add_argument("--jobs", metavar="N", type=int, default=1, help="submissions graded at a time (default 1)")
    p.add_argument(
        "--no-diagnosis", action="store_true", help="do not look for the misconception behind a failure (faster)"
    )


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a .py, .ipynb or .zip, or a puzzle's name for puzzles/NAME.py"
    )
    parser.add_argument("--puzzle", metavar="NAME", help="which puzzle, where the file holds several")


def _sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size", metavar="NAME=NUMBER", action="append", default=[], help="another size, e.g. N=13; may be repeated"
    )


def _puzzles(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--puzzle", metavar="NAME", action="append", default=[], help="only this puzzle; may be repeated"
    )


def _device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=DEVICES, default="auto", help="auto (default) also uses a GPU where there is one"
    )


# --- verbs on one file --------------------------------------------------------------------------------------------------


def _kernels(options: argparse.Namespace, *, single: bool) -> list[tuple[Puzzle, KernelSource]]:
    """The kernels of the file that was named. Raises Misuse where there is none, or several and one is needed."""
    from checker.course import LADDER
    from checker.submission.read import from_path
    from checker.verbs.naming import puzzle_named

    wanted = [puzzle_named(options.puzzle, options.verb)] if options.puzzle else list(LADDER)
    path = _path(options)
    found = from_path(path, wanted)
    kernels = [(next(p for p in wanted if p.name == f.puzzle), f.source) for f in found if f.source is not None]
    broken = [f for f in found if f.source is None and f.reason != "no_kernel"]
    if not kernels:
        why = broken or found
        told = "; ".join(f"{f.submission}: {f.error}" for f in why[:3]) or "no kernel of this course is in it"
        asked = f" The kernel of {wanted[0].name} is called {wanted[0].kernel}." if options.puzzle else ""
        raise Misuse(f"{path}: {told}.{asked}")
    for f in broken:
        print(f"checker: {f.submission}: {f.error}", file=sys.stderr)
    if single and len(kernels) > 1:
        names = ", ".join(dict.fromkeys(p.name for p, _ in kernels))
        raise Misuse(
            f"{path} holds several kernels; say which: {options.verb} {path} --puzzle NAME, with NAME one of {names}"
        )
    return [(puzzle, source) for puzzle, source in kernels if source is not None]


def _path(options: argparse.Namespace) -> Path:
    from checker import workspace
    from checker.course import KERNELS, PUZZLES
    from checker.verbs.naming import puzzle_named

    if options.file is None:
        if not options.puzzle:
            raise Misuse(
                f"{options.verb} needs a file: python -m checker {options.verb} puzzles/{next(iter(PUZZLES))}.py"
            )
        options.file = options.puzzle
    path = Path(options.file)
    if path.exists():
        return path
    name = options.file if options.file in PUZZLES else KERNELS[options.file].name if options.file in KERNELS else None
    if name is not None:
        return workspace.find().puzzle_file(name)
    if path.parent == Path() and not path.suffix:
        puzzle_named(options.file, options.verb)  # raises with the nearest name
    return path


def _check(options: argparse.Namespace) -> int:
    from checker.verbs.actions import check_and_show

    verdicts = [check_and_show(p, s, options.device) for p, s in _kernels(options, single=False)]
    if any(verdict.status == "infra_error" for verdict in verdicts):
        return BROKEN
    return PASSED if all(verdict.passed for verdict in verdicts) else FAILED


def _film(options: argparse.Namespace) -> int:
    from checker.verbs import actions

    sizes = dict(_size(text) for text in options.size)
    _writable(options.output)
    ((puzzle, source),) = _kernels(options, single=True)
    made = actions.film_of(puzzle, source, sizes)
    if not isinstance(made, actions.Film):
        from checker.view.terminal import print_card

        print_card(made)
        return BROKEN if made.status == "infra_error" else FAILED
    output = options.output or f"{puzzle.name}.film.html"
    with _writing(output):
        target = made.save(output)
    print(f"{target}: open it in a browser. Space plays, the arrow keys step.")
    return PASSED


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value)
    except ValueError:
        raise Misuse(f"--size takes NAME=NUMBER, for example --size N=13, not {text!r}") from None


def _xray(options: argparse.Namespace) -> int:
    from checker.verbs.actions import xray_and_show

    asked = {"dtype": options.dtype, "num_warps": options.num_warps, "num_stages": options.num_stages}
    wanted = dict(_size(text) for text in options.size) | {name: v for name, v in asked.items() if v is not None}
    ((puzzle, source),) = _kernels(options, single=True)
    _, compiled = xray_and_show(puzzle, source, wanted)
    return PASSED if compiled else FAILED


def _bench(options: argparse.Namespace) -> int:
    from checker.verbs.actions import bench_and_show
    from checker.verbs.panels import Panel

    ((puzzle, source),) = _kernels(options, single=True)
    return PASSED if isinstance(bench_and_show(puzzle, source), Panel) else FAILED


# --- verbs on the learner's folder --------------------------------------------------------------------------------------


def _hint(options: argparse.Namespace) -> int:
    from checker.verbs.actions import hint

    hint(options.puzzle, options.level)
    return PASSED


def _progress(options: argparse.Namespace) -> int:
    from checker.verbs.actions import show_progress

    show_progress()
    return PASSED


def _reset(options: argparse.Namespace) -> int:
    from checker.verbs.actions import reset

    reset(options.puzzle)
    return PASSED


def _doctor(options: argparse.Namespace) -> int:
    from checker.verbs.actions import diagnosed, doctor

    if options.json is None:
        report = doctor()
    else:
        report = diagnosed()
        _write_json(options.json, {"schema": "doctor/v1", "findings": [asdict(found) for found in report]})
    return FAILED if any(found.level == "problem" for found in report) else PASSED


# --- verbs of the grader ------------------------------------------------------------------------------------------------


def _grade(options: argparse.Namespace) -> int:
    from checker.course import LADDER
    from checker.grading import collect, keep, run
    from checker.sandbox import Sandbox

    if not options.paths:
        raise Misuse(
            "grade needs something to grade: python -m checker grade PATH…, with a .py, .ipynb, .zip or a folder"
        )
    if options.jobs < 1:
        raise Misuse(f"--jobs has to be at least 1, not {options.jobs}")
    _writable(options.json)
    wanted = _wanted(options)
    found = collect.submissions([Path(path) for path in options.paths], wanted or LADDER)
    if not any(submission.entries for submission in found):
        raise Misuse(f"there is no .py, .ipynb or .zip to grade at {', '.join(options.paths)}")
    device = _resolved(options.device)
    if device is None:
        return BROKEN
    from checker.grading.report import Progress, summary

    with Progress(len(found), quiet=options.json == "-") as shown:
        batch = run.grade(
            found,
            wanted or LADDER,
            device,
            wanted=wanted,
            jobs=options.jobs if device == "cpu" else 1,
            diagnose=not options.no_diagnosis,
            report=shown.done,
        )
    if options.json != "-":
        summary(batch)
    _explain(batch.graded, batch.interrupted, len(found))
    if options.json is not None:
        facts = keep.environment(device, Sandbox.shared().tier)
        _write_json(options.json, keep.document([(g.submission.name, g.verdicts) for g in batch.graded], facts))
    return batch.exit_code


def _explain(graded: Sequence[Graded], interrupted: bool, total: int) -> None:
    if interrupted:
        print(f"checker: stopped; {len(graded)} of {total} submissions were graded.", file=sys.stderr)
    empty = [g.submission.name for g in graded if not g.verdicts]
    if empty:
        print(f"checker: no kernel of the course in: {', '.join(empty)}", file=sys.stderr)


def _mutants(options: argparse.Namespace) -> int:
    from checker.course import LADDER
    from checker.grading import keep, mutants
    from checker.grading.report import Progress, kill_table
    from checker.sandbox import Sandbox
    from checker.workspace import write_atomically

    puzzles = _wanted(options) or list(LADDER)
    _writable(options.json, options.markdown)
    device = _resolved(options.device)
    if device is None:
        return BROKEN
    total = sum(len(mutants.bank(puzzle.name)) for puzzle in puzzles)
    with Progress(total, quiet=options.json == "-") as shown:
        rows: list[Row] = mutants.kill_table(puzzles, device, report=shown.row)
    if options.json is not None:
        facts = keep.environment(device, Sandbox.shared().tier)
        _write_json(options.json, mutants.document(rows, puzzles, device, facts))
    if options.markdown is not None:
        with _writing(options.markdown):
            write_atomically(Path(options.markdown), mutants.markdown(rows, puzzles, device))
    if options.json != "-":
        kill_table(rows, device)
    if not rows:
        print("checker: no misconceptions are written down for these puzzles yet.", file=sys.stderr)
    return mutants.exit_code(rows)


def _list(options: argparse.Namespace) -> int:
    from checker.course import LADDER

    if options.json is not None:
        puzzles = [
            {
                "name": p.name,
                "kernel": p.kernel,
                "parameters": list(p.parameters),
                "notebook": p.notebook,
                "points": p.points,
            }
            for p in LADDER
        ]
        _write_json(options.json, {"schema": "puzzles/v1", "puzzles": puzzles})
        return PASSED
    from checker.verbs.panels import Cell, Panel

    rows = [[Cell(p.name), Cell(p.notebook, "soft"), Cell(str(p.points), number=True), Cell(p.title)] for p in LADDER]
    Panel("The ladder", heads=("puzzle", "notebook", "points", ""), rows=rows).show()
    return PASSED


def _wanted(options: argparse.Namespace) -> list[Puzzle]:
    from checker.verbs.naming import puzzle_named

    return [puzzle_named(name, options.verb) for name in dict.fromkeys(options.puzzle)]


def _resolved(asked: str) -> Any:
    """The device, or None, told, where the one that was asked for is not there: the machine's failing, not the user's."""
    from checker.grading.check import DeviceMissing, resolve_device

    try:
        return resolve_device(asked)
    except DeviceMissing as missing:
        print(f"checker: {missing}", file=sys.stderr)
        return None


def _write_json(target: str, content: dict[str, Any]) -> None:
    from checker.grading.keep import write

    with _writing(target):
        write(target, content)


def _writable(*targets: str | None) -> None:
    """Raises Misuse for a file that cannot be written, before the work whose result it is to hold is begun."""
    for target in targets:
        if target is None or target == "-":
            continue
        path = Path(target)
        if path.is_dir():
            raise Misuse(f"{target} is a folder; the result needs the name of a file")
        folder = next(p for p in (path.absolute().parents) if p.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise Misuse(f"{target} cannot be written: {folder} is no folder that you may write to")


@contextlib.contextmanager
def _writing(target: str) -> Iterator[None]:
    """A file that cannot be written after all is the machine's failing, and the work was done."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Unavailable(f"{target} could not be written: {error.strerror or error}") from error
