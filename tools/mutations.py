"""Small mechanical changes to a kernel, one at a time: what a slip of the hand could leave there.

The changes are made on the syntax tree and depend on nothing but the source and the names that the course calls easily mistaken
(`Slips`), so the same solution always gives the same mutants. Two changes that give the same code count once, and a change that gives the solution itself does not count.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checker.puzzle import Slips

_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Mult),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE, ast.NotEq),
    ast.LtE: (ast.Lt, ast.Gt, ast.GtE, ast.Eq),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE, ast.Eq),
    ast.Eq: (ast.NotEq, ast.Lt, ast.LtE),
}
_FUNCTIONS = {
    "max": ("min", "sum"),
    "sum": ("max", "min"),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "exp": ("exp2", "log"),
    "log": ("log2", "exp"),
}
_WIDTHS = {"int64": "int32", "float32": "float16"}
_FIRST_WORDS, _LAST_WORDS = {"N", "H", "mask", "start"}, {"row", "rows", "part", "ptrs"}
"""Names that begin, or end, with one of these and share it are alike."""
_WITH_BODY = (ast.For, ast.If)
"""Statements with a body: changed in their first line, and then in the body."""
_UNSEEN = {
    "int64 dropped": "no case that fits into memory can show the difference",
}
"""Kinds of change that no case on the CPU can tell from the solution, and why."""


@dataclass(frozen=True)
class Mutation:
    """One change: the line of the file it stands in, the statement before and after, and the whole file after it.

    `unseen` says why no case on the CPU can tell the mutant from the solution, where that is so.
    """

    puzzle: str
    kind: str
    line: int
    before: str
    after: str
    source: str
    which: int = 1
    """Where several statements read the same: the first, the second, …"""
    unseen: str = ""

    @property
    def key(self) -> str:
        """What names the mutant in tables and in `survivors.toml`; lines do not, as they move with every comment."""
        which = f" ({self.which})" if self.which > 1 else ""
        return f"{self.puzzle}: {self.before}{which} → {self.after}"


Change = tuple[str, ast.AST, ast.AST | None]
"""Kind, the node that goes, what comes in its place."""


def mutations(text: str, puzzle: str, kernel: str, slips: Slips | None = None) -> list[Mutation]:
    """Every mutant of the kernel called `kernel` in `text`, in the order of its lines."""
    return unique(Maker(text, puzzle, function_of(ast.parse(text), kernel), slips), text)


def function_of(module: ast.Module, name: str) -> ast.FunctionDef:
    return next(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == name)


def unique(maker: Maker, text: str) -> list[Mutation]:
    """What the maker makes of `text`, in the order of its lines, each code once and none that is the same as before."""
    seen = {maker.code(text)}
    found = []
    for mutation in sorted(maker.block(maker.body), key=lambda m: m.line):
        code = maker.code(mutation.source)
        if code not in seen:
            seen.add(code)
            found.append(mutation)
    return found


def alike_by_form(names: Iterable[str]) -> list[set[str]]:
    """Names that look alike: strides of one tensor or one axis, and those that share a word."""
    groups: dict[tuple[str, str], set[str]] = {}
    for name in (name for name in names if "_" in name):
        first, last = name.partition("_")[0], name.rpartition("_")[2]
        keys = []
        if first == "stride":
            keys = [("tensor", last[:-1]), ("axis", last[-1].replace("n", "m"))]  # rows of queries, rows of keys
        elif first in _FIRST_WORDS:
            keys = [("first word", first)]
        elif last in _LAST_WORDS:
            keys = [("last word", last)]
        for key in keys:
            groups.setdefault(key, set()).add(name)
    return [group for group in groups.values() if len(group) > 1]


class Maker:
    """Makes the mutants of one function."""

    def __init__(self, text: str, puzzle: str, function: ast.FunctionDef, slips: Slips | None) -> None:
        self.lines, self.puzzle, self.body = text.splitlines(), puzzle, function.body
        self.known = {argument.arg: 0 for argument in function.args.args}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.known[node.id] = min(node.lineno, self.known.get(node.id, node.lineno))
        self.alike = [*alike_by_form(self.known), *(slips.alike if slips else ())]
        self.mistaken = slips.mistaken if slips else {}
        statements = sorted((n.lineno, _head(n)) for n in ast.walk(function) if isinstance(n, ast.stmt))
        heads = [head for _, head in statements]
        self.spelt: dict[str, str] = {}
        """A statement's first line as Python writes it, and its other lines, if it is no loop and no `if`, as nothing."""
        for node in (n for n in ast.walk(function) if isinstance(n, ast.stmt)):
            last = node.lineno if isinstance(node, _WITH_BODY) else node.end_lineno or node.lineno
            if node is not function:
                first = self.lines[node.lineno - 1]
                self.spelt |= dict.fromkeys(self.lines[node.lineno : last], "")
                self.spelt[first] = first[: len(first) - len(first.lstrip())] + _head(node)
        self.which = {line: heads[:i].count(head) + 1 for i, (line, head) in enumerate(statements)}

    def code(self, text: str) -> str:
        """What two texts share that are the same code: without comments, a line a statement, spelt as Python would."""
        lines = (self.spelt.get(line, line) for line in text.splitlines())
        return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))

    def block(self, body: list[ast.stmt]) -> Iterator[Mutation]:
        statements = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        for index, statement in enumerate(statements):
            yield self._dropped(statement, alone=len(statements) == 1)
            if index + 1 < len(statements):
                yield from self._swapped(statement, statements[index + 1])
            yield from self._changed(statement)
            if isinstance(statement, _WITH_BODY):
                assert not statement.orelse, "an else"
                yield from self.block(statement.body)

    # ------------------------------------------------------------------------------------------------- whole statements

    def _dropped(self, statement: ast.stmt, alone: bool) -> Mutation:
        lines = self._with(statement, "pass" if alone else "")
        kind = "barrier dropped" if _is_barrier(statement) else "line dropped"
        return self._mutation(kind, statement, "(dropped)", lines)

    def _swapped(self, first: ast.stmt, second: ast.stmt) -> Iterator[Mutation]:
        if isinstance(first, _WITH_BODY) or isinstance(second, _WITH_BODY):
            return
        a, b = (slice(s.lineno - 1, s.end_lineno) for s in (first, second))
        between = self.lines[a.stop : b.start]
        lines = [*self.lines[: a.start], *self.lines[b], *between, *self.lines[a], *self.lines[b.stop :]]
        yield self._mutation("lines swapped", first, f"{_head(second)}; {_head(first)}", lines)

    # --------------------------------------------------------------------------------------------------- in a statement

    def _changed(self, statement: ast.stmt) -> Iterator[Mutation]:
        head = copy.deepcopy(statement)
        if isinstance(head, _WITH_BODY):
            head.body = [ast.Pass()]
        for kind, old, new in self._changes(head):
            mutated = ast.fix_missing_locations(_Put(old, new).visit(copy.deepcopy(head, {id(old): old})))
            after = _head(mutated)
            yield self._mutation(kind, statement, after, self._with(statement, after, head_only=True))

    def _changes(self, statement: ast.stmt) -> Iterator[Change]:
        if isinstance(statement, ast.For):
            yield from self._bounds(statement.iter)
        if isinstance(statement, ast.If):
            yield "condition", statement.test, ast.Constant(True)
            yield "condition", statement.test, ast.UnaryOp(ast.Not(), statement.test)
        for node in ast.walk(statement):
            match node:
                case ast.BinOp():
                    yield from _operators(node)
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    target = ast.Name(name, ast.Store())
                    for other in (ast.Sub, ast.Mult):
                        yield "operator", node, ast.AugAssign(target, other(), value)
                    yield "operator", node, ast.Assign([target], value)
                case ast.Compare():
                    for comparison in _COMPARISONS.get(type(node.ops[0]), ()):
                        yield "comparison", node, ast.Compare(node.left, [comparison()], node.comparators)
                case ast.Call():
                    yield from _calls(node)
                case ast.Subscript():
                    yield "index", node, node.value
                    if isinstance(node.slice, ast.Tuple):
                        flipped = ast.Tuple(list(reversed(node.slice.elts)), ast.Load())
                        yield "index", node, ast.Subscript(node.value, flipped, ast.Load())
                case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                    yield from _constants(node, value)
                case ast.Name(ctx=ast.Load()):
                    yield from self._names(node)

    def _names(self, node: ast.Name) -> Iterator[Change]:
        others = [name for group in self.alike if node.id in group for name in sorted(group)]
        for name in [*others, *self.mistaken.get(node.id, ())]:
            if name != node.id and self.known.get(name, node.lineno) < node.lineno:
                yield "name", node, ast.Name(name, ast.Load())

    def _bounds(self, walk: ast.expr) -> Iterator[Change]:
        assert isinstance(walk, ast.Call)
        if len(walk.args) < 3:
            *given, end = walk.args
            start = given[0] if given else ast.Constant(0)
            later = _more(start) if given else ast.Constant(1)
            every_other: list[ast.expr] = [start, end, ast.Constant(2)]
            for bounds in ([later, end], [*given, _less(end)], [*given, _more(end)], every_other):
                yield "bounds", walk, ast.Call(walk.func, list(bounds), [])
            return
        start, end, step = walk.args
        yield "bounds", start, step
        yield "bounds", end, ast.BinOp(end, ast.Sub(), step)
        yield "bounds", end, ast.BinOp(end, ast.Add(), step)
        yield "bounds", end, _less(end)
        yield "bounds", end, _more(end)
        yield "bounds", step, ast.BinOp(step, ast.FloorDiv(), ast.Constant(2))
        yield "bounds", step, ast.BinOp(ast.Constant(2), ast.Mult(), step)

    def _mutation(self, kind: str, statement: ast.stmt, after: str, lines: list[str]) -> Mutation:
        source, which = "\n".join(lines) + "\n", self.which[statement.lineno]
        before, unseen = _head(statement), _UNSEEN.get(kind, "")
        return Mutation(self.puzzle, kind, statement.lineno, before, after, source, which, unseen)

    def _with(self, statement: ast.stmt, text: str, head_only: bool = False) -> list[str]:
        """All lines, with `text` in place of the statement or, with `head_only`, of the line that a loop begins with."""
        first = self.lines[statement.lineno - 1]
        last = statement.end_lineno or statement.lineno
        if head_only and isinstance(statement, _WITH_BODY):
            assert statement.body[0].lineno > statement.lineno
            last = statement.lineno
        indented = first[: len(first) - len(first.lstrip())] + text if text else ""
        rest = [""] * (last - statement.lineno)
        return [*self.lines[: statement.lineno - 1], indented, *rest, *self.lines[last:]]


def _operators(node: ast.BinOp) -> Iterator[Change]:
    for other in _ARITHMETIC.get(type(node.op), ()):
        yield "operator", node, ast.BinOp(node.left, other(), node.right)
    kind = "mask" if isinstance(node.op, ast.BitAnd) else "operand"
    yield kind, node, node.left
    yield kind, node, node.right
    if isinstance(node.op, ast.Sub | ast.Div):
        yield "operand", node, ast.BinOp(node.right, node.op, node.left)


def _constants(node: ast.Constant, value: float) -> Iterator[Change]:
    yield "constant", node, ast.Constant(value + 1)
    if isinstance(value, float) or value > 0:
        yield "constant", node, ast.Constant(value - 1)


def _calls(node: ast.Call) -> Iterator[Change]:
    match node.func:
        case ast.Name(id="float"):
            for text in ("0.0", "-1.0", "-1e4", "-1e30", 'float("inf")', 'float("nan")'):
                yield "constant", node, ast.parse(text, mode="eval").body
        case ast.Attribute(value=ast.Name(id="tl"), attr=name):
            for other in _FUNCTIONS.get(name, ()):
                yield "function", node, _call(node, ast.Attribute(ast.Name("tl", ast.Load()), other, ast.Load()))
            yield from _arguments(node, name)
        case ast.Attribute(value=value, attr="to"):
            width = node.args[0]
            assert isinstance(width, ast.Attribute)
            yield "cast dropped" if width.attr == "dtype" else f"{width.attr} dropped", node, value
            if width.attr == "float32":
                yield "cast", width, ast.Attribute(width.value, _WIDTHS[width.attr], ast.Load())


def _arguments(node: ast.Call, name: str) -> Iterator[Change]:
    for keyword in node.keywords:
        if keyword.arg in ("mask", "other"):
            kept = [k for k in node.keywords if k is not keyword]
            yield f"{keyword.arg} dropped", node, ast.Call(node.func, node.args, kept)
        if keyword.arg == "mask":
            yield "mask", keyword.value, ast.parse("True", mode="eval").body
            yield "mask", keyword.value, ast.UnaryOp(ast.Invert(), keyword.value)
        if keyword.arg == "dtype" and isinstance(keyword.value, ast.Attribute):
            yield "cast", keyword.value, ast.Attribute(keyword.value.value, "float16", ast.Load())
    if name in ("full", "zeros") and isinstance(node.args[-1], ast.Attribute) and node.args[-1].attr == "float32":
        yield "cast", node.args[-1], ast.Attribute(node.args[-1].value, "float16", ast.Load())
    if name == "dot":
        a, b, *accumulator = node.args
        yield "arguments swapped", node, ast.Call(node.func, [b, a, *accumulator], node.keywords)
        if accumulator:
            yield "accumulator dropped", node, ast.Call(node.func, [a, b], node.keywords)
            yield "call replaced by its argument", node, accumulator[0]
    if name in ("maximum", "minimum", "exp", "log", "trans", "where", "sum", "max"):
        for argument in node.args:
            yield "call replaced by its argument", node, argument
    if name in ("maximum", "where", "store", "arange") and len(node.args) >= 2:
        swapped = [*node.args[:-2], node.args[-1], node.args[-2]]
        yield "arguments swapped", node, ast.Call(node.func, swapped, node.keywords)
    if name == "arange":
        end = node.args[1]
        yield "bounds", end, ast.BinOp(end, ast.FloorDiv(), ast.Constant(2))
        yield "bounds", end, ast.BinOp(ast.Constant(2), ast.Mult(), end)


def _less(end: ast.expr) -> ast.expr:
    return ast.BinOp(end, ast.Sub(), ast.Constant(1))


def _more(end: ast.expr) -> ast.expr:
    return ast.BinOp(end, ast.Add(), ast.Constant(1))


def _is_barrier(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="debug_barrier"))):
            return True
    return False


def _call(node: ast.Call, function: ast.expr) -> ast.Call:
    return ast.Call(function, node.args, node.keywords)


class _Put(ast.NodeTransformer):
    """Puts a copy of `new` where `old` stands."""

    def __init__(self, old: ast.AST, new: ast.AST | None) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.old:
            return copy.deepcopy(self.new) if self.new is not None else ast.Pass()
        visited: ast.AST = self.generic_visit(node)
        return visited


def _head(statement: ast.AST) -> str:
    """The statement's own line, as Python writes it, with the course's quotes; of a loop or an `if` only the header."""
    return ast.unparse(statement).splitlines()[0].replace("'", '"')
