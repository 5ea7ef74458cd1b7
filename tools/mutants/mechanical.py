"""Mechanical mutants: small changes to a solution, one at a time, of the kind that a slip of the hand makes.

The changes are made on the syntax tree and depend on nothing but the solution and the names that `families` calls easily
confused, so a solution always gives the same mutants. Changes that give the same code count once.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.puzzle import Puzzle
from tools.mutants.families import family_of
from tools.mutants.sources import function_of, solution_module

ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Mult),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE, ast.NotEq),
    ast.LtE: (ast.Lt, ast.Gt, ast.GtE, ast.Eq),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE, ast.Eq),
    ast.Eq: (ast.NotEq, ast.Lt, ast.LtE),
}
FUNCTIONS = {
    "max": ("min", "sum"),
    "sum": ("max", "min"),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "exp": ("exp2", "log"),
    "log": ("log2", "exp"),
}
FIRST_WORDS, LAST_WORDS = {"N", "H", "mask", "start"}, {"row", "rows", "part", "ptrs"}
"""Names that begin, or end, with the same one of these words are easily confused."""

Change = tuple[ast.AST, ast.AST]
"""A node of the syntax tree, and the node that replaces it."""


@dataclass(frozen=True)
class Mutant:
    """A changed solution. `key` names it in reports: lines would move with every edit."""

    puzzle: str
    key: str
    source: str


def mutants(puzzle: Puzzle) -> list[Mutant]:
    """Every mechanical mutant of the puzzle's solution, in the order of its lines."""
    module = solution_module(puzzle)
    function = function_of(module, puzzle.kernel)
    changes = _Changes(puzzle, function)
    seen_heads: list[str] = []
    sources, made = {ast.unparse(module)}, []
    for block, index in _statements(function.body):
        statement = block[index]
        head = _head(statement)
        seen_heads.append(head)
        which = f" ({seen_heads.count(head)})" if seen_heads.count(head) > 1 else ""
        for after, replacements in _edits(block, index, changes):
            source = ast.unparse(ast.fix_missing_locations(_replaced(module, replacements)))
            if source not in sources:
                sources.add(source)
                made.append(Mutant(puzzle.name, f"{puzzle.name}: {head}{which} → {after}", source + "\n"))
    return made


def _statements(block: list[ast.stmt]) -> Iterator[tuple[list[ast.stmt], int]]:
    """Each statement, by its block and its place there, in the order of the lines."""
    for index, statement in enumerate(block):
        yield block, index
        if isinstance(statement, ast.For | ast.If):
            assert not statement.orelse, "a solution with an else"
            yield from _statements(statement.body)


def _edits(
    block: Sequence[ast.stmt], index: int, changes: _Changes
) -> Iterator[tuple[str, Mapping[ast.AST, Sequence[ast.AST]]]]:
    """What can be done to one statement: the text for the key, and what replaces which nodes."""
    statement = block[index]
    yield "(dropped)", {statement: [ast.Pass()] if len(block) == 1 else []}
    both = block[index : index + 2]
    if len(both) == 2 and not any(isinstance(one, ast.For | ast.If) for one in both):
        swapped = [both[1], statement]
        yield "; ".join(map(_head, swapped)), {statement: copy.deepcopy(swapped), both[1]: []}
    for old, new in changes.of(statement):
        yield _head(_replaced(_header(statement), {old: [new]})), {old: [new]}


def _header(statement: ast.stmt) -> ast.stmt:
    """A statement whose body, if it has one, does not matter; its other nodes are those of `statement`."""
    if not isinstance(statement, ast.For | ast.If):
        return statement
    header = copy.copy(statement)
    header.body = [ast.Pass()]
    return header


def _head(statement: ast.AST) -> str:
    """The statement as Python writes it; only the first line of a loop or an `if`."""
    return ast.unparse(ast.fix_missing_locations(statement)).splitlines()[0].replace("'", '"')


def _replaced(tree: ast.AST, replacements: Mapping[ast.AST, Sequence[ast.AST]]) -> ast.AST:
    """A copy of the tree with some nodes replaced."""
    kept = {id(node): node for node in replacements}
    replaced: ast.AST = _Replace(replacements).visit(copy.deepcopy(tree, kept) if tree not in replacements else tree)
    return replaced


class _Replace(ast.NodeTransformer):
    def __init__(self, replacements: Mapping[ast.AST, Sequence[ast.AST]]) -> None:
        self.replacements = replacements

    def visit(self, node: ast.AST) -> Any:
        if node not in self.replacements:
            return self.generic_visit(node)
        new = [copy.deepcopy(one) for one in self.replacements[node]]
        return new[0] if len(new) == 1 else new


def alike_by_form(names: Iterable[str]) -> list[set[str]]:
    """Groups of names that look alike: strides of one tensor or one axis, and names that share a word."""
    groups: dict[tuple[str, str], set[str]] = {}
    for name in (name for name in names if "_" in name):
        first, last = name.partition("_")[0], name.rpartition("_")[2]
        keys = []
        if first == "stride":
            keys = [("tensor", last[:-1]), ("axis", last[-1].replace("n", "m"))]  # rows of queries, rows of keys
        elif first in FIRST_WORDS:
            keys = [("first word", first)]
        elif last in LAST_WORDS:
            keys = [("last word", last)]
        for key in keys:
            groups.setdefault(key, set()).add(name)
    return [group for group in groups.values() if len(group) > 1]


class _Changes:
    """The changes inside the statements of one function."""

    def __init__(self, puzzle: Puzzle, function: ast.FunctionDef) -> None:
        self.first_line = {argument.arg: 0 for argument in function.args.args}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.first_line[node.id] = min(node.lineno, self.first_line.get(node.id, node.lineno))
        family = family_of(puzzle)
        self.alike = [*alike_by_form(self.first_line), *family.alike]
        self.mistaken = family.mistaken

    def of(self, statement: ast.stmt) -> Iterator[Change]:
        if isinstance(statement, ast.For):
            yield from _bounds(statement.iter)
        if isinstance(statement, ast.If):
            yield statement.test, ast.Constant(True)
            yield statement.test, ast.UnaryOp(ast.Not(), statement.test)
        for node in ast.walk(_header(statement)):
            match node:
                case ast.BinOp():
                    yield from _operators(node)
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    target = ast.Name(name, ast.Store())
                    for other in (ast.Sub, ast.Mult):
                        yield node, ast.AugAssign(target, other(), value)
                    yield node, ast.Assign([target], value)
                case ast.Compare():
                    for comparison in COMPARISONS.get(type(node.ops[0]), ()):
                        yield node, ast.Compare(node.left, [comparison()], node.comparators)
                case ast.Call():
                    yield from _calls(node)
                case ast.Subscript():
                    yield node, node.value
                    if isinstance(node.slice, ast.Tuple):
                        flipped = ast.Tuple(list(reversed(node.slice.elts)), ast.Load())
                        yield node, ast.Subscript(node.value, flipped, ast.Load())
                case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                    yield node, ast.Constant(value + 1)
                    if isinstance(value, float) or value > 0:
                        yield node, ast.Constant(value - 1)
                case ast.Name(ctx=ast.Load()):
                    yield from self._names(node)

    def _names(self, node: ast.Name) -> Iterator[Change]:
        others = [name for group in self.alike if node.id in group for name in sorted(group)]
        for name in [*others, *self.mistaken.get(node.id, ())]:
            if name != node.id and self.first_line.get(name, node.lineno) < node.lineno:
                yield node, ast.Name(name, ast.Load())


def _plus(node: ast.expr, operator: ast.operator, amount: ast.expr | None = None) -> ast.expr:
    return ast.BinOp(node, operator, amount or ast.Constant(1))


def _bounds(loop: ast.expr) -> Iterator[Change]:
    assert isinstance(loop, ast.Call)
    if len(loop.args) < 3:
        *start, end = loop.args
        later = _plus(start[0], ast.Add()) if start else ast.Constant(1)
        every_other: list[ast.expr] = [start[0] if start else ast.Constant(0), end, ast.Constant(2)]
        shorter, longer = [*start, _plus(end, ast.Sub())], [*start, _plus(end, ast.Add())]
        for bounds in ([later, end], shorter, longer, every_other):
            yield loop, ast.Call(loop.func, list(bounds), [])
        return
    start_, end, step = loop.args
    yield start_, step
    for changed in (_plus(end, ast.Sub(), step), _plus(end, ast.Add(), step)):
        yield end, changed
    yield end, _plus(end, ast.Sub())
    yield end, _plus(end, ast.Add())
    yield step, ast.BinOp(step, ast.FloorDiv(), ast.Constant(2))
    yield step, ast.BinOp(ast.Constant(2), ast.Mult(), step)


def _operators(node: ast.BinOp) -> Iterator[Change]:
    for other in ARITHMETIC.get(type(node.op), ()):
        yield node, ast.BinOp(node.left, other(), node.right)
    yield node, node.left
    yield node, node.right
    if isinstance(node.op, ast.Sub | ast.Div):
        yield node, ast.BinOp(node.right, node.op, node.left)


def _calls(node: ast.Call) -> Iterator[Change]:
    match node.func:
        case ast.Name(id="float"):
            for text in ("0.0", "-1.0", "-1e4", "-1e30", 'float("inf")', 'float("nan")'):
                yield node, ast.parse(text, mode="eval").body
        case ast.Attribute(value=ast.Name(id="tl"), attr=name):
            for other in FUNCTIONS.get(name, ()):
                yield node, ast.Call(ast.Attribute(ast.Name("tl", ast.Load()), other), node.args, node.keywords)
            yield from _arguments(node, name)
        case ast.Attribute(value=value, attr="to"):
            width = node.args[0]
            assert isinstance(width, ast.Attribute)
            yield node, value
            if width.attr == "float32":
                yield width, ast.Attribute(width.value, "float16", ast.Load())


def _arguments(node: ast.Call, name: str) -> Iterator[Change]:
    def with_arguments(*arguments: ast.expr) -> Change:
        return node, ast.Call(node.func, list(arguments), node.keywords)

    for keyword in node.keywords:
        if keyword.arg in ("mask", "other"):
            yield node, ast.Call(node.func, node.args, [k for k in node.keywords if k is not keyword])
        if keyword.arg == "mask":
            yield keyword.value, ast.Constant(True)
            yield keyword.value, ast.UnaryOp(ast.Invert(), keyword.value)
        if keyword.arg == "dtype" and isinstance(keyword.value, ast.Attribute):
            yield keyword.value, ast.Attribute(keyword.value.value, "float16", ast.Load())
    last = node.args[-1] if node.args else None
    if name in ("full", "zeros") and isinstance(last, ast.Attribute) and last.attr == "float32":
        yield last, ast.Attribute(last.value, "float16", ast.Load())
    if name == "dot":
        a, b, *accumulator = node.args
        yield with_arguments(b, a, *accumulator)
        if accumulator:
            yield with_arguments(a, b)
            yield node, accumulator[0]
    if name in ("maximum", "minimum", "exp", "log", "trans", "where", "sum", "max"):
        for argument in node.args:
            yield node, argument
    if name in ("maximum", "where", "store", "arange") and len(node.args) >= 2:
        yield with_arguments(*node.args[:-2], node.args[-1], node.args[-2])
    if name == "arange":
        end = node.args[1]
        yield end, ast.BinOp(end, ast.FloorDiv(), ast.Constant(2))
        yield end, ast.BinOp(ast.Constant(2), ast.Mult(), end)
