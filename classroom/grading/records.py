"""What the stages of grading a class leave in files, besides `result/v1`: who handed in what, verdicts, faults."""

from __future__ import annotations

from typing import Literal

from checker.api.grading import HandedIn, Person, PuzzleResult, Record, Unread


class Kernel(Record, frozen=True, kw_only=True):
    """One kernel of a learner, or (`source` None) why there is none. `source` names a file in the folder `kernels`.

    `line` is where the kernel begins, or where it is broken. With `file_time` the time is the file's own, which copying and
    unpacking change, not the platform's.
    """

    puzzle: str
    file: str
    line: int | None
    source: str | None
    attempt: int = 1
    time: str | None = None
    file_time: bool = False
    late: bool = False
    reason: str = ""
    message: str = ""


class Learner(Record, frozen=True, kw_only=True):
    """What one learner handed in. `returned_as` is the platform's name for them in a zip of feedback.

    `matched` is the name that was only like theirs. Whoever is in doubt has `candidates`: the ids of people it may be.
    With a `fault` of the grader, which says what happened, they stay ungraded.
    """

    person: Person
    on_roster: bool
    returned_as: str
    matched: str = ""
    candidates: tuple[str, ...] = ()
    fault: str = ""
    files: tuple[HandedIn, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    unread: tuple[Unread, ...] = ()


class Collected(Record, frozen=True, kw_only=True):
    """`collected/v1`: everyone on the roster, and everyone who handed in. `unread` are files that belong to nobody."""

    schema: Literal["collected/v1"] = "collected/v1"
    source: str
    layout: str
    puzzles: tuple[str, ...]
    learners: tuple[Learner, ...]
    unread: tuple[Unread, ...] = ()


class StoredVerdict(Record, frozen=True, kw_only=True):
    """One file in the folder `verdicts`, named by its key: the result as it was judged, and its card as HTML.

    `sandbox` names the isolation that the kernel ran in.
    """

    key: str
    result: PuzzleResult
    card: str = ""
    sandbox: str = ""


def described(error: Exception) -> str:
    """What the grader failed with, for the instructor."""
    return f"{type(error).__name__}: {error}"[:500]


class Fault(Record, frozen=True, kw_only=True):
    """Why a kernel could not be judged: never the learner's doing."""

    key: str
    message: str
    tried: int
