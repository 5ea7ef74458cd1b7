"""What the judge decided about one kernel. Everything shown or graded is made from this."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar, get_args

import numpy as np

from checker.puzzle import Case, Gate
from checker.simulator.trace import Finding, Traffic
from checker.submission.kernel import KernelSource

Status = Literal[
    "passed",
    "front_end",
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
STATUSES: tuple[Status, ...] = get_args(Status)
"""``front_end``: Triton's front end takes the kernel, and this machine has no compiler that makes machine code of it."""
NO_FAULT: tuple[Status, ...] = ("passed", "front_end", "skipped")
"""A gate with one of these lets the next one run."""


@dataclass(frozen=True)
class GateWarning:
    """Something worth knowing that fails no gate, such as a GPU that cannot run the kernel."""

    message: str
    line: int | None = None


@dataclass(frozen=True)
class Input:
    """The numbers of an input tensor that belong to the first wrong element: `values` [rows, columns] of float64.

    `rows` and `columns` are their indices in the tensor's last two dimensions, and `lead` those in the dimensions before; a vector is
    one row. `beside`: rows and columns are those of the output, too. `axes` say what the last dimensions count, e.g. queries, as far
    as the film knows.
    """

    tensor: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: np.ndarray
    lead: tuple[int, ...] = ()
    beside: bool = False
    axes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mismatch:
    """Where an output differs from the reference, in one case.

    - `first` is the first wrong element, row-major, and `line` the store that wrote it.
    - `window` has the index ranges around it that `expected` (rounded to the output's dtype) and `got` show.
    - `error` is |got - expected| over what the tolerance allows, for the whole output: wrong above 1, inf if not finite.
    - `writer` is the program that stored `first`, or None; `writers` has the program that stored each element, or -1.
    - `inputs` are the numbers that `first` is made from, if they are few enough to look at. `by_hand`: all of them are there, and few
      enough to work it out.
    - `axes` say what the output's last dimensions count, as in `Input`.
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
    line: int | None
    inputs: tuple[Input, ...] = ()
    by_hand: bool = False
    axes: tuple[str, ...] = ()

    @property
    def first_values(self) -> tuple[float, float]:
        """The value at the first wrong element, and the expected value."""
        at = tuple(i - start for i, (start, _) in zip(self.first, self.window, strict=True))
        return float(self.got[at]), float(self.expected[at])


@dataclass(frozen=True)
class GateResult:
    """One gate of the verdict. `message` is for the learner, and `advice` is the next thing to try, in a sentence or two.

    `detail` belongs below the message: a sentence per line about the other `findings`, or Triton's own words. `traffic` has, per
    tensor, what was moved in `case`, and the bytes that may be loaded and stored.
    """

    gate: Gate
    status: Status
    message: str
    line: int | None = None
    detail: str = ""
    advice: str = ""
    case: Case | None = None
    mismatch: Mismatch | None = None
    findings: tuple[Finding, ...] = ()
    warnings: tuple[GateWarning, ...] = ()
    traffic: dict[str, tuple[Traffic, int, int]] = field(default_factory=dict)

    def in_own_lines(self, source: KernelSource) -> GateResult:
        """The result with each line counted as in the file or cell that it is written in."""
        return replace(
            own_line(self, source),
            mismatch=self.mismatch and own_line(self.mismatch, source),
            findings=tuple(own_line(finding, source) for finding in self.findings),
            warnings=tuple(own_line(warning, source) for warning in self.warnings),
        )


@dataclass(frozen=True)
class Diagnosis:
    """The misconception whose kernel behaves like the learner's. If there is none, `note` says so; if it is not
    the only one, `note` says that.

    `line` is the learner's own line with the mistake, if there is just one.
    """

    misconception: str | None
    believed: str = ""
    instead: str = ""
    try_: str = ""
    line: int | None = None
    note: str = ""
    second: Diagnosis | None = None
    """A second mistake: the kernel behaves like one with both."""


@dataclass(frozen=True)
class Unreached:
    """A condition of a right kernel that none of the puzzle's cases reached; `never` is the way it did not go: ``was never true``.

    `aimed` cases were added for it, and it went that way in `reached` of them.
    """

    line: int
    condition: str
    never: str
    aimed: int = 0
    reached: int = 0

    @property
    def words(self) -> str:
        """``stride == 0 was never true``, with the condition as code."""
        return f"`{self.condition}` {self.never}"


_Located = TypeVar("_Located", bound="Mismatch | GateResult | GateWarning | Finding | Diagnosis | Unreached")


def own_line(record: _Located, source: KernelSource) -> _Located:
    """`record` with its line counted as in the file or cell that the line is written in."""
    if isinstance(record, Diagnosis) and record.second is not None:
        record = replace(record, second=own_line(record.second, source))
    return record if record.line is None else replace(record, line=source.locate(record.line)[1])


@dataclass(frozen=True, repr=False)
class Verdict:
    """What `check` returns. It has `passed` if every gate that ran did; the `gpu` gate says whether it ran.

    - `source` is the kernel as the learner wrote it, from `first_line` on.
    - `seed` drew the cases, unless they are the puzzle's own.
    - The values of `cases_right` cases are right, out of `cases_run` that the simulator had to run.
    - `unreached` is worth a look if the kernel passed. It costs nothing.
    """

    puzzle: str
    submission: str
    status: Status
    device: str
    seconds: float
    score: float
    max_score: float
    gates: tuple[GateResult, ...]
    diagnosis: Diagnosis | None = None
    source: str = ""
    first_line: int = 1
    seed: int | None = None
    cases_right: int = 0
    cases_run: int = 0
    unreached: tuple[Unreached, ...] = ()

    def __repr__(self) -> str:
        """One line, because a notebook already shows the card above it."""
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
        return next((g for g in self.gates if g.status not in NO_FAULT), None)
