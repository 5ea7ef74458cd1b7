"""Kernels that are live in this process: what a function was written as, and where, without calling it."""

from __future__ import annotations

import linecache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from checker.submission.assemble import one_function
from checker.submission.literals import written
from checker.submission.scope import Definition, Scope, StaticScope, Text, parse
from checker.submission.session import cells_run, origin_of, shell, unfinished


class SubmissionError(Exception):
    """A kernel that cannot be read, said for the learner; `line` and `origin` where it has a place."""

    def __init__(self, message: str, line: int | None = None, origin: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.origin = message, line, origin


def name_of(fn: Any) -> str:
    """The kernel's name, for finding its puzzle. Raises SubmissionError if `fn` is not a function."""
    return str(_python_function(fn).__name__)


def kernel_of(fn: Any) -> tuple[Definition, Scope]:
    """The definition of a live kernel and the scope its names are looked up in. Raises SubmissionError."""
    function = _python_function(fn)
    if function is fn:
        raise SubmissionError(
            f"`{fn.__name__}` is an ordinary Python function. Write @triton.jit on the line above `def {fn.__name__}(`, run the "
            f"cell again, and check it again.",
            *_place(function),
        )
    _refuse_outdated(fn, function)
    return _definition(fn), LiveScope(function)


def _refuse_outdated(fn: Any, function: FunctionType) -> None:
    """A cell that fails leaves the function of the cell before it in place: what is judged then is not what was just typed."""
    name = function.__name__
    if getattr(shell(), "user_ns", {}).get(name) is not fn:
        return  # an older version kept under another name, and meant
    newer = unfinished(name, function.__code__.co_filename)
    if newer is not None:
        raise SubmissionError(
            f"{newer.message[:1].upper()}{newer.message[1:]}. `{name}` is still the version from before that. Mend the cell, run "
            "it again, and then this one.",
            newer.line,
            newer.origin,
        )


def _python_function(fn: Any) -> FunctionType:
    """What a jitted, autotuned or interpreted function wraps."""
    inner = fn
    for _ in range(8):
        if isinstance(inner, FunctionType):
            return inner
        inner = getattr(inner, "fn", None)
    shown = f"a {type(fn).__name__}" if not isinstance(fn, str) else f"the text {fn!r}"
    raise SubmissionError(f"The kernel itself is needed here, for example check(row_softmax_kernel), not {shown}.")


def _definition(fn: Any) -> Definition:
    function = _python_function(fn)
    line, origin = _place(function)
    try:
        lines, first = _written_lines(fn, function)
        node, text = one_function(Text("".join(lines), origin, first))
    except (OSError, TypeError):
        raise SubmissionError(
            f"The text of `{function.__name__}` cannot be found: define it in a notebook cell or in a file, not with exec.",
            line,
            origin,
        ) from None
    except SyntaxError as error:
        raise SubmissionError(
            f"The text of `{function.__name__}` cannot be read ({error.msg}): write it with `def`, on lines of its own.",
            line,
            origin,
        ) from None
    return Definition(node.name, "function", node, text)


def _written_lines(fn: Any, function: FunctionType) -> tuple[list[str], int]:
    """The lines as they were when the function was defined (Triton keeps them), with the number of the first."""
    inner = fn
    while not isinstance(inner, FunctionType):
        lines, first = getattr(inner, "raw_src", None), getattr(inner, "starting_line_number", None)
        if isinstance(lines, list) and isinstance(first, int):
            return lines, first
        inner = inner.fn
    import inspect

    return inspect.getsourcelines(function)


def _place(function: FunctionType) -> tuple[int, str]:
    code = function.__code__
    return code.co_firstlineno, origin_of(code.co_filename)


class LiveScope:
    """Looks names up in the globals of a live function; text is found in its own file and in the session's cells."""

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
        function = _python_function(value) if _is_jitted(value) else None
        module, own = getattr(function or value, "__module__", "") or "", getattr(function or value, "__name__", "")
        if module.split(".")[0] == "triton" and callable(value) and own:
            where = "triton.language" if module.startswith("triton.language") else "triton"
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
        """What the file or the cells say, read as data; only when a name needs it."""
        if self._static is None:
            self._static = StaticScope()
            for text in _texts(self.function.__code__.co_filename):
                try:
                    self._static.add(text, parse(text.text))
                except SyntaxError:
                    continue
        return self._static

    def from_value(self, name: str, value: Any) -> Definition:
        """A definition for a value whose text is not to be found, e.g. one that another module set."""
        line, origin = _place(self.function)
        shown = _as_source(value)
        if shown is None:
            what = (
                "an ordinary Python function" if isinstance(value, FunctionType) else f"a Python {type(value).__name__}"
            )
            return Definition(name, "other", what=what)
        text = Text(f"{name} = {shown}", origin, line)
        return Definition(name, "value", parse(text.text).body[0], text)


def _is_jitted(value: Any) -> bool:
    """Whether it is what @triton.jit or @triton.autotune made of a Python function."""
    kind = type(value).__name__
    return kind in ("JITFunction", "Autotuner", "Heuristics", "InterpretedFunction") and hasattr(value, "fn")


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
    """The texts in which names of that file's functions were defined, in the order they ran."""
    cells = [text for _, text in cells_run()]
    if cells and not Path(filename).is_file():
        return cells
    lines = linecache.getlines(filename)
    return [Text("".join(lines), origin_of(filename))] if lines else []
