"""One kernel, all gates, one verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

from checker.judge import memory, traffic, values
from checker.judge.compiling import Compilation, Compiled, compile_gate
from checker.judge.diagnosis import ONLY_ON_GPU
from checker.judge.diagnosis import diagnose as find_misconception
from checker.judge.far import far_launches, far_warning
from checker.judge.graphics import NOT_RUN, gpu_gate
from checker.judge.outcome import Outcome, plan, prepare_all, simulate
from checker.judge.prepare import Prepared, hidden
from checker.judge.runner import Runner, concurrent
from checker.judge.shrink import shrink
from checker.judge.verdict import GATES, Diagnosis, Gate, GateResult, Status, Verdict
from checker.judge.words import main_piece
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission import rules
from checker.submission.kernel import KernelSource, Violation

_INVITATION = (
    "Nothing is written here yet. Put your lines between the two markers; a first attempt that is wrong "
    "already tells you a lot."
)
_MEDALS = "Speed earns medals and is measured by `bench`; it never decides whether a kernel passes."


def judge(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    *,
    device: Literal["cpu", "cuda"] = "cpu",
    diagnose: bool = True,
    submission: str = "",
    violations: Sequence[Violation] | None = None,
    secret: bytes | None = None,
) -> Verdict:
    """Run the gates in their order and say what was seen.

    `violations` are the rules the source breaks, computed here where not given. `device` "cuda" also runs the `gpu` gate.
    `secret` mixes a key into the seed of every case, so that nobody can know the numbers of a graded run in advance.
    """
    started = time.perf_counter()
    judging = _Judging(puzzle, source, runner, device, diagnose, secret)
    judging.run(violations)
    text, _, first_line = main_piece(source)
    status: Status = next((g.status for g in judging.gates if g.status not in ("passed", "skipped")), "passed")
    return Verdict(
        puzzle=puzzle.name,
        submission=submission,
        status=status,
        device=device,
        seconds=time.perf_counter() - started,
        score=float(puzzle.points) if status == "passed" else 0.0,
        max_score=float(puzzle.points),
        gates=_complete(judging.gates),
        diagnosis=judging.diagnosis,
        smallest=judging.smallest,
        source=text,
        first_line=first_line,
    )


def _complete(done: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """The gates that were not reached, added as skipped."""
    results = {result.gate: result for result in done}
    stopped = next((g.gate for g in done if g.status not in ("passed", "skipped")), None)

    def skipped(gate: Gate) -> GateResult:
        reason = f"Not reached: `{stopped}` comes first." if stopped else _MEDALS
        return GateResult(gate, "skipped", reason)

    return tuple(results.get(gate) or skipped(gate) for gate in GATES)


class _Judging:
    """The state of one verdict in the making."""

    def __init__(
        self, puzzle: Puzzle, source: KernelSource, runner: Runner, device: str, diagnose: bool, secret: bytes | None
    ) -> None:
        self.puzzle, self.source, self.runner = puzzle, source, runner
        self.device, self.wants_diagnosis = device, diagnose
        self.cases = tuple(hidden(case, puzzle, secret) for case in puzzle.cases)
        self.gates: list[GateResult] = []
        self.diagnosis: Diagnosis | None = None
        self.smallest: Case | None = None
        self.far: list[Outcome] = []  # of the same kernel, with offsets past 2³¹

    def run(self, violations: Sequence[Violation] | None) -> None:
        if not self._add(self._source(violations)):
            return
        cases = [case for case in self.cases if "cpu" in case.devices]
        prepared = prepare_all(self.puzzle, plan(self.puzzle, cases, self.source.configs))
        compilation = Compilation(self.puzzle, self.source, self.runner, prepared)
        compiled = compilation.first()
        if compiled.broken():
            self._add(compile_gate(self.source, compiled))
            return
        outcomes = self._simulate(prepared, compilation, compiled)
        passed = self._values(outcomes) and self._memory(outcomes) and self._traffic(outcomes)
        if passed:
            self._gpu(outcomes)

    def _add(self, result: GateResult) -> bool:
        self.gates.append(result)
        return result.status in ("passed", "skipped")

    def _source(self, violations: Sequence[Violation] | None) -> GateResult:
        if rules.is_untouched(self.source):
            return GateResult(
                "source",
                "not_attempted",
                _INVITATION,
                advice="`hint` has three levels, and the first only asks a question.",
            )
        found = list(rules.violations(self.source, self.puzzle) if violations is None else violations)
        if not found:
            return GateResult("source", "passed", "Keeps the rules of the course.")
        first, rest = found[0], found[1:]
        more = f" {len(rest)} more below." if rest else ""
        return GateResult(
            "source",
            "forbidden",
            f"{_place(self.source, first)[0].upper()}{_place(self.source, first)[1:]}: {first.message}{more}",
            line=first.line,
            detail="\n".join(f"{_place(self.source, v)}: {v.message}" for v in rest),
            advice=rules.RULES.get(
                first.rule, "A kernel uses `tl` and its own parameters, and nothing else of Python."
            ),
        )

    def _simulate(self, prepared: Sequence[Prepared], compilation: Compilation, compiled: Compiled) -> list[Outcome]:
        """Simulate every case in one pass; the other GPUs are compiled for meanwhile, where the runner can do both."""
        launches = [*prepared, *far_launches(self.puzzle, prepared)]

        def pass_over() -> list[Outcome]:
            outcomes = list(simulate(self.puzzle, self.source, self.runner, launches))
            self.far = outcomes[len(prepared) :]
            return outcomes[: len(prepared)]

        if concurrent(self.runner):
            with ThreadPoolExecutor(1) as pool:
                waiting: Future[Compiled] = pool.submit(compilation.rest, compiled)
                outcomes = pass_over()
                self._add(compile_gate(self.source, waiting.result()))
        else:
            outcomes = pass_over()
            self._add(compile_gate(self.source, compilation.rest(compiled)))
        return outcomes

    def _values(self, outcomes: Sequence[Outcome]) -> bool:
        failing = values.values_failure(outcomes)
        if failing is None:
            return self._add(values.values_gate(self.source, outcomes))
        if failing.result.status not in ("passed", "runtime_error"):
            return self._add(values.values_gate(self.source, outcomes))
        stopped: Status | None = None if failing.ran else failing.result.status

        def fails(outcome: Outcome) -> bool:
            return outcome.result.status == stopped if stopped else outcome.ran and not outcome.right

        replay = self._replay(failing, explain_nan=_has_nan(failing)) if failing.ran else None
        self._add(values.values_gate(self.source, outcomes, replay))
        self._explain("values", outcomes, failing, replay, fails)
        return False

    def _memory(self, outcomes: Sequence[Outcome]) -> bool:
        failing = memory.memory_failure(outcomes)
        if failing is None:
            warnings = tuple(w for o in self.far if (w := far_warning(self.puzzle, self.source, o)) is not None)
            return self._add(replace(memory.memory_gate(self.source, outcomes), warnings=warnings))
        self._add(memory.memory_gate(self.source, outcomes))
        kind = memory.memory_findings(failing)[0].kind
        self._explain(
            "memory",
            outcomes,
            failing,
            self._replay(failing),
            lambda outcome: any(f.kind == kind for f in memory.memory_findings(outcome)),
        )
        return False

    def _traffic(self, outcomes: Sequence[Outcome]) -> bool:
        failing = traffic.traffic_failure(self.puzzle, outcomes)
        if failing is None:
            return self._add(traffic.traffic_gate(self.puzzle, self.source, outcomes))
        replay = self._replay(failing)
        self._add(traffic.traffic_gate(self.puzzle, self.source, outcomes, replay))
        self._explain(
            "traffic", outcomes, failing, replay, lambda outcome: bool(traffic.overdrawn(self.puzzle, outcome))
        )
        return False

    def _gpu(self, outcomes: Sequence[Outcome]) -> None:
        if self.device != "cuda":
            self._add(GateResult("gpu", "skipped", NOT_RUN))
            return
        cases = [case for case in self.cases if "gpu" in case.devices]
        planned = plan(self.puzzle, cases, self.source.configs)
        if not self._add(gpu_gate(self.puzzle, self.source, self.runner, cases, planned)) and self.wants_diagnosis:
            self.diagnosis = Diagnosis(None, ONLY_ON_GPU)

    def _replay(self, failing: Outcome, explain_nan: bool = False) -> Trace | None:
        """The failing case once more, now with every event kept: where the lines of a message come from."""
        options = SimulateOptions(events=True, explain_nan=explain_nan)
        return next(
            (o.trace for o in simulate(self.puzzle, self.source, self.runner, [failing.prepared], options)), None
        )

    def _explain(
        self,
        gate: str,
        outcomes: Sequence[Outcome],
        failing: Outcome,
        replay: Trace | None,
        fails: Callable[[Outcome], bool],
    ) -> None:
        self.smallest = shrink(self.puzzle, self.source, self.runner, failing.case, failing.prepared.config, fails)
        if self.wants_diagnosis:
            self.diagnosis = find_misconception(self.puzzle, self.source, self.runner, outcomes, failing, gate, replay)


def _place(source: KernelSource, violation: Violation) -> str:
    same = violation.origin in ("", main_piece(source)[1])
    return f"line {violation.line}" if same else f"line {violation.line} of {violation.origin}"


def _has_nan(outcome: Outcome) -> bool:
    return any(bool(outcome.result.tensors[name].isnan().any()) for name in outcome.prepared.launch.outputs)
