"""The line of one kernel that plays the part of a given line in another: the same access, or much the same words."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache

from checker.simulator.trace import Trace
from checker.submission.kernel import KernelSource

_ENOUGH = 0.6


def matching_line(
    theirs: KernelSource, line: int, their_trace: Trace | None, mine: KernelSource, my_trace: Trace | None
) -> int | None:
    """The line of `mine` that does what `line` of `theirs` does, or None if that is not clear."""
    access = _by_access(line, their_trace, my_trace)
    return access if access is not None else _by_words(theirs, line, mine)


def resemblance(a: KernelSource, b: KernelSource) -> float:
    """How much of their words two kernels share, from 0 to 1, whatever their variables are called."""
    return alike(words_of(a.source), words_of(b.source))


@lru_cache(512)
def words_of(source: str) -> Counter[str]:
    """The words of a kernel's module and how often each occurs. They exclude local names."""
    return sum((words for _, _, words in _statements(source)), Counter())


def alike(a: Counter[str], b: Counter[str]) -> float:
    """How much of their words two kernels or lines share, from 0 to 1."""
    union = (a | b).total()
    return (a & b).total() / union if union else 0.0


def _by_access(line: int, theirs: Trace | None, mine: Trace | None) -> int | None:
    """By the tensor that the line loads or stores, which is unmistakable if both kernels do so in equally many lines.

    Products have no tensor, and their order may be the mistake, so a product only matches the only one in the other kernel.
    """
    if theirs is None or mine is None:
        return None
    for event in theirs.events:
        if event.line == line:
            here, there = (_lines(trace, event.kind, event.tensor) for trace in (theirs, mine))
            if len(there) == 1:
                return there[0]
            if event.kind == "dot":
                return None
            return there[here.index(line)] if len(here) == len(there) else None
    return None


def _lines(trace: Trace, kind: str, tensor: str) -> list[int]:
    return sorted({e.line for e in trace.events if e.kind == kind and e.tensor == tensor})


def _by_words(theirs: KernelSource, line: int, mine: KernelSource) -> int | None:
    wanted = next((words for start, stop, words in _statements(theirs.source) if start <= line <= stop), None)
    if not wanted:
        return None
    scored = sorted(((alike(wanted, words), start) for start, _, words in _statements(mine.source)), reverse=True)
    if not scored or scored[0][0] < _ENOUGH or (len(scored) > 1 and scored[1][0] == scored[0][0]):
        return None
    return scored[0][1]


@lru_cache(512)
def _statements(source: str) -> list[tuple[int, int, Counter[str]]]:
    """``(first line, last line, words)`` of every simple statement in a function; words exclude local names."""
    module = ast.parse(source)
    statements = []
    for function in (node for node in module.body if isinstance(node, ast.FunctionDef)):
        parameters = {a.arg for a in function.args.args}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return):
                statements.append((node.lineno, node.end_lineno or node.lineno, _words(node, parameters)))
    return sorted(statements, key=lambda item: item[:2])


def _words(node: ast.AST, parameters: set[str]) -> Counter[str]:
    words: Counter[str] = Counter()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            words[f".{part.attr}"] += 1
        elif isinstance(part, ast.keyword):
            words[f"{part.arg}="] += 1
        elif isinstance(part, ast.Constant):
            words[repr(part.value)] += 1
        elif isinstance(part, ast.Name) and part.id in parameters:
            words[part.id] += 1
        elif isinstance(part, ast.operator | ast.cmpop | ast.unaryop):
            words[type(part).__name__] += 1
    return words
