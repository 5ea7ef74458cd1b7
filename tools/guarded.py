"""Guarded misconceptions: a wrong kernel of the bank joined with the solution, wrong only where a guard of the course holds.

A guard that says the same to all programs of a launch needs no kernel: there the joined kernel is the wrong one, elsewhere the
solution, so one table of the wrong kernels over the cases judges all of them. Others are joined and run: at the top of the kernel,
one of two functions; in the turn of a loop, the statements in which the two kernels differ.

One that no case of the puzzle kills is run on drawn cases where the guard holds: where it fails there it *survives*, and a case is
missing; where it never does it is *equivalent*. `tools/mutants.py --guarded` judges them and writes the report.
"""

from __future__ import annotations

import ast
import difflib
import math
import multiprocessing
import random
import signal
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from checker.course import PUZZLES
from checker.judge import int64_overflow, memory_gate, traffic_gate
from checker.judge.combined_kernel import renamed
from checker.judge.launches import Prepared, prepare_all, without_numbers
from checker.judge.outcome import Outcome, settled, simulate
from checker.judge.runner import RunResult
from checker.misconceptions import Misconception, bank
from checker.misconceptions import solution as bare_solution
from checker.puzzle import DTYPES, FAR, Case, Guard, Launch, Puzzle
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource, Piece
from tests.judge.local_runner import LocalRunner
from tools.mutate import Fate, start
from tools.mutations import function_of

DRAWN = 90
"""Cases of each sort that are drawn for a puzzle; the guards choose among them."""
TRIED = 10
"""Drawn cases, of many families, that a guarded kernel is tried on before it is called equivalent."""
FEW, TURNS, PROBED = 4, 40, 3
"""Of the drawn cases, so many of each family, with so few programs and turns, say which guards hold in place there."""
BITS = 40
"""Guards that one run of the probe asks."""
SECONDS = 120
"""Of processor time, longer than all launches of a puzzle take; one that goes on has an endless loop."""
_TURN = {"turn", "turns"}
_TOGETHER = SimulateOptions(together=True)


# --------------------------------------------------------------------------------------------------------------- guards


def names(test: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(test, mode="eval")) if isinstance(node, ast.Name)}


def in_place(guard: Guard) -> bool:
    """Asked in the turns of a loop, not at the top of the kernel."""
    return bool(guard.chunk) or bool(names(guard.test) & _TURN)


def guards(puzzle: Puzzle) -> list[Guard]:
    """The guards of the puzzle's family whose names it has."""
    known = {"tl", *puzzle.parameters, *puzzle.cases[0].flags}
    everything = puzzle.slips.guards if puzzle.slips else ()
    body = function_of(ast.parse(bare_solution(puzzle.name)), puzzle.kernel).body

    def can_be_asked(guard: Guard) -> bool:
        if in_place(guard):
            return _is_asked(guard, body, None, set(puzzle.parameters))
        return names(guard.test) <= known

    return [guard for guard in everything if can_be_asked(guard)]


def _is_asked(guard: Guard, block: Sequence[ast.stmt], loop: ast.For | None, known: set[str]) -> bool:
    """Whether there is a place in the block, or in a loop in it, where the guard can be asked."""
    return _place(guard, block, loop, known) is not None or any(
        _is_asked(guard, statement.body, statement, known | _assigned(block[:i]) | _assigned([statement]))
        for i, statement in enumerate(block)
        if isinstance(statement, ast.For)
    )


class Launched:
    """A launch as a guard at the top of the kernel sees it. Of the `flags` those are 0 that the case does not set."""

    def __init__(self, case: Case, launch: Launch, flags: Iterable[str] = ()) -> None:
        self.grid = (*launch.grid, 1, 1)[:3]
        self.known: dict[str, Any] = {**dict.fromkeys(flags, 0), **case.flags, **launch.meta}
        for name, value in launch.arguments.items():
            self.known[name] = _pointer(value.dtype) if isinstance(value, torch.Tensor) else value
        self.asked: dict[str, frozenset[bool]] = {}

    def answers(self, guard: Guard) -> frozenset[bool]:
        """What the guard says to the programs of the launch: always the same thing, or both."""
        if guard.test not in self.asked:
            code = compile(guard.test, "guard", "eval")
            by_program = "program_id" in guard.test
            programs = product(*(range(n) for n in self.grid)) if by_program else [(0, 0, 0)]
            self.asked[guard.test] = frozenset(bool(eval(code, self._names(program))) for program in programs)
        return self.asked[guard.test]

    def _names(self, program: tuple[int, ...]) -> dict[str, Any]:
        tl = SimpleNamespace(program_id=program.__getitem__, num_programs=self.grid.__getitem__, **DTYPES)
        return {**self.known, "tl": tl}


def _pointer(dtype: torch.dtype) -> SimpleNamespace:
    """What ``x_ptr.dtype.element_ty`` needs."""
    return SimpleNamespace(dtype=SimpleNamespace(element_ty=dtype))


# ---------------------------------------------------------------------------------------------------------------- joins


def joined(puzzle: Puzzle, wrong: KernelSource, guard: Guard) -> KernelSource | None:
    """The solution that is `wrong` where the guard holds; None where it cannot be asked before the first statement that differs."""
    join = _in_turn if in_place(guard) else _at_the_top
    text = join(puzzle, right(puzzle), wrong, guard)
    return None if text is None else _source(puzzle, text)


def right(puzzle: Puzzle) -> KernelSource:
    return _source(puzzle, bare_solution(puzzle.name))


def _source(puzzle: Puzzle, text: str) -> KernelSource:
    return KernelSource(puzzle.name, puzzle.kernel, text, (Piece(1, text.count("\n"), f"{puzzle.name}.py", 1),))


def _at_the_top(puzzle: Puzzle, right: KernelSource, wrong: KernelSource, guard: Guard) -> str:
    function = function_of(ast.parse(right.source), puzzle.kernel)
    passed = ", ".join(puzzle.parameters)
    return (
        f"import triton\nimport triton.language as tl\n\n\n{renamed(wrong, 'wrong_')}\n\n\n{renamed(right, 'right_')}\n\n\n"
        f"@triton.jit\ndef {puzzle.kernel}({ast.unparse(function.args)}):\n    if {guard.test}:\n"
        f"        wrong_{puzzle.kernel}({passed})\n    else:\n        right_{puzzle.kernel}({passed})\n"
    )


def _in_turn(puzzle: Puzzle, right: KernelSource, wrong: KernelSource, guard: Guard) -> str | None:
    module, mistaken = ast.parse(right.source), ast.parse(wrong.source)
    function = function_of(module, puzzle.kernel)
    try:
        body = _joined(guard, function.body, function_of(mistaken, puzzle.kernel).body, None, set(puzzle.parameters))
    except _NotAsked:
        return None
    function.body = [*ast.parse("guard_before = False").body, *body] if guard.twice else body
    own = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    place = module.body.index(function)
    module.body[place:place] = [n for n in mistaken.body if isinstance(n, ast.FunctionDef) and n.name not in own]
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


class _NotAsked(Exception):
    """The kernels differ where the guard cannot be asked."""


def _joined(
    guard: Guard, right: Sequence[ast.stmt], wrong: Sequence[ast.stmt], loop: ast.For | None, known: set[str]
) -> list[ast.stmt]:
    """The statements of a loop's body, or of the function's, which has the names `known`: what two kernels share stays, and where
    they differ the guard chooses. Raises _NotAsked."""
    place_of_question = _place(guard, right, loop, known)
    asked = False
    body: list[ast.stmt] = []
    for ours, theirs, place in _aligned(right, wrong):
        if not asked and place_of_question is not None and place >= place_of_question:
            body += _question(guard, loop)
            asked = True
        match ours, theirs:
            case [ast.For() as one], [ast.For() as other] if _header(one) == _header(other):
                inner = known | _assigned(right[:place]) | _assigned([one])
                body.append(ast.For(one.target, one.iter, _joined(guard, one.body, other.body, one, inner), []))
            case _ if [*map(ast.dump, ours)] == [*map(ast.dump, theirs)]:
                body += ours
            case _ if asked:
                body.append(ast.If(ast.Name("guard_holds", ast.Load()), theirs or [ast.Pass()], ours or [ast.Pass()]))
            case _:
                raise _NotAsked
    return body


def _aligned(
    right: Sequence[ast.stmt], wrong: Sequence[ast.stmt]
) -> Iterator[tuple[list[ast.stmt], list[ast.stmt], int]]:
    """What corresponds, in order, with its place in `right`: equal statements and loops over the same range one by one, others in groups."""
    matcher = difflib.SequenceMatcher(None, [*map(_header, right)], [*map(_header, wrong)], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            for n in range(j - i):
                yield [right[i + n]], [wrong[k + n]], i + n
        else:
            yield [*right[i:j]], [*wrong[k:m]], i


def _header(statement: ast.stmt) -> str:
    """What a statement is matched by: of a loop only what it walks over."""
    if isinstance(statement, ast.For):
        return f"for {ast.dump(statement.target)} in {ast.dump(statement.iter)}"
    return ast.dump(statement)


def _assigned(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that these statements give a value, those in their bodies left out."""
    targets: list[ast.expr] = []
    for statement in statements:
        match statement:
            case ast.Assign():
                targets += statement.targets
            case ast.AugAssign() | ast.For():
                targets.append(statement.target)
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _place(guard: Guard, block: Sequence[ast.stmt], loop: ast.For | None, known: set[str]) -> int | None:
    """Before which statement of the block the guard is asked; None where it is not asked there."""
    if not guard.chunk:
        return 0 if loop is not None else None
    last = max((i for i, s in enumerate(block) if guard.chunk in _assigned([s])), default=None)
    if last is None or not names(guard.test) <= known | _assigned(block[: last + 1]) | {"tl", "float"}:
        return None
    return last + 1


def _question(guard: Guard, loop: ast.For | None, name: str = "guard") -> list[ast.stmt]:
    """Statements that say in ``guard_holds`` whether the guard holds."""
    tree = ast.parse(guard.test, mode="eval")
    test = ast.unparse(tree if loop is None else _Turns(loop).visit(tree))
    if not guard.twice:
        return ast.parse(f"{name}_holds = {test}").body
    return ast.parse(f"{name}_now = {test}\n{name}_holds = {name}_now & {name}_before\n{name}_before = {name}_now").body


class _Turns(ast.NodeTransformer):
    """Puts in the place of ``turn`` and ``turns`` what they are in a loop over a range."""

    def __init__(self, loop: ast.For) -> None:
        assert isinstance(loop.iter, ast.Call)
        bounds = [*map(ast.unparse, loop.iter.args), "1"]
        start, stop, step = bounds[:3] if len(bounds) > 2 else ["0", *bounds]
        variable = ast.unparse(loop.target)
        self.texts = {
            "turn": f"({variable} - ({start})) // ({step})",
            "turns": f"({stop} - ({start}) + ({step}) - 1) // ({step})",
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = self.texts.get(node.id)
        return node if text is None else ast.parse(text, mode="eval").body


HELD = "held_ptr"
"""A parameter that the probe has besides the puzzle's own: [programs] int64."""


def probe(puzzle: Puzzle, asked: Sequence[Guard]) -> KernelSource:
    """The solution, which stores a number for each program: bit k says that guard k of those asked in place held somewhere."""
    module = ast.parse(bare_solution(puzzle.name))
    function = function_of(module, puzzle.kernel)
    function.args.args.insert(0, ast.arg(HELD))
    number = "tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))"
    function.body = [
        *ast.parse("\n".join(f"guard{k}_before = False" for k in range(len(asked))) + "\nheld = 0").body,
        *_probed(asked, function.body, None, set(puzzle.parameters)),
        *ast.parse(f"tl.store({HELD} + {number}, held)").body,
    ]
    return _source(puzzle, ast.unparse(ast.fix_missing_locations(module)) + "\n")


def _probed(asked: Sequence[Guard], block: Sequence[ast.stmt], loop: ast.For | None, known: set[str]) -> list[ast.stmt]:
    places = {k: _place(guard, block, loop, known) for k, guard in enumerate(asked)}
    body: list[ast.stmt] = []
    for place in range(len(block) + 1):
        for k in (k for k, p in places.items() if p == place):
            body += _question(asked[k], loop, f"guard{k}")
            body += ast.parse(f"held = held | tl.where(guard{k}_holds, {2**k}, 0)").body
        if place == len(block):
            break
        statement = block[place]
        if isinstance(statement, ast.For):
            inner = known | _assigned(block[:place]) | _assigned([statement])
            body.append(ast.For(statement.target, statement.iter, _probed(asked, statement.body, statement, inner), []))
        else:
            body.append(statement)
    return body


# ---------------------------------------------------------------------------------------------------------------- judge


@dataclass(eq=False)
class Trial:
    """A case that kernels are tried on, made when it is first needed."""

    puzzle: Puzzle
    case: Case
    launched: Launched
    placed: Prepared | None = None

    @property
    def turns(self) -> float:
        """At most so many turns has a loop."""
        return max(self.case.sizes.values()) / min(self.case.meta.values())

    @property
    def cost(self) -> float:
        """About how long it takes, beside others."""
        return math.prod(self.launched.grid) * self.turns

    @cached_property
    def prepared(self) -> Prepared:
        return self.placed or prepare_all(self.puzzle, [(self.case, None)])[0]


class Bench:
    """A puzzle's cases, and drawn ones that show what the cases do not."""

    def __init__(self, puzzle: Puzzle) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="guarded-")
        self.puzzle, self.runner = puzzle, _Runner(Path(self.folder.name))
        self.right = right(puzzle)
        self.guards = guards(puzzle)
        self.asked = [g for g in self.guards if in_place(g)]
        own = prepare_all(puzzle, [(case, None) for case in puzzle.cases if "cpu" in case.devices])
        far = [launch.far for launch in int64_overflow.far_launches(puzzle, own)]
        self.flags = puzzle.cases[0].flags
        self.cases = [Trial(puzzle, one.case, self._launched(one.case, one.launch), one) for one in (*own, *far)]
        self.seen: dict[tuple[str, Trial], str] = {}
        self.holding: dict[Trial, frozenset[str]] = {}
        for trial, gate in self.faults(self.right, self.cases):
            assert not gate, f"the solution itself: {trial.case.name}"

    @cached_property
    def drawn(self) -> list[Trial]:
        """Cases with sizes near those of the puzzle's own and far from them, and cases built as its own are."""
        if self.puzzle.slips is None:
            return []
        draw = random.Random(f"guarded: {self.puzzle.name}")
        near = [self.puzzle.slips.draw(self.puzzle, draw, number) for number in range(DRAWN)]
        far = [self.puzzle.slips.draw(self.puzzle, draw, FAR + number) for number in range(DRAWN)]
        like = [case for _ in range(DRAWN // 6) for case in self.puzzle.drawn(draw)]
        cases = [case for some in zip_longest(near, far, like) for case in some if case is not None]
        # what a guard asks about does not depend on the numbers
        plain = [replace(case, family="normal") for case in cases]
        launches = [without_numbers(self.puzzle, case) for case in plain]
        return [Trial(self.puzzle, case, self._launched(case, one)) for case, one in zip(cases, launches, strict=True)]

    def _launched(self, case: Case, launch: Launch) -> Launched:
        return Launched(case, launch, self.flags)

    def faults(self, source: KernelSource, trials: Sequence[Trial]) -> Iterator[tuple[Trial, str]]:
        """What a gate has against the kernel in each of these cases; empty where nothing."""
        left = list(trials)
        while left:
            done = 0
            outcomes = simulate(self.puzzle, source, self.runner, [trial.prepared for trial in left], _TOGETHER)
            for trial, outcome in zip(left, outcomes, strict=False):
                done += 1
                if not settled(outcome):
                    (outcome,) = simulate(self.puzzle, source, self.runner, [trial.prepared])
                yield trial, self._fault(outcome)
            left = left[done:]  # it ends with a launch that does not run

    def _fault(self, outcome: Outcome) -> str:
        if not outcome.right:
            return "" if outcome.prepared.launch.far and not outcome.ran else "values"
        if memory_gate.memory_findings(outcome):
            return "memory"
        return "traffic" if traffic_gate.overdrawn(self.puzzle, outcome) else ""

    def first_fault(self, source: KernelSource, trials: Sequence[Trial]) -> tuple[Trial, str] | None:
        """The first of these cases that the kernel fails, and the gate: the first case by itself, most often it is enough."""
        for some in (trials[:1], trials[1:]):
            for trial, gate in self.faults(source, some):
                if gate:
                    return trial, gate
        return None

    def known(self, wrong: Misconception, trial: Trial) -> str:
        """What a gate has against a kernel of the bank, remembered."""
        if (wrong.name, trial) not in self.seen:
            missing = self.cases if trial in self.cases else [trial]
            self.seen |= {(wrong.name, one): gate for one, gate in self.faults(wrong.source, missing)}
        return self.seen[wrong.name, trial]

    def held(self, trial: Trial) -> frozenset[str]:
        """The guards asked in place that hold in some turn of some program."""
        if trial not in self.holding:
            self._probe(self.cases if trial in self.cases else [trial])
        return self.holding[trial]

    def _probe(self, trials: Sequence[Trial]) -> None:
        found: dict[Trial, set[str]] = {trial: set() for trial in trials}
        launches = [_with_place_for_held(trial.prepared.launch) for trial in trials]
        for first in range(0, len(self.asked), BITS):
            some = self.asked[first : first + BITS]
            results = self.runner.simulate(probe(self.puzzle, some), launches, _TOGETHER)
            for trial, result in zip(trials, results, strict=True):
                assert result.status == "passed", result.message
                bits = int(np.bitwise_or.reduce(result.tensors[HELD].numpy()))
                found[trial] |= {guard.name for k, guard in enumerate(some) if bits >> k & 1}
        self.holding |= {trial: frozenset(names) for trial, names in found.items()}

    # -------------------------------------------------------------------------------------------------------- one kernel

    def fate(self, wrong: Misconception, guard: Guard) -> Fate | None:
        """What becomes of the misconception under this guard; None where the two cannot be joined."""
        source = None
        if in_place(guard) or "program_id" in guard.test:
            source = joined(self.puzzle, wrong.source, guard)
            if source is None:
                return None
        key = f"{self.puzzle.name}: {wrong.name} if {guard.name}"
        fate = Fate(key, self.puzzle.name, guard.name, 0, wrong.name, guard.name, "equivalent")
        failing = [trial for trial in self.cases if self.known(wrong, trial)]
        if found := self._found(wrong, guard, source, failing):
            return replace(fate, outcome="killed", by=found[1])
        families = {trial.case.family for trial in failing}
        drawn = sorted(
            self._battery[guard.name],
            key=lambda t: (not self.seen.get((wrong.name, t)), t.case.family not in families),
        )
        shown = self._found(wrong, guard, source, drawn)
        if shown is None:
            return fate
        # two kernels that are right may not go together
        others = [trial for trial in self.cases if trial not in failing]
        if found := self._found(wrong, guard, source, others):
            return replace(fate, outcome="killed", by=found[1])
        return replace(fate, outcome="survived", differs=f"{shown[0].case.name}: {shown[1]}")

    def _found(
        self, wrong: Misconception, guard: Guard, source: KernelSource | None, trials: Sequence[Trial]
    ) -> tuple[Trial, str] | None:
        """One of these cases that the guarded kernel fails, and the gate; `source` is that kernel where some programs only go wrong."""
        some = []
        for trial in trials:
            answers = self._answers(guard, trial)
            if False not in answers and (gate := self.known(wrong, trial)):
                return trial, gate
            if len(answers) > 1:
                some.append(trial)
        if not some:
            return None
        assert source is not None
        return self.first_fault(source, some)

    def _answers(self, guard: Guard, trial: Trial) -> frozenset[bool]:
        """What the guard says in a case: always the same thing, or both."""
        if in_place(guard):
            return frozenset({guard.name in self.held(trial), False})
        return trial.launched.answers(guard)

    @cached_property
    def _battery(self) -> dict[str, list[Trial]]:
        """For each guard `TRIED` cases in which it holds, of different families if possible: few cases in all, and cheap ones."""
        few = [t for t in self.drawn if math.prod(t.launched.grid) <= FEW and t.turns <= TURNS]
        few = [t for some in _by_family(few).values() for t in sorted(some, key=lambda t: -t.turns)[:PROBED]]
        chosen: dict[str, list[Trial]] = {guard.name: [] for guard in self.guards}
        holds = {
            t: {g.name for g in self.guards if not in_place(g) and True in t.launched.answers(g)} for t in self.drawn
        }
        self._probe(few)
        for trial in few:
            holds[trial] |= self.held(trial)

        def worth(trial: Trial, many: int) -> float:
            """How many guards that lack cases gain by this one, those most that lack one of its family, for what it costs."""
            lacking = [chosen[name] for name in holds[trial] if len(chosen[name]) < many and trial not in chosen[name]]
            known = sum(trial.case.family in {t.case.family for t in some} for some in lacking)
            return (len(lacking) - 0.8 * known) / (10 + trial.cost)

        for trials, many in (([t for t in self.drawn if t.turns > 2], TRIED // 2), (self.drawn, TRIED)):
            while gains := [(w, t) for t in trials if (w := worth(t, many))]:
                best = max(gains, key=lambda gain: gain[0])[1]
                for name in holds[best]:
                    if len(chosen[name]) < many and best not in chosen[name]:
                        chosen[name].append(best)
        return chosen


def _by_family(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.case.family, []).append(trial)
    return found


def _with_place_for_held(launch: Launch) -> Launch:
    place = torch.zeros(math.prod(launch.grid), dtype=torch.int64)
    return replace(launch, arguments={HELD: place, **launch.arguments}, outputs=(HELD, *launch.outputs))


class _Runner(LocalRunner):
    """Simulates, and stops a launch that does not end."""

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions
    ) -> Iterator[RunResult]:
        signal.signal(signal.SIGVTALRM, _stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS)
        try:
            yield from super().simulate(kernel, launches, options)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(*_: object) -> None:
    raise TimeoutError("the launch does not end")


# --------------------------------------------------------------------------------------------------------------- sweep


@cache
def _bench(name: str) -> Bench:
    return Bench(PUZZLES[name])


def judge(task: tuple[str, tuple[str, ...]]) -> list[Fate]:
    """Some misconceptions of a puzzle under every guard, in this process."""
    puzzle, chosen = task
    bench = _bench(puzzle)
    fates = []
    for wrong in (m for m in bank(puzzle) if m.name in chosen):
        try:
            fates += [fate for guard in bench.guards if (fate := bench.fate(wrong, guard)) is not None]
        except Exception as error:
            raise RuntimeError(f"{puzzle}/{wrong.name}: {type(error).__name__}: {error}") from error
    return fates


def sweep(puzzles: Sequence[Puzzle], jobs: int, sample: int = 0) -> Iterator[list[Fate]]:
    """For each puzzle every wrong kernel under every guard, or `sample` wrong kernels, spread over `jobs` processes."""
    parts = max(1, jobs // len(puzzles))
    tasks = []
    for puzzle in puzzles:
        known = [m.name for m in bank(puzzle.name)]
        chosen = random.Random(puzzle.name).sample(known, min(sample, len(known))) if sample else known
        tasks += [(puzzle.name, tuple(chosen[part::parts])) for part in range(parts)]
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, context.Pool(jobs, start, (folder,)) as pool:
        found = pool.imap(judge, tasks)
        for _ in puzzles:
            yield [fate for _ in range(parts) for fate in next(found)]
