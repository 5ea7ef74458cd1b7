"""Rewrites the jitted functions of a launch as Python functions that compute on handles and report their loops."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from checker.simulator.conditions import HOOKS, ConditionMarker, Conditions
from checker.simulator.endless import deciding
from checker.simulator.language import Language
from checker.simulator.location import FILE, Locator
from checker.simulator.triton_internals import function_of, source_of

_LANGUAGE, _LOOPS = "__language__", "__loops__"
"""The global names of a rewritten function's hooks."""


class Rewriter(ast.NodeTransformer):
    """Turns assigned numbers into Triton values, as the compiler does."""

    def _call(self, method: str, *args: ast.expr, of: str = _LANGUAGE) -> ast.Call:
        return ast.Call(ast.Attribute(ast.Name(of, ast.Load()), method, ast.Load()), list(args), [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.decorator_list = []
        node.returns = None
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in every:
            argument.annotation = None
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        node.value = ast.copy_location(self._call("assigned", node.value), node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.generic_visit(node)
        message = node.msg or ast.Constant("")
        return ast.copy_location(ast.Expr(self._call("asserted", node.test, message)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """`and` and `or` between tiles work lane by lane, as in the compiler; between numbers they stay Python's."""
        self.generic_visit(node)
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        out = node.values[0]
        for value in node.values[1:]:
            out = ast.copy_location(self._call(method, out, ast.Lambda(no_arguments(), value)), node)
        return out

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(self._call("not_", node.operand), node) if isinstance(node.op, ast.Not) else node


def no_arguments() -> ast.arguments:
    """Of a lambda."""
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


class LoopRewriter(Rewriter):
    """Also reports loops, and results that nobody uses."""

    def __init__(self) -> None:
        self.names = 0

    def _name(self, of: str) -> str:
        self.names += 1
        return f"__{of}_{self.names}"

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call):
            node.value = ast.copy_location(self._call("discarded", node.value), node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            call = self._call("for_loop", ast.Constant(node.target.id), node.iter, of=_LOOPS)
            node.iter = ast.copy_location(call, node.iter)
        return node

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        names = deciding(node)
        self.generic_visit(node)
        name = self._name("while")
        loop = ast.Name(name, ast.Load())
        enter = ast.Assign([ast.Name(name, ast.Store())], self._call("enter_while", of=_LOOPS))
        node.test = ast.copy_location(self._call("next_visit", loop, node.test, of=_LOOPS), node.test)
        leave = ast.Expr(self._call("leave_while", loop, of=_LOOPS))
        turns, shown = ast.Name(f"{name}_turns", ast.Load()), ast.Tuple(list(map(ast.Constant, names)), ast.Load())
        count = ast.Assign([ast.Name(turns.id, ast.Store())], self._call("turns", shown))
        values = ast.Lambda(no_arguments(), ast.Tuple([ast.Name(one, ast.Load()) for one in names], ast.Load()))
        again = ast.Call(ast.Attribute(turns, "again", ast.Load()), [node.test, values], [])
        node.test = ast.copy_location(again, node.test)
        statements: list[ast.stmt] = [count, enter, node, leave]
        return [ast.copy_location(statement, node) for statement in statements]


@lru_cache(maxsize=512)
def _compiled(
    lines: tuple[str, ...], first_line: int, filename: str, name: str, rewriter: Callable[[], Rewriter], marked: bool
) -> CodeType:
    """A module that defines the rewritten function, with the learner's line numbers. If `marked`, its conditions are recorded."""
    file, first_line = divmod(first_line, FILE)
    tree = ast.parse("\n" * (first_line - 1) + textwrap.dedent("".join(lines)))
    if file:
        ast.increment_lineno(tree, file * FILE)
    definition = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    if marked:
        definition = ConditionMarker(name).visit(definition)
    tree.body = [rewriter().visit(definition)]
    ast.fix_missing_locations(tree)
    return compile(tree, filename, "exec")


class RewrittenFunctions:
    """The jitted functions of one launch, rewritten when first called.

    `rewriter` rewrites the learner's functions, `Rewriter` Triton's own. Both call `language`, and the learner's `conditions` and `loops`.
    """

    def __init__(
        self,
        locator: Locator,
        language: Language,
        conditions: Conditions,
        loops: object = None,
        rewriter: Callable[[], Rewriter] = LoopRewriter,
    ) -> None:
        self.locator, self.language, self.conditions = locator, language, conditions
        self.loops, self.rewriter = loops or locator, rewriter
        self.ready: dict[int, tuple[Any, FunctionType]] = {}  # by identity, with what keeps the identity

    def __call__(self, jitted: Any, *arguments: Any, **named: Any) -> Any:
        """Call the jitted function, which may return from within its loops."""
        depth = len(self.locator.loops)
        try:
            return self.get(jitted)(*arguments, **named)
        finally:
            del self.locator.loops[depth:]

    def get(self, jitted: Any) -> FunctionType:
        """The rewritten function, with the original's globals, closure and defaults."""
        ready = self.ready.get(id(jitted))
        if ready is not None:
            return ready[1]
        original = function_of(jitted)
        library = str(original.__module__).startswith("triton.")
        lines, first = source_of(jitted)
        rewriter = Rewriter if library else self.rewriter
        file = original.__code__.co_filename
        place = first + (0 if library else self.locator.first_line_of(file)), file, original.__name__
        code = _compiled(tuple(lines), *place, rewriter, marked=not library)
        names = dict(original.__globals__)
        names.update(inspect.getclosurevars(original).nonlocals if original.__closure__ else {})
        namespace = names if library else self.language.namespace(names)
        namespace |= {_LANGUAGE: self.language, _LOOPS: self.loops, HOOKS: self.conditions}
        defined: dict[str, Any] = {}
        exec(code, namespace, defined)
        function: FunctionType = defined[original.__name__]
        function.__defaults__, function.__kwdefaults__ = original.__defaults__, original.__kwdefaults__
        if not library:
            self.locator.functions[function.__code__] = original.__name__
        self.ready[id(jitted)] = (jitted, function)
        return function
