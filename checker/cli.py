"""``python -m checker``: the verbs for a shell, and the grader.

Exit codes: 0 all passed, 1 some did not, 2 wrong usage or nothing found, 3 the checker itself could not do its work.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.verbs.arguments import UnavailableHere, UsageError, kernels_in, one_kernel, path_of, puzzle_named
from classroom import grade_class, teach_class

if TYPE_CHECKING:  # `doctor` runs where torch is missing
    from checker.checking import Device
    from checker.puzzle import Puzzle
    from checker.submission.kernel import KernelSource

PASSED, FAILED, USAGE, BROKEN = 0, 1, 2, 3
CODES = "exit status: 0 all passed, 1 some did not, 2 wrong usage or nothing found, 3 the checker itself could not do its work"
DEVICES = ("auto", "cpu", "cuda")
DEVICE = "auto (default) also uses a GPU where there is one"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    parser = _parser()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["class"]:
            options = Namespace(run=lambda _: teach_class.main(given[1:]))
        elif given[:1] == ["grade"] and set(given[1:2]) & grade_class.STAGES.keys():  # a file is written ``./collect``
            options = Namespace(run=lambda _: grade_class.main(given[1:]))
        else:
            options = parser.parse_args(given)
    except SystemExit as stop:  # argparse ends with 2 for wrong usage and with 0 for --help
        return int(stop.code or 0)
    if "verb" in options and options.verb is None:
        parser.print_help()
        return USAGE
    try:
        return int(options.run(options))
    except UsageError as error:
        _complain(str(error))
        return BROKEN if isinstance(error, UnavailableHere) else USAGE
    except (FileNotFoundError, NotADirectoryError) as error:
        _complain(f"{error}. Is the path right, seen from {Path.cwd()}?")
        return USAGE
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


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m checker",
        description="Check, film and grade the Triton kernels of Tile by Tile.",
        epilog=f"{CODES}\n\nstart with:  python -m checker doctor\nthen:        python -m checker check puzzles/vector_add.py",
        formatter_class=RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")

    def verb(run: Callable[[Namespace], int], summary: str, *examples: str) -> ArgumentParser:
        name = run.__name__
        shown = "".join(f"\n  python -m checker {example}" for example in examples or [name])
        made = verbs.add_parser(
            name,
            help=summary,
            description=summary[:1].upper() + summary[1:] + ".",
            epilog=f"examples:{shown}\n\n{CODES}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    def kernel_verb(run: Callable[[Namespace], int], summary: str, *examples: str) -> ArgumentParser:
        made = verb(run, summary, *examples)
        file = "a .py, .ipynb or .zip, or a puzzle's name for puzzles/NAME.py"
        made.add_argument("file", nargs="?", metavar="FILE", help=file)
        made.add_argument("--puzzle", metavar="NAME", help="which puzzle, if the file holds several")
        return made

    def add_sizes(p: ArgumentParser) -> None:
        sizes = "another size, e.g. N=13; may be repeated"
        p.add_argument("--size", metavar="NAME=NUMBER", action="append", default=[], help=sizes)

    def add_choices(p: ArgumentParser) -> None:
        add_sizes(p)
        p.add_argument("--dtype", metavar="DTYPE", help="float32, float16 or bfloat16")
        p.add_argument("--num-warps", metavar="N", type=int, help="warps per program: 1, 2, 4, 8, 16 or 32")
        p.add_argument("--num-stages", metavar="N", type=int, help="stages of pipelined loops: 1 to 8")

    def add_puzzles(p: ArgumentParser) -> None:
        only = "only this puzzle; may be repeated"
        p.add_argument("--puzzle", metavar="NAME", action="append", default=[], help=only)

    def json_help(what: str) -> str:
        return f"{what} to FILE, or - for standard output"

    p = kernel_verb(
        check,
        "judge the kernels in a file and say what is wrong",
        "check puzzles/row_softmax.py",
        "check row_softmax",
        "check puzzles/row_softmax.py --seed 2718281828",
    )
    p.add_argument("--device", choices=DEVICES, default="auto", help=DEVICE)
    p.add_argument("--seed", metavar="S", type=int, help="judge with the cases that a graded run drew with this seed")
    p = kernel_verb(
        film,
        "film a kernel walking over its tensors",
        "film puzzles/row_softmax.py -o film.html --size N=13",
        "film row_softmax --case failing",
    )
    failing = "film the smallest failing case of a kernel that does not pass"
    p.add_argument("--case", choices=("failing",), default="", help=failing)
    page = "the page to write (default: <puzzle>.film.html), or an animated .svg"
    p.add_argument("-o", "--output", metavar="HTML", help=page)
    add_sizes(p)
    p = kernel_verb(
        xray,
        "show what the compiler makes of a kernel on each GPU of the course",
        "xray puzzles/row_softmax.py",
        "xray puzzles/row_softmax.py --dtype float16 --size BLOCK_N=2048 --num-warps 8",
    )
    add_choices(p)
    p = kernel_verb(
        bench,
        "time a kernel on this machine's GPU, or predict its least time on others",
        "bench puzzles/row_softmax.py",
        "bench puzzles/row_softmax.py --dtype bfloat16 --size M=4096 --num-warps 8",
    )
    add_choices(p)
    p = verb(hint, "show the next hint of a puzzle", "hint row_softmax", "hint row_softmax --level 1")
    p.add_argument("puzzle", nargs="?", metavar="PUZZLE", help="the puzzle's name, or a file with its kernel")
    p.add_argument("--level", metavar="LEVEL", help="1 (question), 2 (idea) or 3 (skeleton); default: the next one")
    verb(progress, "show what is solved and what comes next")
    p = verb(reset, "put a puzzle's empty stub back, after saving your version", "reset row_softmax")
    p.add_argument("puzzle", nargs="?", metavar="PUZZLE", help="the puzzle's name")
    p = verb(
        doctor,
        "show what works on this machine and the commands that mend what does not",
        "doctor",
        "doctor --workshop",
    )
    evening = "the evening before: also check a kernel, and say READY or NOT READY"
    p.add_argument("--workshop", action="store_true", help=evening)
    p.add_argument("--json", metavar="FILE", help=json_help("also write the findings as JSON"))
    p = verb(
        grade,
        "grade submissions: .py, .ipynb, .zip, or folders of them",
        "grade solutions/",
        "grade submissions/ --puzzle row_softmax --json results.json",
        "grade alice.ipynb --json -",
        "grade all canvas.zip --roster roster.csv   (a class, see docs/grading.md)",
    )
    paths = "a file is one submission; of a folder, each entry is one"
    p.add_argument("paths", nargs="*", metavar="PATH", help=paths)
    add_puzzles(p)
    p.add_argument("--device", choices=DEVICES, default="auto", help=DEVICE)
    p.add_argument("--json", metavar="FILE", help=json_help("write the result as result/v1"))
    secret = "draw the cases from the contents of this file: the same for everyone, and known to nobody beforehand"
    p.add_argument("--secret", metavar="FILE", help=secret)
    p.add_argument("--jobs", metavar="N", type=int, default=1, help="submissions graded at a time (default 1)")
    faster = "do not look for the misconception behind a failure (faster)"
    p.add_argument("--no-diagnosis", action="store_true", help=faster)
    p = verb(
        mutants,
        "judge the wrong kernels of the course and show which gate catches each",
        "mutants",
        "mutants --puzzle row_softmax --json -",
        "mutants --puzzle row_softmax --show no_mask",
    )
    add_puzzles(p)
    p.add_argument("--device", choices=DEVICES, default="auto", help=DEVICE)
    p.add_argument("--json", metavar="FILE", help=json_help("write the table as mutants/v1"))
    p.add_argument("--markdown", metavar="FILE", help="write the table as a page")
    p.add_argument("--show", metavar="NAME", help="print this whole wrong kernel and judge nothing")
    p = verb(puzzles, "list the puzzles", "puzzles", "puzzles --json -")
    p.add_argument("--json", metavar="FILE", help=json_help("write the list as puzzles/v1"))
    verbs.add_parser("class", help="teach a workshop: the live board and what goes with it")
    return parser


# --- commands on the kernels of one file --------------------------------------------------------------------------------


def check(options: Namespace) -> int:
    from checker.verbs.check import check_and_show

    verdicts = [check_and_show(p, source, options.device, options.seed) for p, source in _kernels(options)]
    if any(verdict.status == "infra_error" for verdict in verdicts):
        return BROKEN
    return PASSED if all(verdict.passed for verdict in verdicts) else FAILED


def film(options: Namespace) -> int:
    from checker.verbs.film import Film, film_of
    from checker.view.terminal import print_card

    sizes = _sizes(options)
    _refuse_unwritable(options.output)
    puzzle, source = _kernel(options)
    made = film_of(puzzle, source, sizes, options.case)
    if not isinstance(made, Film):
        print_card(made)
        return BROKEN if made.status == "infra_error" else FAILED
    output = options.output or f"{puzzle.name}.film.html"
    with _writing(output):
        target = made.save(output)
    keys = "" if target.suffix.lower() == ".svg" else " Space plays, the arrow keys step."
    print(f"{target}: open it in a browser.{keys}")
    return PASSED


def xray(options: Namespace) -> int:
    from checker.verbs.xray import xray_and_show

    _, compiled = xray_and_show(*_kernel(options), _choices(options))
    return PASSED if compiled else FAILED


def bench(options: Namespace) -> int:
    from checker import gpu
    from checker.verbs.bench import Benchmark, bench_and_show

    found = bench_and_show(*_kernel(options), _choices(options))
    if not gpu.available():
        _complain("bench needs a GPU that torch can use, and there is none here: doctor says more.")
        return BROKEN
    return PASSED if isinstance(found, Benchmark) else FAILED


def _choices(options: Namespace) -> dict[str, Any]:
    """Sizes, dtype and launch options that were asked for."""
    asked = {"dtype": options.dtype, "num_warps": options.num_warps, "num_stages": options.num_stages}
    return _sizes(options) | {name: value for name, value in asked.items() if value is not None}


def _sizes(options: Namespace) -> dict[str, Any]:
    sizes = {}
    for text in options.size:
        name, _, value = text.partition("=")
        try:
            sizes[name.strip()] = int(value)
        except ValueError:
            raise UsageError(f"--size takes NAME=NUMBER, for example --size N=13, not {text!r}") from None
    return sizes


def _kernel(options: Namespace) -> tuple[Puzzle, KernelSource]:
    """The one kernel that was named. Raises UsageError where there is none, or several."""
    path = _path(options)
    return one_kernel(_kernels(options), path, f"{options.verb} {path} --puzzle NAME")


def _kernels(options: Namespace) -> list[tuple[Puzzle, KernelSource]]:
    """The kernels of the file that was named. Raises UsageError where there is none."""
    return kernels_in(_path(options), options.verb, options.puzzle or "")


def _path(options: Namespace) -> Path:
    """The file that was named, by its path or by its puzzle."""
    name = options.file or options.puzzle
    if name is None:
        from checker.course import PUZZLES

        first = next(iter(PUZZLES))
        raise UsageError(f"{options.verb} needs a file: python -m checker {options.verb} puzzles/{first}.py")
    return path_of(name, options.verb)


# --- commands on the learner's folder and machine -----------------------------------------------------------------------


def hint(options: Namespace) -> int:
    from checker.verbs.hint import hint

    hint(options.puzzle, options.level)
    return PASSED


def progress(options: Namespace) -> int:
    from checker.verbs.progress import progress

    progress()
    return PASSED


def reset(options: Namespace) -> int:
    from checker.verbs.reset import reset

    reset(options.puzzle)
    return PASSED


def doctor(options: Namespace) -> int:
    from checker.verbs.doctor import doctor, examine
    from checker.verbs.machine import this_machine

    if options.workshop:
        from checker.verbs.workshop_readiness import workshop_readiness

        report = workshop_readiness()
    else:
        report = doctor() if options.json is None else examine(this_machine())
    if options.json is not None:
        _write_json(options.json, {"schema": "doctor/v1", "findings": [asdict(check) for check in report]})
    return FAILED if any(check.level == "problem" for check in report) else PASSED


# --- the grader's commands ----------------------------------------------------------------------------------------------


def grade(options: Namespace) -> int:
    from checker.course import LADDER
    from checker.sandbox import Sandbox
    from classroom.grading import collect, result_json, run
    from classroom.grading.report import Progress, summary

    if not options.paths:
        raise UsageError(
            "grade needs something to grade: python -m checker grade PATH…, with a .py, .ipynb, .zip or a folder"
        )
    if options.jobs < 1:
        raise UsageError(f"--jobs has to be at least 1, not {options.jobs}")
    _refuse_unwritable(options.json)
    wanted = _puzzles(options)
    found = collect.submissions([Path(path) for path in options.paths], wanted or LADDER)
    if not any(submission.entries for submission in found):
        raise UsageError(f"there is no .py, .ipynb or .zip to grade at {', '.join(options.paths)}")
    device = _device(options)
    with Progress(len(found), quiet=options.json == "-") as shown:
        batch = run.grade(
            found,
            wanted or LADDER,
            device,
            wanted=wanted,
            jobs=options.jobs if device == "cpu" else 1,
            diagnose=not options.no_diagnosis,
            secret=None if options.secret is None else Path(options.secret).read_bytes(),
            report=shown.done,
        )
    if options.json != "-":
        summary(batch)
    if batch.interrupted:
        _complain(f"stopped; {len(batch.graded)} of {len(found)} submissions were graded.")
    if empty := [graded.submission.name for graded in batch.graded if not graded.verdicts]:
        _complain(f"no kernel of the course in: {', '.join(empty)}")
    if options.json is not None:
        facts = result_json.environment(device, Sandbox.shared().tier)
        _write_json(options.json, result_json.document([(g.submission.name, g.verdicts) for g in batch.graded], facts))
    return batch.exit_code


def mutants(options: Namespace) -> int:
    from checker.misconceptions.pages import PageError

    try:
        return _mutants(options)
    except PageError as error:  # whoever writes a page needs its heading, and no traceback
        raise UsageError(f"{error}\nCONTRIBUTING.md says how wrong kernels are written down.") from error


def _mutants(options: Namespace) -> int:
    from checker.course import LADDER
    from checker.sandbox import Sandbox
    from checker.workspace import write_atomically
    from classroom.grading import mutants, result_json
    from classroom.grading.report import Progress, kill_table

    puzzles = _puzzles(options) or list(LADDER)
    if options.show is not None:
        return _show_wrong_kernel(options.show, puzzles)
    _refuse_unwritable(options.json, options.markdown)
    device = _device(options)
    total = sum(len(mutants.bank(puzzle.name)) for puzzle in puzzles)
    with Progress(total, quiet=options.json == "-") as shown:
        rows = mutants.kill_table(puzzles, device, report=shown.row)
    if options.json is not None:
        facts = result_json.environment(device, Sandbox.shared().tier)
        _write_json(options.json, mutants.document(rows, puzzles, device, facts))
    if options.markdown is not None:
        with _writing(options.markdown):
            write_atomically(Path(options.markdown), mutants.markdown(rows, puzzles, device))
    if options.json != "-":
        kill_table(rows, device)
    if not rows:
        _complain("no misconceptions are written down for these puzzles yet.")
    return mutants.exit_code(rows)


def _show_wrong_kernel(name: str, puzzles: Sequence[Puzzle]) -> int:
    """Print one wrong kernel whole, in colours where the output is a terminal."""
    from rich.console import Console
    from rich.syntax import Syntax

    from classroom.grading import mutants

    try:
        text = mutants.text(mutants.find(name, puzzles))
    except LookupError as missing:
        raise UsageError(str(missing.args[0])) from missing
    Console().print(Syntax("", "python", theme="ansi_dark").highlight(text), soft_wrap=True, end="")
    return PASSED


def puzzles(options: Namespace) -> int:
    from checker.course import LADDER

    if options.json is not None:
        listed = [
            {"name": p.name, "kernel": p.kernel, "parameters": p.parameters, "notebook": p.notebook, "points": p.points}
            for p in LADDER
        ]
        _write_json(options.json, {"schema": "puzzles/v1", "puzzles": listed})
        return PASSED
    from checker.view.panel import Cell, Panel

    rows = [[Cell(p.name), Cell(p.notebook, "soft"), Cell(str(p.points), number=True), Cell(p.title)] for p in LADDER]
    Panel("The ladder", heads=("puzzle", "notebook", "points", ""), rows=rows).show()
    return PASSED


def _puzzles(options: Namespace) -> list[Puzzle]:
    return [puzzle_named(name, options.verb) for name in dict.fromkeys(options.puzzle)]


def _device(options: Namespace) -> Device:
    from checker.checking import DeviceMissing, resolve_device

    try:
        return resolve_device(options.device)
    except DeviceMissing as missing:
        raise UnavailableHere(str(missing)) from None


# --- results in files, or on standard output ----------------------------------------------------------------------------


def _write_json(target: str, content: Mapping[str, Any]) -> None:
    from classroom.grading.result_json import write

    with _writing(target):
        write(target, content)


def _refuse_unwritable(*targets: str | None) -> None:
    """Raises UsageError for a file that cannot be written, before the work whose result it is to hold is begun."""
    for target in targets:
        if target is None or target == "-":
            continue
        path = Path(target)
        if path.is_dir():
            raise UsageError(f"{target} is a folder; the result needs the name of a file")
        if path.exists() and not path.is_file():
            raise UsageError(
                f"{target} is a device or a pipe, which cannot be replaced by a file; - is standard output"
            )
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{target} cannot be written: {folder} is no folder that you may write to")


@contextlib.contextmanager
def _writing(target: str) -> Iterator[None]:
    """A file that cannot be written after all is the machine's failing, and the work was done."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnavailableHere(f"{target} could not be written: {error.strerror or error}") from error


def _complain(message: str) -> None:
    print(f"checker: {message}", file=sys.stderr)
