"""What passes between a notebook and the live board of a class. No field can hold source code, a path or a host name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

PORT = 8787
MAX_BYTES = 64 * 1024
"""The largest body of a request."""
MAX_EVENTS = 20
"""The most events in one request, and per minute once a learner has used up the burst."""
TOKEN_HEADER = "X-Class-Token"
OPEN_FOR = 12 * 3600.0
"""Seconds for which learners can join a class and report to it."""

EventKind = Literal["check", "done", "hand", "hand_down"]
Uid = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Word = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.+]{0,60}\Z")]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Seconds = Annotated[float, Meta(ge=0, le=1e7)]


class NotAllowed(Exception):
    """The board refuses: the HTTP `status`, a sentence for people, and the seconds to `wait` before another try."""

    def __init__(self, status: int, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.status, self.wait = status, wait


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing a learner did, `ago` seconds before the request by the learner's own clock."""

    uid: Uid
    kind: EventKind
    ago: Seconds = 0.0
    puzzle: Word = ""
    status: Word = ""
    gate: Word = ""
    misconception: Word = ""
    attempt: Count = 0
    hints: Count = 0
    seconds: Seconds = 0.0
    device: Literal["", "cpu", "cuda"] = ""


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST events``: new events, if any, and the number of the newest message this notebook has."""

    events: Annotated[list[Event], Meta(max_length=MAX_EVENTS)] = []
    seen: Count = 0


class Message(msgspec.Struct, frozen=True):
    """A sentence or a hint from the instructor; `about` is its puzzle, if it has one."""

    id: int
    text: str
    about: str = ""


class Guess(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST guess``: a few words on the question that the class was asked. The board stores them nowhere."""

    text: Annotated[str, Meta(max_length=200)]


class ReportReply(msgspec.Struct, frozen=True):
    """How many of the events are on the board's disk by now, and the messages that the notebook lacks."""

    kept: int
    messages: list[Message] = []


class Join(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST join``. Whoever joined before, here or on another machine, sends their `token` to be the same person again.

    `client` tells this session from others at the same address, as behind a hub or a router.
    """

    code: Annotated[str, Meta(max_length=60)]
    name: Annotated[str, Meta(max_length=400)] = ""
    token: Annotated[str, Meta(max_length=64)] = ""
    client: Annotated[str, Meta(max_length=32)] = ""


class Joined(msgspec.Struct, frozen=True):
    """The learner's id, secret token and name on the board, and the title of the class."""

    who: str
    token: str
    name: str
    title: str


class AddressError(ValueError):
    """The text is not an address for `join`; the message shows what one looks like."""


@dataclass(frozen=True)
class JoinAddress:
    """A join code and the address of the board, which ends with a slash."""

    code: str
    url: str


def plain_code(text: str) -> str:
    """A code ready to compare: upper case, spaces and any kind of dash make no difference."""
    return re.sub(r"[^a-z0-9]", "", text.lower())[:40]


def parse(text: str) -> JoinAddress:
    """Read ``code@host``, ``code@host:port`` or ``code@https://host/path``. Raises AddressError."""
    code, _, place = (part.strip() for part in text.partition("@"))
    if not (plain_code(code) and place):
        raise AddressError(
            f'Copy the address from the screen, e.g. join("tile-7k3fw@192.168.1.5"). This is not one: {text!r}.'
        )
    try:
        parts = urlsplit(place if "://" in place else f"http://{place}")
        port = parts.port or (None if "://" in place else PORT)
    except ValueError as error:
        raise AddressError(f"{place} is not an address: {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise AddressError(f"{place} is not the address of a board, which is a host name or starts with http(s)://.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return JoinAddress(code, f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}/")
