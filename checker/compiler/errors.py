"""Explains Triton's compile errors: what is wrong, on which of the learner's lines, and what to write instead."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.compiler.request import CompileRequest, gpu_name

if TYPE_CHECKING:
    from triton import JITFunction


@dataclass(frozen=True)
class Failure:
    kind: str
    message: str
    raw: str
    line: int | None = None
    only_here: bool = False


@dataclass(frozen=True)
class Place:
    """Where the compiler stopped: the line, its text, and the innermost expression if known."""

    line: int | None
    code: str = ""
    helper: str = ""
    node: ast.AST | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Explanation:
    """One entry of `messages.toml`, whose first lines describe the fields."""

    kind: str
    pattern: str
    words: str
    code: str = ""
    only_here: bool = False

    def explain(self, text: str, place: Place, request: CompileRequest) -> tuple[str, str] | None:
        """The words, and the pattern's first group, if the entry is about this message of Triton's."""
        match, code = re.search(self.pattern, text, re.DOTALL), re.search(self.code or ".*", place.code)
        if match is None or code is None:
            return None
        helper = f" in `{place.helper}`" if place.helper else ""
        groups = [_in_learners_terms(group or "") for group in match.groups()]
        given = {"gpu": gpu_name(request.capability), "code": code[0], "helper": helper, **_operands(place, request)}
        message = self.words.format(match[0], *groups, **given)
        return re.sub(r"^a (?=pointer|\[)", "A ", message), (match[1] or "") if groups else ""


@functools.cache
def explanations() -> tuple[Explanation, ...]:
    text = Path(__file__).with_name("messages.toml").read_text("utf-8")
    return tuple(Explanation(**entry) for entry in tomllib.loads(text)["message"])


_TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "int1": "bool"}


def _in_learners_terms(text: str) -> str:
    """A part of Triton's message: ``<['16'], fp32>`` becomes "a [16] tile of float32", and bytes in hexadecimal become KiB."""
    text = text.strip().replace("triton.language.", "").replace("[]", "")
    text = re.sub(r"'?constexpr\[(\d+)\]'?|'(\d+)'", lambda m: m[1] or m[2], text)
    if tile := re.fullmatch(r"<\[(.*)\], (.*)>", text):
        return f"a [{tile[1]}] tile of {_in_learners_terms(tile[2])}"
    if pointer := re.fullmatch(r"pointer<(.*)>", text):
        return f"a pointer to {_in_learners_terms(pointer[1])}"
    if re.fullmatch(r"0x[0-9a-f]+", text):
        return f"{int(text, 16) // 1024} KiB"
    return _TYPES.get(text, text)


def _operands(place: Place, request: CompileRequest) -> dict[str, str]:
    """The first two operands of a call, if they are short, and the dtype of the launch's tensors, if they have one."""
    both = [ast.unparse(operand) for operand in place.node.args[:2]] if isinstance(place.node, ast.Call) else []
    if len(both) != 2 or max(map(len, both)) > 20:
        both = ["p", "v"]
    dtypes = {_TYPES[kind[1:]] for kind in request.signature.values() if kind in ("*fp16", "*bf16", "*fp32")}
    return {"a": both[0], "b": both[1], "inputs": f" (with {min(dtypes)} inputs)" if len(dtypes) == 1 else ""}


# from an exception to the words ----------------------------------------------------------------------------------------


def translate(error: BaseException, kernel: JITFunction, request: CompileRequest, diagnostics: str = "") -> Failure:
    """The failure behind an exception of ``triton.compile``; `diagnostics` is the compiler's stderr."""
    chain = _chain(error)
    place = _place(chain, kernel) if hasattr(error, "node") else _place_of_diagnostics(diagnostics, kernel)
    text = _innermost_message(chain, diagnostics)
    raw = _raw(chain, diagnostics)
    for entry in explanations():
        if explained := entry.explain(text, place, request):
            message, name = explained
            return Failure(entry.kind, message, raw, _better_line(entry.kind, name, place, kernel), entry.only_here)
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), type(error).__name__)
    return Failure(
        "unknown", f"Triton's compiler stopped for {gpu_name(request.capability)}: {last[:300]}", raw, place.line
    )


def _better_line(kind: str, name: str, place: Place, kernel: JITFunction) -> int | None:
    """A better line where Triton reports the loop instead of an assignment in it, or none for a function it cannot call."""
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
    """The exception and its causes, innermost last."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 40:
        chain.append(current)
        current = current.__cause__
    return chain


def _innermost_message(chain: list[BaseException], diagnostics: str) -> str:
    """The innermost message, or the first error of the compiler's C++ half."""
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
    text = "\n".join(dict.fromkeys(str(e) for e in chain if str(e)))
    if diagnostics:
        text += "\n" + diagnostics.split("{-#")[0]
    return text.strip()[:8000]


def _place(chain: list[BaseException], kernel: JITFunction) -> Place:
    """The innermost node in the learner's own module rather than Triton's library."""
    functions = _functions(kernel)
    place = Place(None)
    for error in chain:
        node, source = getattr(error, "node", None), getattr(error, "src", None)
        if node is None or not hasattr(node, "lineno"):
            continue
        owner = next((f for f in functions if f.src == source), None)
        if owner is not None:
            place = _place_in(owner, node.lineno - 1, kernel, node)
    return place


def _place_in(owner: Any, number: int, kernel: JITFunction, node: ast.AST | None = None) -> Place:
    """A line of a function's source, by its number from 0."""
    lines = owner.src.split("\n")
    code = lines[number].strip() if number < len(lines) else ""
    return Place(_first_line(owner) + number, code, owner.__name__ if owner is not kernel else "", node)


def _place_of_diagnostics(diagnostics: str, kernel: JITFunction) -> Place:
    path = kernel.fn.__code__.co_filename
    match = re.search(re.escape(path) + r":(\d+):\d+", diagnostics)
    if match is None:
        return Place(None)
    line = int(match[1])
    for owner in _functions(kernel):
        number = line - _first_line(owner)
        if 0 <= number <= owner.src.count("\n"):
            return _place_in(owner, number, kernel)
    return Place(line)


def _functions(kernel: JITFunction) -> list[Any]:
    """The kernel and the other Triton functions of its module."""
    others = [v for v in kernel.fn.__globals__.values() if hasattr(v, "src") and hasattr(v, "starting_line_number")]
    return [kernel, *(f for f in others if f is not kernel and f.fn.__globals__ is kernel.fn.__globals__)]


def _first_line(function: Any) -> int:
    """The line of ``def`` in the module; `src` begins there."""
    above = next(i for i, line in enumerate(function.raw_src) if re.match(r"\s*def\s", line))
    return int(function.starting_line_number) + above
