"""A kernel as a Python function: rewritten so that it computes on handles, and followed line by line and loop by loop."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.values import Handle

HOOKS = "__simulator__"
"""The name under which a rewritten function finds its `Hooks`."""

MAX_STATE = 1024
"""Tiles of more numbers than this are summarised in an event's state."""


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


@dataclass(slots=True)
class Place:
    """Where a program stands: line and function of the access, line of the kernel itself, its frame, and the loops around."""

    line: int
    function: str
    kernel_line: int
    loops: tuple[tuple[str, int], ...]
    frame: FrameType | None


@dataclass
class Frames:
    """The learner's functions of one launch and the loops the running program is in."""

    codes: dict[CodeType, str] = field(default_factory=dict)
    kernel: CodeType | None = None
    stack: list[list[Any]] = field(default_factory=list)
    checks: Any = None
    """Called with a condition and a message for a Python `assert`."""

    def place(self) -> Place:
        """Where the learner's code stands that called us."""
        frame: FrameType | None = sys._getframe(1)
        found: Place | None = None
        while frame is not None:
            name = self.codes.get(frame.f_code)
            if name is not None:
                if found is None:
                    loops = tuple((entry[0], entry[1]) for entry in self.stack)
                    found = Place(frame.f_lineno, name, frame.f_lineno, loops, None)
                if frame.f_code is self.kernel:
                    found.kernel_line = frame.f_lineno
                    found.frame = frame
                    return found
            frame = frame.f_back
        return found or Place(0, "", 0, (), None)

    def line(self) -> int:
        """The learner's line alone, quickly."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code in self.codes:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    # what rewritten functions call ------------------------------------------------------------------------------------

    def loop(self, name: str, values: Iterable[Any]) -> Iterator[Any]:
        depth = len(self.stack)
        entry: list[Any] = [name, 0]
        self.stack.append(entry)
        for value in values:
            del self.stack[depth + 1 :]
            entry[1] = _whole(value)
            yield value
        del self.stack[depth:]

    def enter(self) -> tuple[int, list[Any]]:
        entry: list[Any] = ["while", 0]
        self.stack.append(entry)
        return len(self.stack), entry

    def turn(self, token: tuple[int, list[Any]]) -> None:
        del self.stack[token[0] :]
        token[1][1] += 1

    def leave(self, token: tuple[int, list[Any]]) -> None:
        del self.stack[token[0] - 1 :]

    def check(self, condition: Any, message: Any) -> None:
        self.checks(condition, message)


def _whole(value: Any) -> int:
    data = value.handle.data if hasattr(value, "handle") else value
    try:
        return int(np.asarray(data).reshape(-1)[0])
    except (TypeError, ValueError, IndexError):
        return 0


def rounded(value: float) -> float:
    """To four significant digits: enough to read, and short in a film."""
    number = float(value)
    return float(f"{number:.4g}") if np.isfinite(number) else number


def _nested(data: np.ndarray) -> Any:
    if data.dtype.kind == "b":
        return data.tolist()
    if data.dtype.kind in "iu":
        return data.tolist()
    return _rounded(data.astype(np.float64)).tolist()


def _rounded(data: np.ndarray) -> np.ndarray:
    """`rounded`, for a whole tile. A whole number times or over a power of ten (up to
    10²²) is the double nearest to its decimal digits."""
    with np.errstate(all="ignore"):
        digits = 3 - np.floor(np.log10(np.abs(data)))
        shift = np.power(10.0, np.abs(digits))
        short = np.where(digits >= 0, np.round(data * shift) / shift, np.round(data / shift) * shift)
        plain = np.isfinite(short) & (np.abs(digits) <= 22)
    for i in np.flatnonzero(np.isfinite(data) & ~plain):
        short.flat[i] = rounded(data.flat[i])
    return np.where(np.isfinite(data), short, data)


def _summary(data: np.ndarray) -> dict[str, Any]:
    numbers = data.astype(np.float64)
    known = numbers[~np.isnan(numbers)]
    low, high = (rounded(known.min()), rounded(known.max())) if known.size else (float("nan"), float("nan"))
    return {"shape": list(data.shape), "min": low, "max": high}


def state(frame: FrameType | None, given: dict[str, Any]) -> dict[str, Any]:
    """Local numbers and tiles of the kernel: not its arguments, not pointers. Tiles above MAX_STATE numbers are summarised."""
    out: dict[str, Any] = {}
    if frame is None:
        return out
    for name, value in frame.f_locals.items():
        if name.startswith("__") or (name in given and given[name] is value):
            continue
        if isinstance(value, (bool, int)):
            out[name] = value
        elif isinstance(value, float):
            out[name] = rounded(value)
        else:
            handle = getattr(value, "handle", None)
            if not isinstance(handle, Handle) or handle.pointer is not None or handle.type.is_ptr():
                continue
            data = np.asarray(handle.data)
            if not numerics.is_float(data.dtype) and data.dtype.kind not in "biu":
                continue
            out[name] = _nested(data) if data.size <= MAX_STATE else _summary(data)
    return out
