"""Finds kernels that are alike: information for a person, never a verdict. Short kernels are often alike."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checker.course import PUZZLES
from classroom.grading.records import Result

SMALLEST = 30
"""Nodes of a syntax tree below which being alike says nothing."""


@dataclass(frozen=True)
class Cluster:
    """Learners whose kernels for a puzzle differ in names, comments and layout at most. `published`: so does the solution."""

    puzzle: str
    learners: tuple[str, ...]
    published: bool


def clusters(result: Result, solutions: Mapping[str, str]) -> list[Cluster]:
    """The largest first. `solutions` are the published texts, by puzzle."""
    groups: dict[tuple[str, str], list[str]] = {}
    for learner in result.learners:
        for puzzle in learner.puzzles:
            shape = shape_of(puzzle.source.text, puzzle.puzzle) if puzzle.source is not None else None
            if shape is not None and puzzle.status != "not_attempted":
                groups.setdefault((puzzle.puzzle, shape), []).append(learner.person.id)
    published = {name: shape_of(text, name) for name, text in solutions.items()}
    found = [
        Cluster(puzzle, tuple(learners), published.get(puzzle) == shape)
        for (puzzle, shape), learners in groups.items()
        if len(learners) > 1
    ]
    return sorted(found, key=lambda one: (-len(one.learners), one.puzzle, one.learners))


def shape_of(text: str, puzzle: str) -> str | None:
    """A hash of the kernel's syntax tree with its own names numbered; None where it cannot be parsed, or is too small."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    known = PUZZLES.get(puzzle)
    name = known.kernel if known is not None else ""
    kernel = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name), None)
    if kernel is None:
        return None
    words = list(_words(kernel.body, [argument.arg for argument in kernel.args.args]))
    return hashlib.sha256(" ".join(words).encode()).hexdigest() if len(words) >= SMALLEST else None


def _words(body: Sequence[ast.stmt], parameters: Sequence[str]) -> list[str]:
    """The tree in the order of the text; variables by the order in which they appear, docstrings left out."""
    numbers: dict[str, int] = {name: n for n, name in enumerate(parameters)}
    bound = {n.id for one in body for n in ast.walk(one) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    words: list[str] = []
    waiting: list[ast.AST] = [
        one for one in reversed(body) if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]
    while waiting:
        node = waiting.pop()
        words.append(type(node).__name__)
        match node:
            case ast.Name(id=name):
                own = name in numbers or name in bound
                words.append(f"v{numbers.setdefault(name, len(numbers))}" if own else name)
            case ast.Attribute(attr=attr):
                words.append(attr)
            case ast.Constant(value=value):
                words.append(f"{value!r}"[:40] if not isinstance(value, int) or abs(value) < 2**64 else "large")
            case ast.keyword(arg=arg):
                words.append(str(arg))
        waiting += reversed(list(ast.iter_child_nodes(node)))
    return words
