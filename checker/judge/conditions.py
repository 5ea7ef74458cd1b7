"""Conditions in a kernel that no case reached: for a person to look at, never a reason to refuse.

The simulator records which way each condition went, in a process that runs foreign code. The text of a condition is therefore taken from
the source, and what matches no expression there is ignored.
"""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from checker.judge.verdict import Unreached
from checker.puzzle import Puzzle
from checker.simulator.conditions import called, chooses, only_broadcasts
from checker.simulator.trace import Condition, Trace
from checker.submission.kernel import KernelSource
from checker.submission.literals import NotLiteral, number

LOWEST, HIDDEN = -3e38, -1e30
"""Numbers from here down stand for -inf: in every puzzle, and where no input holds -inf."""
_LOWEST_HALF = 65504.0
_DEEP = 8
"""How many names are followed to what they stand for."""
_LONGEST = 100
_OF_POSITIVE = frozenset({"log", "log2", "log10", "rsqrt", "fdiv", "div_rn", "fast_dividef"})
"""Functions whose last argument must not be 0."""


def unreached(puzzle: Puzzle, source: KernelSource, traces: Iterable[Trace | None]) -> tuple[Unreached, ...]:
    """The conditions that went only one way in all `traces` together, from top to bottom, at the lines of `source.source`."""
    return tuple(one.in_words for one in one_sided(puzzle, source, traces))


def one_sided(puzzle: Puzzle, source: KernelSource, traces: Iterable[Trace | None]) -> list[OneSided]:
    """The same, as expressions of the kernel.

    Of conditions inside one another only the innermost count: if `a` was never true, neither was `a and b`.
    """
    text = _Text(source.source, LOWEST if puzzle.domain.masked else HIDDEN)
    found = [one for one in map(text.one_sided, _merged(traces)) if one is not None]
    innermost = [one for one in found if not any(other is not one and one.contains(other) for other in found)]
    marked = [one for one in innermost if not any(exemption.applies(one) for exemption in EXEMPTIONS)]
    return sorted(marked, key=lambda one: (one.node.lineno, one.node.col_offset))


def _merged(traces: Iterable[Trace | None]) -> list[Condition]:
    """Each condition once, with all ways that it went anywhere."""
    merged: dict[Condition, Condition] = {}
    for conditions in dict.fromkeys(trace.conditions for trace in traces if trace is not None):
        for one in conditions:
            place = _place(one)
            before = merged.get(place, place)
            merged[place] = replace(
                one,
                true=one.true or before.true,
                false=one.false or before.false,
                true_at_infinity=one.true_at_infinity or before.true_at_infinity,
                false_at_infinity=one.false_at_infinity or before.false_at_infinity,
            )
    return list(merged.values())


def _place(one: Condition) -> Condition:
    return replace(one, true=False, false=False, true_at_infinity=False, false_at_infinity=False)


@dataclass(frozen=True, eq=False)
class OneSided:
    """A condition that went only one way: always true, or else always false. `whole`: its operands are integers."""

    condition: Condition
    node: ast.expr
    scope: _Scope

    @property
    def kind(self) -> str:
        return self.condition.kind

    @property
    def always(self) -> bool:
        return self.condition.true

    @property
    def whole(self) -> bool:
        return self.condition.whole

    def is_reached(self, trace: Trace) -> bool:
        """Whether the condition goes the other way in this trace."""
        here = (
            self.scope.counted(one, self._operation)
            for one in trace.conditions
            if _place(one) == _place(self.condition)
        )
        return any(one.false if self.always else one.true for one in here)

    @cached_property
    def parts(self) -> frozenset[int]:
        """The identities of all expressions that the condition is made of, also by way of names."""
        return frozenset(map(id, self.scope.made_of(self._operation)))

    @property
    def _operation(self) -> ast.expr:
        """The condition, or the call that an arm belongs to."""
        return self.scope.calls[self.node] if self.kind == "arm" else self.node

    def contains(self, other: OneSided) -> bool:
        """Whether `other` is a part of this condition, and not the other arm of the same call."""
        same = self._operation is other._operation
        return not same and id(other.node) in self.parts and self.node is not other.node

    @property
    def sides(self) -> Sequence[ast.expr]:
        """The operands of a comparison, or all arms."""
        operation = self._operation
        if isinstance(operation, ast.Compare):
            return operation.left, operation.comparators[0]
        return operation.args if isinstance(operation, ast.Call) and self.kind == "arm" else ()

    @property
    def numbers(self) -> list[float]:
        """The literal numbers among its sides."""
        return [n for n in map(self.scope.number, self.sides) if n is not None]

    @property
    def mentions_stride(self) -> bool:
        names = (part for part in self.scope.made_of(self._operation, without="load") if isinstance(part, ast.Name))
        return any("stride" in name.id.lower() for name in names)

    @property
    def names(self) -> set[str]:
        """All names that it is made of."""
        return {part.id for part in self.scope.made_of(self._operation) if isinstance(part, ast.Name)}

    @property
    def all_numbers(self) -> list[float]:
        """All literal numbers that it is made of, the largest first."""
        found = {self.scope.number(part) for part in self.scope.made_of(self._operation)}
        return sorted((n for n in found if n is not None and math.isfinite(n)), reverse=True)

    @property
    def in_words(self) -> Unreached:
        line, text = self.node.lineno, self.scope.quoted(self._operation)
        if self.kind == "cast":
            return Unreached(line, text, "never changed a value")
        if self.kind == "arm":
            return Unreached(line, text, f"was never `{self.scope.quoted(self.node)}`")
        return Unreached(line, text, f"was never {'false' if self.always else 'true'}")


# ----------------------------------------------------------------------------------------------------------- exemptions


@dataclass(frozen=True)
class Exemption:
    """A kind of condition that right kernels leave one-sided, and why."""

    name: str
    because: str
    applies: Callable[[OneSided], bool]


def _is_bound(one: OneSided) -> bool:
    return one.kind == "arm" and one.whole and not one.mentions_stride and max(one.numbers, default=0) <= 1


def _is_sign(one: OneSided) -> bool:
    ordered = isinstance(one.node, ast.Compare) and not isinstance(one.node.ops[0], ast.Eq | ast.NotEq)
    return one.kind == "comparison" and ordered and one.whole and 0 in one.numbers and not one.mentions_stride


def _is_whole_axis(one: OneSided) -> bool:
    if one.kind != "comparison" or len(one.sides) != 2:
        return False
    sides = [one.scope.meaning(side) for side in one.sides]
    for lanes, limit in (sides, sides[::-1]):
        if isinstance(lanes, ast.Call) and called(lanes) == "arange" and len(lanes.args) == 2:
            return ast.dump(one.scope.meaning(lanes.args[1])) == ast.dump(limit)
    return False


def _is_masked(one: OneSided) -> bool:
    return one.kind == "comparison" and -float("inf") in one.numbers


def _is_lowest(one: OneSided) -> bool:
    return one.kind in ("comparison", "arm") and any(n <= one.scope.floor or n == -_LOWEST_HALF for n in one.numbers)


def _is_ceiling_of_zero(one: OneSided) -> bool:
    call = one.scope.calls.get(one.node) if one.kind == "arm" else None
    if call is None or one.whole or one.scope.number(one.node) != 0:
        return False
    return called(call) == "minimum" or (called(call) == "clamp" and one.node is call.args[-1] and len(call.args) >= 2)


def _is_divisor(one: OneSided) -> bool:
    if one.kind != "comparison" or one.whole or 0 not in one.numbers:
        return False
    return any(one.scope.names_of(side) & one.scope.divisors for side in one.sides)


def _is_loop(one: OneSided) -> bool:
    return one.node in one.scope.loops


EXEMPTIONS = (
    Exemption(
        "bounds",
        "The smaller or larger of two integers is the bound of a loop or an index that is kept inside; which of them it is depends only on "
        "the shape. This does not hold if one involves a stride or is a number of the kernel's own.",
        _is_bound,
    ),
    Exemption("signs", "Sizes and indices are not negative, and a kernel may say so.", _is_sign),
    Exemption(
        "whole axis",
        "`tl.arange(0, D) < D` holds whatever the kernel is given: a mask for an axis that always fills its tile.",
        _is_whole_axis,
    ),
    Exemption(
        "masked",
        "Only -inf means masked, so a kernel may look for it, whether or not a puzzle has rows of nothing else.",
        _is_masked,
    ),
    Exemption(
        "lowest",
        "The lowest finite number, as a floor or a first maximum, stands for -inf. Where no input holds -inf, so does -1e30, with which "
        "kernels hide keys.",
        _is_lowest,
    ),
    Exemption(
        "exponents",
        "A kernel may keep logarithms of decays, and other exponents that are 0 or less, from rising above 0. Ordinary numbers lie on both "
        "sides of 0, so where they are cut off the values are wrong.",
        _is_ceiling_of_zero,
    ),
    Exemption(
        "divisors",
        "A kernel may keep what it divides by, or takes the logarithm of, from being 0. A sum of exponentials or of features is above 0 "
        "whatever the input is, so no case can reach the other side.",
        _is_divisor,
    ),
    Exemption("loops", "The shape decides how often a loop runs.", _is_loop),
)
"""Besides, the simulator records no promises (`tl.assume`, assertions) and no casts to signed integers or floats of 32 bits or more,
which lose rounding errors and nothing else."""


# -------------------------------------------------------------------------------------------------------------- the text


@dataclass(eq=False)
class _Scope:
    """What the names of a function stand for, if they are assigned once. Numbers up to `floor` stand for -inf."""

    source: str
    floor: float
    values: Mapping[str, list[ast.expr | None]]
    calls: dict[ast.expr, ast.Call] = field(default_factory=dict)
    """The call that an argument belongs to."""
    loops: set[ast.expr] = field(default_factory=set)
    """The tests of `while` loops."""
    divisors: set[str] = field(default_factory=set)
    """The names of what the function divides by or takes the logarithm of, also by way of `tl.where`."""

    def meaning(self, node: ast.expr) -> ast.expr:
        """What an expression stands for: names are followed, and what changes only shape, type or constness is left out."""
        for _ in range(_DEEP):
            if isinstance(node, ast.Name):
                values = self.values.get(node.id, [])
                if len(values) != 1 or values[0] is None:
                    return node
                node = values[0]
            elif isinstance(node, ast.Subscript) and only_broadcasts(node):
                node = node.value
            elif isinstance(node, ast.Call) and called(node) == "constexpr" and node.args:
                node = node.args[0]
            elif isinstance(node, ast.Call) and called(node) == "to" and isinstance(node.func, ast.Attribute):
                node = node.func.value
            else:
                return node
        return node

    def made_of(self, node: ast.expr, without: str = "") -> Iterator[ast.expr]:
        """All expressions in `node` and in what its names stand for, but not those in calls of the function `without`."""
        left: list[ast.AST] = [node]
        followed: set[ast.expr] = set()
        while left:
            part = left.pop()
            if isinstance(part, ast.Call) and without and called(part) == without:
                continue
            if isinstance(part, ast.expr):
                yield part
            left += ast.iter_child_nodes(part)
            value = self.meaning(part) if isinstance(part, ast.Name) else part
            if value is not part and isinstance(value, ast.expr) and value not in followed:
                followed.add(value)
                left.append(value)

    def counted(self, one: Condition, operation: ast.expr) -> Condition:
        """A condition with the ways that it went at an infinity, if that is an input's: the kernel's own only fills lanes."""
        if self._fills_with_infinity(operation):
            return one
        return replace(one, true=one.true or one.true_at_infinity, false=one.false or one.false_at_infinity)

    def _fills_with_infinity(self, node: ast.expr) -> bool:
        """Whether an infinity stands in an expression or in any value of its names."""
        left, followed = [node], set[str]()
        while left:
            for part in ast.walk(left.pop()):
                if isinstance(part, ast.Name) and part.id not in followed:
                    followed.add(part.id)
                    left += filter(None, self.values.get(part.id, []))
                elif isinstance(part, ast.Call) and math.isinf(self.number(part) or 0):
                    return True
        return False

    def number(self, node: ast.expr) -> float | None:
        """The literal number that an expression stands for."""
        node = self.meaning(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            positive = self.number(node.operand)
            return None if positive is None else -positive
        try:
            return float(number(node))
        except (NotLiteral, OverflowError):
            return None

    def names_of(self, node: ast.expr) -> set[str]:
        """The names of the number that an expression is, or, for `tl.where`, of both that it may be."""
        names: set[str] = set()
        left = [node]
        while left:
            part = left.pop()
            if isinstance(part, ast.Name) and part.id not in names:
                names.add(part.id)
                left += filter(None, self.values.get(part.id, []))
            elif isinstance(part, ast.Subscript) and only_broadcasts(part):
                left.append(part.value)
            elif isinstance(part, ast.Call) and called(part) == "where":
                left += part.args[1:]
            elif isinstance(part, ast.Call) and called(part) == "to" and isinstance(part.func, ast.Attribute):
                left.append(part.func.value)
        return names

    def quoted(self, node: ast.expr) -> str:
        text = " ".join((ast.get_source_segment(self.source, node) or "").split())
        return text if len(text) <= _LONGEST else text[: _LONGEST - 2] + " …"


class _Text:
    """The expressions of a kernel's functions, by function and position."""

    def __init__(self, source: str, floor: float) -> None:
        tree = ast.parse(source)
        constants = _assigned([statement for statement in tree.body if not isinstance(statement, ast.FunctionDef)])
        self.expressions: dict[tuple[str, int, int, int, int], tuple[ast.expr, _Scope]] = {}
        for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            own: dict[str, list[ast.expr | None]] = {
                argument.arg: [None] for argument in ast.walk(function.args) if isinstance(argument, ast.arg)
            }
            scope = _Scope(source, floor, {**constants, **_assigned(function.body), **own})
            for node in ast.walk(function):
                self._add(node, function.name, scope)

    def _add(self, node: ast.AST, function: str, scope: _Scope) -> None:
        if isinstance(node, ast.While):
            scope.loops.add(node.test)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            scope.divisors |= scope.names_of(node.right)
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            scope.divisors |= scope.names_of(node.value)
        if isinstance(node, ast.Call) and called(node) in _OF_POSITIVE:
            scope.divisors |= {name for argument in node.args[-1:] for name in scope.names_of(argument)}
        if isinstance(node, ast.Call) and chooses(node):
            scope.calls.update(dict.fromkeys(node.args, node))
        if isinstance(node, ast.expr):
            place = function, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
            self.expressions.setdefault(place, (node, scope))

    def one_sided(self, one: Condition) -> OneSided | None:
        """The condition in the text; None if it went both ways or neither, cannot go another one, or is not there."""
        place = one.function, one.line, one.column, one.end_line, one.end_column
        if place not in self.expressions:
            return None
        node, scope = self.expressions[place]
        one = scope.counted(one, scope.calls.get(node, node) if one.kind == "arm" else node)
        if one.true == one.false:
            return None
        if (one.kind in ("arm", "cast") and one.true) or (one.kind == "arm" and node not in scope.calls):
            return None
        return OneSided(one, node, scope)


def _assigned(body: Sequence[ast.stmt]) -> Mapping[str, list[ast.expr | None]]:
    """Every value that is assigned to a name; None for one that is no expression of its own."""
    values: defaultdict[str, list[ast.expr | None]] = defaultdict(list)
    own: set[ast.expr] = set()
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name):
                values[target.id].append(node.value)
                own.add(target)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in own:
            values[node.id].append(None)
    return values
