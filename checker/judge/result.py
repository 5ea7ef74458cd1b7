"""`result/v1`: what a grader decided, as records that are stored, scored, shown and exported as they are.

Reading is strict, and the JSON schema comes from the records. A puzzle's result is the same wherever and however often a kernel
is judged, except for `seconds`.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from checker import gpu
from checker.judge.verdict import NO_FAULT, Diagnosis, Status, Verdict
from checker.pure_triton import VERSION, has_compiler
from checker.puzzle import Gate
from checker.submission.kernel import KernelSource
from checker.workspace import write_atomically

MAX_TEXT = 20_000
"""Characters of one text: messages quote what learners wrote."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a file. An unknown field is an error."""


# ------------------------------------------------------------------------------------------------------------- one puzzle


class GateRecord(Record, frozen=True, kw_only=True):
    """`case` names the case that failed the gate; `advice` is the next thing to try."""

    gate: Gate
    status: Status
    message: str
    line: int | None = None
    case: str | None = None
    advice: str = ""


class DiagnosisRecord(Record, frozen=True, kw_only=True):
    """`believed` is the misconception in a sentence; `message` also says what is true and what to try."""

    misconception: str | None
    message: str
    line: int | None = None
    believed: str = ""


class CaseCounts(Record, frozen=True, kw_only=True):
    """Of `run` cases, `right` had right values."""

    right: int
    run: int


class UnreachedRecord(Record, frozen=True, kw_only=True):
    """A condition that no case reached, with the way it never went: ``stride == 0 was never true``, the condition in backticks."""

    line: int
    condition: str


class Source(Record, frozen=True, kw_only=True):
    """Where a kernel was found, and its text. `cell` is set in a notebook, `line` is the learner's number of the first line."""

    file: str
    cell: int | None = None
    line: int | None = None
    sha256: str = ""
    text: str = ""

    @property
    def place(self) -> str:
        return self.file if self.cell is None else f"{self.file}, cell {self.cell}"


class Lateness(Record, frozen=True, kw_only=True):
    """`counted_days` are those that cost something; `factor` is the share of the score that is left."""

    days: float
    counted_days: int
    factor: float


class PuzzleResult(Record, frozen=True, kw_only=True):
    """One puzzle of one submission. The fields after `seconds` are set when a class is scored."""

    puzzle: str
    status: Status
    score: float
    max_score: float
    device: str
    seed: int | None = None
    cases: CaseCounts | None = None
    gates: tuple[GateRecord, ...] = ()
    diagnosis: DiagnosisRecord | None = None
    unreached: tuple[UnreachedRecord, ...] = ()
    """Of a kernel that passed: for a person to look at."""
    source: Source | None = None
    seconds: float = 0.0

    points: Mapping[str, float] = {}
    """The score by gate, before lateness."""
    verdict: str | None = None
    """The key of the stored verdict."""
    attempt: int = 1
    attempts: int = 1
    """How many different kernels were handed in for the puzzle."""
    time: str | None = None
    late: Lateness | None = None
    dropped: bool = False
    left_out: tuple[str, ...] = ()
    """The lines without which a kernel that breaks a rule earned its share of the points."""

    @property
    def front_end_only(self) -> bool:
        """Whether Triton's front end took the kernel on a machine that makes no machine code."""
        return any(gate.status == "front_end" for gate in self.gates)

    @property
    def failure(self) -> GateRecord | None:
        """The first gate that did not pass, if any."""
        return next((gate for gate in self.gates if gate.status not in NO_FAULT), None)


def result_of(verdict: Verdict, source: Source | None = None) -> PuzzleResult:
    """The record of a verdict. Texts are cleaned: they can be written and shown anywhere."""
    return PuzzleResult(
        puzzle=verdict.puzzle,
        status=verdict.status,
        score=verdict.score,
        max_score=verdict.max_score,
        device=verdict.device,
        seed=verdict.seed,
        cases=CaseCounts(right=verdict.cases_right, run=verdict.cases_run) if verdict.cases_run else None,
        gates=tuple(
            GateRecord(
                gate=gate.gate,
                status=gate.status,
                message=plain(gate.message),
                line=gate.line,
                case=gate.case.name if gate.case is not None else None,
                advice=plain(gate.advice),
            )
            for gate in verdict.gates
        ),
        diagnosis=_diagnosis(verdict.diagnosis) if verdict.diagnosis is not None else None,
        unreached=tuple(
            UnreachedRecord(line=one.line, condition=plain(one.words)) for one in verdict.unreached if not one.reached
        ),
        source=source,
        seconds=round(verdict.seconds, 3),
    )


def _diagnosis(diagnosis: Diagnosis) -> DiagnosisRecord:
    second = diagnosis.second or Diagnosis(None)
    parts = [
        ("You may have assumed", diagnosis.believed),
        ("In fact", diagnosis.instead),
        ("Try", diagnosis.try_),
        ("You may also have assumed", second.believed),
        ("In fact", second.instead),
    ]
    sentences = "\n\n".join(f"{label}: {text}" for label, text in parts if text)
    return DiagnosisRecord(
        misconception=diagnosis.misconception,
        message=plain(diagnosis.note if diagnosis.misconception is None else sentences),
        line=diagnosis.line,
        believed=diagnosis.believed,
    )


def source_of(file: str, kernel: KernelSource) -> Source:
    """Where the kernel is in `file`."""
    cell = re.search(r", cell (\d+)$", kernel.origin)
    digest = hashlib.sha256(kernel.text.encode("utf-8", "replace")).hexdigest()
    number = int(cell[1]) if cell else None
    return Source(file=plain(file), cell=number, line=kernel.first_line, sha256=digest, text=plain(kernel.text))


def plain(text: str) -> str:
    """Text without half surrogate pairs and without characters that could control a terminal, cut to `MAX_TEXT`."""
    whole = text.encode("utf-8", "replace").decode()
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in whole)
    return shown if len(shown) <= MAX_TEXT else shown[:MAX_TEXT] + " …"


# -------------------------------------------------------------------------------------------------------- all submissions


class Person(Record, frozen=True, kw_only=True):
    """A learner as the roster or the submission names them. `logins` are other names of theirs."""

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    logins: tuple[str, ...] = ()


class Unread(Record, frozen=True, kw_only=True):
    """A file that was not read, and why."""

    file: str
    reason: str
    message: str


class HandedIn(Record, frozen=True, kw_only=True):
    """One file of a learner. `time` is ISO 8601; `late` is what the platform said; `kernels` is how many it contains."""

    file: str
    sha256: str
    bytes: int
    kernels: int
    attempt: int = 1
    time: str | None = None
    late: bool = False


RowStatus = Literal["graded", "unreadable", "missing", "ungraded", "unmatched"]


class Submission(Record, frozen=True, kw_only=True):
    """One learner. `returned_as` is the platform's name for them in a zip of feedback.

    `matched` is the name they handed in under, where it was only like theirs. An ``unmatched`` row belongs to nobody yet: it may be
    one of `candidates`, by id.
    """

    learner: Person
    status: RowStatus
    score: float
    max_score: float
    puzzles: tuple[PuzzleResult, ...]
    files: tuple[HandedIn, ...] = ()
    unread: tuple[Unread, ...] = ()
    on_roster: bool = True
    returned_as: str = ""
    matched: str = ""
    candidates: tuple[str, ...] = ()

    @property
    def review(self) -> str:
        """What a person should look at: ``conditions`` that no case reached, ``compiler`` where a pass came without machine code."""
        passed = [puzzle for puzzle in self.puzzles if puzzle.status == "passed"]
        conditions, compiler = any(one.unreached for one in passed), any(one.front_end_only for one in passed)
        return ", ".join(["conditions"] * conditions + ["compiler"] * compiler)


class Environment(Record, frozen=True, kw_only=True):
    """`sandbox` names the layers that isolated the kernels, `checker` the deciding code and `secret` the secret, by hashes."""

    python: str
    torch: str
    triton: str
    numpy: str
    device: str
    sandbox: str
    checker: str = ""
    secret: str = ""


class Task(Record, frozen=True, kw_only=True):
    """A puzzle of the assignment; `version` is a hash of everything that defines it."""

    puzzle: str
    title: str
    points: float
    version: str = ""


class Result(Record, frozen=True, kw_only=True):
    """The file. `unread` are files that belong to nobody."""

    schema: Literal["result/v1"] = "result/v1"
    environment: Environment
    puzzles: tuple[Task, ...]
    submissions: tuple[Submission, ...]
    policy: Mapping[str, Any] = {}
    unread: tuple[Unread, ...] = ()


def environment(device: str, sandbox: str, *, checker: str = "", secret: str = "") -> Environment:
    """What verdicts depend on besides the kernels. `device` is ``cpu``, ``cuda`` or a GPU's name."""
    versions = {name: version(name) for name in ("torch", "triton", "numpy")}
    where = f"cuda ({gpu.device_name()})" if device == "cuda" else device
    return Environment(
        python=platform.python_version(), **versions, device=where, sandbox=sandbox, checker=checker, secret=secret
    )


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"{VERSION} without a compiler" if package == "triton" and not has_compiler() else "missing"


# ------------------------------------------------------------------------------------------------------------------ files

AnyRecord = TypeVar("AnyRecord", bound=Record)


def read(path: Path, kind: type[AnyRecord]) -> AnyRecord:
    """Raises FileNotFoundError, and ValueError for another kind of file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is not a file of this kind: {error}") from None


def to_json(record: Record) -> str:
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode() + "\n"


def write(path: Path, record: Record) -> None:
    """In one step: a reader sees the old file or the new one. Raises OSError."""
    write_atomically(path, to_json(record))


def schema(kind: type[Record] = Result) -> dict[str, Any]:
    """The JSON schema (draft 2020-12)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}
