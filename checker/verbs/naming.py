"""Which puzzle a learner means, by the kernel they pass or the name they type; and what to say where none is meant."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checker.puzzle import Puzzle


class UsageError(ValueError):
    """A verb was called in a way that cannot work; the message says what to do. Notebooks show it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Unavailable(UsageError):
    """The call is right and this machine lacks what it needs: not the caller's failing, and the shell says so by its exit code."""


def puzzle_of(kernel: Any, verb: str) -> tuple[Puzzle, Callable[..., Any]]:
    """The puzzle that `kernel` (a ``@triton.jit`` function, autotuned or not) answers, and the Python function in it.

    Raises UsageError for everything else that people pass.
    """
    from checker.course import KERNELS

    if kernel is None:
        raise UsageError(f"{verb} needs a kernel: {verb}({_example()})")
    if isinstance(kernel, str):
        raise UsageError(_for_text(kernel, verb))
    name = kernel_name(kernel)
    if name is None:
        raise UsageError(f"{verb} needs the kernel itself, and this is {_what(kernel)}: {verb}({_example()})")
    if name == "<lambda>":
        raise UsageError(
            f"{verb} needs the kernel itself, and this is a lambda, which is also what a kernel with a grid in brackets is: "
            f"{verb}({_example()})"
        )
    if not _is_jitted(kernel):
        if isinstance(kernel, type) or not callable(kernel) or not name.isidentifier():
            raise UsageError(f"{verb} needs the kernel itself, and this is {_what(kernel)}: {verb}({_example()})")
        raise UsageError(
            f"{name} is an ordinary Python function. A kernel has @triton.jit on the line above its `def`; add it and run the "
            "cell again."
        )
    if name not in KERNELS:
        raise UsageError(
            f"No puzzle asks for a kernel called {name}.{_nearest(name, KERNELS)}\nThe puzzles ask for: {', '.join(KERNELS)}."
        )
    return KERNELS[name], _python_function(kernel)


def puzzle_named(what: Any, verb: str) -> Puzzle:
    """The puzzle named by `what`: its name, its kernel's name, or the kernel. Raises UsageError."""
    from checker.course import KERNELS, PUZZLES

    if what is None:
        first = next(iter(PUZZLES))
        raise UsageError(f'{verb} needs a puzzle: {verb}("{first}"). The puzzles are {", ".join(PUZZLES)}.')
    if not isinstance(what, str):
        name = kernel_name(what)
        if name is None:
            raise UsageError(f"{verb} needs a puzzle's name or its kernel, and this is {_what(what)}.")
        what = name
    if what in PUZZLES:
        return PUZZLES[what]
    if what in KERNELS:
        return KERNELS[what]
    raise UsageError(
        f"There is no puzzle called {what}.{_nearest(what, [*PUZZLES, *KERNELS])}\nThe puzzles are: {', '.join(PUZZLES)}."
    )


def kernel_name(kernel: Any) -> str | None:
    """The name a kernel was defined with, through autotune and heuristics; None for what is no function at all."""
    function = _python_function(kernel)
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and callable(function) else None


def _python_function(kernel: Any) -> Any:
    for _ in range(8):  # an autotuner holds a jitted function, which holds the Python function
        inner = getattr(kernel, "fn", None)
        if inner is None:
            return kernel
        kernel = inner
    return kernel


def _is_jitted(kernel: Any) -> bool:
    return type(kernel).__module__.partition(".")[0] == "triton" and getattr(kernel, "fn", None) is not None


def _what(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shown = repr(value)
    return f"{shown if len(shown) <= 40 else shown[:37] + '...'} ({type(value).__name__})"


def _for_text(text: str, verb: str) -> str:
    from checker.course import KERNELS, PUZZLES

    if "/" in text or "\\" in text or text.endswith((".py", ".ipynb", ".zip")):
        return f"{verb} takes the kernel, not a file. For a file, in a shell: python -m checker {verb} {text}"
    name = PUZZLES[text].kernel if text in PUZZLES else text
    if name in KERNELS:
        return f"{verb} takes the kernel itself, not its name. Without the quotation marks: {verb}({name})"
    nearest = _nearest(text, [*PUZZLES, *KERNELS])
    return f"{verb} takes the kernel itself, not a text: {verb}({_example()}).{nearest}"


def _nearest(name: str, known: Any) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {found[0]}?" if found else ""


def _example() -> str:
    from checker.course import LADDER

    return LADDER[min(1, len(LADDER) - 1)].kernel
