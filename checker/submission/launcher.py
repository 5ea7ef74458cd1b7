"""Extracts a function around kernels from its module, with everything that it needs. It is ordinary Python, and no rule binds it."""

from __future__ import annotations

import ast

from checker.submission.extract import MAX_DEFINITIONS
from checker.submission.kernel import KernelSource, Piece
from checker.submission.scope import Definition, StaticScope, free_names

KERNEL = "_kernel"
"""How the names of the course's kernels end."""


def extract_launcher(launcher: Definition, puzzle: str, scope: StaticScope) -> KernelSource:
    """The function as a module of its own: imports, then what it reads, in the order of the text, then the function.

    What is registered with it, as by ``@paged_decode.register_fake``, follows. A kernel that is imported is left out: the judge puts
    the course's own in its place.
    """
    needed = _needed(launcher, scope)
    imports = [d for d in needed if d.kind == "import" and not d.name.endswith(KERNEL)]
    registered = [d for d in scope.decorated if d is not launcher and launcher.name in _decorators(d)]
    for one in registered:
        needed += [d for d in _needed(one, scope) if d not in needed and d is not launcher]
    known = list(scope.names.values())
    before = sorted((d for d in needed if d.kind != "import"), key=known.index)
    lines, pieces = [_statement(d) for d in imports], list[Piece]()
    for definition in (*before, launcher, *registered):
        own, first = _lines(definition)
        assert definition.text is not None
        lines.append("")
        pieces.append(Piece(len(lines) + 1, len(lines) + len(own), definition.text.origin, first))
        lines += own
    own_first = (pieces[len(before)], *pieces[: len(before)], *pieces[len(before) + 1 :])
    return KernelSource(puzzle, launcher.name, "\n".join(lines) + "\n", own_first)


def _needed(definition: Definition, scope: StaticScope) -> list[Definition]:
    """Everything at the top level that it reads, and what that reads."""
    found: dict[str, Definition] = {}
    waiting = [definition]
    while waiting and len(found) < MAX_DEFINITIONS:
        for name in _names(waiting.pop()):
            one = scope.find(name)
            if one is not None and one.node is not None and name not in found and name != definition.name:
                found[name] = one
                waiting.append(one)
    return list(found.values())


def _names(definition: Definition) -> set[str]:
    if definition.kind == "import" or definition.node is None:
        return set()
    if isinstance(definition.node, ast.FunctionDef):
        return _decorators(definition) | set(free_names(definition.node))
    return {node.id for node in ast.walk(definition.node) if isinstance(node, ast.Name)}


def _decorators(definition: Definition) -> set[str]:
    """The names that are read above the ``def``."""
    decorators = definition.node.decorator_list if isinstance(definition.node, ast.FunctionDef) else []
    return {node.id for one in decorators for node in ast.walk(one) if isinstance(node, ast.Name)}


def _statement(definition: Definition) -> str:
    module, _, own = definition.target.rpartition(".")
    if isinstance(definition.node, ast.ImportFrom):
        return f"from {module} import {own} as {definition.name}"
    return f"import {definition.target}" + (f" as {definition.name}" if definition.name != definition.target else "")


def _lines(definition: Definition) -> tuple[list[str], int]:
    """The lines of a definition with its decorators, and the learner's number of the first."""
    node, text = definition.node, definition.text
    assert node is not None
    assert text is not None
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return text.lines[first - 1 : node.end_lineno], text.first + first - 1
