"""Reads the source of a kernel that is live in this process. The kernel is never called.

Live kernels are layered: an autotuner or heuristics around a jitted function around the Python function. Only this module
unwraps them.
"""

from __future__ import annotations

import contextlib
import difflib
import linecache
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType
from typing import Any

from checker.course import KERNELS, LADDER, PUZZLES
from checker.course.launchers import LAUNCHERS
from checker.puzzle import Puzzle
from checker.submission.extract import extract, one_function
from checker.submission.kernel import KernelSource
from checker.submission.launcher import extract_launcher
from checker.submission.notebook import cells_run, origin_of, shell, unfinished
from checker.submission.scope import Definition, StaticScope, Text, parse


class SubmissionError(ValueError):
    """The value is no kernel of the course, or its text cannot be found. The message is for the learner."""


def from_function(kernel: Any, verb: str = "check") -> KernelSource:
    """The source of a live kernel: a ``@triton.jit`` function, autotuned or not, of a notebook cell, a script or a REPL.

    `kernel` is whatever the learner passed to `verb`; its name selects the puzzle. Helpers and constants are gathered wherever
    they were defined. Raises SubmissionError, which says what to do, for anything else that people pass.
    """
    puzzle, function = _puzzle_and_function(kernel, verb)
    _refuse_outdated(kernel, function)
    if puzzle.launcher is not None:
        definition = _scope(function).find(puzzle.kernel)
        if definition is None or definition.kind != "function":
            raise SubmissionError(_no_text(puzzle.kernel))
        return extract_launcher(definition, puzzle.name, _scope(function))
    return extract(_definition(kernel), puzzle.name, _scope(function))


def puzzle_named(what: Any, verb: str) -> Puzzle:
    """The puzzle for its name, its kernel's name, or the kernel itself. Raises SubmissionError."""
    if what is None:
        first = next(iter(PUZZLES))
        raise SubmissionError(f'{verb} needs a puzzle: {verb}("{first}"). The puzzles are {", ".join(PUZZLES)}.')
    name = what if isinstance(what, str) else kernel_name(what)
    if name is None:
        raise SubmissionError(f"{verb} needs a puzzle's name or its kernel, and this is {_shown(what)}.")
    puzzle = PUZZLES.get(name) or KERNELS.get(name) or LAUNCHERS.get(name)
    if puzzle is None:
        raise SubmissionError(
            f"There is no puzzle called {name}.{_did_you_mean(name, [*PUZZLES, *KERNELS])}\nThe puzzles are: {', '.join(PUZZLES)}."
        )
    return puzzle


def kernel_name(kernel: Any) -> str | None:
    """The name that a kernel was defined with, under autotune and heuristics; None if it is no function."""
    function = _unwrapped(kernel)
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and callable(function) else None


def _puzzle_and_function(kernel: Any, verb: str) -> tuple[Puzzle, FunctionType]:
    """The puzzle that `kernel` solves, and the Python function inside it."""
    example = f"{verb}({LADDER[min(1, len(LADDER) - 1)].kernel})"
    if kernel is None:
        raise SubmissionError(f"{verb} needs a kernel: {example}")
    name, function = kernel_name(kernel), _unwrapped(kernel)
    if name in LAUNCHERS and isinstance(function, FunctionType):
        if verb != "check":
            raise SubmissionError(
                f"{verb} takes a kernel, and {name} launches two: `with film():` films what it launches."
            )
        return LAUNCHERS[name], function
    if name == "<lambda>":
        raise SubmissionError(
            f"{verb} needs the kernel itself, and this is a lambda. A kernel with a grid in brackets is a lambda too. For example: {example}"
        )
    jitted = _is_jitted(kernel)
    if name is None or (not jitted and (isinstance(kernel, type) or not callable(kernel) or not name.isidentifier())):
        raise SubmissionError(f"{verb} needs the kernel itself, and this is {_shown(kernel)}: {example}")
    if not jitted:
        raise SubmissionError(
            f"{name} is an ordinary Python function. A kernel has @triton.jit on the line above its `def`; add it and run the "
            "cell again."
        )
    if name not in KERNELS:
        raise SubmissionError(
            f"No puzzle asks for a kernel called {name}.{_did_you_mean(name, KERNELS)}\nThe puzzles ask for: {', '.join(KERNELS)}."
        )
    assert isinstance(function, FunctionType)
    return KERNELS[name], function


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def _shown(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shown = repr(value)
    return f"{shown if len(shown) <= 40 else shown[:37] + '...'} ({type(value).__name__})"


def _unwrapped(kernel: Any) -> Any:
    """The Python function inside a kernel, a helper or an operator of `torch.library`; anything else unchanged."""
    kernel = getattr(kernel, "_init_fn", kernel)
    for _ in range(8):  # an autotuner holds a jitted function, which holds the Python function
        if isinstance(kernel, FunctionType) or getattr(kernel, "fn", None) is None:
            return kernel
        kernel = kernel.fn
    return kernel


def _is_jitted(value: Any) -> bool:
    """Whether @triton.jit, @triton.autotune or @triton.heuristics returned this."""
    return type(value).__module__.partition(".")[0] == "triton" and getattr(value, "fn", None) is not None


def _refuse_outdated(fn: Any, function: FunctionType) -> None:
    """Refuse the older function that a failed cell leaves in place: it is not what was just typed."""
    name = function.__name__
    if getattr(shell(), "user_ns", {}).get(name) is not fn:
        return  # an older version that was kept under another name on purpose
    newer = unfinished(name, function.__code__.co_filename)
    if newer is not None:
        raise SubmissionError(
            f"{newer.message[:1].upper()}{newer.message[1:]}. `{name}` is still the earlier version. Fix that cell, run "
            "it again, and then this one."
        )


def _no_text(name: str) -> str:
    return f"The text of `{name}` cannot be found: define it in a notebook cell or in a file, not with exec."


def _definition(fn: Any) -> Definition:
    function = _unwrapped(fn)
    origin = origin_of(function.__code__.co_filename)
    try:
        lines, first = _written_lines(fn, function)
        node, text = one_function(Text("".join(lines), origin, first))
    except (OSError, TypeError):
        raise SubmissionError(_no_text(function.__name__)) from None
    except SyntaxError as error:
        raise SubmissionError(
            f"The text of `{function.__name__}` cannot be read ({error.msg}): write it with `def`, on lines of its own."
        ) from None
    return Definition(node.name, "function", node, text)


def _written_lines(fn: Any, function: FunctionType) -> tuple[list[str], int]:
    """The lines at the time of definition, which Triton keeps, and the number of the first."""
    inner = fn
    while not isinstance(inner, FunctionType):
        lines, first = getattr(inner, "raw_src", None), getattr(inner, "starting_line_number", None)
        if isinstance(lines, list) and isinstance(first, int):
            return lines, first
        inner = inner.fn
    import inspect

    return inspect.getsourcelines(function)


def _scope(function: FunctionType) -> StaticScope:
    """The definitions in the function's file, or in the cells of the session."""
    scope = StaticScope()
    for text in _texts(function.__code__.co_filename):
        with contextlib.suppress(SyntaxError):
            scope.add(text, parse(text.text))
    return scope


def _texts(filename: str) -> list[Text]:
    """The texts that may define names for functions of that file, in the order they ran."""
    cells = [text for _, text in cells_run()]
    if cells and not Path(filename).is_file():
        return cells
    lines = linecache.getlines(filename)
    return [Text("".join(lines), origin_of(filename))] if lines else []
