"""Triton's failures in our words: what is wrong, on which line of the kernel's source, what to write instead."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.compiler.messages import RULES
from checker.compiler.request import CompileRequest, gpu_name

if TYPE_CHECKING:
    from triton import JITFunction

KINDS: dict[str, str] = {
    "constexpr": "A value must be known when the kernel is compiled.",
    "power_of_two": "A tile's side must be a power of two.",
    "range": "The bounds of a range do not work.",
    "dot_too_small": "tl.dot needs sides of at least 16.",
    "dot": "The operands of tl.dot do not fit.",
    "loop_type": "A variable changes its type or shape in a loop.",
    "branch_type": "A variable has different types after an if.",
    "return_type": "A helper returns different types.",
    "dtype": "A function does not take this type.",
    "pointer": "An address is not a pointer, or a pointer is used as a value.",
    "shape": "Two tiles do not fit each other.",
    "axis": "A tile does not have this axis.",
    "condition": "An if or while needs one truth value, not a tile of them.",
    "undefined_name": "A name is not defined.",
    "unknown_function": "Triton has no function of this name.",
    "global": "A value from outside the kernel is not a constexpr.",
    "not_jitted": "A function that is called is not a Triton function.",
    "arguments": "A call's arguments are not those of the function.",
    "unsupported_syntax": "This part of Python does not exist in Triton.",
    "static_assert": "A tl.static_assert does not hold.",
    "too_large": "A tile has too many elements.",
    "shared_memory": "The tiles do not fit in the GPU's shared memory.",
    "target": "This GPU lacks something the kernel needs.",
    "unknown": "Triton's compiler says something the checker has no words for.",
}
"""What `CompileResult.kind` may be, each in a sentence."""


@dataclass(frozen=True)
class Failure:
    kind: str
    message: str
    raw: str
    line: int | None = None
    only_here: bool = False


@dataclass(frozen=True)
class Place:
    """Where the compiler stopped: a line of the module, the text of that line, the innermost expression if known."""

    line: int | None
    code: str = ""
    helper: str = ""
    node: ast.AST | None = field(default=None, compare=False)


def translate(error: BaseException, kernel: JITFunction, request: CompileRequest, diagnostics: str = "") -> Failure:
    """The failure behind an exception of ``triton.compile``; `diagnostics` is what the compiler wrote to stderr."""
    chain = _chain(error)
    place = _place(chain, kernel) if hasattr(error, "node") else _place_of_diagnostics(diagnostics, kernel)
    text = _said(chain, diagnostics)
    raw = _raw(chain, diagnostics)
    for rule in RULES:
        match = rule.pattern.search(text)
        if match is not None:
            message = rule.message(match, place, request)
            if message is None:
                continue
            name = match[1] if match.re.groups else ""
            line = _better_line(rule.kind, name or "", place, kernel)
            return Failure(rule.kind, re.sub(r"^a (?=pointer|\[)", "A ", message), raw, line, rule.only_here)
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), type(error).__name__)
    return Failure(
        "unknown", f"Triton's compiler stopped for {gpu_name(request.capability)}: {last[:300]}", raw, place.line
    )


def _better_line(kind: str, name: str, place: Place, kernel: JITFunction) -> int | None:
    """Triton points at the loop where the assignment in it is meant, and nowhere at all for a function it cannot call."""
    if kind == "loop_type" and isinstance(place.node, ast.For | ast.While) and place.line is not None:
        for node in ast.walk(place.node):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                return place.line + node.lineno - place.node.lineno
    if place.line is None and kind == "not_jitted":
        for function in _functions(kernel):
            for number, text in enumerate(function.src.split("\n")):
                if re.search(rf"\b{re.escape(name)}\s*\(", text):
                    return _first_line(function) + number
    return place.line


def _chain(error: BaseException) -> list[BaseException]:
    """The exception and what caused it, innermost last."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 40:
        chain.append(current)
        current = current.__cause__
    return chain


def _said(chain: list[BaseException], diagnostics: str) -> str:
    """The innermost words: "TypeError: message" or the first error that the compiler's C++ half reported."""
    for error in reversed(chain):
        kind = type(error).__name__
        message = getattr(error, "error_message", None) if hasattr(error, "node") else str(error)
        if kind == "CompileTimeAssertionFailure":
            return f"CompileTimeAssertionFailure: {message or ''}"
        if message:
            first = re.search(r"error: (.*)", diagnostics)
            return f"{first[1]}\n{diagnostics}" if first and not hasattr(error, "node") else str(message)
    return str(chain[0])


def _raw(chain: list[BaseException], diagnostics: str) -> str:
    parts = [str(e) for e in chain if str(e)]
    text = "\n".join(dict.fromkeys(parts))
    if diagnostics:
        text += "\n" + diagnostics.split("{-#")[0]
    return text.strip()[:8000]


def _place(chain: list[BaseException], kernel: JITFunction) -> Place:
    """The innermost node that stands in the learner's own module, not in Triton's library."""
    functions = _functions(kernel)
    place = Place(None)
    for error in chain:
        node, source = getattr(error, "node", None), getattr(error, "src", None)
        if node is None or not hasattr(node, "lineno"):
            continue
        owner = next((f for f in functions if f.src == source), None)
        if owner is None:
            continue
        line = _first_line(owner) + node.lineno - 1
        code = owner.src.split("\n")[node.lineno - 1].strip() if node.lineno <= owner.src.count("\n") + 1 else ""
        place = Place(line, code, owner.__name__ if owner is not kernel else "", node)
    return place


def _place_of_diagnostics(diagnostics: str, kernel: JITFunction) -> Place:
    path = kernel.fn.__code__.co_filename
    found = re.search(re.escape(path) + r":(\d+):\d+", diagnostics)
    if found is None:
        return Place(None)
    line = int(found[1])
    for owner in _functions(kernel):
        lines = owner.src.split("\n")
        if 0 <= line - _first_line(owner) < len(lines):
            return Place(line, lines[line - _first_line(owner)].strip(), owner.__name__ if owner is not kernel else "")
    return Place(line)


def _functions(kernel: JITFunction) -> list[Any]:
    """The kernel and the other Triton functions of its module."""
    others = [v for v in kernel.fn.__globals__.values() if hasattr(v, "src") and hasattr(v, "starting_line_number")]
    return [kernel, *(f for f in others if f is not kernel and f.fn.__globals__ is kernel.fn.__globals__)]


def _first_line(function: Any) -> int:
    """The line of ``def`` in the module; `src` begins there."""
    above = next(i for i, line in enumerate(function.raw_src) if re.match(r"\s*def\s", line))
    return int(function.starting_line_number) + above
