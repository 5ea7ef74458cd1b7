"""Read what people pass to a verb (a kernel, a puzzle's name, sizes), or explain what is wrong with it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker import workspace

if TYPE_CHECKING:  # the verbs can be imported without torch
    from checker.puzzle import Case, Launch, Puzzle
    from checker.simulator.trace import Trace
    from checker.submission.kernel import KernelSource

OPTIONS = {"num_warps": (1, 2, 4, 8, 16, 32), "num_stages": (1, 2, 3, 4, 5, 6, 7, 8)}
"""The options of a launch that people may choose, and their values."""
SMALLEST = 16
"""The smallest side of a tile that `tl.dot` always accepts."""


class UsageError(ValueError):
    """A call that cannot work. The message says what to do, and notebooks show it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class UnavailableHere(UsageError):
    """The call is right, but this machine lacks something it needs. The shell has an exit code for it."""


class Stopped(KeyboardInterrupt):
    """The learner interrupted a check. Notebooks show the message, without a traceback."""

    def __init__(self, message: str = "Stopped. Nothing was judged, and nothing was counted.") -> None:
        super().__init__(message)

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def need(*packages: str) -> None:
    """Raises UsageError, pointing to `doctor`, if a package is not installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"This needs {' and '.join(missing)}, which is not installed here. Call checker.doctor() for what to do."
        )


def kernel_named(what: Any, verb: str) -> tuple[Puzzle, KernelSource]:
    """The puzzle and the kernel that someone passed to `verb`. Raises UsageError.

    `what` is the ``@triton.jit`` function, autotuned or not; the path of a .py, .ipynb or .zip with one kernel; or the name of a
    puzzle or its kernel, which means the kernel defined in this session, or else the one in the learner's file.
    """
    from checker.course.launchers import JUDGED
    from checker.submission.from_function import SubmissionError, from_function
    from checker.submission.notebook import shell

    if isinstance(what, str | Path):
        if not _is_path(str(what)):
            own = getattr(shell(), "user_ns", {}).get(puzzle_named(str(what), verb).kernel)
            if own is not None:
                return kernel_named(own, verb)
        path = path_of(str(what), verb)
        try:
            return one_kernel(kernels_in(path, verb), path, f"{verb} takes one: pass the kernel itself")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UsageError(f"{error}. Is the path right, seen from {Path.cwd()}?") from None
    try:
        source = from_function(what, verb)
    except SubmissionError as error:
        raise UsageError(str(error)) from None
    return JUDGED[source.puzzle], source


def _is_path(text: str) -> bool:
    path = Path(text)
    return path.exists() or path.parent != Path() or bool(path.suffix)


def path_of(text: str, verb: str) -> Path:
    """The file at a path, or the learner's file of a puzzle. Raises UsageError if `text` names neither, or that file is missing."""
    if _is_path(text):
        return Path(text)
    name = puzzle_named(text, verb).name
    path = workspace.find().puzzle_file(name)
    if not path.exists():
        raise UsageError(f"there is no {path} yet: `python -m checker reset {name}` writes the stub there.")
    return path


def kernels_in(path: Path, verb: str, puzzle: str = "") -> list[tuple[Puzzle, KernelSource]]:
    """The kernels in a file, or just the one of `puzzle`; unreadable parts are reported on standard error.

    Raises UsageError if there are none, and FileNotFoundError.
    """
    from checker.course import PUZZLES
    from checker.course.launchers import JUDGED
    from checker.submission.from_path import from_path

    puzzles = [puzzle_named(puzzle, verb)] if puzzle else list((JUDGED if verb == "check" else PUZZLES).values())
    entries = from_path(path, puzzles)
    kernels = [(JUDGED[e.puzzle], e.source) for e in entries if e.puzzle is not None and e.source is not None]
    broken = [e for e in entries if e.source is None and e.reason != "no_kernel"]
    if not kernels:
        errors = "; ".join(f"{e.submission}: {e.error}" for e in (broken or entries)[:3])
        expected = f" The kernel of {puzzles[0].name} is called {puzzles[0].kernel}." if puzzle else ""
        raise UsageError(f"{path}: {errors or 'it has no kernel of this course'}.{expected}")
    for entry in broken:
        print(f"checker: {entry.submission}: {entry.error}", file=sys.stderr)
    return kernels


def one_kernel(kernels: Sequence[tuple[Puzzle, KernelSource]], path: Path, advice: str) -> tuple[Puzzle, KernelSource]:
    """The only kernel of a file. If there are more, raises UsageError with their names and `advice`."""
    if len(kernels) > 1:
        names = ", ".join(dict.fromkeys(puzzle.name for puzzle, _ in kernels))
        raise UsageError(f"{path} holds several kernels ({names}). {advice[:1].upper()}{advice[1:]}.")
    return kernels[0]


def puzzle_named(what: Any, verb: str) -> Puzzle:
    """The puzzle of `what`: its name, its kernel, the kernel's name, or a file with the kernel. Raises UsageError."""
    from checker.submission import from_function

    if isinstance(what, Path) or (isinstance(what, str) and what.endswith((".py", ".ipynb", ".zip"))):
        return kernel_named(what, verb)[0]
    try:
        return from_function.puzzle_named(what, verb)
    except from_function.SubmissionError as error:
        raise UsageError(str(error)) from None


def case_and_options(puzzle: Puzzle, case: Case, choices: Mapping[str, Any]) -> tuple[Case, dict[str, int]]:
    """Split `choices` into a case, `case` with other sizes, flags and dtype, and the launch's options. Raises UsageError."""
    from checker.puzzle import DTYPES

    options = {name: choices[name] for name in OPTIONS if name in choices}
    for name, value in options.items():
        if type(value) is not int or value not in OPTIONS[name]:
            raise UsageError(f"{name} must be one of {', '.join(map(str, OPTIONS[name]))}, not {value!r}.")
    if "dtype" in choices:
        dtypes = [name for name in DTYPES if name in puzzle.tolerance]
        if choices["dtype"] not in dtypes:
            raise UsageError(f"dtype must be one of {', '.join(dtypes)}, not {choices['dtype']!r}.")
        case = replace(case, dtype=choices["dtype"])
    sizes = {name: value for name, value in choices.items() if name not in OPTIONS and name != "dtype"}
    return case_for(puzzle.name, sizes, case), options


def case_for(name: str, sizes: Mapping[str, Any], case: Case) -> Case:
    """The case with other sizes, tile sizes or flags. Raises UsageError for bad ones, with the `name` of their puzzle."""
    from checker.view.controls import case_with

    defaults = {**case.sizes, **case.meta, **case.flags}
    if not isinstance(sizes, Mapping):
        size, value = next(iter(defaults.items()))
        raise UsageError(f"Sizes are written as {{{size!r}: {value}}}, not as {sizes!r}.")
    for size, value in sizes.items():
        if size not in defaults:
            listed = ", ".join(f"{k}={v}" for k, v in defaults.items())
            raise UsageError(f"{name} has no size called {size}. The sizes are {listed}.")
        if size in case.flags:
            if not isinstance(value, bool | int | float):
                raise UsageError(f"{size} must be a number, True or False, not {value!r}.")
        elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(f"{size} must be a whole number of at least 1, not {value!r}.")
        elif size in case.meta and value & (value - 1):
            raise UsageError(f"{size} must be a power of two, as Triton requires of tiles; {value} is not.")
    return case_with(case, sizes) if sizes else case


@contextmanager
def sizes_as_usage_errors() -> Iterator[None]:
    """Turn the ValueError of a puzzle that refuses some sizes into a UsageError."""
    try:
        yield
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{str(error).rstrip('.')}.") from error


def refuse_tiles_no_gpu_takes(puzzle: Puzzle, source: KernelSource, case: Case, launch: Launch, trace: Trace) -> None:
    """Raises UsageError if the simulator ran tiles that are too small for a GPU's `tl.dot`.

    To find out, it compiles the launch, but only if there are small tiles and a `tl.dot`.
    """
    small = {name: value for name, value in case.meta.items() if value < SMALLEST}
    if not small or not trace.flops:
        return
    from checker.compiler import TARGETS, requests_for
    from checker.sandbox import Sandbox

    requests = requests_for(launch, puzzle.parameters, [TARGETS["A100"]])
    (result,) = Sandbox.shared().compile(source, requests)
    if result.status == "compile_error":
        tiles = " and ".join(f"{name} = {value}" for name, value in small.items())
        raise UsageError(
            f"With {tiles}, the kernel runs in the simulator but does not compile for any GPU. {result.message}"
        )
