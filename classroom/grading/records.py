"""What the grader keeps in files: `collected/v1`, `verdict/v2`, `result/v2`. Strict to read, and each has a JSON schema.

Facts come first and are the same wherever and however often they are found out; seconds and machines stand apart from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from checker.judge.verdict import Status
from checker.workspace import write_atomically

RowStatus = Literal["graded", "unreadable", "missing", "ungraded"]
PuzzleStatus = Literal[Status, "unreadable", "ungraded"]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a file. An unknown field is an error."""


# ------------------------------------------------------------------------------------------------------------- collected


class Person(Record, frozen=True, kw_only=True):
    """A row of the roster; without a roster, what the submission says about its author. `logins` are other names of theirs."""

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    logins: tuple[str, ...] = ()


class Told(Record, frozen=True, kw_only=True):
    """Something that was handed in and not read, and why."""

    file: str
    reason: str
    message: str


class HandedIn(Record, frozen=True, kw_only=True):
    """One file of a learner. `time` is ISO 8601; `late` is what the learning platform said; `kernels` is how many it holds."""

    file: str
    sha256: str
    bytes: int
    kernels: int
    attempt: int = 1
    time: str | None = None
    late: bool = False


class Kernel(Record, frozen=True, kw_only=True):
    """One kernel of a learner, or (`source` None) why there is none. `source` names a file in the folder `kernels`.

    `place` is the file, and the cell in it; `line` where the kernel begins there, or where it is broken. `file_time`: the time
    is the file's own, which copying and unpacking change, and not the platform's.
    """

    puzzle: str
    file: str
    place: str
    line: int | None
    source: str | None
    attempt: int = 1
    time: str | None = None
    file_time: bool = False
    late: bool = False
    reason: str = ""
    message: str = ""


class Learner(Record, frozen=True, kw_only=True):
    """What one learner handed in. `returned_as` is what the platform calls them in a zip of feedback."""

    person: Person
    on_roster: bool
    returned_as: str
    files: tuple[HandedIn, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    told: tuple[Told, ...] = ()


class Collected(Record, frozen=True, kw_only=True):
    """`collected/v1`: everyone on the roster, and everyone who handed in."""

    schema: Literal["collected/v1"] = "collected/v1"
    source: str
    layout: str
    puzzles: tuple[str, ...]
    learners: tuple[Learner, ...]
    told: tuple[Told, ...] = ()
    """What belongs to nobody."""


# -------------------------------------------------------------------------------------------------------------- verdict


class CaseRecord(Record, frozen=True, kw_only=True):
    """One case as a person reads it."""

    name: str
    sizes: Mapping[str, int]
    meta: Mapping[str, int]
    dtype: str
    family: str
    layout: str
    flags: Mapping[str, int | float | bool]
    seed: int


class MismatchRecord(Record, frozen=True, kw_only=True):
    """Expected and got around the first wrong element, as text; `window` is their index ranges."""

    output: str
    shape: tuple[int, ...]
    first: tuple[int, ...]
    wrong: int
    total: int
    window: tuple[tuple[int, int], ...]
    expected: tuple[str, ...]
    got: tuple[str, ...]
    writer: tuple[int, int, int] | None
    line: int | None


class GateRecord(Record, frozen=True, kw_only=True):
    gate: str
    status: Status
    message: str
    line: int | None = None
    advice: str = ""
    detail: str = ""
    case: CaseRecord | None = None
    mismatch: MismatchRecord | None = None


class DiagnosisRecord(Record, frozen=True, kw_only=True):
    misconception: str | None
    believed: str = ""
    instead: str = ""
    try_: str = msgspec.field(default="", name="try")
    note: str = ""
    line: int | None = None


class CaseCounts(Record, frozen=True, kw_only=True):
    """Of `run` cases, `right` had right values."""

    right: int
    run: int


class Facts(Record, frozen=True, kw_only=True):
    """What was decided about a kernel: the same on every machine."""

    puzzle: str
    status: Status
    device: str
    gates: tuple[GateRecord, ...]
    cases: CaseCounts | None = None
    diagnosis: DiagnosisRecord | None = None
    smallest: CaseRecord | None = None


class Run(Record, frozen=True, kw_only=True):
    """What may differ from run to run."""

    seconds: float
    isolation: str


class VerdictRecord(Record, frozen=True, kw_only=True):
    """`verdict/v2`: one file in the folder `verdicts`, called by its key."""

    schema: Literal["verdict/v2"] = "verdict/v2"
    key: str
    facts: Facts
    run: Run


class Fault(Record, frozen=True, kw_only=True):
    """Why a kernel could not be judged: never the learner's doing."""

    key: str
    message: str
    tried: int


# --------------------------------------------------------------------------------------------------------------- result


class Chosen(Record, frozen=True, kw_only=True):
    """The try that counts."""

    file: str
    place: str
    line: int | None
    attempt: int
    time: str | None
    tries: int
    """How many different kernels there are for the puzzle."""


class Lateness(Record, frozen=True, kw_only=True):
    days: float
    counted_days: int
    """Days that cost something, after free ones."""
    factor: float


class Source(Record, frozen=True, kw_only=True):
    """The kernel as the learner wrote it; `first_line` is their number of its first line."""

    text: str
    first_line: int


class PuzzleResult(Record, frozen=True, kw_only=True):
    puzzle: str
    status: PuzzleStatus
    score: float
    max_score: float
    points: Mapping[str, float]
    """The score by gate, before lateness."""
    dropped: bool = False
    verdict: str | None = None
    message: str = ""
    gates: tuple[GateRecord, ...] = ()
    cases: CaseCounts | None = None
    diagnosis: DiagnosisRecord | None = None
    smallest: CaseRecord | None = None
    chosen: Chosen | None = None
    late: Lateness | None = None
    source: Source | None = None


class LearnerResult(Record, frozen=True, kw_only=True):
    person: Person
    on_roster: bool
    returned_as: str
    status: RowStatus
    score: float
    max_score: float
    puzzles: tuple[PuzzleResult, ...]
    files: tuple[HandedIn, ...]
    told: tuple[Told, ...]


class Environment(Record, frozen=True, kw_only=True):
    python: str
    torch: str
    triton: str
    numpy: str
    checker: str
    """A hash of the code that decides."""
    device: str
    isolation: tuple[str, ...]
    """The layers that the kernels ran behind; several where machines differ."""
    secret: str
    """Names the secret that drew the cases, by a hash; empty where there was none."""


class Asked(Record, frozen=True, kw_only=True):
    puzzle: str
    title: str
    points: float
    version: str


class Result(Record, frozen=True, kw_only=True):
    """`result/v2`: roster × collected × verdicts × policy."""

    schema: Literal["result/v2"] = "result/v2"
    environment: Environment
    policy: Mapping[str, Any]
    puzzles: tuple[Asked, ...]
    learners: tuple[LearnerResult, ...]
    told: tuple[Told, ...]
    seconds: Mapping[str, float]
    """Of each verdict, by its key."""


AnyRecord = TypeVar("AnyRecord", bound=Record)


def read(path: Path, kind: type[AnyRecord]) -> AnyRecord:
    """Raises FileNotFoundError, and ValueError where the file is something else."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is not a file of this kind: {error}") from None


def write(path: Path, record: Record) -> None:
    """In one step: a reader sees the old file or the new one. Raises OSError."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(record), indent=1).decode() + "\n")


def schema(kind: type[Record]) -> dict[str, Any]:
    """The JSON schema (draft 2020-12)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}
