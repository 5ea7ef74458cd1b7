"""The rules inside one function: its parameters, statements, values and calls."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence

from checker.submission.allowed_names import (
    ATTRIBUTES,
    BOUND_TO_A_SESSION,
    BUILTINS,
    DTYPES,
    EXPRESSIONS,
    FUNCTIONS,
    LIBDEVICE,
    LIBDEVICES,
    MATH,
    METHODS,
    STATEMENTS,
    TAKE_A_HELPER,
    TRITON,
    no_attribute,
    no_libdevice,
    no_math,
    no_python,
    no_tl,
)
from checker.submission.kernel import Violation
from checker.submission.literals import NotLiteral, is_no_finite_number, number
from checker.submission.scope import quoted

MAX_STATIC_TURNS = 1024
SAY_SOMETHING = frozenset({"print", "tl.device_print", "tl.static_print", "tl.static_assert", "tl.device_assert"})
"""Functions whose text nobody computes with."""
ITERATORS = ("range", "tl.range", "tl.static_range")
"""What a `for` loop may iterate over; nothing else may call these."""
_LANGUAGE = "triton.language"


class FunctionRules:
    """Checks one function of a module. Everything without a method here is refused."""

    def __init__(
        self, node: ast.FunctionDef, aliases: Mapping[str, str], constants: set[str], functions: set[str]
    ) -> None:
        """`aliases` are the module's names for Triton's modules, `constants` and `functions` the names it defines."""
        self.node = node
        self.aliases = aliases
        self.constants = constants
        self.functions = functions
        self.broken: list[Violation] = []
        """With lines of the emitted module."""
        parameters = {a.arg for a in node.args.args}
        self.locals = parameters | {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        self.modules = {name: module for name, module in aliases.items() if name not in self.locals}

    def refuse(self, rule: str, node: ast.AST, message: str) -> None:
        self.broken.append(Violation(rule, getattr(node, "lineno", self.node.lineno), message))

    def violations(self) -> list[Violation]:
        self.parameters()
        self.block(self.node.body)
        self.undefined_after_loops(self.node.body, set())
        return self.broken

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
            self.refuse("annotations", self.node, "leave out `->` and what follows it")
        if getattr(self.node, "type_params", None):
            self.refuse("annotations", self.node, "leave out the `[...]` after the function's name")

    def bound_name(self, name: str, node: ast.AST) -> None:
        if name in self.aliases or name in self.constants or name in self.functions:
            what = "Triton itself" if name in self.aliases else "defined outside this function"
            self.refuse("shadowing", node, f"`{name}` is {what}: choose another name for this variable")
        elif name.startswith("__"):
            message = f"`{name}` begins with two underscores, which are Python's own: choose another name"
            self.refuse("names", node, message)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Break() | ast.Continue():
                return
            case ast.Expr(value=ast.Constant(value=str())):
                return  # a docstring, or text that is not used: a comment
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
                tl_name = self.language_name(annotation)
                if tl_name not in {"constexpr", "tensor", *DTYPES}:
                    message = "annotate a variable with tl.constexpr, or leave the annotation out"
                    self.refuse("annotations", node, message)
                elif tl_name != "constexpr" and value is not None and self.may_change_memory(value):
                    message = "leave the annotation out: Triton runs the right side of an annotated assignment twice"
                    self.refuse("annotations", node, message)
                if value is not None:
                    self.expression(value)
            case ast.For():
                self.loop(node)
            case ast.While(test=test, body=body, orelse=orelse):
                self.expression(test)
                self.never_ending(node)
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
                unknown = f"`{type(node).__name__.lower()}`: it is not part of Triton's language"
                self.refuse("statements", node, f"a kernel cannot hold {STATEMENTS.get(type(node).__name__, unknown)}")

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def never_ending(self, loop: ast.While) -> None:
        """A test of variables that the loop never sets stays as it is."""
        parts = list(ast.walk(loop.test))
        tested = [node.id for node in parts if isinstance(node, ast.Name)]
        inside = (node for statement in loop.body for node in ast.walk(statement))
        changed = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        if isinstance(loop.test, ast.Constant) and loop.test.value:
            always = f"`{ast.unparse(loop.test)}` is always true, and Triton has no `break`"
            self.refuse("endless", loop, f"this loop never ends: {always}. Test a variable, as in while start_n < N")
        elif tested and not changed & set(tested) and not any(isinstance(node, ast.Call) for node in parts):
            stays = f"`{ast.unparse(loop.test)}` stays as it is, because nothing in the loop changes `{tested[0]}`"
            self.refuse("endless", loop, f"this loop never ends: {stays}. Move on inside it, as in start_n += BLOCK_N")

    def no_else(self, orelse: list[ast.stmt], keyword: str) -> None:
        if orelse:
            message = f"an `else` after `{keyword}` is not part of Triton's language: write it after the loop"
            self.refuse("statements", orelse[0], message)
            self.block(orelse)

    def target(self, node: ast.expr) -> None:
        match node:
            case ast.Name(id=name):
                self.bound_name(name, node)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.target(element)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name.endswith("_ptr"):
                store = f"tl.store({name} + {ast.unparse(index)}, …, mask=…)"
                self.refuse("statements", node, f"`{name}` is a pointer, an address: write to memory with {store}")
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

    def may_change_memory(self, value: ast.expr) -> bool:
        """Whether an expression calls an atomic operation, or a helper that may contain one."""
        for node in ast.walk(value):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
                if name.startswith("atomic_") or name in self.functions:
                    return True
        return False

    def undefined_after_loops(self, body: list[ast.stmt], left: set[str]) -> None:
        """Refuse reads of loop variables that are `left` undefined after their loop; static_range leaves its last number."""
        for statement in body:
            match statement:
                case ast.For(target=ast.Name(id=name), iter=ast.Call() as bounds, body=turn):
                    self.defined([bounds], left)
                    self.undefined_after_loops(turn, left - {name})
                    if self.called(bounds) != "tl.static_range":
                        left.add(name)
                case ast.While(test=test, body=turn):
                    self.defined([test], left)
                    self.undefined_after_loops(turn, left)
                case ast.If(test=test, body=then, orelse=otherwise):
                    self.defined([test], left)
                    other = set(left)
                    self.undefined_after_loops(then, left)
                    self.undefined_after_loops(otherwise, other)
                    left |= other
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    self.defined([ast.Name(name, ast.Load(), lineno=statement.lineno), value], left)
                case _:
                    self.defined([statement], left)
                    left -= {
                        n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                    }

    def defined(self, nodes: Sequence[ast.AST], left: set[str]) -> None:
        for node in (part for whole in nodes for part in ast.walk(whole)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in left:
                message = (
                    f"`{node.id}` is read after its loop, where Triton leaves it undefined: "
                    "set a variable of your own before the loop, and change it inside"
                )
                self.refuse("loops", node, message)

    def turns(self, call: ast.Call) -> None:
        try:
            bounds = [number(a) for a in call.args]
            turns = len(range(*(int(b) for b in bounds)))
        except (NotLiteral, TypeError, ValueError, OverflowError):
            return
        if turns > MAX_STATIC_TURNS:
            message = f"tl.static_range writes its body out {turns} times, more than {MAX_STATIC_TURNS}: use range"
            self.refuse("size", call, message)

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
                    message = "`in` is not part of Triton's language: compare with == and combine with |"
                    self.refuse("expressions", node, message)
                for compare, other in zip(ops, comparators, strict=True):
                    if isinstance(compare, ast.Is | ast.IsNot) and not _is_none(other):
                        message = "`is` asks whether two names are one object, which numbers never are on a GPU: use =="
                        self.refuse("expressions", node, message)
                self.each([left, *comparators])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.each([test, body, orelse])
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                self.each(elements)
            case ast.Subscript(value=value, slice=index):
                self.expression(value)
                self.index(index)
            case _:
                what = EXPRESSIONS.get(
                    type(node).__name__, f"`{quoted(node, 40)}`: it is not part of Triton's language"
                )
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
        """A name that is read as a value; `call` checks calls."""
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
        # any other name is undefined in the module, and the compiler reports it

    def attribute(self, node: ast.Attribute) -> None:
        """An attribute that is read as a value."""
        tl_name = self.language_name(node)
        if tl_name is not None:
            if tl_name not in DTYPES:
                self.refuse(
                    "names", node, no_tl(tl_name) if tl_name not in FUNCTIONS else f"call it: tl.{tl_name}(...)"
                )
            return
        if not self.is_module(node.value):
            if node.attr in METHODS:
                self.refuse("attributes", node, f"`.{node.attr}` can only be called, as in .{node.attr}(...)")
            elif node.attr not in ATTRIBUTES:
                self.refuse("attributes", node, no_attribute(node.attr))
            self.value(node.value)
            return
        self.refuse("names", node, f"`{quoted(node, 60)}` is not available to kernels")

    def value(self, node: ast.expr) -> None:
        """The value of an attribute: text and literal numbers are refused, because their methods are Python's."""
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
        tl_name = self.language_name(function)
        module, _, name = triton_path(function, self.modules).rpartition(".")
        if tl_name is not None:
            self.refuse("names", function, no_tl(tl_name))
        elif module in LIBDEVICES:
            self.refuse("names", function, no_libdevice(name))
        elif module == f"{_LANGUAGE}.math":
            self.refuse("names", function, no_math(name))
        elif isinstance(function, ast.Attribute):
            self.refuse("names", function, f"`{quoted(function, 60)}` is not available to kernels")
        elif not isinstance(function, ast.Name):
            self.refuse("expressions", function, "only a function written by its name can be called")
        elif function.id in self.locals or function.id in self.constants:
            self.refuse("names", function, f"`{function.id}` is a value and cannot be called")
        elif function.id in self.aliases:
            message = f"`{function.id}` cannot be called: write {function.id}. and the function that you need"
            self.refuse("names", function, message)
        else:
            self.name(function, function.id)

    def arguments(self, node: ast.Call, kind: str | None) -> None:
        if kind in ("print", "tl.device_print") and not (node.args and _is_text(node.args[0])):
            self.refuse("text", node, f'{kind} takes text first, and then values, as in {kind}("x", x)')
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
            elif isinstance(argument, ast.JoinedStr) and kind in SAY_SOMETHING:
                self.formatted(argument)
            elif (
                isinstance(argument, ast.Name)
                and argument.id in self.functions - self.locals
                and self.takes_helper(node, kind)
            ):
                continue
            else:
                self.expression(argument)

    def text_argument(self, node: ast.Constant, kind: str | None) -> None:
        if kind in BUILTINS - SAY_SOMETHING and not (kind == "float" and is_no_finite_number(str(node.value))):
            message = f'{kind}() takes numbers here; only float("inf"), float("-inf") and float("nan") are text'
            self.refuse("text", node, message)

    def formatted(self, node: ast.JoinedStr) -> None:
        """An f-string, whose values Python formats in its own way only where nothing else is said."""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.conversion != -1 or part.format_spec is not None:
                    self.refuse("text", part, "write a value in an f-string without a format, as in {BLOCK_N}")
                self.expression(part.value)

    def takes_helper(self, node: ast.Call, kind: str | None) -> bool:
        if kind is None:
            return isinstance(node.func, ast.Attribute) and node.func.attr in TAKE_A_HELPER
        return kind.removeprefix("tl.") in TAKE_A_HELPER

    def is_module(self, node: ast.expr) -> bool:
        """Whether the expression begins with a module: ``tl``, ``tl.math``, ``triton.language.core``."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.modules

    def language_name(self, node: ast.expr) -> str | None:
        """NAME for ``tl.NAME``, whatever name the module was imported under; None for anything else."""
        module, _, name = triton_path(node, self.modules).rpartition(".")
        return name if module == _LANGUAGE and isinstance(node, ast.Attribute) else None

    def called(self, node: ast.Call) -> str | None:
        """The called function: "tl.load", "triton.cdiv", "libdevice.tanh", or the name of a builtin or helper; else None."""
        function = node.func
        module, _, name = triton_path(function, self.modules).rpartition(".")
        if module in LIBDEVICES:
            return f"libdevice.{name}" if name in LIBDEVICE else None
        if isinstance(function, ast.Name) and function.id not in self.locals:
            return function.id if function.id in BUILTINS | self.functions and function.id not in self.aliases else None
        tl_name = self.language_name(function)
        if tl_name is not None:
            return f"tl.{tl_name}" if tl_name in FUNCTIONS - DTYPES else None
        if module == f"{_LANGUAGE}.math":
            return f"tl.math.{name}" if name in MATH else None
        return f"triton.{name}" if module == "triton" and name in TRITON else None


def triton_path(node: ast.expr, modules: Mapping[str, str]) -> str:
    """The full dotted name of an expression of Triton's modules: "triton.language.math.exp" for ``tl.math.exp``, else ""."""
    match node:
        case ast.Name(id=name):
            return modules.get(name, "")
        case ast.Attribute(value=value, attr=attr):
            parent = triton_path(value, modules)
            return f"{parent}.{attr}" if parent else ""
    return ""


def _literal(node: ast.expr) -> bool:
    if _is_none(node):
        return True
    try:
        number(node)
    except NotLiteral:
        return False
    return True


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
