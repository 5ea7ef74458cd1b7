"""The rules inside one function: which parameters and statements it may be made of."""

from __future__ import annotations

import ast

from checker.submission.expressions import ITERATORS, ExpressionRules
from checker.submission.kernel_names import Finding
from checker.submission.literals import NotLiteral, number
from checker.submission.refusals import STATEMENTS
from checker.submission.vocabulary import DTYPES

MAX_STATIC_TURNS = 1024


class BodyRules(ExpressionRules):
    """Walks one function. Whatever has no method here, or among the rules for expressions, is refused."""

    def findings(self) -> list[Finding]:
        self.parameters()
        for index, statement in enumerate(self.node.body):
            if not (index == 0 and _is_docstring(statement)):
                self.statement(statement)
        return self.found

    def parameters(self) -> None:
        arguments = self.node.args
        if arguments.vararg or arguments.kwarg:
            self.refuse("arguments", self.node, "write the parameters out one by one, without `*` or `**`")
        if arguments.posonlyargs or arguments.kwonlyargs:
            self.refuse("arguments", self.node, "write the parameters without `/` and `*` between them")
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None and not _literal(default):
                self.refuse("arguments", default, "a default value must be a literal number")
        for argument in arguments.args:
            self.bound_name(argument.arg, argument)
            annotation = argument.annotation
            if annotation is not None and self.language_name(annotation) != "constexpr":
                self.refuse("annotations", argument, f"write `{argument.arg}: tl.constexpr`, or `{argument.arg}` alone")
        if self.node.returns is not None:
            self.refuse("annotations", self.node, "leave out what stands behind `->`")
        if getattr(self.node, "type_params", None):
            self.refuse("annotations", self.node, "leave out the `[...]` behind the function's name")

    def bound_name(self, name: str, node: ast.AST) -> None:
        if name in self.aliases or name in self.constants or name in self.functions:
            what = "Triton itself" if name in self.aliases else "defined outside this function"
            self.refuse("shadowing", node, f"`{name}` is {what}: choose another name for this variable")
        elif name.startswith("__"):
            self.refuse(
                "names", node, f"`{name}` begins with two underscores, which are Python's own: choose another name"
            )

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Break() | ast.Continue():
                return
            case ast.Expr(value=ast.Constant(value=str())):
                return  # text that is not used: a comment
            case ast.Expr(value=ast.Call() as call):
                self.expression(call)
            case ast.Expr(value=value):
                self.expression(value)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.target(target)
                self.expression(value)
            case ast.AugAssign(target=target, op=op, value=value):
                self.target(target)
                self.operator(node, op, value)
                self.expression(value)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                self.target(target)
                if self.language_name(annotation) not in {"constexpr", "tensor", *DTYPES}:
                    self.refuse(
                        "annotations", node, "annotate a variable with tl.constexpr, or leave the annotation out"
                    )
                if value is not None:
                    self.expression(value)
            case ast.For():
                self.loop(node)
            case ast.While(test=test, body=body, orelse=orelse):
                self.expression(test)
                self.block(body)
                self.no_else(orelse, "while")
            case ast.If(test=test, body=body, orelse=orelse):
                self.expression(test)
                self.block(body)
                self.block(orelse)
            case ast.Return(value=value):
                if value is not None:
                    self.expression(value)
            case _:
                what = STATEMENTS.get(
                    type(node), f"`{type(node).__name__.lower()}`: it is not part of Triton's language"
                )
                self.refuse("statements", node, f"a kernel cannot hold {what}")

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def no_else(self, orelse: list[ast.stmt], keyword: str) -> None:
        if orelse:
            self.refuse(
                "statements",
                orelse[0],
                f"an `else` after `{keyword}` is not part of Triton's language: write it after the loop",
            )
            self.block(orelse)

    def target(self, node: ast.expr) -> None:
        match node:
            case ast.Name(id=name):
                self.bound_name(name, node)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.target(element)
            case ast.Subscript():
                message = (
                    "a tile cannot be changed in place: make a new one with tl.where, or write to memory with tl.store"
                )
                self.refuse("statements", node, message)
            case ast.Attribute():
                self.refuse("attributes", node, "an attribute cannot be assigned: use a variable")
            case _:
                self.refuse("statements", node, "assign to a variable, or to variables separated by commas")

    def loop(self, node: ast.For) -> None:
        if isinstance(node.target, ast.Name):
            self.bound_name(node.target.id, node)
        else:
            self.refuse("statements", node, "a loop has one variable: `for i in range(...)`")
            self.target(node.target)
        call = node.iter
        if isinstance(call, ast.Call) and (kind := self.called(call)) in ITERATORS:
            self.arguments(call, kind)
            if kind == "tl.static_range":
                self.turns(call)
        else:
            self.refuse("statements", node, "a loop goes over range(...), tl.range(...) or tl.static_range(...)")
            self.expression(call)
        self.block(node.body)
        self.no_else(node.orelse, "for")

    def turns(self, call: ast.Call) -> None:
        try:
            bounds = [number(a) for a in call.args]
            turns = len(range(*(int(b) for b in bounds)))
        except (NotLiteral, TypeError, ValueError, OverflowError):
            return
        if turns > MAX_STATIC_TURNS:
            message = f"tl.static_range writes its body out {turns} times, more than {MAX_STATIC_TURNS}: use range"
            self.refuse("size", call, message)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and node.value is None:
        return True
    try:
        number(node)
    except NotLiteral:
        return False
    return True
