"""The products in a kernel's text: what each multiplies, and the variable that it goes to."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from checker.simulator.trace import Event


@dataclass(frozen=True)
class Dot:
    first: int
    last: int
    """Its lines."""
    names: frozenset[str]
    """Names in the two operands."""
    target: str
    """The variable that its statement assigns to; empty where there is none."""


@lru_cache(maxsize=8)
def dots_of(source: str) -> tuple[Dot, ...]:
    """Every product in the kernel's text."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    targets = {id(call): name for name, value in _assigned(tree) for call in ast.walk(value)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "dot":
            names = frozenset(n.id for a in node.args[:2] for n in ast.walk(a) if isinstance(n, ast.Name))
            found.append(Dot(node.lineno, node.end_lineno or node.lineno, names, targets.get(id(node), "")))
    return tuple(found)


def _assigned(tree: ast.AST) -> list[tuple[str, ast.expr]]:
    """Names and what is assigned to them."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                found.append((target.id, node.value))
    return found


def dot_of(dots: Sequence[Dot], event: Event) -> Dot | None:
    """The product of a step; None where its line has several."""
    here = [d for d in dots if event.kind == "dot" and d.first <= event.line <= d.last]
    return here[0] if len(here) == 1 else None


def operands(dots: Sequence[Dot], event: Event) -> frozenset[str]:
    """Names in the operands of the product of a step."""
    found = dot_of(dots, event)
    return found.names if found else frozenset()
