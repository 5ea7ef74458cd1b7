"""Guarded mutants: a wrong kernel of the bank joined with the solution, wrong only where a guard holds.

A guard that gives every program of a launch the same answer needs no joined kernel: it behaves like the wrong kernel or like the
solution, so a table of the wrong kernels over the cases decides. Other guards are joined and run: at the top of the kernel as a
choice between two functions, inside a loop as a choice wherever the statements of the two kernels differ.

A guarded mutant that no case of the puzzle kills is run on drawn cases. If it fails there, it has survived
and a case is missing; if not, it is equivalent.
"""

from __future__ import annotations

import ast
import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch

from checker.course import PUZZLES
from checker.judge.combined_kernel import renamed
from checker.judge.launches import Prepared, prepare_all
from checker.judge.outcome import Candidate, in_spite_of_stops
from checker.misconceptions import Misconception, bank, solution
from checker.puzzle import DTYPES, Puzzle
from checker.submission.kernel import KernelSource
from tools.mutants.families import family_of
from tools.mutants.guards import Guard
from tools.mutants.judging import Fate, drawn_cases, fault, runner
from tools.mutants.sources import function_of, solution_module, source_of

# ----------------------------------------------------------------------------------------------------- where to test


def guards(puzzle: Puzzle) -> list[Guard]:
    """The guards of the puzzle's family, without those that test parameters and flags which it does not have."""
    names = {"tl", *puzzle.parameters, *puzzle.cases[0].flags}
    return [guard for guard in family_of(puzzle).guards if guard.in_place or _names(guard.test) <= names]


def _names(test: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(test, mode="eval")) if isinstance(node, ast.Name)}


def _place(guard: Guard, block: Sequence[ast.stmt], loop: ast.For | None, names: set[str]) -> int | None:
    """The statement of the block before which the guard is tested, None if it cannot be tested there."""
    if not guard.chunk:
        return 0 if loop is not None else None
    last = max((i for i, s in enumerate(block) if guard.chunk in _assigned([s])), default=None)
    if last is None or not _names(guard.test) <= names | _assigned(block[: last + 1]) | {"tl", "float"}:
        return None
    return last + 1


def _assigned(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that these statements assign, without those in the bodies of loops."""
    targets: list[ast.expr] = []
    for statement in statements:
        match statement:
            case ast.Assign():
                targets += statement.targets
            case ast.AugAssign() | ast.For():
                targets.append(statement.target)
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _test(guard: Guard, loop: ast.For | None) -> list[ast.stmt]:
    """Statements that put into ``guard_holds`` whether the guard holds."""
    tree = ast.parse(guard.test, mode="eval")
    test = ast.unparse(tree if loop is None else _Turns(loop).visit(tree))
    if not guard.twice:
        return ast.parse(f"guard_holds = {test}").body
    return ast.parse(f"guard_now = {test}\nguard_holds = guard_now & guard_before\nguard_before = guard_now").body


class _Turns(ast.NodeTransformer):
    """Replaces ``turn`` and ``turns`` by what they are in a loop over a range."""

    def __init__(self, loop: ast.For) -> None:
        assert isinstance(loop.iter, ast.Call)
        bounds = [*map(ast.unparse, loop.iter.args), "1"]
        start, stop, step = bounds[:3] if len(bounds) > 2 else ["0", *bounds]
        self.texts = {
            "turn": f"({ast.unparse(loop.target)} - ({start})) // ({step})",
            "turns": f"({stop} - ({start}) + ({step}) - 1) // ({step})",
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = self.texts.get(node.id)
        return node if text is None else ast.parse(text, mode="eval").body


# ------------------------------------------------------------------------------------------------------------- joins


def joined(puzzle: Puzzle, wrong: KernelSource, guard: Guard) -> KernelSource | None:
    """The solution, but `wrong` where the guard holds. None if the kernels differ before the guard can be tested."""
    text = _joined_in_place(puzzle, wrong, guard) if guard.in_place else _joined_at_the_top(puzzle, wrong, guard)
    return None if text is None else source_of(puzzle, text)


def _joined_at_the_top(puzzle: Puzzle, wrong: KernelSource, guard: Guard) -> str:
    right = source_of(puzzle, solution(puzzle.name))
    signature = ast.unparse(function_of(solution_module(puzzle), puzzle.kernel).args)
    passed = ", ".join(puzzle.parameters)
    return (
        f"import triton\nimport triton.language as tl\n\n\n{renamed(wrong, 'wrong_')}\n\n\n{renamed(right, 'right_')}\n\n\n"
        f"@triton.jit\ndef {puzzle.kernel}({signature}):\n    if {guard.test}:\n"
        f"        wrong_{puzzle.kernel}({passed})\n    else:\n        right_{puzzle.kernel}({passed})\n"
    )


class _NoPlace(Exception):
    """The kernels differ where the guard cannot be tested."""


def _joined_in_place(puzzle: Puzzle, wrong: KernelSource, guard: Guard) -> str | None:
    module, mistaken = solution_module(puzzle), ast.parse(wrong.source)
    function = function_of(module, puzzle.kernel)
    try:
        body = _join(guard, function.body, function_of(mistaken, puzzle.kernel).body, None, set(puzzle.parameters))
    except _NoPlace:
        return None
    function.body = [*ast.parse("guard_before = False").body, *body] if guard.twice else body
    helpers = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    place = module.body.index(function)
    new = [node for node in mistaken.body if isinstance(node, ast.FunctionDef) and node.name not in helpers]
    module.body[place:place] = new
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


def _join(
    guard: Guard, right: Sequence[ast.stmt], wrong: Sequence[ast.stmt], loop: ast.For | None, names: set[str]
) -> list[ast.stmt]:
    """One body from two: shared statements stay, and where they differ the guard chooses. Raises _NoPlace."""
    place_of_test = _place(guard, right, loop, names)
    tested = False
    body: list[ast.stmt] = []
    for ours, theirs, place in _aligned(right, wrong):
        if not tested and place_of_test is not None and place >= place_of_test:
            body += _test(guard, loop)
            tested = True
        match ours, theirs:
            case [ast.For() as one], [ast.For() as other] if _header(one) == _header(other):
                inner = names | _assigned(right[: place + 1])
                body.append(ast.For(one.target, one.iter, _join(guard, one.body, other.body, one, inner), []))
            case _ if [*map(ast.dump, ours)] == [*map(ast.dump, theirs)]:
                body += ours
            case _ if tested:
                body.append(ast.If(ast.Name("guard_holds", ast.Load()), theirs or [ast.Pass()], ours or [ast.Pass()]))
            case _:
                raise _NoPlace
    return body


def _aligned(
    right: Sequence[ast.stmt], wrong: Sequence[ast.stmt]
) -> Iterator[tuple[list[ast.stmt], list[ast.stmt], int]]:
    """Corresponding statements, in order, with their place in `right`: equal ones and loops one by one, others in groups."""
    matcher = difflib.SequenceMatcher(None, [*map(_header, right)], [*map(_header, wrong)], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            yield from (([right[i + n]], [wrong[k + n]], i + n) for n in range(j - i))
        else:
            yield [*right[i:j]], [*wrong[k:m]], i


def _header(statement: ast.stmt) -> str:
    """What statements are matched by: only the range of a loop."""
    if isinstance(statement, ast.For):
        return f"for {ast.dump(statement.target)} in {ast.dump(statement.iter)}"
    return ast.dump(statement)


# ------------------------------------------------------------------------------------------------------------- judge


@dataclass(eq=False)
class Trial:
    """A case that mutants are tried on."""

    prepared: Prepared

    @cached_property
    def _names(self) -> dict[str, Any]:
        launch = self.prepared.launch
        values: dict[str, Any] = {**self.prepared.case.flags, **launch.meta, **launch.arguments}
        pointers = {
            name: SimpleNamespace(dtype=SimpleNamespace(element_ty=value.dtype))
            for name, value in values.items()
            if isinstance(value, torch.Tensor)
        }
        return {**values, **pointers}

    @cached_property
    def grid(self) -> tuple[int, ...]:
        return (*self.prepared.launch.grid, 1, 1)[:3]

    def answers(self, guard: Guard) -> frozenset[bool]:
        """What the guard answers the programs: always the same, or both. A guard in a loop may answer either."""
        if guard.in_place:
            return frozenset({True, False})
        programs = product(*map(range, self.grid)) if "program_id" in guard.test else [(0, 0, 0)]
        code = compile(guard.test, "guard", "eval")
        return frozenset(bool(eval(code, {}, self._seen_by(program))) for program in programs)

    def _seen_by(self, program: tuple[int, ...]) -> dict[str, Any]:
        tl = SimpleNamespace(program_id=program.__getitem__, num_programs=self.grid.__getitem__, **DTYPES)
        return defaultdict(int, {**self._names, "tl": tl})


class Bench:
    """A puzzle's cases and drawn ones, and what the bank's kernels do on them."""

    def __init__(self, puzzle: Puzzle) -> None:
        self.puzzle, self.guards = puzzle, guards(puzzle)
        own = prepare_all(puzzle, [(case, None) for case in puzzle.cases if "cpu" in case.devices])
        self.own = [Trial(prepared) for prepared in own]
        self.gates: dict[tuple[str, Trial], str] = {}

    @cached_property
    def drawn(self) -> list[Trial]:
        return [Trial(one) for one in prepare_all(self.puzzle, [(case, None) for case in drawn_cases(self.puzzle)])]

    def fate(self, wrong: Misconception, guard: Guard) -> Fate | None:
        """What becomes of the wrong kernel under this guard, None if the two cannot be joined."""
        source = joined(self.puzzle, wrong.source, guard)
        if source is None:
            return None
        name = f"{self.puzzle.name}: {wrong.name} if {guard.name}"
        fate = Fate(self.puzzle.name, name, "equivalent")
        failing = [trial for trial in self.own if self._gate(wrong, trial)]
        if failure := self._failure(wrong, guard, source, failing):
            return replace(fate, outcome="killed", by=failure[1])
        shown = self._failure(wrong, guard, source, self.drawn)
        if shown is None:
            return fate
        # two kernels that are each right here may be wrong together
        if failure := self._failure(wrong, guard, source, [trial for trial in self.own if trial not in failing]):
            return replace(fate, outcome="killed", by=failure[1])
        return replace(fate, outcome="survived", differs=f"{shown[0].prepared.case.name}: {shown[1]}")

    def _failure(
        self, wrong: Misconception, guard: Guard, source: KernelSource, trials: Sequence[Trial]
    ) -> tuple[Trial, str] | None:
        """One of the trials that the guarded mutant fails, and the gate that fails it."""
        mixed = []
        for trial in trials:
            answers = trial.answers(guard)
            if False not in answers and (gate := self._gate(wrong, trial)):
                return trial, gate
            if len(answers) > 1:
                mixed.append(trial)
        faults = (self._faults(source, part) for part in (mixed[:1], mixed[1:]))  # the first is usually enough
        return next(((trial, gate) for part in faults for trial, gate in part if gate), None)

    def _faults(self, source: KernelSource, trials: Sequence[Trial]) -> Iterator[tuple[Trial, str]]:
        candidate = Candidate(self.puzzle, source, runner())
        outcomes = in_spite_of_stops(
            trials, lambda rest: iter(candidate.simulate_cases([trial.prepared for trial in rest]))
        )
        return ((trial, fault(self.puzzle, outcome)) for trial, outcome in outcomes)

    def _gate(self, wrong: Misconception, trial: Trial) -> str:
        """The gate that fails a kernel of the bank in this trial, remembered."""
        if (wrong.name, trial) not in self.gates:
            group = self.own if trial in self.own else [trial]
            self.gates |= {(wrong.name, one): gate for one, gate in self._faults(wrong.source, group)}
        return self.gates[wrong.name, trial]


@cache
def _bench(puzzle: str) -> Bench:
    return Bench(PUZZLES[puzzle])


def guarded(task: tuple[str, str]) -> list[Fate]:
    """One wrong kernel of a puzzle under every guard that it can be joined with."""
    puzzle, name = task
    wrong = next(one for one in bank(puzzle) if one.name == name)
    fates: Iterable[Fate | None] = (_bench(puzzle).fate(wrong, guard) for guard in _bench(puzzle).guards)
    return [fate for fate in fates if fate is not None]
