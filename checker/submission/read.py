"""Reads kernels from live functions and from files. Files are data: nothing in them is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.puzzle import Puzzle
from checker.submission.assemble import assemble
from checker.submission.files import Document, FileProblem, documents
from checker.submission.kernel import KernelSource
from checker.submission.live import SubmissionError, kernel_of, name_of
from checker.submission.notebook import cells
from checker.submission.scope import StaticScope, Text, parse

__all__ = ["Found", "SubmissionError", "from_function", "from_path", "name_of"]


@dataclass(frozen=True)
class Found:
    """One kernel found in a file, or why a file or a part of it has none.

    `submission` is the file's name relative to the path that was asked for. Either `puzzle` and `source` are set, or
    `error` says in a sentence what was wrong, at `line` of `origin` where it has one. `reason` is empty or one of
    ``no_kernel``, ``syntax``, ``undecodable``, ``too_large``, ``unsafe``, ``unreadable``, ``not_a_function``.
    """

    submission: str
    puzzle: str | None = None
    source: KernelSource | None = None
    error: str = ""
    line: int | None = None
    origin: str = ""
    reason: str = ""


def from_function(fn: Any, puzzle: Puzzle) -> KernelSource:
    """The source of a live kernel: a ``@triton.jit`` function, autotuned or not, of a notebook cell, a script or a REPL.

    Helpers and constants it uses are gathered wherever they were defined. Raises SubmissionError for anything else, with a
    message for the learner.
    """
    kernel, scope = kernel_of(fn)
    return assemble(kernel, puzzle.name, scope)


def from_path(path: Path | str, puzzles: Iterable[Puzzle] | Mapping[str, Puzzle]) -> list[Found]:
    """Every kernel of `puzzles` in a .py, an .ipynb, a .zip or a folder of them, in the order of file names.

    What cannot be read is in the list too, as a Found with an `error`: one bad file never stops the others. Raises
    FileNotFoundError if `path` does not exist.
    """
    kernels = {p.kernel: p for p in (puzzles.values() if isinstance(puzzles, Mapping) else puzzles)}
    found: list[Found] = []
    for item in documents(Path(path)):
        if isinstance(item, FileProblem):
            found.append(Found(item.submission, error=item.message, reason=item.reason))
            continue
        try:
            found += _in_document(item, kernels)
        except RecursionError:
            found.append(
                Found(item.name, error="the code in this file is nested too deeply to be read", reason="syntax")
            )
    return found


def _in_document(document: Document, kernels: Mapping[str, Puzzle]) -> list[Found]:
    scope = StaticScope()
    broken: dict[str, Found] = {}  # kernels in text that does not parse
    unparsed: Found | None = None
    try:
        texts = [Text(document.text, document.name)] if document.kind == "py" else cells(document.text, document.name)
    except ValueError as error:
        return [Found(document.name, error=str(error), reason="unreadable")]
    for text in texts:
        try:
            tree = parse(text.text)
        except SyntaxError as error:
            where = text.first + (error.lineno or 1) - 1
            message = f"Python cannot read this: {error.msg} (line {where} of {text.origin})"
            unparsed = unparsed or Found(document.name, None, None, message, where, text.origin, "syntax")
            for name in re.findall(r"^[ \t]*def[ \t]+(\w+)", text.text, re.MULTILINE):
                if name in kernels:
                    broken[name] = Found(document.name, kernels[name].name, None, message, where, text.origin, "syntax")
            continue
        before = dict(scope.names)
        scope.add(text, tree)
        for name in list(broken):
            if scope.names.get(name) is not before.get(name):
                del broken[name]  # written again further down, and that one counts
    found: list[Found] = []
    for name, puzzle in kernels.items():
        definition = scope.find(name)
        if name in broken:
            found.append(broken[name])
        elif definition is None or definition.kind == "import":
            continue
        elif definition.kind != "function":
            assert definition.text is not None
            message = f"`{name}` is defined last in a way the checker cannot follow ({definition.what or 'an assignment'}): write it as @triton.jit and def"
            found.append(
                Found(
                    document.name, puzzle.name, None, message, definition.line, definition.text.origin, "not_a_function"
                )
            )
        else:
            found.append(Found(document.name, puzzle.name, assemble(definition, puzzle.name, scope)))
    if not found:
        found.append(unparsed or Found(document.name, error=_nothing(scope, kernels), reason="no_kernel"))
    return found


def _nothing(scope: StaticScope, kernels: Mapping[str, Puzzle]) -> str:
    others = [
        d.name
        for d in scope.names.values()
        if isinstance(d.node, ast.FunctionDef) and any("jit" in ast.unparse(x) for x in d.node.decorator_list)
    ]
    if not others:
        return "no kernel of this course is defined here"
    shown, asked = ", ".join(others[:5]), ", ".join(list(kernels)[:5]) + (", …" if len(kernels) > 5 else "")
    return f"no kernel of this course is defined here: found {shown}; the course asks for {asked}"
