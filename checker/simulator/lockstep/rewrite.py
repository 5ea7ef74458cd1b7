"""The learner's functions with hooks at every assignment, condition and loop, so that some programs may take no part."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from checker.simulator.lockstep.programs import GiveUp
from checker.simulator.rewrite import LoopRewriter, no_arguments

_LEAVES = (ast.Return, ast.Break, ast.Continue)
_UNKNOWN = (
    *(ast.Try, ast.With, ast.Delete, ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Lambda, ast.Match, ast.ClassDef),
    *(ast.AsyncFunctionDef, ast.Yield, ast.YieldFrom, ast.Await, ast.Starred),
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
    loops: list[ast.For] = []
    for node in ast.walk(function):
        if isinstance(node, _UNKNOWN) or (isinstance(node, ast.FunctionDef) and node is not function):
            raise GiveUp(f"{type(node).__name__} is not followed")
        if isinstance(node, ast.For | ast.While) and any(isinstance(part, ast.Return) for part in ast.walk(node)):
            raise GiveUp("a return inside a loop")
        if isinstance(node, ast.Assign) and len(node.targets) != 1:
            raise GiveUp("one value for several targets")
        if isinstance(node, ast.For):
            loops.append(node)
    if loops and _loop_variables_used_afterwards(function, loops):
        raise GiveUp("a loop variable is used outside its loop, where each program has its own")


def _loop_variables_used_afterwards(function: ast.FunctionDef, loops: Sequence[ast.For]) -> bool:
    own: dict[str, list[ast.For]] = {}
    for loop in loops:
        for name in {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}:
            own.setdefault(name, []).append(loop)
    everywhere = _loads([function])
    for variable, over in own.items():
        inside = [list(ast.walk(loop)) for loop in over]
        if any(loop in parts[1:] for loop in over for parts in inside):
            return True  # one loop over a variable within another
        if everywhere[variable] > sum(_loads(loop.body)[variable] for loop in over):
            return True
    return False


def _loads(trees: Sequence[ast.AST]) -> Counter[str]:
    """How often each name is read."""
    loads: Counter[str] = Counter()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            loads[node.id] += 1
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            loads[node.target.id] += 1
    return loads
