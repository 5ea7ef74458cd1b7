"""The gates that judge simulated outcomes, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from checker.judge import memory_gate, traffic_gate, values_gate
from checker.judge.outcome import Candidate, Failure, Outcome
from checker.judge.verdict import GateResult
from checker.puzzle import Gate, Puzzle


class SimulatedGate(Protocol):
    """A module whose gate judges simulated outcomes: `values_gate`, `memory_gate`, `traffic_gate`."""

    GATE: Gate

    def failing_outcome(self, puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
        """The outcome that the gate reports, or None if it passes."""

    def fails(self, puzzle: Puzzle, outcome: Outcome, like: Outcome) -> bool:
        """Whether `outcome` fails the gate the way `like` does."""

    def passed(self, puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult: ...

    def failed(self, candidate: Candidate, failure: Failure) -> GateResult: ...


SIMULATED: tuple[SimulatedGate, ...] = (values_gate, memory_gate, traffic_gate)


def has_fault(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> bool:
    """Whether one of these gates fails."""
    return any(gate.failing_outcome(puzzle, outcomes) is not None for gate in SIMULATED)
