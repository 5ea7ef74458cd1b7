"""Which way the conditions in a kernel's own text go: were they ever true, and ever false?

`ConditionMarker` puts a hook at each condition of a learner's function before the function is rewritten. The hooks, `Conditions`,
compute what the kernel asks for and record the outcome as `trace.Condition`s:

- comparisons, the tests of `if` and `while`, the operands of `and`, `or`, `&`, `|` and `~`, and the condition of `tl.where`;
- the arms of `minimum`, `maximum` and `clamp`: true where the result is this arm's and no other's;
- casts to 8 or 16 bits or to unsigned integers: true where the number changed. Others are not recorded.

What `tl.assume` and assertions say is a promise and no condition.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.trace import MAX_CONDITIONS, Condition, ConditionKind
from checker.simulator.triton_internals import constant_value, handle_of, is_tensor

HOOKS = "__conditions__"
"""The global name of the hooks."""

Site = tuple[ConditionKind, str, int, int, int, int]
"""Kind, function, and where the text starts and ends, as in `Condition`."""

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
}
_PROMISES = frozenset({"assume", "static_assert", "device_assert"})
_LESS = {"minimum": operator.lt, "min": operator.lt, "maximum": operator.gt, "max": operator.gt}

# ------------------------------------------------------------------------------------------------------ the marked text


class ConditionMarker(ast.NodeTransformer):
    """Puts the hooks into one function, parsed with the line numbers of its file."""

    def __init__(self, function: str) -> None:
        self.function = function

    def _site(self, kind: ConditionKind, node: ast.expr) -> ast.Constant:
        end = node.end_lineno or node.lineno
        site: Site = kind, self.function, node.lineno, node.col_offset, end, node.end_col_offset or 0
        return ast.Constant(site)  # type: ignore[arg-type]

    def _hook(self, method: str, node: ast.expr, *arguments: ast.expr, named: Sequence[ast.keyword] = ()) -> ast.expr:
        function = ast.Attribute(ast.Name(HOOKS, ast.Load()), method, ast.Load())
        return ast.copy_location(ast.Call(function, list(arguments), list(named)), node)

    def _condition(self, node: ast.expr, method: str = "tested", operand_of: ast.AST | None = None) -> ast.expr:
        """An expression whose truth matters, with a hook unless its parts have hooks that say the same."""
        if isinstance(node, ast.Subscript) and only_broadcasts(node):
            node.value = self._condition(node.value, method, operand_of)
            return node
        tells_itself = _tells_itself(node, operand_of)
        site, visited = self._site("test", node), self.visit(node)
        return visited if tells_itself else self._hook(method, node, site, visited)

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(statement) for statement in body]

    # statements -------------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = self._statements(node.body)
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self._condition(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self._condition(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return node

    # expressions ------------------------------------------------------------------------------------------------------

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        node.test = self._condition(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        node.values = [self._condition(value, operand_of=node.op) for value in node.values]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if not isinstance(node.op, ast.BitAnd | ast.BitOr):
            return self.generic_visit(node)  # type: ignore[return-value]
        node.left, node.right = (self._condition(side, "masked", node.op) for side in (node.left, node.right))
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.Not | ast.Invert):
            return self.generic_visit(node)  # type: ignore[return-value]
        node.operand = self._condition(node.operand, "tested" if isinstance(node.op, ast.Not) else "masked")
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        site, is_recorded = self._site("comparison", node), _is_recorded(node)
        with_itself = is_recorded and ast.dump(node.left) == ast.dump(node.comparators[0])
        self.generic_visit(node)
        if with_itself:  # which tells NaN from numbers: every lane counts
            return self._hook("tested", node, site, node)
        if not is_recorded:
            return node
        name = ast.Constant(type(node.ops[0]).__name__)
        return self._hook("compared", node, site, name, node.left, node.comparators[0])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = called(node)
        if name in _PROMISES:
            return node
        arms = ast.Tuple([self._site("arm", argument) for argument in node.args], ast.Load())
        node.func = self.visit(node.func)
        node.args = [self._argument(name, i == 0, argument) for i, argument in enumerate(node.args)]
        for keyword in node.keywords:
            keyword.value = self._argument(name, keyword.arg == "condition", keyword.value)
        if chooses(node):
            return self._hook("chosen", node, arms, ast.Constant(name), node.func, *node.args, named=node.keywords)
        if name == "to" and isinstance(node.func, ast.Attribute):
            method = ast.Constant(None), node.func.value
            return self._hook("cast", node, self._site("cast", node), *method, *node.args, named=node.keywords)
        if name == "cast" and isinstance(node.func, ast.Attribute) and node.args:
            return self._hook("cast", node, self._site("cast", node), node.func, *node.args, named=node.keywords)
        return node

    def _argument(self, function: str, is_condition: bool, node: ast.expr) -> ast.expr:
        return self._condition(node) if function == "where" and is_condition else self.visit(node)


def called(node: ast.Call) -> str:
    """The name of the function or method that is called, without its module; empty for an expression."""
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def chooses(node: ast.Call) -> bool:
    """Whether the call gives one of its operands, lane by lane: `tl.minimum`, `tl.maximum`, `tl.clamp`, Python's `min` and `max`."""
    name = called(node)
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return False
    if isinstance(node.func, ast.Attribute):
        return (name in ("minimum", "maximum") and len(node.args) == 2) or (name == "clamp" and len(node.args) == 3)
    return name in _LESS and len(node.args) == 2


def only_broadcasts(node: ast.Subscript) -> bool:
    """``[:, None]``."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value is None) for p in parts)


def _is_recorded(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]).__name__ in _COMPARISONS


def _tells_itself(node: ast.expr, operand_of: ast.AST | None) -> bool:
    """Whether the hooks inside a condition say all there is to say: ``not x``, ``a < b``, and ``a & b`` as a part of ``a & b & c``."""
    if isinstance(node, ast.BoolOp | ast.BinOp):
        return type(node.op) is type(operand_of)
    negates = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert)
    return negates or _is_recorded(node) or isinstance(node, ast.Constant)


# ------------------------------------------------------------------------------------------------------------ the hooks

_TRUE, _FALSE, _WHOLE, _AT_INFINITY = 1, 2, 4, 8
_BOTH = _TRUE | _FALSE
"""A way's bit times `_AT_INFINITY` says that it went so in lanes that do not count."""


class Conditions:
    """The hooks of one launch, and what they saw. A site that went both ways is not looked at again.

    Of floats only lanes count in which all operands are finite: lanes past the end of a row hold -inf, and would make every comparison
    go both ways. Beside a literal infinity every lane counts. Which way the other lanes went is recorded apart, without those of NaN: it
    counts where the infinity is an input's.
    """

    front = 0
    """As in `Operations`."""

    def __init__(self) -> None:
        self.seen: dict[Site, int] = {}

    def all(self) -> tuple[Condition, ...]:
        return tuple(
            Condition(
                *site,
                true=bool(bits & _TRUE),
                false=bool(bits & _FALSE),
                whole=bool(bits & _WHOLE),
                true_at_infinity=bool(bits & _TRUE * _AT_INFINITY),
                false_at_infinity=bool(bits & _FALSE * _AT_INFINITY),
            )
            for site, bits in self.seen.items()
        )

    def taking_part(self, lanes: np.ndarray) -> np.ndarray:
        """The lanes of programs that run."""
        return lanes

    # hooks ------------------------------------------------------------------------------------------------------------

    def compared(self, site: Site, comparison: str, left: Any, right: Any) -> Any:
        result = _COMPARISONS[comparison](left, right)
        if not self._settled(site):
            self._note(site, _data(result).astype(bool), (left, right))
        return result

    def tested(self, site: Site, value: Any) -> Any:
        """A condition, or whatever else Python takes for one."""
        if not self._settled(site):
            truth = _data(value).astype(bool) if is_tensor(value) else np.asarray(bool(constant_value(value)))
            self._note(site, truth)
        return value

    def masked(self, site: Site, value: Any) -> Any:
        """An operand of `&`, `|` or `~`: a condition only if it consists of truth values."""
        if not self._settled(site):
            data = _data(value)
            if data.dtype.kind == "b":
                self._note(site, data)
        return value

    def chosen(
        self, sites: Sequence[Site], name: str, function: Callable[..., Any], *operands: Any, **named: Any
    ) -> Any:
        result = function(*operands, **named)
        if not all(map(self._settled, sites)):
            rank = _data(result).ndim
            numbers = [self._beside(_data(operand), rank) for operand in operands]
            numbers = [n.astype(np.float32) if n.dtype.kind == "V" else n for n in numbers]
            for site, decided in zip(sites, _decided(name, numbers), strict=True):
                self._note(site, np.asarray(decided), operands)
        return result

    def cast(self, site: Site, function: Callable[..., Any] | None, value: Any, *to: Any, **named: Any) -> Any:
        """`value.to(…)`, or `function(value, …)`."""
        result = value.to(*to, **named) if function is None else function(value, *to, **named)
        if not self._settled(site) and is_tensor(value) and is_tensor(result) and not named.get("bitcast"):
            before, after = _data(value), _data(result)
            if _may_lose(before.dtype, after.dtype):
                self._note(site, np.asarray(numerics.cast(after, before.dtype) != before), (value,))
        return result

    # record -----------------------------------------------------------------------------------------------------------

    def _settled(self, site: Site) -> bool:
        return self.seen.get(site, 0) & _BOTH == _BOTH

    def _note(self, site: Site, truth: np.ndarray, operands: Sequence[Any] = ()) -> None:
        """Record which way the lanes of `truth` went; those of `operands` decide which of them count."""
        bits = self.seen.get(site)
        if bits is None:
            if len(self.seen) == MAX_CONDITIONS:
                return
            whole = bool(operands) and all(_data(operand).dtype.kind in "iub" for operand in operands)
            bits = _WHOLE if whole else 0
        ways = [(bit, lanes) for bit, lanes in ((_TRUE, truth), (_FALSE, ~truth)) if not bits & bit and lanes.any()]
        if ways:
            counted, infinite = self._counted(operands, truth.ndim)
            for bit, lanes in ways:
                if self.taking_part(np.asarray(lanes & counted)).any():
                    bits |= bit
                elif infinite is not None and self.taking_part(np.asarray(lanes & infinite)).any():
                    bits |= bit * _AT_INFINITY
        self.seen[site] = bits

    def _counted(self, operands: Sequence[Any], rank: int) -> tuple[Any, Any]:
        """The lanes that count, or True for all, and those that do not because of an infinity, or None."""
        if any(_is_literal_infinity(operand) for operand in operands):
            return True, None
        finite: Any = True
        numbers: Any = True
        for data in map(_data, operands):
            if numerics.is_float(data.dtype):
                beside = self._beside(data, rank)
                finite, numbers = finite & np.isfinite(beside), numbers & ~np.isnan(beside)
        return finite, None if finite is True else numbers & ~finite

    def _beside(self, data: np.ndarray, rank: int) -> np.ndarray:
        """`data` with the axes it needs to stand beside tiles of `rank` dimensions."""
        missing = rank - data.ndim
        if missing <= 0 or data.ndim < self.front or not data.ndim:
            return data
        return data.reshape(*data.shape[: self.front], *(1,) * missing, *data.shape[self.front :])


def _data(value: Any) -> np.ndarray:
    return np.asarray(handle_of(value).data if is_tensor(value) else constant_value(value))


def _is_literal_infinity(value: Any) -> bool:
    number = constant_value(value)
    return isinstance(number, float) and np.isinf(number)


def _decided(name: str, numbers: Sequence[np.ndarray]) -> tuple[Any, ...]:
    """For each operand the lanes in which it alone is the result."""
    if name == "clamp":
        x, low, high = numbers
        return (low < x) & (x < high), x < low, x > high
    first, second = numbers
    return _LESS[name](first, second), _LESS[name](second, first)


def _may_lose(before: np.dtype, after: np.dtype) -> bool:
    """Whether a cast is to 8 or 16 bits or to unsigned integers, and from a type with numbers that do not survive it."""
    narrow = after.itemsize <= 2 or after.kind == "u"
    if not narrow or before == after or "b" in (before.kind, after.kind):
        return False
    if numerics.is_float(after):
        return before.itemsize >= after.itemsize
    if numerics.is_float(before) or before.itemsize > after.itemsize or (before.kind, after.kind) == ("i", "u"):
        return True
    return before.kind != after.kind and before.itemsize == after.itemsize
