"""The learner's functions with hooks at every assignment, condition and loop, so that some programs may take no part."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from checker.simulator.lockstep.programs import GiveUp
from checker.simulator.rewrite import LoopRewriter, no_arguments

_LEAVES = (ast.Return, ast.Break, ast.Continue)
_UNKNOWN = (
    *(ast.Try, ast.With, ast.Delete, ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Lambda, ast.Match, ast.ClassDef),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Yield, ast.YieldFrom, ast.Await, ast.Starred),
)


class LockstepRewriter(LoopRewriter):
    """Calls the hooks of `LockstepLanguage`. Raises GiveUp for what it does not know."""

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)  # the range itself knows who takes a turn
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        _refuse_unknown(node)
        return super().visit_FunctionDef(node)

    # assignments ------------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        (target,) = node.targets
        if isinstance(target, ast.Name):
            value = self._call("assigned", node.value, _previous(target.id))
        else:
            previous = ast.Tuple([_previous(name.id) for name in _names(target)], ast.Load())
            value = self._call("unpacked", node.value, previous)
        node.value = ast.copy_location(value, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        self.generic_visit(node)
        (target,) = _names(node.target)
        changed = ast.BinOp(ast.Name(target.id, ast.Load()), node.op, node.value)
        kept = self._call("kept", changed, _previous(target.id))
        return ast.copy_location(ast.Assign([target], ast.copy_location(kept, node.value)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        self.generic_visit(node)
        (target,) = _names(node.target)
        if node.value is not None:
            node.value = ast.copy_location(self._call("kept", node.value, _previous(target.id)), node.value)
        return node

    # conditions ---------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        splits = not any(isinstance(part, _LEAVES) for part in ast.walk(node))
        self.generic_visit(node)
        name = self._name("if")
        branch = ast.Name(name, ast.Load())
        enter = ast.Assign([ast.Name(name, ast.Store())], self._call("enter_if", node.test, ast.Constant(splits)))
        then = ast.If(self._call("then", branch), node.body, [])
        otherwise = [ast.If(self._call("otherwise", branch), node.orelse, [])] if node.orelse else []
        leave = ast.Expr(self._call("leave_if", branch))
        return [ast.copy_location(part, node) for part in (enter, then, *otherwise, leave)]


def _previous(name: str) -> ast.Lambda:
    return ast.Lambda(no_arguments(), ast.Name(name, ast.Load()))


def _names(target: ast.expr) -> list[ast.Name]:
    """The names that are assigned to."""
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    simple = [name for name in names if isinstance(name, ast.Name)]
    if len(simple) != len(names):
        raise GiveUp("an assignment to something else than names")
    return simple


def _refuse_unknown(function: ast.FunctionDef) -> None:
    """Raise GiveUp for what no hook follows, in one walk: each function of a kernel, and of a whole bank of them, is read here."""
    variables, read_outside = set[str](), set[str]()
    waiting: list[tuple[ast.AST, frozenset[str], bool]] = [(part, frozenset(), False) for part in function.body]
    while waiting:
        node, own, in_loop = waiting.pop()  # `own`: the variables of the loops whose bodies hold the node
        if isinstance(node, _UNKNOWN):
            raise GiveUp(f"{type(node).__name__} is not followed")
        if isinstance(node, ast.Return) and in_loop:
            raise GiveUp("a return inside a loop")
        if isinstance(node, ast.Assign) and len(node.targets) != 1:
            raise GiveUp("one value for several targets")
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.id not in own:
                read_outside.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in own:
            read_outside.add(node.target.id)
        in_loop = in_loop or isinstance(node, ast.For | ast.While)
        parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.For):
            names = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
            if names & own:
                raise GiveUp("one loop over a variable within another")
            variables |= names
            waiting += [(part, own | names, True) for part in node.body]
            parts = (node.target, node.iter, *node.orelse)
        waiting += [(part, own, in_loop) for part in parts]
    if variables & read_outside:
        raise GiveUp("a loop variable is used outside its loop, where each program has its own")
