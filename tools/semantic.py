"""Single-line semantic mutants: what somebody who knows the kernel well could still write into one of its lines.

A value, a factor or an operand in a narrower type, an index of 8, 16 or 32 bits, a clamp, an epsilon, a guard common to the tile, a
parameter left out for what it usually equals, a loop that ends after some turns, a path for full tiles that others take, too.
They stand beside the mechanical mutants (`mutations.py`) and are made like them: on the syntax tree, one at a time, the same every time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from checker.puzzle import Slips
from tools.mutations import Change, Maker, Mutation, function_of, unique

NARROW = ("float16", "bfloat16")
INDEX = ("int8", "int16", "int32")
LOW, HIGH = -60000.0, 60000.0
"""Numbers that float16 can hold."""
TURNS = (8, 16, 32)


def semantic(
    text: str, puzzle: str, kernel: str, parameters: Mapping[str, str], slips: Slips | None = None
) -> list[Mutation]:
    """Every semantic mutant of the kernel called `kernel` in `text`, in the order of its lines.

    `parameters` says what each parameter is: ``float``, ``int``, or of a pointer what it points to.
    """
    return unique(_Semantic(text, puzzle, function_of(ast.parse(text), kernel), slips, parameters), text)


class _Semantic(Maker):
    """Makes the semantic mutants of one function."""

    def __init__(
        self, text: str, puzzle: str, function: ast.FunctionDef, slips: Slips | None, parameters: Mapping[str, str]
    ) -> None:
        super().__init__(text, puzzle, function, slips)
        self.usual = {
            name: tuple(e for e in map(_expression, texts) if _names(e) <= self.known.keys())
            for name, texts in (slips.usual if slips else {}).items()
        }
        self.usual |= {name: (ast.Constant(1),) for name in self.known if re.fullmatch(r"stride_\w*d", name)}
        integers = [name for name, kind in parameters.items() if kind == "int"]
        self.sizes = [name for name in integers if name.startswith(("N", "M", "D_V", "S"))]
        self.kinds = Kinds(parameters)
        for statement in ast.walk(function):
            self.kinds.learn(statement)

    def block(self, body: list[ast.stmt]) -> Iterator[Mutation]:
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            yield from self._changed(statement)
            if isinstance(statement, ast.For | ast.If):
                yield from self.block(statement.body)

    def _changes(self, statement: ast.stmt) -> Iterator[Change]:
        match statement:
            case ast.For(iter=ast.Call(args=[_, stop, step])):
                for turns in TURNS:
                    bound = f"tl.minimum({ast.unparse(stop)}, {turns} * {ast.unparse(step)})"
                    yield "a bound on the turns", stop, _expression(bound)
            case ast.For(iter=ast.Call(args=[stop])):
                for turns in TURNS:
                    yield "a bound on the turns", stop, _expression(f"tl.minimum({ast.unparse(stop)}, {turns})")
            case ast.Assign(targets=[ast.Name()], value=value):
                yield from self._values(value, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                target, old = ast.Name(name, ast.Store()), ast.Name(name, ast.Load())
                for kind, _, new in self._values(value, ast.BinOp(old, op, value)):
                    assert isinstance(new, ast.expr)
                    yield kind, statement, ast.Assign([target], new)
        for node in ast.walk(statement):
            match node:
                case ast.Call():
                    yield from self._call(node)
                case ast.BinOp():
                    yield from self._operation(node)
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0.0)]):
                    yield "an epsilon", node, ast.Compare(left, [ast.Lt()], [ast.Constant(1e-6)])
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Call()]):
                    for text in ("-1e30", "-1e4"):
                        yield "an epsilon", node, ast.Compare(left, [ast.Lt()], [_expression(text)])
                case ast.Constant(value=float() as small) if 0.0 < small < 1e-3:
                    for epsilon in (0.0, small / 100, small * 10):
                        yield "an epsilon", node, ast.Constant(epsilon)
                case ast.Name(id=name, ctx=ast.Load()):
                    for expression in self.usual.get(name, ()):
                        yield "a parameter left out", node, expression

    def _values(self, typed: ast.expr, value: ast.expr) -> Iterator[Change]:
        """What becomes of a value that is given a name, of the kind of `typed`."""
        kind, text = self.kinds.of(typed), f"({ast.unparse(value)})"
        if _is_constant(value):
            return
        if kind.startswith("float"):
            yield from _narrowed("a value", value, kind)
            held = f"tl.minimum(tl.maximum({text}, {LOW}), {HIGH})"
            for clamped in (f"tl.maximum({text}, -80.0)", f"tl.minimum({text}, 80.0)", held):
                yield "a clamp", value, _expression(clamped)
        if kind == "int":
            for width in INDEX:
                yield f"an index in {width}", value, _expression(f"{text}.to(tl.{width})")
        if kind == "bool":
            yield from self._full_tiles(value)

    def _full_tiles(self, mask: ast.expr) -> Iterator[Change]:
        for size in self.sizes:
            yield "a path for full tiles", mask, _expression(f"({ast.unparse(mask)}) | ({size} % 16 == 0)")

    def _call(self, node: ast.Call) -> Iterator[Change]:
        match node.func:
            case ast.Attribute(value=ast.Name(id="tl"), attr=name):
                pass
            case _:
                return
        if name in ("dot", "sum", "max", "exp", "store"):
            for argument in node.args[1:2] if name == "store" else node.args[:2] if name == "dot" else node.args[:1]:
                what = "an operand" if name == "dot" else "an argument"
                yield from _narrowed(what, argument, self.kinds.of(argument))
        if name == "exp":
            for text in ("tl.maximum({}, -20.0)", "tl.maximum({}, -50.0)", "tl.minimum({}, 80.0)"):
                yield "a clamp", node.args[0], _expression(text.format(ast.unparse(node.args[0])))
        if name == "log":
            yield "an epsilon", node.args[0], _expression(f"{ast.unparse(node.args[0])} + 1e-6")
        if name == "where":
            condition = node.args[0]
            number = f"({ast.unparse(condition)}).to(tl.int32)"
            for reduce in ("max", "min"):
                yield "a guard common to the tile", condition, _expression(f"tl.{reduce}({number}) > 0")
            for axis, index in ((0, "None, :"), (1, ":, None")):
                row = f"(tl.max({number}, axis={axis}) > 0)[{index}]"
                yield "a guard common to the row", condition, _expression(row)
        for mask in (keyword.value for keyword in node.keywords if keyword.arg == "mask"):
            if not isinstance(mask, ast.Name):
                yield from self._full_tiles(mask)

    def _operation(self, node: ast.BinOp) -> Iterator[Change]:
        if isinstance(node.op, ast.Div):
            divisor = ast.unparse(node.right)
            for text in ("{} + 1e-06", "{} + 0.001", "tl.maximum({}, 1e-06)", "tl.maximum({}, 1.0)"):
                yield "an epsilon", node.right, _expression(text.format(divisor))
        if isinstance(node.op, ast.Mult | ast.Div):
            for operand in (node.left, node.right):
                if not isinstance(operand, ast.Constant):
                    yield from _narrowed("a factor", operand, self.kinds.of(operand))
        if isinstance(node.op, ast.Mult) and self.kinds.of(node) == "int":
            for width in INDEX[1:]:
                yield f"an index in {width}", node, _expression(f"({ast.unparse(node)}).to(tl.{width})")


def _is_constant(value: ast.expr) -> bool:
    """A number, or a tile of one number: mechanical mutants change its type and its value."""
    match value:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Name(id="float")) | ast.Call(func=ast.Attribute(attr="zeros" | "full")):
            return True
    return False


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _narrowed(what: str, value: ast.expr, kind: str) -> Iterator[Change]:
    """A value rounded to narrower types, in the type that it had; nothing where it is not floating."""
    word, _, pointer = kind.partition(" ")
    if word == "float":
        back = f"{pointer}.dtype.element_ty" if pointer else "tl.float32"
        for narrow in NARROW:
            rounded = f"({ast.unparse(value)}).to(tl.{narrow}).to({back})"
            yield f"{what} in {narrow}", value, _expression(rounded)


class Kinds:
    """What the values of a kernel are: ``int``, ``bool``, ``float`` (``float x_ptr``: in the type of that tensor), or a pointer."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.known = {
            name: f"pointer {name if kind == 'float' else ''}" if name.endswith("_ptr") else kind
            for name, kind in parameters.items()
        }

    def learn(self, statement: ast.AST) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.known.setdefault(name, self.of(value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=True):
                    if isinstance(target, ast.Name):
                        self.known.setdefault(target.id, self.of(value))
            case ast.For(target=ast.Name(id=name)):
                self.known.setdefault(name, "int")

    def of(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return type(value).__name__
            case ast.Name(id=name):
                return self.known.get(name, "")
            case ast.Subscript(value=value) | ast.UnaryOp(operand=value):
                return self.of(value)
            case ast.Compare():
                return "bool"
            case ast.BinOp(left=left, op=op, right=right):
                return self._joined(op, self.of(left), self.of(right))
            case ast.Call():
                return self._called(node)
        return ""

    def _joined(self, op: ast.operator, left: str, right: str) -> str:
        for kind in (left, right):
            if kind.startswith("pointer"):
                return kind
        if isinstance(op, ast.Div):
            return "float"
        for kind in (left, right):
            if kind.startswith("float"):
                return kind if left == right else "float"
        return "bool" if left == right == "bool" else "int" if {left, right} <= {"int", "bool"} else ""

    def _called(self, node: ast.Call) -> str:
        match node.func:
            case ast.Name(id="float"):
                return "float"
            case ast.Attribute(attr="to"):
                (width,) = node.args
                assert isinstance(width, ast.Attribute)
                if width.attr == "dtype":
                    return self.of(width.value)
                return "int" if width.attr.startswith("int") else "float"
            case ast.Attribute(value=ast.Name(id="tl"), attr=name):
                return self._library(name, node)
        return ""

    def _library(self, name: str, node: ast.Call) -> str:
        match name:
            case "load":
                _, _, pointer = self.of(node.args[0]).partition(" ")
                return f"float {pointer}" if pointer else "int"
            case "arange" | "program_id" | "num_programs" | "cdiv":
                return "int"
            case "where":
                return self.of(node.args[1])
            case "maximum" | "minimum":
                return self._joined(ast.Add(), *map(self.of, node.args[:2]))
            case "exp" | "log" | "dot" | "zeros" | "full":
                return "float"
            case "sum" | "max" | "trans":
                return self.of(node.args[0])
        return ""
