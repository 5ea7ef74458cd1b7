"""What the judge decided about one kernel. Everything shown or graded is made from this."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from checker.puzzle import Case
from checker.simulator.trace import Finding, Traffic

Status = Literal[
    "passed",
    "failed",
    "skipped",
    "not_attempted",
    "forbidden",
    "compile_error",
    "runtime_error",
    "timeout",
    "resource_limit",
    "protocol_error",
    "infra_error",
]
Gate = Literal["source", "compile", "values", "memory", "traffic", "gpu", "speed"]
STATUSES: tuple[Status, ...] = get_args(Status)
GATES: tuple[Gate, ...] = ("source", "compile", "values", "memory", "traffic", "gpu", "speed")


@dataclass(frozen=True)
class GateWarning:
    """Something worth knowing that does not fail a gate, e.g. a target that cannot run the kernel."""

    message: str
    line: int | None = None


@dataclass(frozen=True)
class Mismatch:
    """Where an output differs from the reference, in one case.

    `expected` (rounded to the output's dtype) and `got` are the window around `first` (the first wrong element, row-major),
    `window` its index ranges.
    `error` is |got - expected| over what the tolerance allows, for the whole output (> 1 is wrong, inf where not finite).
    `writer` is the program that stored `first`, None if none did; `writers` the program that stored each element (or -1).
    """

    case: Case
    output: str
    shape: tuple[int, ...]
    first: tuple[int, ...]
    wrong: int
    total: int
    window: tuple[tuple[int, int], ...]
    expected: np.ndarray
    got: np.ndarray
    error: np.ndarray
    writer: tuple[int, int, int] | None
    writers: np.ndarray | None
    line: int | None  # of the store that wrote `first`

    @property
    def first_values(self) -> tuple[float, float]:
        """What was got and what was expected, at the first wrong element."""
        at = tuple(i - start for i, (start, _) in zip(self.first, self.window, strict=True))
        return float(self.got[at]), float(self.expected[at])


@dataclass(frozen=True)
class GateResult:
    """One gate of the verdict: `message` is for the learner.

    `detail` belongs below it: a sentence per line about the other `findings`, or Triton's own words.
    """

    gate: Gate
    status: Status
    message: str
    line: int | None = None
    detail: str = ""
    advice: str = ""
    """The next thing to try, in one or two sentences."""
    case: Case | None = None
    mismatch: Mismatch | None = None
    findings: tuple[Finding, ...] = ()
    warnings: tuple[GateWarning, ...] = ()
    traffic: dict[str, tuple[Traffic, int, int]] = field(default_factory=dict)
    """Per tensor: what was moved in `case`, and the bytes allowed to be loaded and to be stored."""


@dataclass(frozen=True)
class Diagnosis:
    """The misconception whose kernel behaves as the learner's does; where `misconception` is None, `note` says what is known."""

    misconception: str | None
    believed: str = ""
    instead: str = ""
    try_: str = ""
    line: int | None = None
    """The learner's own line that carries the mistake, where there is just one."""
    note: str = ""


@dataclass(frozen=True, repr=False)
class Verdict:
    """What `check` returns. `passed` is about every gate that ran; whether the GPU was one of them is said by its gate."""

    puzzle: str
    submission: str
    status: Status
    device: str
    seconds: float
    score: float
    max_score: float
    gates: tuple[GateResult, ...]
    diagnosis: Diagnosis | None = None
    smallest: Case | None = None
    """The smallest case found that still fails, where the failing gate has one."""
    source: str = ""
    """The kernel as the learner wrote it, for pointing at lines."""
    first_line: int = 1
    seed: int | None = None
    """What the cases were drawn with, where they were not the puzzle's own."""
    cases_right: int = 0
    cases_run: int = 0
    """Of the cases that the simulator was to run, those whose values are right."""

    def __repr__(self) -> str:
        """One line: in a notebook the card stands above it already."""
        failure = self.failure
        where = f" at {failure.gate}" if failure is not None and self.status != "not_attempted" else ""
        score = f"{self.score:g} of {self.max_score:g} points"
        return f"<{self.puzzle}: {self.status.replace('_', ' ')}{where}, {score}>"

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def failure(self) -> GateResult | None:
        """The first gate that did not pass, if any."""
        return next((g for g in self.gates if g.status not in ("passed", "skipped")), None)
