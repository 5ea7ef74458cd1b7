"""A kernel's source as a Python function that computes on handles and reports its loops."""

from __future__ import annotations

import ast
import textwrap
from types import CodeType, FunctionType
from typing import Any

HOOKS = "__simulator__"
"""The name under which a rewritten function finds its `Hooks`."""


class _Rewriter(ast.NodeTransformer):
    """Turns assigned numbers into Triton values, as the compiler does, and reports loops."""

    def __init__(self, follow: bool) -> None:
        self.follow = follow
        self.whiles = 0

    def _call(self, method: str, *args: ast.expr) -> ast.Call:
        return ast.Call(ast.Attribute(ast.Name(HOOKS, ast.Load()), method, ast.Load()), list(args), [])

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
        node.value = ast.copy_location(self._call("value", node.value), node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.generic_visit(node)
        message = node.msg or ast.Constant("")
        return ast.copy_location(ast.Expr(self._call("check", node.test, message)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """`and` and `or` between tiles work lane by lane, as in the compiler; between numbers they stay Python's."""
        self.generic_visit(node)
        method = "both" if isinstance(node.op, ast.And) else "either"
        out = node.values[0]
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        for value in node.values[1:]:
            out = ast.copy_location(self._call(method, out, ast.Lambda(nothing, value)), node)
        return out

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(self._call("opposite", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if self.follow and isinstance(node.target, ast.Name):
            call = self._call("loop", ast.Constant(node.target.id), node.iter)
            node.iter = ast.copy_location(call, node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if not self.follow:
            return node
        self.whiles += 1
        name = f"__while_{self.whiles}"
        enter = ast.Assign([ast.Name(name, ast.Store())], self._call("enter"))
        turn = ast.Expr(self._call("turn", ast.Name(name, ast.Load())))
        leave = ast.Expr(self._call("leave", ast.Name(name, ast.Load())))
        node.body = [ast.copy_location(turn, node), *node.body]
        return [ast.copy_location(enter, node), node, ast.copy_location(leave, node)]


def rewrite(lines: list[str], first_line: int, filename: str, name: str, follow: bool) -> CodeType:
    """Compile the source lines of a jitted function into a module that defines it. Line numbers stay the learner's."""
    source = textwrap.dedent("".join(lines))
    tree = ast.parse(source)
    definition = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    tree.body = [_Rewriter(follow).visit(definition)]
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, first_line - 1)
    return compile(tree, filename, "exec")


def instantiate(code: CodeType, original: FunctionType, namespace: dict[str, Any]) -> FunctionType:
    """The rewritten function, with `namespace` as its globals and the defaults of the original."""
    local: dict[str, Any] = {}
    exec(code, namespace, local)
    function: FunctionType = local[original.__name__]
    function.__defaults__ = original.__defaults__
    function.__kwdefaults__ = original.__kwdefaults__
    return function
