"""Sizes that a learner types, put in the place of a case's own, and what to say where a kernel cannot have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from checker.puzzle import Case, Launch, Puzzle
from checker.verbs.naming import UsageError
from checker.view.controls import case_with

if TYPE_CHECKING:
    from checker.simulator.trace import Trace
    from checker.submission.kernel import KernelSource

SMALLEST = 16
"""The smallest side of a tile that every `tl.dot` takes."""


def case_for(name: str, sizes: Mapping[str, Any], case: Case) -> Case:
    """The case with other sizes, tile sizes or flags. Raises UsageError for names or numbers that it has not; `name` is whose they are."""
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
def told_as_misuse() -> Iterator[None]:
    """Around what makes a puzzle's tensors: a puzzle refuses sizes that its kernel cannot have with a ValueError."""
    try:
        yield
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{str(error).rstrip('.')}.") from error


def refuse_what_no_gpu_takes(puzzle: Puzzle, source: KernelSource, case: Case, launch: Launch, trace: Trace) -> None:
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
