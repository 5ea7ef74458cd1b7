"""What passes between a learner's notebook and the board. No source code, no path, no host name has a place in it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MOST_BYTES = 64 * 1024
MOST_EVENTS = 20
"""Of one request; also what a learner may send in a minute once the burst is used up."""
TOKEN_HEADER = "X-Class-Token"
HEARTBEAT = 15.0
OPEN_FOR = 12 * 3600.0
"""Seconds for which a class can be joined, and a notebook reports to it."""

Kind = Literal["check", "done", "hand", "hand_down"]
Status = Literal[
    "", "passed", "failed", "forbidden", "compile_error", "runtime_error", "timeout", "resource_limit",
    "protocol_error", "infra_error",
]  # fmt: skip
Gate = Literal["", "source", "compile", "values", "memory", "traffic", "gpu", "speed"]
Uid = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Word = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.+]{0,60}\Z")]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Seconds = Annotated[float, Meta(ge=0, le=1e7)]


class NotAllowed(Exception):
    """What the board does not allow: the HTTP `status`, a sentence for people, and how many seconds to `wait` before the next try."""

    def __init__(self, status: int, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.status, self.wait = status, wait


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a learner did. `ago` is how long before the request it was, by the learner's own clock."""

    uid: Uid
    kind: Kind
    ago: Seconds = 0.0
    puzzle: Word = ""
    status: Status = ""
    gate: Gate = ""
    misconception: Word = ""
    attempt: Count = 0
    hints: Count = 0
    seconds: Seconds = 0.0
    device: Literal["", "cpu", "cuda"] = ""


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """POST events: what happened, perhaps nothing, and the number of the last message that is kept here."""

    events: Annotated[list[Event], Meta(max_length=MOST_EVENTS)] = []
    seen: Count = 0


class Message(msgspec.Struct, frozen=True):
    """A sentence or a hint from the instructor. `about` is the puzzle it is about, if any."""

    id: int
    text: str
    about: str = ""


class ReportReply(msgspec.Struct, frozen=True):
    """`kept` counts the events that are now on the board's disk, those it had before included."""

    kept: int
    messages: list[Message] = []


class Join(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """POST join. `token` is that of somebody who joined before, on this machine or another."""

    code: Annotated[str, Meta(max_length=60)]
    name: Annotated[str, Meta(max_length=400)] = ""
    token: Annotated[str, Meta(max_length=64)] = ""


class Joined(msgspec.Struct, frozen=True):
    """The learner's own token and what they are called on the board."""

    who: str
    token: str
    name: str
    title: str
    board: str
    """Names this class, so that a notebook knows whether it joined this one."""


class Push(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """POST teacher/push: a sentence, or the hint `level` of `puzzle`; to all, or to those who hold a belief of `puzzle`."""

    text: Annotated[str, Meta(max_length=500)] = ""
    puzzle: Word = ""
    level: Annotated[int, Meta(ge=0, le=3)] = 0
    belief: Word = ""


class Who(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """POST of an action on one learner. `by` is the helper who claims; `on` is false where the action is undone."""

    who: Annotated[str, Meta(max_length=40)]
    on: bool = True
    by: Annotated[str, Meta(max_length=400)] = ""


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """POST of an action on the class: the door, the step of the run sheet, the end."""

    on: bool = True
    step: Annotated[int, Meta(ge=0, le=1000)] = 0
