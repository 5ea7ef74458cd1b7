"""Reads numbers and autotune configurations from text without running it."""

from __future__ import annotations

import ast
import copy
import math
import operator
from collections.abc import Callable, Mapping, Sequence

from checker.submission.kernel import Config, Scalar
from checker.submission.scope import Scope, dotted, quoted

OPTIONS = ("num_warps", "num_stages")
MAX_CONFIGS = 64
_LIMIT = 2**64


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base).bit_length() * exponent > 128:
        raise OverflowError("it does not fit in 64 bits")
    return base**exponent


def _shift(value: float, by: float) -> float:
    if not (isinstance(value, int) and isinstance(by, int) and 0 <= by < 64):
        raise OverflowError("it does not fit in 64 bits")
    return value << by


_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.LShift: _shift,
}


class NotLiteral(ValueError):
    """The expression is not literal; `node` is the part at fault."""

    def __init__(self, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.node = node


def number(node: ast.expr) -> Scalar:
    """The value of an expression of literal numbers. Raises NotLiteral, also for numbers beyond 64 bits."""
    value = _number(node)
    if isinstance(value, complex):
        raise NotLiteral(node, "this power is not a real number")
    if isinstance(value, int) and abs(value) >= _LIMIT:
        raise NotLiteral(node, "this number does not fit in 64 bits")
    return value


def _number(node: ast.expr) -> Scalar:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +number(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            try:
                return _BINARY[type(op)](number(left), number(right))
            except (ZeroDivisionError, OverflowError) as error:
                raise NotLiteral(node, f"this cannot be computed: {error}") from None
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]):
            if is_no_finite_number(text):
                return float(text)
    raise NotLiteral(node, f"`{quoted(node)}` is not a literal number")


def literal(value: Scalar) -> str:
    """How Python writes a number, infinities included."""
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else f'float("{value}")'


def is_no_finite_number(text: str) -> bool:
    """Whether ``float(text)`` is infinite or NaN."""
    return text.strip().lower().lstrip("+-") in ("inf", "infinity", "nan")


def autotune_configs(call: ast.Call, scope: Scope) -> tuple[Config, ...]:
    """The literal ``triton.Config``s of a ``@triton.autotune(configs=[...], key=[...])``. Raises NotLiteral."""
    arguments = {k.arg: k.value for k in call.keywords}
    for name, value in zip(("configs", "key"), call.args, strict=False):
        arguments[name] = value
    for keyword in call.keywords:
        if keyword.arg not in ("configs", "key"):
            raise NotLiteral(keyword.value, f"autotune takes only `configs` and `key` here, not `{keyword.arg}`")
    listed = arguments.get("configs")
    if (
        isinstance(listed, ast.Name)
        and (definition := scope.find(listed.id)) is not None
        and definition.kind == "value"
    ):
        assert isinstance(definition.node, ast.Assign | ast.AnnAssign)
        listed = definition.node.value
    if isinstance(listed, ast.ListComp):
        items = _each(listed, listed.generators)
    elif isinstance(listed, ast.List | ast.Tuple):
        items = listed.elts
    else:
        raise NotLiteral(listed or call, "autotune needs a list of triton.Config(...), each written out")
    if not 1 <= len(items) <= MAX_CONFIGS:
        raise NotLiteral(listed, f"autotune takes between 1 and {MAX_CONFIGS} configurations")
    return tuple(_config(item, scope) for item in items)


def _each(listed: ast.ListComp, generators: Sequence[ast.comprehension]) -> list[ast.expr]:
    """The elements of a comprehension over lists of literal numbers, written out. Raises NotLiteral."""
    items: list[ast.expr] = [listed.elt]
    for generator in reversed(generators):
        name, values = generator.target, generator.iter
        if not (isinstance(name, ast.Name) and isinstance(values, ast.List | ast.Tuple)) or generator.ifs:
            raise NotLiteral(
                listed, "go over lists of numbers here, as in `for b in (64, 128)`, or write each configuration out"
            )
        if len(values.elts) * len(items) > MAX_CONFIGS:
            raise NotLiteral(listed, f"autotune takes between 1 and {MAX_CONFIGS} configurations")
        constants = [ast.copy_location(ast.Constant(number(value)), value) for value in values.elts]
        items = [_Named(name.id, constant).visit(copy.deepcopy(item)) for constant in constants for item in items]
    return items


class _Named(ast.NodeTransformer):
    """Puts a constant in the place of a name."""

    def __init__(self, name: str, constant: ast.Constant) -> None:
        self.name, self.constant = name, constant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.constant if node.id == self.name else node


def _config(node: ast.expr, scope: Scope) -> Config:
    if not (isinstance(node, ast.Call) and dotted(node.func, scope) == "triton.Config"):
        message = "each configuration must be written out as triton.Config({...}, num_warps=..., num_stages=...)"
        raise NotLiteral(node, message)
    arguments: dict[str, ast.expr] = dict(zip(("kwargs", *OPTIONS), node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in ("kwargs", *OPTIONS):
            message = f"triton.Config takes only num_warps and num_stages here, not `{keyword.arg}`"
            raise NotLiteral(keyword.value, message)
        arguments[keyword.arg] = keyword.value
    table = arguments.pop("kwargs", None)
    if not isinstance(table, ast.Dict):
        message = 'triton.Config needs its sizes first, as in triton.Config({"BLOCK_N": 128}, num_warps=4)'
        raise NotLiteral(node, message)
    meta: dict[str, Scalar] = {}
    for key, value in zip(table.keys, table.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            raise NotLiteral(table, "the names in triton.Config must be strings, written out")
        size = number(value)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise NotLiteral(value, f"`{key.value[:40]}` has to be a whole number larger than 0")
        meta[key.value] = size
    options: dict[str, int] = {}
    for name, value in arguments.items():
        option = number(value)
        if isinstance(option, bool) or not isinstance(option, int) or not 1 <= option <= 32:
            raise NotLiteral(value, f"{name} must be a whole number between 1 and 32")
        if name == "num_warps" and option & (option - 1):
            raise NotLiteral(value, "num_warps must be a power of two")
        options[name] = option
    return Config(meta, options)
