"""``python -m checker``: the verbs in a shell, and the grader.

Exit codes: 0 all passed, 1 some did not, 2 wrong usage or nothing to do, 3 the checker itself could not do its work.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from checker.api.command_line import (
    BROKEN,
    FAILED,
    PASSED,
    App,
    DeviceName,
    NoDiagnosis,
    Secret,
    complain,
    import_torch,
    refuse_unwritable,
    run,
    writing,
)
from checker.verbs.arguments import UnavailableHere, UsageError, kernels_in, one_kernel, path_of, puzzle_named

if TYPE_CHECKING:  # `doctor` works where torch is missing
    from checker.checking import Device
    from checker.puzzle import Puzzle
    from checker.submission.kernel import KernelSource

CODES = "Exit status: 0 all passed, 1 some did not, 2 wrong usage, 3 the checker itself could not do its work."
app = App(
    help="Check, film and grade the Triton kernels of Tile by Tile.",
    epilog=f"Start with `python -m checker doctor`, then `python -m checker check puzzles/vector_add.py`. {CODES}",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    return run(app, "python -m checker", arguments)


File = Annotated[
    str | None, Argument(metavar="FILE", help="a .py, .ipynb or .zip, or a puzzle's name for puzzles/NAME.py")
]
OnePuzzle = Annotated[str | None, Option("--puzzle", metavar="NAME", help="which puzzle, if the file has several")]
SomePuzzles = Annotated[list[str] | None, Option("--puzzle", metavar="NAME", help="only this puzzle; can be repeated")]
Sizes = Annotated[
    list[str] | None, Option("--size", metavar="NAME=NUMBER", help="another size, e.g. N=13; can be repeated")
]
Dtype = Annotated[str | None, Option(metavar="DTYPE", help="float32, float16 or bfloat16")]
Warps = Annotated[int | None, Option(metavar="N", help="warps per program: 1, 2, 4, 8, 16 or 32")]
Stages = Annotated[int | None, Option(metavar="N", help="stages of pipelined loops: 1 to 8")]
Json = Annotated[str | None, Option("--json", metavar="FILE", help="write the result as JSON to FILE, or - for stdout")]


# --- commands on the kernels of one file --------------------------------------------------------------------------------


@app.verb()
def check(
    file: File = None,
    puzzle: OnePuzzle = None,
    device: DeviceName = "auto",
    seed: Annotated[int | None, Option(metavar="S", help="judge with the cases that a graded run drew")] = None,
    thorough: Annotated[bool, Option("--thorough", help="aim more cases at conditions that no case reached")] = False,
    amd: Annotated[bool, Option("--amd", help="also compile for two of AMD's GPUs")] = False,
    only: Annotated[
        str, Option("--only", metavar="STEP", help="only the steps up to this one, as the notebook names them")
    ] = "",
) -> int:
    """Judge the kernels in a file and say what is wrong.

    Examples: python -m checker check puzzles/row_softmax.py; python -m checker check flash_attention_window --only window
    """
    started = time.perf_counter()
    if only:
        return _check_step(file, puzzle, only, others=device != "auto" or seed is not None or thorough or amd)
    kernels = _kernels("check", file, puzzle)
    from checker.verbs.check import check_and_show

    verdicts = []
    for task, source in kernels:
        verdicts.append(check_and_show(task, source, device, seed, thorough, started, amd))
        started = time.perf_counter()
    if any(verdict.status == "infra_error" for verdict in verdicts):
        return BROKEN
    return PASSED if all(verdict.passed for verdict in verdicts) else FAILED


def _check_step(file: str | None, puzzle: str | None, only: str, others: bool) -> int:
    if others:
        raise UsageError(
            "--only simulates one step of an unfinished kernel: leave out --device, --seed, --thorough and --amd."
        )
    task, source = _kernel("check", file, puzzle)
    from checker.verbs.parts import check_parts

    return PASSED if only in check_parts(task, source, only).passed else FAILED


@app.verb()
def film(
    file: File = None,
    puzzle: OnePuzzle = None,
    case: Annotated[Literal["failing"] | None, Option(help="film the plainest case that fails")] = None,
    output: Annotated[
        str | None,
        Option("--output", "-o", metavar="HTML", help="the page to write (default: PUZZLE.film.html)"),
    ] = None,
    size: Sizes = None,
) -> int:
    """Film a kernel as it loads and stores its tiles.

    Examples: python -m checker film puzzles/row_softmax.py -o film.html --size N=13; python -m checker film row_softmax --case failing
    """
    sizes = _sizes(size)
    refuse_unwritable(output)
    task, source = _kernel("film", file, puzzle)
    from checker.verbs.film import Film, film_of
    from checker.view.terminal import print_card

    made = film_of(task, source, sizes, case or "")
    if not isinstance(made, Film):
        print_card(made)
        return BROKEN if made.status == "infra_error" else FAILED
    output = output or f"{task.name}.film.html"
    with writing(output):
        target = made.save(output)
    print(f"{target}: open it in a browser. Space plays, the arrow keys step.")
    return PASSED


@app.verb()
def xray(
    file: File = None,
    puzzle: OnePuzzle = None,
    size: Sizes = None,
    dtype: Dtype = None,
    num_warps: Warps = None,
    num_stages: Stages = None,
    amd: Annotated[bool, Option("--amd", help="also for two of AMD's GPUs")] = False,
) -> int:
    """Show what the compiler makes of a kernel on each GPU of the course.

    Example: python -m checker xray puzzles/row_softmax.py --dtype float16 --size BLOCK_N=2048 --num-warps 8
    """
    choices = _choices(size, dtype, num_warps, num_stages) | ({"amd": True} if amd else {})
    task, source = _kernel("xray", file, puzzle)
    from checker.verbs.xray import xray_and_show

    _, compiled = xray_and_show(task, source, choices)
    return PASSED if compiled else FAILED


@app.verb()
def bench(
    file: File = None,
    puzzle: OnePuzzle = None,
    size: Sizes = None,
    dtype: Dtype = None,
    num_warps: Warps = None,
    num_stages: Stages = None,
) -> int:
    """Time a kernel on this machine's GPU, or predict the least time it can take on others.

    Example: python -m checker bench puzzles/row_softmax.py --dtype bfloat16 --size M=4096 --num-warps 8
    """
    task, source = _kernel("bench", file, puzzle)
    from checker import gpu
    from checker.verbs.bench import Benchmark, bench_and_show

    outcome = bench_and_show(task, source, _choices(size, dtype, num_warps, num_stages))
    if not gpu.available():
        complain("bench needs a GPU that torch can use, and there is none here: doctor says more.")
        return BROKEN
    return PASSED if isinstance(outcome, Benchmark) else FAILED


def _choices(
    size: list[str] | None, dtype: str | None, num_warps: int | None, num_stages: int | None
) -> dict[str, Any]:
    options = {"dtype": dtype, "num_warps": num_warps, "num_stages": num_stages}
    return _sizes(size) | {name: value for name, value in options.items() if value is not None}


def _sizes(texts: list[str] | None) -> dict[str, Any]:
    sizes = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        try:
            sizes[name.strip()] = int(value)
        except ValueError:
            raise UsageError(f"--size takes NAME=NUMBER, for example --size N=13, not {text!r}") from None
    return sizes


def _kernel(verb: str, file: str | None, puzzle: str | None) -> tuple[Puzzle, KernelSource]:
    """The one kernel that the command line names. Raises UsageError if there is none, or several."""
    path = _path(verb, file, puzzle)
    return one_kernel(_kernels(verb, file, puzzle), path, f"{verb} {path} --puzzle NAME")


def _kernels(verb: str, file: str | None, puzzle: str | None) -> list[tuple[Puzzle, KernelSource]]:
    import_torch()
    return kernels_in(_path(verb, file, puzzle), verb, puzzle or "")


def _path(verb: str, file: str | None, puzzle: str | None) -> Path:
    name = file or puzzle
    if name is None:
        from checker.course import PUZZLES

        first = next(iter(PUZZLES))
        raise UsageError(f"{verb} needs a file: python -m checker {verb} puzzles/{first}.py")
    return path_of(name, verb)


# --- commands on the learner's folder and machine -----------------------------------------------------------------------


@app.verb()
def hint(
    puzzle: Annotated[
        str | None, Argument(metavar="PUZZLE", help="the puzzle's name, or a file with its kernel")
    ] = None,
    level: Annotated[
        str | None, Option(metavar="LEVEL", help="1 (question), 2 (idea) or 3 (skeleton); default: the next one")
    ] = None,
) -> None:
    """Show the next hint of a puzzle.

    Example: python -m checker hint row_softmax --level 1
    """
    from checker.verbs.hint import hint

    hint(puzzle, level)


@app.verb()
def progress() -> None:
    """Show what is solved and what comes next."""
    from checker.verbs.progress import progress

    progress()


@app.verb()
def reset(puzzle: Annotated[str | None, Argument(metavar="PUZZLE", help="the puzzle's name")] = None) -> None:
    """Put a puzzle's empty stub back, after saving your version.

    Example: python -m checker reset row_softmax
    """
    from checker.verbs.reset import reset

    reset(puzzle)


@app.verb()
def doctor(
    workshop: Annotated[bool, Option("--workshop", help="also check a kernel, and say READY or NOT READY")] = False,
) -> int:
    """Show what works on this machine, and the commands that fix what does not.

    The evening before a workshop: python -m checker doctor --workshop
    """
    from checker.verbs.doctor import doctor
    from checker.verbs.workshop_readiness import workshop_readiness

    report = workshop_readiness() if workshop else doctor()
    return FAILED if any(check.level == "problem" for check in report) else PASSED


@app.verb()
def lab(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="where your notebooks and puzzles are")] = Path(
        "tile-by-tile"
    ),
    no_browser: Annotated[bool, Option("--no-browser", help="print the address and open no browser")] = False,
) -> int:
    """Copy the notebooks and puzzles that FOLDER lacks, never over yours, and open the first one in JupyterLab.

    Examples: tile-by-tile lab; tile-by-tile lab ~/triton --no-browser
    """
    from checker.verbs.folder import lab

    return lab(folder.expanduser().resolve(), browser=not no_browser)


# --- any program -------------------------------------------------------------------------------------------------------


@app.verb(context_settings={"allow_interspersed_args": False})
def lens(
    program: Annotated[
        list[str] | None, Argument(metavar="PROGRAM…", help="a script, or with -m a module, and its own arguments")
    ] = None,
    module: Annotated[bool, Option("-m", help="PROGRAM is a module, e.g. -m pytest tests")] = False,
    json_file: Json = None,
    sarif: Annotated[str | None, Option(metavar="FILE", help="write the findings as SARIF for a code host")] = None,
    films: Annotated[Path | None, Option(metavar="DIR", help="write a film of the first launch of each kernel")] = None,
    max_programs: Annotated[
        int, Option(metavar="N", help="run at most N programs of a launch: the first, the last, and some between")
    ] = 0,
    seconds: Annotated[float, Option(metavar="S", help="the most time that one launch takes")] = 60.0,
    all_configs: Annotated[bool, Option(help="run every configuration of @triton.autotune")] = False,
    output: Annotated[
        list[str] | None, Option(metavar="NAME", help="a parameter that kernels may store to; can be repeated")
    ] = None,
) -> int:
    """Run any program with its Triton launches simulated, and say what is wrong with its kernels. It needs no GPU.

    Exit status: 0 nothing found, 1 findings, 2 wrong usage, 3 the program or the lens did not get to the end.

    Examples: python -m checker lens script.py --size 64; python -m checker lens --json report.json -m pytest tests
    """
    if not program:
        raise UsageError(
            "lens needs a program: python -m checker lens script.py, or python -m checker lens -m pytest tests"
        )
    if max_programs < 0 or not seconds > 0:
        raise UsageError("--max-programs takes a number from 0, and --seconds one above 0")
    refuse_unwritable(json_file, sarif)
    from checker.lens.program import look_at

    options = {"max_programs": max_programs, "seconds": seconds, "all_configs": all_configs, "outputs": output or ()}
    return look_at(program, module, options, json_file, sarif, films)


# --- the grader's commands ----------------------------------------------------------------------------------------------


@app.verb()
def grade(
    paths: Annotated[list[Path] | None, Argument(metavar="PATH", help="a file, or a folder of submissions")] = None,
    puzzle: SomePuzzles = None,
    device: DeviceName = "auto",
    json_file: Json = None,
    secret: Secret = None,
    jobs: Annotated[int, Option(metavar="N", help="submissions graded at a time")] = 1,
    no_diagnosis: NoDiagnosis = False,
    require_compiler: Annotated[
        bool, Option("--require-compiler", help="refuse to start where Triton makes no machine code")
    ] = False,
) -> int:
    """Grade submissions: .py, .ipynb, .zip, or folders of them. For a class, see `python -m classroom`.

    Examples: python -m checker grade solutions/; python -m checker grade submissions/ --puzzle row_softmax --json results.json
    """
    if not paths:
        raise UsageError(
            "grade needs something to grade: python -m checker grade PATH…, with a .py, .ipynb, .zip or a folder"
        )
    if jobs < 1:
        raise UsageError(f"--jobs has to be at least 1, not {jobs}")
    refuse_unwritable(json_file)
    key = None if secret is None else secret.read_bytes()
    requested = _puzzles("grade", puzzle)
    from checker.verbs.grade import Grader, grade_paths

    grader = Grader(requested, _device(device), diagnose=not no_diagnosis, secret=key)
    return grade_paths(paths, grader, jobs, json_file, require_compiler)


@app.verb()
def mutants(
    puzzle: SomePuzzles = None,
    device: DeviceName = "auto",
    show: Annotated[str | None, Option(metavar="NAME", help="print this wrong kernel and judge nothing")] = None,
) -> int:
    """Judge the wrong kernels of the course and show which gate catches each.

    Examples: python -m checker mutants --puzzle row_softmax; python -m checker mutants --puzzle row_softmax --show no_mask
    """
    requested = _puzzles("mutants", puzzle)
    from checker.verbs import mutants

    if show is not None:
        mutants.print_wrong_kernel(show, requested)
        return PASSED
    return mutants.judge_wrong_kernels(requested, _device(device))


@app.verb()
def puzzles() -> None:
    """List the puzzles."""
    from checker.course import LADDER
    from checker.view.panel import Cell, Panel

    rows = [[Cell(p.name), Cell(p.notebook, "soft"), Cell(str(p.points), number=True), Cell(p.title)] for p in LADDER]
    Panel("The ladder", heads=("puzzle", "notebook", "points", ""), rows=rows).show()


def _puzzles(verb: str, names: list[str] | None) -> list[Puzzle]:
    import_torch()
    return [puzzle_named(name, verb) for name in dict.fromkeys(names or ())]


def _device(name: str) -> Device:
    from checker.checking import DeviceMissing, resolve_device

    try:
        return resolve_device(name)
    except DeviceMissing as missing:
        raise UnavailableHere(str(missing)) from None
