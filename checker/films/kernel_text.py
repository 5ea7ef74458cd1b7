"""What a film reads from a kernel's text: the products in it, and which variables belong to a step.

A loop's variables keep the values of the previous iteration until they are assigned again. A variable belongs to a step if its value
is from above the loop, or from a line above the step's in the same iteration.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from checker.films.state import first_number, unchanged
from checker.films.steps import Step
from checker.simulator.trace import Event, ProgramId


def _parsed(source: str) -> ast.Module:
    """The syntax tree; an empty one if the text is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


# ---- products ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dot:
    first: int
    last: int
    """Its lines."""
    names: frozenset[str]
    """Names in the two operands."""
    target: str
    """The variable that its statement assigns to; or empty."""


@lru_cache(maxsize=8)
def _dots(source: str) -> tuple[Dot, ...]:
    """Every product in the kernel's text, those of one line in the order in which it computes them."""
    targets: dict[int, str] = {}
    for node in ast.walk(_parsed(source)):  # a statement comes before what is in it
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                targets |= {id(inner): target.id for inner in ast.walk(node.value)}
    return tuple(
        Dot(node.lineno, node.end_lineno or node.lineno, _named(*node.args[:2]), targets.get(id(node), ""))
        for node in _innermost_first(_parsed(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "dot"
    )


def _innermost_first(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield from _innermost_first(child)
    yield node


def _named(*nodes: ast.AST) -> frozenset[str]:
    return frozenset(n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))


def products(steps: Sequence[Step], source: str) -> dict[int, Dot]:
    """By step the product that it computes. Of several in a line, each step of a program takes the next one."""
    turns: Counter[tuple[ProgramId, int]] = Counter()
    out = {}
    for step in steps:
        if step.event.kind == "dot":
            line, turn = step.event.line, (step.event.program, step.event.line)
            around = [d for d in _dots(source) if d.first <= line <= d.last]
            here = [d for d in around if d.first == line] or around
            if here:
                out[step.at] = here[turns[turn] % len(here)]
                turns[turn] += 1
    return out


@lru_cache(maxsize=32)
def made_from(source: str, names: frozenset[str]) -> frozenset[str]:
    """All names that go into those of `names`, themselves included, by way of assignments."""
    values: dict[str, set[str]] = {}
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, set()).update(_named(node.value))
    every, left = set(names), list(names)
    while left:
        new = values.get(left.pop(), set()) - every
        every |= new
        left += new
    return frozenset(every)


# ---- variables ---------------------------------------------------------------------------------------------------------

Loops = tuple[int, ...]
"""First lines of the loops around a statement, from the outside in."""


@dataclass(frozen=True)
class _Assignment:
    """A statement that gives a variable a value, from its first to its last line."""

    first: int
    last: int
    loops: Loops


class Variables:
    """The assignments in every function of a kernel's text. If the text is not Python, every variable belongs to every step."""

    def __init__(self, source: str) -> None:
        self._functions: dict[str, dict[str, list[_Assignment]]] = {}
        self._loops: dict[str, list[tuple[int, int]]] = {}
        for node in ast.walk(_parsed(source)):
            if isinstance(node, ast.FunctionDef):
                assignments = self._functions.setdefault(node.name, {})
                loops = self._loops.setdefault(node.name, [])
                for name, assignment in _assignments(node.body, (), loops):
                    assignments.setdefault(name, []).append(assignment)

    def before(self, event: Event) -> dict[str, Any]:
        """The variables just before an event, without leftovers of another iteration or of a finished loop."""
        return {name: value for name, value in event.state.items() if self._belongs(name, event)}

    def after(self, step: Step) -> dict[str, Any]:
        """The variables of this iteration that the step and the lines after it change, up to the next step."""
        event, later = step.event, step.later
        if later is None:
            return {}
        around, old, out = self._around(event), self.before(event), {}
        again = later.line <= event.line and later.loops != event.loops
        for name, value in later.state.items():
            every = self._of(event, name)
            assignments = [a for a in every if a.last >= event.line and around[: len(a.loops)] == a.loops]
            made = any(a.loops for a in assignments) if again else any(a.last < later.line for a in assignments)
            same = name in old and unchanged(old[name], value)
            if (made or not every) and not same and not self._renewed(name, event, later, again):
                out[name] = value
        return out

    def _renewed(self, name: str, event: Event, later: Event, again: bool) -> bool:
        """Whether the next iteration, or a loop that starts before the next step, has already reassigned a variable."""
        around = self._around(event)
        for a in self._of(later, name):
            inside = around[: len(a.loops)] == a.loops
            if a.last < later.line and ((again and a.loops and inside) or (not inside and a.first > event.line)):
                return True
        return False

    def _of(self, event: Event, name: str) -> Sequence[_Assignment]:
        return self._functions.get(event.function, {}).get(name, ())

    def _around(self, event: Event) -> Loops:
        return tuple(first for first, last in self._loops.get(event.function, ()) if first <= event.line <= last)

    def _belongs(self, name: str, event: Event) -> bool:
        around = self._around(event)
        every = self._of(event, name)
        return not every or any(a.last < event.line and around[: len(a.loops)] == a.loops for a in every)


def _assignments(
    body: Sequence[ast.stmt], loops: Loops, extents: list[tuple[int, int]]
) -> Iterator[tuple[str, _Assignment]]:
    for statement in body:
        last = statement.end_lineno or statement.lineno
        inner = loops
        if isinstance(statement, ast.For | ast.While):
            extents.append((statement.lineno, last))
            inner = (*loops, statement.lineno)
            if isinstance(statement, ast.For):
                yield from (
                    (n, _Assignment(statement.lineno, statement.lineno, inner)) for n in _names([statement.target])
                )
        elif isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from ((name, _Assignment(statement.lineno, last, loops)) for name in _names(targets))
        for part in ("body", "orelse"):
            yield from _assignments(getattr(statement, part, ()), inner, extents)


def _names(targets: Sequence[ast.AST]) -> Iterator[str]:
    for target in targets:
        yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def counts(values: Mapping[str, Any], name: str) -> bool:
    """Whether a variable holds whole numbers or truth values: index arithmetic and masks."""
    return isinstance(first_number(values.get(name)), int)
