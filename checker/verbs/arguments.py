"""What people pass to a verb: a kernel, a puzzle's name, sizes; and what to say where it is none of these."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker import workspace

if TYPE_CHECKING:  # the verbs are imported where torch is missing, too
    from checker.puzzle import Case, Launch, Puzzle
    from checker.simulator.trace import Trace
    from checker.submission.kernel import KernelSource

OPTIONS = {"num_warps": (1, 2, 4, 8, 16, 32), "num_stages": (1, 2, 3, 4, 5, 6, 7, 8)}
"""The options of a launch that may be chosen, and their values."""
SMALLEST = 16
"""The smallest side of a tile that every `tl.dot` takes."""


class UsageError(ValueError):
    """A verb was called in a way that cannot work; the message says what to do. Notebooks show it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class UnavailableHere(UsageError):
    """The call is right and this machine lacks what it needs: not the caller's failing, and the shell says so by its exit code."""


def need(*packages: str) -> None:
    """Raises UsageError, with the way to `doctor`, where a package is not there at all."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"This needs {' and '.join(missing)}, which is not installed here. checker.doctor() says what to do."
        )


def kernel_named(what: Any, verb: str) -> tuple[Puzzle, KernelSource]:
    """The puzzle and the source of the kernel that people pass to `verb`. Raises UsageError.

    `what` is the ``@triton.jit`` function, autotuned or not; the name of a puzzle or of its kernel, which means the session's own kernel
    where it has one, else the learner's file; or the path of a .py, .ipynb or .zip that holds one kernel.
    """
    from checker.course import PUZZLES
    from checker.submission.from_function import SubmissionError, from_function
    from checker.submission.notebook import shell

    if isinstance(what, str | Path):
        path = path_of(str(what), verb)
        if path.stem in PUZZLES and not _is_path(str(what)):
            own = getattr(shell(), "user_ns", {}).get(PUZZLES[path.stem].kernel)
            if own is not None:
                return kernel_named(own, verb)
        try:
            return one_kernel(kernels_in(path, verb), path, f"{verb} takes one: pass the kernel itself")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UsageError(f"{error}. Is the path right, seen from {Path.cwd()}?") from None
    try:
        source = from_function(what, verb)
    except SubmissionError as error:
        raise UsageError(str(error)) from None
    return PUZZLES[source.puzzle], source


def _is_path(text: str) -> bool:
    path = Path(text)
    return path.exists() or path.parent != Path() or bool(path.suffix)


def path_of(text: str, verb: str) -> Path:
    """The file of a path or of a puzzle's name. Raises UsageError for a name that is neither."""
    return Path(text) if _is_path(text) else workspace.find().puzzle_file(puzzle_named(text, verb).name)


def kernels_in(path: Path, verb: str, puzzle: str = "") -> list[tuple[Puzzle, KernelSource]]:
    """The kernels of a file, only that of `puzzle` where one is named; what else cannot be read is reported on standard error.

    Raises UsageError where there is none, and FileNotFoundError.
    """
    from checker.course import LADDER, PUZZLES
    from checker.submission.from_path import from_path

    wanted = [puzzle_named(puzzle, verb)] if puzzle else list(LADDER)
    found = from_path(path, wanted)
    kernels = [(PUZZLES[f.puzzle], f.source) for f in found if f.puzzle is not None and f.source is not None]
    broken = [f for f in found if f.source is None and f.reason != "no_kernel"]
    if not kernels:
        errors = "; ".join(f"{f.submission}: {f.error}" for f in (broken or found)[:3])
        expected = f" The kernel of {wanted[0].name} is called {wanted[0].kernel}." if puzzle else ""
        raise UsageError(f"{path}: {errors or 'no kernel of this course is in it'}.{expected}")
    for f in broken:
        print(f"checker: {f.submission}: {f.error}", file=sys.stderr)
    return kernels


def one_kernel(kernels: Sequence[tuple[Puzzle, KernelSource]], path: Path, advice: str) -> tuple[Puzzle, KernelSource]:
    """The only one of several kernels. Raises UsageError, with the `advice` and their names, where there are more."""
    if len(kernels) > 1:
        names = ", ".join(dict.fromkeys(puzzle.name for puzzle, _ in kernels))
        raise UsageError(f"{path} holds several kernels ({names}). {advice[:1].upper()}{advice[1:]}.")
    return kernels[0]


def puzzle_named(what: Any, verb: str) -> Puzzle:
    """The puzzle named by `what`: its name, its kernel's name, the kernel, or a file that holds it. Raises UsageError."""
    from checker.submission import from_function

    if isinstance(what, Path) or (isinstance(what, str) and what.endswith((".py", ".ipynb", ".zip"))):
        return kernel_named(what, verb)[0]
    try:
        return from_function.puzzle_named(what, verb)
    except from_function.SubmissionError as error:
        raise UsageError(str(error)) from None


def chosen_case(puzzle: Puzzle, case: Case, wanted: Mapping[str, Any]) -> tuple[Case, dict[str, int]]:
    """`case` with the sizes, tile sizes, flags and dtype that are `wanted`, and the launch's options among them. Raises UsageError."""
    from checker.puzzle import DTYPES

    options = {name: wanted[name] for name in OPTIONS if name in wanted}
    for name, value in options.items():
        if type(value) is not int or value not in OPTIONS[name]:
            raise UsageError(f"{name} is one of {', '.join(map(str, OPTIONS[name]))}, not {value!r}.")
    if "dtype" in wanted:
        known = [name for name in DTYPES if name in puzzle.tolerance]
        if wanted["dtype"] not in known:
            raise UsageError(f"dtype is one of {', '.join(known)}, not {wanted['dtype']!r}.")
        case = replace(case, dtype=wanted["dtype"])
    sizes = {name: value for name, value in wanted.items() if name not in OPTIONS and name != "dtype"}
    return case_for(puzzle.name, sizes, case), options


def case_for(name: str, sizes: Mapping[str, Any], case: Case) -> Case:
    """The case with other sizes, tile sizes or flags. Raises UsageError for names or numbers that it has not; `name` is whose they are."""
    from checker.view.controls import case_with

    known = {**case.sizes, **case.meta, **case.flags}
    if not isinstance(sizes, Mapping):
        raise UsageError(
            f"Sizes are written as {{{next(iter(known))!r}: {next(iter(known.values()))}}}, and this is {sizes!r}."
        )
    for size, value in sizes.items():
        if size not in known:
            shown = ", ".join(f"{k}={v}" for k, v in known.items())
            raise UsageError(f"{name} has no size called {size}. The sizes are {shown}.")
        if size in case.flags:
            if not isinstance(value, bool | int | float):
                raise UsageError(f"{size} has to be a number or True or False, not {value!r}.")
        elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(f"{size} has to be a whole number of at least 1, not {value!r}.")
        elif size in case.meta and value & (value - 1):
            raise UsageError(f"{size} has to be a power of two, as Triton's tiles are, and {value} is not.")
    return case_with(case, sizes) if sizes else case


@contextmanager
def sizes_as_usage_errors() -> Iterator[None]:
    """Around what makes a puzzle's tensors: a puzzle refuses sizes that its kernel cannot have with a ValueError."""
    try:
        yield
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{str(error).rstrip('.')}.") from error


def refuse_tiles_no_gpu_takes(puzzle: Puzzle, source: KernelSource, case: Case, launch: Launch, trace: Trace) -> None:
    """Raises UsageError where tiles smaller than tensor cores take ran in the simulator, which takes any, and do not compile.

    Only a launch with such a tile and with a `tl.dot` is compiled.
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
        raise UsageError(f"With {tiles} the kernel runs in the simulator but compiles for no GPU. {result.message}")
