"""One check, read top to bottom: the rules, the compiler, the simulator and what it saw, the GPU, the verdict.

Every verb and the grader go through `check_source`. `_Check.judge` calls the gates in their order; each has a module of its own.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from checker import gpu
from checker.judge import compile_gate, memory_gate, traffic_gate, values_gate
from checker.judge.diagnosis import NONE_KNOWN, ONLY_ON_GPU, find_misconception
from checker.judge.experiments import what_turns_it_right
from checker.judge.gpu_gate import NOT_RUN, gpu_gate, worth_launching
from checker.judge.large_launches import FarLaunch, far_launches, late_launches
from checker.judge.launches import Planned, Prepared, cases_of, plan, prepare_all, without_numbers
from checker.judge.outcome import Outcome, in_full, simulate_cases
from checker.judge.own_lines import diagnosis_in_own_lines, in_own_lines
from checker.judge.runner import Runner, session
from checker.judge.smallest_case import smallest_case
from checker.judge.source_gate import source_gate
from checker.judge.verdict import GATES, Diagnosis, Gate, GateResult, Verdict
from checker.puzzle import Case, Launch, Puzzle
from checker.simulator.trace import Trace
from checker.submission.kernel import KernelSource

Device = Literal["cpu", "cuda"]
DEVICES = ("auto", "cpu", "cuda")
_MEDALS = "Speed earns medals and is measured by `bench`; it never decides whether a kernel passes."


class DeviceMissing(RuntimeError):
    """A GPU was requested by name, and this machine has none that torch can use."""


def resolve_device(name: str) -> Device:
    """The device that ``auto``, ``cpu`` or ``cuda`` means on this machine. Raises DeviceMissing, ValueError."""
    if name not in DEVICES:
        raise ValueError(f"device is one of {', '.join(DEVICES)}, not {name!r}")
    if name == "cpu":
        return "cpu"
    if gpu.available():
        return "cuda"
    if name == "cuda":
        raise DeviceMissing(
            "device cuda was requested, but torch can use no NVIDIA GPU here: `python -m checker doctor` says why"
        )
    return "cpu"


def check_source(
    puzzle: Puzzle,
    source: KernelSource,
    device: str = "auto",
    *,
    submission: str = "",
    diagnose: bool = True,
    runner: Runner | None = None,
    seed: int | None = None,
    hurry: bool = True,
) -> Verdict:
    """Judge one kernel. Nothing that a kernel does makes this raise.

    `runner` defaults to the shared warm sandbox. A `seed` draws new numbers for every case, and further cases; the same seed gives
    the same cases. In a `hurry` all processors work on this verdict, and everything is compiled while the simulator runs; otherwise
    a verdict takes longer and costs less. If the machinery breaks, the verdict's status is ``infra_error``. Raises DeviceMissing and
    ValueError for a `device` that this machine does not have.
    """
    where = resolve_device(device)
    try:
        if runner is None:
            from checker.sandbox import Sandbox

            runner = cast(Runner, Sandbox.shared())
        with session(runner, gpu=where == "cuda", hurry=hurry) as shared:
            return _Check(puzzle, source, where, shared, diagnose, seed, hurry).verdict(submission)
    except Exception as error:  # learners must not pay for our defects
        return infra_verdict(puzzle, submission, where, error)


@dataclass
class _Check:
    """One verdict in the making."""

    puzzle: Puzzle
    source: KernelSource
    device: Device
    runner: Runner
    wants_diagnosis: bool
    seed: int | None
    hurry: bool
    gates: dict[Gate, GateResult] = field(default_factory=dict)
    compilation: compile_gate.Compilation | None = None
    diagnosis: Diagnosis | None = None
    smallest: Case | None = None
    right: int = 0
    run: int = 0

    def verdict(self, submission: str) -> Verdict:
        started = time.perf_counter()
        self.judge()
        reached = [self.gates[gate] for gate in GATES if gate in self.gates]
        stopped = next((result for result in reached if result.status not in ("passed", "skipped")), None)
        status = stopped.status if stopped else "passed"
        reason = f"Not reached: `{stopped.gate}` comes first." if stopped else _MEDALS
        gates = [self.gates.get(gate) or GateResult(gate, "skipped", reason) for gate in GATES]
        return Verdict(
            puzzle=self.puzzle.name,
            submission=submission,
            status=status,
            device=self.device,
            seconds=time.perf_counter() - started,
            score=float(self.puzzle.points) if status == "passed" else 0.0,
            max_score=float(self.puzzle.points),
            gates=tuple(in_own_lines(gate, self.source) for gate in gates),
            diagnosis=diagnosis_in_own_lines(self.diagnosis, self.source),
            smallest=self.smallest,
            source=self.source.text,
            first_line=self.source.first_line,
            seed=self.seed,
            cases_right=self.right,
            cases_run=self.run,
        )

    def judge(self) -> None:
        """The gates in their order, the costly part of `compile` late. The first that does not pass ends it, and the rest are skipped."""
        # source: a kernel that breaks a rule is neither compiled nor run
        if not self.add(source_gate(self.puzzle, self.source)):
            return

        # compile: first every dtype, flag and configuration through the front end; a kernel that no GPU takes is not simulated
        cases = cases_of(self.puzzle, self.seed)
        small = [case for case in cases if "cpu" in case.devices]
        launches = prepare_all(self.puzzle, plan(self.puzzle, small, self.source.configs))
        here = (gpu.capability() or None) if self.device == "cuda" else None
        self.compilation = compilation = compile_gate.Compilation(
            self.puzzle, self.source, self.runner, launches, here, ahead=self.hurry
        )
        if not self.add(compile_gate.result(self.source, compilation, compilation.first())):
            return
        # with a GPU, whatever its launches will look up; without one, every other dtype, configuration and GPU
        on_gpu: list[Planned] = []
        if self.device == "cuda":
            large = [case for case in cases if "gpu" in case.devices]
            on_gpu = worth_launching(self.puzzle, large, self.source.configs, launches, [compilation.largest])
        if self.hurry:
            compilation.begin_rest(self.gpu_launches(on_gpu, launches))

        # simulate: every case in one pass, and launches whose offsets pass 2³¹
        far = far_launches(self.puzzle, launches)
        seen = simulate_cases(self.puzzle, self.source, self.runner, [*launches, *(one.prepared for one in far)])
        outcomes, far_outcomes = seen[: len(launches)], seen[len(launches) :]
        self.right, self.run = sum(outcome.right for outcome in outcomes), len(launches)
        outcomes = self.before_the_timeout(outcomes)
        if not self.add(compile_gate.result(self.source, compilation, compilation.largest_variant())):
            return

        # values, memory, traffic: each looks at the same outcomes, and runs something only if it fails
        if not self.passes(values_gate, outcomes):
            return
        clean = memory_gate.failure(self.puzzle, outcomes) is None
        if clean and not (self.reaches_far(far, far_outcomes) and self.counts_late(launches)):
            return
        if not (self.passes(memory_gate, outcomes) and self.passes(traffic_gate, outcomes)):
            return

        # compile, the rest: a wrong kernel does not need it
        if not self.hurry:
            compilation.begin_rest(self.gpu_launches(on_gpu, launches))
        if not self.add(compile_gate.result(self.source, compilation, compilation.rest())):
            return

        # gpu: only on request; `speed` is up to `bench`
        if self.device == "cpu":
            self.add(GateResult("gpu", "skipped", NOT_RUN))
        elif not self.add(gpu_gate(self.puzzle, self.source, self.runner, on_gpu)) and self.wants_diagnosis:
            self.diagnosis = ONLY_ON_GPU

    def gpu_launches(self, planned: Sequence[Planned], prepared: Sequence[Prepared]) -> list[Launch]:
        """The gpu gate's launches as the compiler sees them; the simulator has run most of them."""
        simulated = {(one.case.name, repr(one.config)): one.launch for one in prepared}
        return [
            simulated.get((case.name, repr(config))) or without_numbers(self.puzzle, case, config)
            for case, config in planned
        ]

    def add(self, result: GateResult) -> bool:
        """Record a gate's result in place of its last one; whether the next gate is reached."""
        self.gates[result.gate] = result
        reached = result.status in ("passed", "skipped")
        if not reached and self.compilation is not None:
            self.compilation.give_up()
        return reached

    def passes(self, gate: SimulatedGate, outcomes: Sequence[Outcome]) -> bool:
        """Add the gate's result; if it fails, also find the smallest case that fails the same way, and the misconception."""
        puzzle, source, runner = self.puzzle, self.source, self.runner
        failing = gate.failure(puzzle, outcomes)
        if failing is None:
            return self.add(gate.passed(puzzle, outcomes))
        if self.compilation is not None:
            self.compilation.give_up()

        def fails(outcome: Outcome) -> bool:
            return gate.fails(puzzle, outcome, failing)

        full = None
        if failing.ran:  # `simulate_cases` has already run the first wrong case in full
            done = failing.trace is not None and bool(failing.trace.events)
            full = failing if done else in_full(puzzle, source, runner, failing)
        replay = full.trace if full is not None else None
        # if every case fails, no change of one can turn it right
        alike = [outcome.case for outcome in outcomes if fails(outcome)]
        mixed = failing.ran and len(alike) < len(outcomes)
        apart = what_turns_it_right(puzzle, source, runner, failing.prepared, fails, alike) if mixed else ""
        self.add(gate.failed(puzzle, source, outcomes, failing, replay, apart))
        if failing.result.status not in ("passed", "runtime_error"):
            return False  # it was stopped from outside, and running it again teaches nothing
        self.smallest = smallest_case(puzzle, source, runner, failing.prepared, fails)
        if self.wants_diagnosis:
            self.diagnosis = find_misconception(puzzle, source, runner, outcomes, failing, gate.GATE, replay)
        return False

    def before_the_timeout(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Without a last case that took too long, if a smaller one shows what is wrong: its card says more than a time limit."""
        if not outcomes or outcomes[-1].result.status != "timeout":
            return outcomes
        gates: tuple[SimulatedGate, ...] = (values_gate, memory_gate, traffic_gate)
        return outcomes[:-1] if any(gate.failure(self.puzzle, outcomes[:-1]) for gate in gates) else outcomes

    def reaches_far(self, launches: Sequence[FarLaunch], outcomes: Sequence[Outcome]) -> bool:
        """Whether offsets past 2³¹ reach the right memory. If not, the memory gate fails."""
        for launch, outcome in zip(launches, outcomes, strict=False):
            result = launch.failed(self.source, outcome)
            if result is not None:
                if self.wants_diagnosis:
                    belief = launch.diagnosis(self.puzzle, self.source, self.runner, result)
                    self.diagnosis = belief or NONE_KNOWN
                return self.add(result)
        return True

    def counts_late(self, prepared: Sequence[Prepared]) -> bool:
        """Whether the last of very many programs reach the right memory. If not, the memory gate fails.

        They run once everything else is right, because a kernel whose programs each loop over all rows takes long here.
        """
        launches = late_launches(self.puzzle, prepared)
        outcomes = simulate_cases(self.puzzle, self.source, self.runner, [one.prepared for one in launches])
        for launch, outcome in zip(launches, outcomes, strict=False):
            result = launch.failed(self.source, outcome)
            if result is not None:
                self.diagnosis = NONE_KNOWN if self.wants_diagnosis else None
                return self.add(result)
        return True


def infra_verdict(puzzle: Puzzle, submission: str, device: str, error: Exception) -> Verdict:
    """The verdict when the machinery itself broke, which says nothing about the kernel."""
    message = (
        f"The checker could not do its work ({type(error).__name__}: {error}). This says nothing about your kernel. "
        "Run it again. If this stays, `doctor` shows what is missing on this machine."
    )
    first = GateResult(GATES[0], "infra_error", message, detail="".join(traceback.format_exception(error)))
    gates = (first, *(GateResult(gate, "skipped", "") for gate in GATES[1:]))
    return Verdict(puzzle.name, submission, "infra_error", device, 0.0, 0.0, float(puzzle.points), gates)


class SimulatedGate(Protocol):
    """A module whose gate judges simulated outcomes: `values_gate`, `memory_gate`, `traffic_gate`."""

    GATE: Gate

    def failure(self, puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
        """The outcome that the gate reports, or None if it passes."""

    def fails(self, puzzle: Puzzle, outcome: Outcome, like: Outcome) -> bool:
        """Whether `outcome` fails the gate the way `like` does."""

    def passed(self, puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult: ...

    def failed(
        self,
        puzzle: Puzzle,
        source: KernelSource,
        outcomes: Sequence[Outcome],
        failing: Outcome,
        replay: Trace | None,
        apart: str,
    ) -> GateResult:
        """`replay` is the failing case's trace with its events, which lines come from. `apart` says which change turns it right."""
