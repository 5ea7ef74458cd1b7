"""Top-level definitions of a learner's text, read as data."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

Kind = Literal["function", "value", "import", "other"]

DEFAULT_IMPORTS = {"triton": "triton", "tl": "triton.language"}
"""The meaning of these names if a text does not import them itself."""


@dataclass(frozen=True)
class Text:
    """A run of a learner's lines. `first` is the learner's own number of its first line in `origin`."""

    text: str
    origin: str
    first: int = 1

    @cached_property
    def lines(self) -> list[str]:
        # not splitlines(): that also splits at form feeds and Unicode separators, which Python does not count as lines
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def line_of(self, node: ast.stmt | ast.expr) -> int:
        """The learner's own number of the line on which a node of this text begins."""
        return self.first + node.lineno - 1


@dataclass(frozen=True)
class Definition:
    """One top-level name. `target` is the dotted name of an import; `node` and `text` are where anything else was written."""

    name: str
    kind: Kind
    node: ast.stmt | None = None
    text: Text | None = None
    target: str = ""
    what: str = ""  # for "other": a description

    @property
    def line(self) -> int:
        """The learner's own line of the definition, 1 if it has none."""
        return 1 if self.node is None or self.text is None else self.text.line_of(self.node)


class Scope(Protocol):
    """Finds the definition of a name."""

    def find(self, name: str) -> Definition | None: ...


def parse(text: str) -> ast.Module:
    """`ast.parse` that allows top-level await, as cells do. Raises SyntaxError for anything that cannot be parsed."""
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        tree = compile(text, "<submission>", "exec", flags, dont_inherit=True)
    except SyntaxError:
        raise
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise SyntaxError(f"this text cannot be parsed ({type(error).__name__})", ("<submission>", 1, 0, "")) from None
    assert isinstance(tree, ast.Module)
    return tree


def quoted(node: ast.AST, most: int = 60) -> str:
    """An expression for quoting in a message: its first line, at most `most` characters."""
    try:
        return ast.unparse(node).split("\n")[0][:most]
    except (ValueError, RecursionError):  # an integer of thousands of digits, or thousands of brackets
        return "…"


class StaticScope:
    """Names defined at the top level of texts, taken in order: the last definition wins, as after running them all.

    `names` is in the order of these definitions. `decorated` has all functions with decorators, whatever became of their names.
    """

    def __init__(self) -> None:
        self.names: dict[str, Definition] = {}
        self.decorated: list[Definition] = []

    def find(self, name: str) -> Definition | None:
        return self.names.get(name)

    def add(self, text: Text, tree: ast.Module) -> None:
        for node in tree.body:
            for definition in _definitions(node, text):
                self.names.pop(definition.name, None)
                self.names[definition.name] = definition
                if isinstance(node, ast.FunctionDef) and node.decorator_list:
                    self.decorated.append(definition)


def _definitions(node: ast.stmt, text: Text) -> Iterable[Definition]:
    match node:
        case ast.FunctionDef(name=name):
            yield Definition(name, "function", node, text)
        case ast.Import() | ast.ImportFrom():
            yield from _imports(node, text)
        case ast.Assign(targets=targets):
            for target in targets:
                for name in _stored(target):
                    kind: Kind = "value" if isinstance(target, ast.Name) and len(targets) == 1 else "other"
                    yield Definition(name, kind, node, text, what="a value that is not a single assignment")
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield Definition(name, "value", node, text)
        case ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            what = "a class" if isinstance(node, ast.ClassDef) else "an async function"
            yield Definition(name, "other", node, text, what=what)
        case ast.Delete(targets=targets):
            for target in targets:
                for name in _stored(target):
                    yield Definition(name, "other", node, text, what="deleted further down")
        case ast.If() | ast.Try() | ast.With():  # only imports count: `try: import triton ...`
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    yield from _imports(inner, text)


def _imports(node: ast.Import | ast.ImportFrom, text: Text) -> Iterable[Definition]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name.split(".")[0]
            target = alias.name if alias.asname else bound
        else:
            bound = alias.asname or alias.name
            target = f"{'.' * node.level}{node.module or ''}.{alias.name}"
        yield Definition(bound, "import", node, text, target)


def _stored(target: ast.expr) -> list[str]:
    return [n.id for n in ast.walk(target) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]


def dotted(node: ast.expr, scope: Scope) -> str:
    """The full dotted name of an expression such as ``tl.load`` with imports resolved, "" if it is not one."""
    match node:
        case ast.Name(id=name):
            definition = scope.find(name)
            if definition is None:
                return DEFAULT_IMPORTS.get(name, name)
            return definition.target if definition.kind == "import" else name
        case ast.Attribute(value=value, attr=attr):
            base = dotted(value, scope)
            return f"{base}.{attr}" if base else ""
        case _:
            return ""


def free_names(function: ast.FunctionDef) -> dict[str, int]:
    """Names that a function reads but does not bind, with the line of its text that first reads each."""
    arguments = function.args
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    bound = {a.arg for a in (*named, arguments.vararg, arguments.kwarg) if a is not None}
    read: dict[str, int] = {}
    outside = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    outside += [a.annotation for a in named if a.annotation]
    outside += [function.returns] if function.returns else []
    for root in (*outside, *function.body):
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read[node.id] = min(node.lineno, read.get(node.id, node.lineno))
            elif isinstance(node, ast.Name):
                bound.add(node.id)
    return {name: line for name, line in sorted(read.items(), key=lambda item: item[1]) if name not in bound}
