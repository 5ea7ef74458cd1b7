"""Reads the source of a kernel that is live in this process. The kernel is never called.

Live kernels are layered: an autotuner or heuristics around a jitted function around the Python function. Only this module
unwraps them.
"""

from __future__ import annotations

import difflib
import linecache
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from checker.course import KERNELS, LADDER, PUZZLES
from checker.puzzle import Puzzle
from checker.submission.allowed_names import LIBDEVICES
from checker.submission.extract import extract, one_function
from checker.submission.kernel import KernelSource
from checker.submission.literals import written
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
    return extract(_definition(kernel), puzzle.name, _LiveScope(function))


def puzzle_named(what: Any, verb: str) -> Puzzle:
    """The puzzle for its name, its kernel's name, or the kernel itself. Raises SubmissionError."""
    if what is None:
        first = next(iter(PUZZLES))
        raise SubmissionError(f'{verb} needs a puzzle: {verb}("{first}"). The puzzles are {", ".join(PUZZLES)}.')
    name = what if isinstance(what, str) else kernel_name(what)
    if name is None:
        raise SubmissionError(f"{verb} needs a puzzle's name or its kernel, and this is {_shown(what)}.")
    puzzle = PUZZLES.get(name) or KERNELS.get(name)
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
    """The Python function inside a kernel or helper; anything else unchanged."""
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


def _definition(fn: Any) -> Definition:
    function = _unwrapped(fn)
    origin = origin_of(function.__code__.co_filename)
    try:
        lines, first = _written_lines(fn, function)
        node, text = one_function(Text("".join(lines), origin, first))
    except (OSError, TypeError):
        raise SubmissionError(
            f"The text of `{function.__name__}` cannot be found: define it in a notebook cell or in a file, not with exec."
        ) from None
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


class _LiveScope:
    """Looks names up in the globals of a live function, and their text in its file or in the session's cells."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.values: dict[str, Any] = dict(function.__globals__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.values[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        self._static: StaticScope | None = None

    def find(self, name: str) -> Definition | None:
        if name not in self.values:
            return None
        value = self.values[name]
        if isinstance(value, ModuleType):
            return Definition(name, "import", target=value.__name__)
        function = _unwrapped(value) if _is_jitted(value) else None
        module, own = getattr(function or value, "__module__", "") or "", getattr(function or value, "__name__", "")
        if module.split(".")[0] == "triton" and callable(value) and own:
            where = "triton.language" if module.startswith("triton.language") else "triton"
            where = module if module in LIBDEVICES else where
            return Definition(name, "import", target=f"{where}.{own}")
        if function is not None:
            if function.__globals__ is not self.function.__globals__:
                return Definition(name, "import", target=f"{module}.{own}")
            return _definition(value)
        written_down = self.static.find(name)
        if written_down is not None and written_down.kind != "import":
            return written_down
        return self.from_value(name, value)

    @property
    def static(self) -> StaticScope:
        """The definitions in the file or the cells, read as data when a name first needs them."""
        if self._static is None:
            self._static = StaticScope()
            for text in _texts(self.function.__code__.co_filename):
                try:
                    self._static.add(text, parse(text.text))
                except SyntaxError:
                    continue
        return self._static

    def from_value(self, name: str, value: Any) -> Definition:
        """A definition for a value without text, e.g. one that another module set."""
        shown = _as_source(value)
        if shown is None:
            is_function = isinstance(value, FunctionType)
            what = "an ordinary Python function" if is_function else f"a Python {type(value).__name__}"
            return Definition(name, "other", what=what)
        code = self.function.__code__
        text = Text(f"{name} = {shown}", origin_of(code.co_filename), code.co_firstlineno)
        return Definition(name, "value", parse(text.text).body[0], text)


def _as_source(value: Any) -> str | None:
    import triton.language as tl

    if isinstance(value, tl.constexpr):
        inner = _as_source(value.value)
        return None if inner is None else f"tl.constexpr({inner})"
    if isinstance(value, tl.dtype):
        return next((f"tl.{n}" for n in dir(tl) if not n.startswith("_") and getattr(tl, n) is value), None)
    if isinstance(value, bool | int | float) and type(value) in (bool, int, float):
        return written(value)
    return None


def _texts(filename: str) -> list[Text]:
    """The texts that may define names for functions of that file, in the order they ran."""
    cells = [text for _, text in cells_run()]
    if cells and not Path(filename).is_file():
        return cells
    lines = linecache.getlines(filename)
    return [Text("".join(lines), origin_of(filename))] if lines else []
