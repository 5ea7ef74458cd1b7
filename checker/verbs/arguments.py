"""What people pass to a verb: a kernel, a puzzle's name, sizes; and what to say where it is none of these."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the verbs are imported where torch is missing, too
    from checker.puzzle import Case, Launch, Puzzle
    from checker.simulator.trace import Trace
    from checker.submission.kernel import KernelSource

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


# --- kernels and puzzles ------------------------------------------------------------------------------------------------


def live_kernel(kernel: Any, verb: str) -> tuple[Puzzle, KernelSource]:
    """The puzzle that `kernel` (a ``@triton.jit`` function, autotuned or not) answers, and its source.

    Raises UsageError for everything else that people pass.
    """
    from checker.course import KERNELS, LADDER
    from checker.submission.read import SubmissionError, from_function

    example = f"{verb}({LADDER[min(1, len(LADDER) - 1)].kernel})"
    if kernel is None:
        raise UsageError(f"{verb} needs a kernel: {example}")
    if isinstance(kernel, str):
        raise UsageError(_text_for_kernel(kernel, verb, example))
    name = _name_of(kernel)
    if name is None:
        raise UsageError(f"{verb} needs the kernel itself, and this is {_described(kernel)}: {example}")
    if name == "<lambda>":
        raise UsageError(
            f"{verb} needs the kernel itself, and this is a lambda, which is also what a kernel with a grid in brackets is: "
            f"{example}"
        )
    if isinstance(kernel, FunctionType):
        raise UsageError(
            f"{name} is an ordinary Python function. A kernel has @triton.jit on the line above its `def`; add it and run the "
            "cell again."
        )
    if name not in KERNELS:
        raise UsageError(
            f"No puzzle asks for a kernel called {name}.{_nearest(name, KERNELS)}\nThe puzzles ask for: {', '.join(KERNELS)}."
        )
    try:
        return KERNELS[name], from_function(kernel, KERNELS[name])
    except SubmissionError as error:
        raise UsageError(str(error)) from None


def puzzle_named(what: Any, verb: str) -> Puzzle:
    """The puzzle named by `what`: its name, its kernel's name, or the kernel. Raises UsageError."""
    from checker.course import KERNELS, PUZZLES

    if what is None:
        first = next(iter(PUZZLES))
        raise UsageError(f'{verb} needs a puzzle: {verb}("{first}"). The puzzles are {", ".join(PUZZLES)}.')
    name = what if isinstance(what, str) else _name_of(what)
    if name is None:
        raise UsageError(f"{verb} needs a puzzle's name or its kernel, and this is {_described(what)}.")
    found = PUZZLES.get(name) or KERNELS.get(name)
    if found is None:
        raise UsageError(
            f"There is no puzzle called {name}.{_nearest(name, [*PUZZLES, *KERNELS])}\nThe puzzles are: {', '.join(PUZZLES)}."
        )
    return found


def _name_of(kernel: Any) -> str | None:
    """The name a kernel was defined with; None for what is no function."""
    from checker.submission.read import SubmissionError, name_of

    try:
        return name_of(kernel)
    except SubmissionError:
        return None


def _described(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shown = repr(value)
    return f"{shown if len(shown) <= 40 else shown[:37] + '...'} ({type(value).__name__})"


def _text_for_kernel(text: str, verb: str, example: str) -> str:
    from checker.course import KERNELS, PUZZLES

    if "/" in text or "\\" in text or text.endswith((".py", ".ipynb", ".zip")):
        return f"{verb} takes the kernel, not a file. For a file, in a shell: python -m checker {verb} {text}"
    name = PUZZLES[text].kernel if text in PUZZLES else text
    if name in KERNELS:
        return f"{verb} takes the kernel itself, not its name. Without the quotation marks: {verb}({name})"
    return f"{verb} takes the kernel itself, not a text: {example}.{_nearest(text, [*PUZZLES, *KERNELS])}"


def _nearest(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {found[0]}?" if found else ""


# --- sizes --------------------------------------------------------------------------------------------------------------


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
        raise UsageError(f"With {tiles} the kernel runs in the simulator and compiles for no GPU. {result.message}")
