"""One check, read top to bottom: the rules, the compiler, the simulator and its findings, the GPU, the verdict.

Every verb and the grader go through `check_source`. `_Check.judge` calls the gates in their order; each has a module of its own.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from checker import gpu
from checker.judge import compile_gate, memory_gate, traffic_gate, values_gate
from checker.judge.aimed_cases import in_words, run_aimed
from checker.judge.conditions import OneSided, one_sided
from checker.judge.diagnosis import NONE_KNOWN, ONLY_ON_GPU, find_misconception
from checker.judge.experiments import what_turns_it_right
from checker.judge.gpu_gate import NOT_RUN, gpu_gate, worth_launching
from checker.judge.launcher import LauncherCheck
from checker.judge.launches import Planned, Prepared, cases_of, plan, prepare_all, with_zeros
from checker.judge.outcome import Candidate, Failure, Outcome
from checker.judge.plainest_case import is_everyday, plainest_failure
from checker.judge.runner import Runner, at_most, session
from checker.judge.simulated_gates import SIMULATED, SimulatedGate, has_fault
from checker.judge.source_gate import source_gate
from checker.judge.verdict import NO_FAULT, Diagnosis, GateResult, Unreached, Verdict, own_line
from checker.judge.wraps import diagnosis, huge_launches
from checker.puzzle import GATES, Gate, Launch, Puzzle
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
    thorough: bool = False,
    hurry: bool = True,
    amd: bool = False,
) -> Verdict:
    """Judge one kernel. Nothing that a kernel does makes this raise.

    `runner` defaults to the shared warm sandbox. A `seed` draws new numbers for every case, and additional cases; the same seed gives
    the same cases. A `thorough` check, and one with a seed, also aims cases at conditions that no case reached. In a `hurry` all
    processors work on this verdict, and the compiler runs alongside the simulator; otherwise a verdict takes longer and costs less.
    With `amd`, a right kernel is also compiled for AMD's GPUs.
    If the machinery breaks, the verdict's status is ``infra_error``. Raises DeviceMissing and ValueError for a `device` that this
    machine does not have.
    """
    where = resolve_device(device)
    try:
        if runner is None:
            from checker.sandbox import Sandbox

            runner = cast(Runner, Sandbox.shared())
        with at_most(1), session(runner, gpu=where == "cuda", hurry=hurry) as shared:
            return _Check(Candidate(puzzle, source, shared), where, diagnose, seed, thorough, hurry, amd).verdict(
                submission
            )
    except Exception as error:  # learners must not pay for our defects
        return infra_verdict(puzzle, submission, where, error)


@dataclass
class _Check:
    """One verdict in the making."""

    candidate: Candidate
    device: Device
    wants_diagnosis: bool
    seed: int | None
    thorough: bool
    hurry: bool
    amd: bool
    gates: dict[Gate, GateResult] = field(default_factory=dict)
    compilation: compile_gate.Compilation | None = None
    diagnosis: Diagnosis | None = None
    right: int = 0
    run: int = 0
    unreached: tuple[Unreached, ...] = ()

    @property
    def puzzle(self) -> Puzzle:
        return self.candidate.puzzle

    @property
    def source(self) -> KernelSource:
        return self.candidate.source

    def verdict(self, submission: str) -> Verdict:
        started = time.perf_counter()
        self.judge()
        reached = [self.gates[gate] for gate in GATES if gate in self.gates]
        stopped = next((result for result in reached if result.status not in NO_FAULT), None)
        status = stopped.status if stopped else "passed"
        reason = f"Not reached: `{stopped.gate}` comes first." if stopped else _MEDALS
        gates = (self.gates.get(gate) or GateResult(gate, "skipped", reason) for gate in GATES)
        return Verdict(
            puzzle=self.puzzle.name,
            submission=submission,
            status=status,
            device=self.device,
            seconds=time.perf_counter() - started,
            score=float(self.puzzle.points) if status == "passed" else 0.0,
            max_score=float(self.puzzle.points),
            gates=tuple(gate.in_own_lines(self.source) for gate in gates),
            diagnosis=self.diagnosis and own_line(self.diagnosis, self.source),
            source=self.source.text,
            first_line=self.source.first_line,
            seed=self.seed,
            cases_right=self.right,
            cases_run=self.run,
            unreached=tuple(own_line(one, self.source) for one in self.unreached) if status == "passed" else (),
        )

    def judge(self) -> None:
        """The gates in their order, the costly part of `compile` late. The first that does not pass ends it, and the rest are skipped."""
        if self.puzzle.launcher is not None:
            launcher = LauncherCheck(self.candidate, self.puzzle.launcher, self.seed)
            all(self.add(result) for result in launcher.gates(on_gpu=self.device == "cuda"))
            self.right, self.run = launcher.right, launcher.run
            return

        # source: a kernel that breaks a rule is neither compiled nor run
        if not self.add(source_gate(self.puzzle, self.source)):
            return

        # compile: first every dtype, flag and configuration through the front end; a kernel that no GPU takes is not simulated
        cases = cases_of(self.puzzle, self.seed)
        small = [case for case in cases if "cpu" in case.devices]
        launches = prepare_all(self.puzzle, plan(small, self.source.configs))
        here = (gpu.capability() or None) if self.device == "cuda" else None
        self.compilation = compilation = compile_gate.Compilation(self.candidate, launches, here, self.amd)
        # in a hurry, one variant will do for now: the others are read, and machine code is made, during the simulation
        if not self.add(compile_gate.result(self.source, compilation, compilation.first(go_on=self.hurry))):
            return
        on_gpu: list[Planned] = []
        if self.device == "cuda":
            large = [case for case in cases if "gpu" in case.devices]
            on_gpu = worth_launching(self.puzzle, large, self.source.configs, launches, [compilation.largest])
        if self.hurry:
            compilation.begin_rest(self.gpu_launches(on_gpu, launches), aside=True)

        # simulate: every case in one pass
        outcomes = self.candidate.simulate_cases(launches)
        if not self.add(compile_gate.result(self.source, compilation, compilation.front_end())):
            return
        self.right, self.run = sum(outcome.right for outcome in outcomes), len(launches)
        outcomes = self.before_the_timeout(outcomes)

        # values, memory, traffic: each looks at the same outcomes, and runs something only if it fails
        if not self.passes(values_gate, outcomes):
            return
        if not self.passes(memory_gate, outcomes):
            return
        if not self.counts_far_enough(launches) or not self.passes(traffic_gate, outcomes):
            return
        if not self.is_right_beyond(outcomes):
            return

        # compile, the rest: a wrong kernel does not need it
        if not self.hurry:
            compilation.begin_rest(self.gpu_launches(on_gpu, launches))
        if not self.add(compile_gate.result(self.source, compilation, compilation.rest())):
            return

        # gpu: only on request; `speed` is up to `bench`
        if self.device == "cpu":
            self.add(GateResult("gpu", "skipped", NOT_RUN))
        elif not self.add(gpu_gate(self.candidate, on_gpu)) and self.wants_diagnosis:
            self.diagnosis = ONLY_ON_GPU

    def gpu_launches(self, planned: Sequence[Planned], prepared: Sequence[Prepared]) -> list[Launch]:
        """The gpu gate's launches as the compiler sees them; the simulator has run most of them."""
        simulated = {(one.case.name, repr(one.config)): one.launch for one in prepared}
        return [
            simulated.get((case.name, repr(config))) or with_zeros(self.puzzle, case, config)
            for case, config in planned
        ]

    def add(self, result: GateResult) -> bool:
        """Record a gate's result in place of its last one. Returns whether the next gate is reached."""
        self.gates[result.gate] = result
        reached = result.status in NO_FAULT
        if not reached and self.compilation is not None:
            self.compilation.give_up()
        return reached

    def passes(self, gate: SimulatedGate, outcomes: Sequence[Outcome], *, in_bank: bool = True) -> bool:
        """Add the gate's result. If it fails, its card shows the plainest case that fails the same way, and the misconception.

        Each kernel of the bank fails one of the puzzle's cases: what is right in them all is not `in_bank`.
        """
        candidate, failing = self.candidate, gate.failing_outcome(self.puzzle, outcomes)
        if failing is None:
            return self.add(gate.passed(self.puzzle, outcomes))
        if self.compilation is not None:
            self.compilation.give_up()
        if failing.result.status not in ("passed", "runtime_error"):
            # it was stopped from outside, and running it again teaches nothing
            return self.add(gate.failed(candidate, Failure(failing, outcomes)))

        def fails(outcome: Outcome) -> bool:
            return gate.fails(self.puzzle, outcome, failing)

        alike = [outcome for outcome in outcomes if fails(outcome)]
        plainest = plainest_failure(candidate, alike, fails)
        full = candidate.in_full(plainest)
        shown = full if fails(full) else plainest
        if self.wants_diagnosis and shown.ran:
            self.diagnosis = find_misconception(candidate, outcomes, shown, gate.GATE) if in_bank else NONE_KNOWN
        named = self.diagnosis is not None and self.diagnosis.misconception is not None
        experiment = ""
        if shown.ran and not (named and is_everyday(shown.case)):
            experiment = what_turns_it_right(candidate, shown.prepared, fails, [outcome.case for outcome in alike])
        return self.add(gate.failed(candidate, Failure(shown, outcomes, experiment)))

    def is_right_beyond(self, outcomes: Sequence[Outcome]) -> bool:
        """Note the conditions that no case reached. A thorough check aims cases at them, in which the kernel has to be right, too."""
        marks = one_sided(self.puzzle, self.source, (outcome.trace for outcome in outcomes))
        aimed: list[tuple[OneSided, Outcome]] = []
        if marks and (self.thorough or self.seed is not None):
            aimed = run_aimed(self.candidate, marks, self.seed or 0)
        self.unreached = tuple(in_words(mark, aimed) for mark in marks)
        more = [outcome for _, outcome in aimed]
        self.right, self.run = self.right + sum(outcome.right for outcome in more), self.run + len(more)
        return not more or all(self.passes(gate, [*outcomes, *more], in_bank=False) for gate in SIMULATED)

    def before_the_timeout(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Leaves out a last case that took too long if an earlier one shows what is wrong: its card says more than a time limit."""
        if not outcomes or outcomes[-1].result.status != "timeout":
            return outcomes
        return outcomes[:-1] if has_fault(self.puzzle, outcomes[:-1]) else outcomes

    def counts_far_enough(self, launches: Sequence[Prepared]) -> bool:
        """Whether index arithmetic also holds in launches too large to make. If not, the memory gate fails."""
        for launch in huge_launches(self.puzzle, launches) if self.puzzle.huge else ():
            result = launch.failed(self.candidate)
            if result is not None:
                if self.wants_diagnosis:
                    self.diagnosis = diagnosis(self.candidate, result)
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
