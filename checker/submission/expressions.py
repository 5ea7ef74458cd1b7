"""The rules for what is computed: values, names, attributes, calls and their arguments."""

from __future__ import annotations

import ast
import builtins

from checker.submission.kernel_names import KernelNames
from checker.submission.refusals import EXPRESSIONS, no_attribute, no_python, no_tl
from checker.submission.vocabulary import (
    ATTRIBUTES,
    BOUND_TO_A_SESSION,
    BUILTINS,
    DTYPES,
    FUNCTIONS,
    METHODS,
    TAKE_A_HELPER,
)

ITERATORS = ("range", "tl.range", "tl.static_range")
"""What a `for` loop goes over, and nothing else may call."""


class ExpressionRules(KernelNames):
    """Walks expressions. Whatever has no method here is refused."""

    def expression(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=value):
                self.constant(node, value)
            case ast.Name(id=name):
                self.name(node, name)
            case ast.Attribute():
                self.attribute(node)
            case ast.Call():
                self.call(node)
            case ast.BinOp(left=left, op=op, right=right):
                self.operator(node, op, right)
                self.expression(left)
                self.expression(right)
            case ast.UnaryOp(operand=operand):
                self.expression(operand)
            case ast.BoolOp(values=values):
                self.each(values)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                if any(isinstance(op, ast.In | ast.NotIn) for op in ops):
                    self.refuse(
                        "expressions", node, "`in` is not part of Triton's language: compare with == and combine with |"
                    )
                self.each([left, *comparators])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.each([test, body, orelse])
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                self.each(elements)
            case ast.Subscript(value=value, slice=index):
                self.expression(value)
                self.index(index)
            case _:
                what = EXPRESSIONS.get(type(node), f"`{ast.unparse(node)[:40]}`: it is not part of Triton's language")
                self.refuse("expressions", node, f"a kernel cannot hold {what}")

    def each(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self.expression(node)

    def constant(self, node: ast.Constant, value: object) -> None:
        if value is ...:
            self.refuse("placeholder", node, "`...` marks a gap: write the value here")
        elif isinstance(value, str):
            message = (
                'text can only be a docstring or an argument written directly in a call, such as input_precision="ieee"'
            )
            self.refuse("text", node, message)
        elif isinstance(value, int) and not isinstance(value, bool) and value >= 2**64:
            self.refuse("numbers", node, "this number does not fit in 64 bits")
        elif not isinstance(value, bool | int | float | None):
            self.refuse("expressions", node, f"a kernel has no {type(value).__name__} values")

    def operator(self, node: ast.AST, op: ast.operator, right: ast.expr) -> None:
        if isinstance(op, ast.MatMult):
            self.refuse("expressions", node, "`@` is not part of Triton's language: use tl.dot(a, b)")
        elif isinstance(op, ast.Pow):
            exponent = right.value if isinstance(right, ast.Constant) else None
            left = node.left if isinstance(node, ast.BinOp) else None
            nested = left is not None and any(isinstance(n, ast.Pow) for n in ast.walk(left))
            if (
                not isinstance(exponent, int | float)
                or not 0 <= exponent <= 64
                or nested
                or isinstance(node, ast.AugAssign)
            ):
                message = "an exponent must be a small literal number: write x * x, or tl.exp2(y * tl.log2(x))"
                self.refuse("numbers", node, message)
        elif isinstance(op, ast.LShift):
            by = right.value if isinstance(right, ast.Constant) else 0
            if not isinstance(by, int) or by > 63:
                self.refuse("numbers", node, "a shift of more than 63 does not fit in 64 bits")

    def index(self, node: ast.expr) -> None:
        match node:
            case ast.Tuple(elts=elements):
                for element in elements:
                    self.index(element)
            case ast.Slice(lower=lower, upper=upper, step=step):
                self.each([part for part in (lower, upper, step) if part is not None])
            case _:
                self.expression(node)

    def name(self, node: ast.Name, name: str) -> None:
        """A name that is read as a value (calls are looked at in `call`)."""
        if name.startswith("__"):
            self.refuse("names", node, f"`{name}` belongs to Python: a kernel cannot use it")
        elif name in self.locals or name in self.constants:
            return
        elif name in self.aliases:
            self.refuse("names", node, f"`{name}` alone is not a value: write {name}. and the function that you need")
        elif name in self.functions:
            self.refuse("helpers", node, f"`{name}` is a helper: call it, as in {name}(...)")
        elif name in BUILTINS:
            self.refuse("names", node, f"`{name}` can only be called, as in {name}(...)")
        elif hasattr(builtins, name) or name in BOUND_TO_A_SESSION:
            self.refuse("names", node, no_python(name))
        # any other name is not defined anywhere in the module: the compiler says so

    def attribute(self, node: ast.Attribute) -> None:
        """An attribute that is read as a value."""
        known = self.language_name(node)
        if known is not None:
            if known not in DTYPES:
                self.refuse("names", node, no_tl(known) if known not in FUNCTIONS else f"call it: tl.{known}(...)")
            return
        if not self.is_module(node.value):
            if node.attr in METHODS:
                self.refuse("attributes", node, f"`.{node.attr}` can only be called, as in .{node.attr}(...)")
            elif node.attr not in ATTRIBUTES:
                self.refuse("attributes", node, no_attribute(node.attr))
            self.value(node.value)
            return
        self.refuse("names", node, f"`{ast.unparse(node)[:60]}` is not available to kernels")

    def value(self, node: ast.expr) -> None:
        """What an attribute is taken of: any value but text and literal numbers, whose methods are Python's."""
        if isinstance(node, ast.Constant):
            self.refuse("attributes", node, "an attribute of a literal is Python's: a kernel cannot use it")
        else:
            self.expression(node)

    def call(self, node: ast.Call) -> None:
        kind = self.called(node)
        function = node.func
        if kind in ITERATORS:
            self.refuse("expressions", node, f"{kind}(...) can only be what a `for` loop goes over")
        elif kind is None and isinstance(function, ast.Attribute) and not self.is_module(function.value):
            if function.attr not in METHODS:
                self.refuse("attributes", node, no_attribute(function.attr))
            self.value(function.value)
        elif kind is None:
            self.not_callable(function)
        self.arguments(node, kind)

    def not_callable(self, function: ast.expr) -> None:
        known = self.language_name(function)
        if known is not None:
            self.refuse("names", function, no_tl(known))
        elif isinstance(function, ast.Attribute):
            self.refuse("names", function, f"`{ast.unparse(function)[:60]}` is not available to kernels")
        elif not isinstance(function, ast.Name):
            self.refuse("expressions", function, "only a function written by its name can be called")
        elif function.id in self.locals or function.id in self.constants:
            self.refuse("names", function, f"`{function.id}` is a value and cannot be called")
        elif function.id in self.aliases:
            self.refuse(
                "names",
                function,
                f"`{function.id}` cannot be called: write {function.id}. and the function that you need",
            )
        else:
            self.name(function, function.id)

    def arguments(self, node: ast.Call, kind: str | None) -> None:
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse("arguments", node, "write the arguments out one by one, without `**`")
            elif keyword.arg.startswith("_"):
                self.refuse("arguments", node, f"`{keyword.arg}` is Triton's own argument: leave it out")
            elif kind in BUILTINS:
                self.refuse("arguments", node, f"{kind}() takes no named arguments")
        for argument in (*node.args, *(k.value for k in node.keywords)):
            if isinstance(argument, ast.Starred):
                self.refuse("arguments", argument, "write the arguments out one by one, without `*`")
            elif isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                self.text_argument(argument, kind)
            elif (
                isinstance(argument, ast.Name)
                and argument.id in self.functions - self.locals
                and self.takes_helper(node, kind)
            ):
                continue
            else:
                self.expression(argument)

    def text_argument(self, node: ast.Constant, kind: str | None) -> None:
        if kind in BUILTINS and not (
            kind == "float" and str(node.value).strip().lower().lstrip("+-") in ("inf", "infinity", "nan")
        ):
            self.refuse(
                "text", node, f'{kind}() takes numbers here; only float("inf"), float("-inf") and float("nan") are text'
            )

    def takes_helper(self, node: ast.Call, kind: str | None) -> bool:
        if kind is None:
            return isinstance(node.func, ast.Attribute) and node.func.attr in TAKE_A_HELPER
        return kind.removeprefix("tl.") in TAKE_A_HELPER
