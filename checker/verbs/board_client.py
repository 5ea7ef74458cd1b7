"""How a notebook reports to the live board: `report` appends an event to a file, and a background thread posts the file's new lines.

`.tile-by-tile/workshop/` holds two files: `class.json`, a `Membership`, and `spool.jsonl`, which only ever grows, one event per line.
In a notebook, nothing here waits for the network except `join`, `leave` and the thread.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import secrets
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from checker import workspace
from checker.verbs.board_wire import (
    MAX_BYTES,
    MAX_EVENTS,
    OPEN_FOR,
    TOKEN_HEADER,
    Event,
    Guess,
    Join,
    JoinAddress,
    Joined,
    Message,
    NotAllowed,
    Report,
    ReportReply,
)

HEARTBEAT = 15.0  # seconds between two posts when there is nothing to report
PATIENCE = 2.0  # seconds to wait for an answer to a post
SLOWEST = 60.0  # the longest pause between two tries, in seconds
OVERDUE = 30.0  # seconds after which the learner hears that a result is still undelivered
MAX_ANSWER = 1 << 20
CLIENT = secrets.token_hex(8)
"""What the board knows this session by until it has joined."""


class NotReached(OSError):
    """The board did not answer."""


class Membership(msgspec.Struct):
    """Which class a learner joined, when, as whom, and how far reporting has got. After `left` nothing is reported."""

    url: str
    joined: Joined
    at: float
    left: bool = False
    sent: int = 0
    """Bytes of the spool that the board has acknowledged."""
    seen: int = 0
    """The number of the newest message received."""
    unread: list[Message] = []


class SpooledEvent(msgspec.Struct, frozen=True):
    """A line of the spool: an event, and when it happened by this machine's clock."""

    at: float
    event: Event


@dataclass(frozen=True)
class Box:
    """The files of one learner."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "class.json"

    @property
    def spool(self) -> Path:
        return self.folder / "spool.jsonl"

    def stored(self) -> Membership | None:
        """What `join` stored, even if the class is over; None without a readable file."""
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=Membership)
        except (OSError, msgspec.DecodeError):
            return None

    def membership(self) -> Membership | None:
        """The class to report to; None before `join`, after `leave`, and once the class is over."""
        stored = self.stored()
        return None if stored is None or stored.left or time.time() - stored.at > OPEN_FOR else stored

    @contextlib.contextmanager
    def changing(self) -> Iterator[Membership]:
        """Change the stored membership. Raises TimeoutError, OSError and NotReached when there is none."""
        with workspace.locked(self.file, patience=1.0):
            stored = self.stored()
            if stored is None:
                raise NotReached("no class was joined")
            yield stored
            self.write(stored)

    def write(self, membership: Membership) -> None:
        workspace.write_atomically(self.file, msgspec.json.encode(membership))
        self.file.chmod(0o600)  # it holds the token

    def append(self, event: Event) -> None:
        """Add an event in a single write, so that two notebooks never mix their lines. Raises OSError."""
        handle = os.open(self.spool, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, msgspec.json.encode(SpooledEvent(time.time(), event)) + b"\n")
        finally:
            os.close(handle)

    def unsent(self, most: int = MAX_EVENTS) -> tuple[list[SpooledEvent], int]:
        """The oldest events that the board has not acknowledged, skipping damaged lines, and the offset after them in bytes."""
        stored = self.stored()
        events: list[SpooledEvent] = []
        end = stored.sent if stored is not None else 0
        with contextlib.suppress(FileNotFoundError), self.spool.open("rb") as file:
            file.seek(end)
            for line in file:
                if len(events) == most or not line.endswith(b"\n"):
                    break
                end += len(line)
                with contextlib.suppress(msgspec.DecodeError):
                    events.append(msgspec.json.decode(line, type=SpooledEvent))
        return events, end

    def overdue(self) -> int:
        """How many results wait for the board, or 0 if the oldest has not waited long."""
        waiting, _ = self.unsent(most=sys.maxsize)
        return len(waiting) if waiting and time.time() - waiting[0].at > OVERDUE else 0

    def take_messages(self) -> list[Message]:
        """The instructor's messages that nobody has read yet. Each is returned once."""
        stored = self.stored()
        if stored is None or not stored.unread:
            return []
        with contextlib.suppress(OSError), self.changing() as membership:
            unread, membership.unread = membership.unread, []
            return unread
        return []

    def clear(self) -> None:
        for path in (self.spool, self.file):
            path.unlink(missing_ok=True)


def own_box() -> Box:
    return Box(workspace.find().ours / "workshop")


# --- join and leave --------------------------------------------------------------------------------------------------------


def join(box: Box, address: JoinAddress, name: str = "", token: str = "") -> Joined:
    """Join a class, or join it again as the same person. Raises NotReached, NotAllowed, OSError."""
    old = box.membership()
    token = token or (old.joined.token if old is not None and old.url == address.url else "")
    answer = post(f"{address.url}join", Join(address.code, name, token, CLIENT), "", patience=8.0)
    joined = _decoded(answer, Joined)
    box.folder.mkdir(parents=True, exist_ok=True)
    if old is None or old.joined.who != joined.who:  # another class must not get these results
        box.clear()
        old = Membership(address.url, joined, 0.0)
    box.write(msgspec.structs.replace(old, joined=joined, at=time.time()))
    reporter(box).wake()
    return joined


def leave(box: Box) -> Membership | None:
    """Have everything deleted, on the board and here; returns None if nobody joined.

    After NotReached or NotAllowed nothing is reported any more either, and `leave` can be called again.
    """
    membership = box.stored()
    if membership is None:
        return None
    box.write(msgspec.structs.replace(membership, left=True))
    try:
        post(f"{membership.url}leave", {}, membership.joined.token, patience=8.0)
    except NotAllowed as refused:
        if refused.status not in (401, 410):  # the board has forgotten this learner already, or the class is over
            raise
    box.clear()
    return membership


def guess(membership: Membership, text: str) -> str:
    """Send a guess at the question of the class; returns the question. Raises NotReached, NotAllowed."""
    said = post(f"{membership.url}guess", Guess(text[:200]), membership.joined.token, patience=8.0)
    return str(_decoded(said, dict[str, str]).get("question", ""))


# --- reporting -------------------------------------------------------------------------------------------------------------


def report(box: Box, event: Event, stays: bool) -> None:
    """Store an event and have it posted. Never raises.

    `stays` says whether this process lives on, as a notebook does, so that its thread can post. A shell posts at once, or else with
    its next event.
    """
    with contextlib.suppress(OSError, NotAllowed):  # a full disk or a missing board must not spoil a verdict
        box.append(event)
        if stays:
            reporter(box).wake()
        else:
            deliver(box)


def deliver(box: Box) -> bool:
    """Post what waits, or just ask for messages; returns whether more is left to post.

    Raises NotReached and NotAllowed. Does nothing while another process is posting for the same folder.
    """
    membership = box.membership()
    if membership is None:
        return False
    with contextlib.suppress(TimeoutError), workspace.locked(box.spool, patience=0.05):
        events, end = box.unsent()
        try:
            reply = _post_events(membership, events)
        except NotAllowed as refused:
            if refused.status in (401, 410):  # the class is over, or does not know this learner any more
                with box.changing() as stored:
                    stored.left = True
            if refused.status != 400:
                raise
            reply = ReportReply(0)  # a board of another version rejects these events for good, so skip them
        if events or reply.messages:
            with box.changing() as stored:
                if stored.joined.who != membership.joined.who:  # meanwhile the learner joined another class
                    return True
                stored.sent = end
                new = [message for message in reply.messages if message.id > stored.seen]
                stored.unread += [Message(one.id, one.text[:4000], one.about[:60]) for one in new]
                stored.seen = max([stored.seen, *(message.id for message in new)])
        return bool(box.unsent(most=1)[0])
    return False


def _post_events(membership: Membership, spooled: list[SpooledEvent]) -> ReportReply:
    now = time.time()
    events = [msgspec.structs.replace(one.event, ago=max(0.0, round(now - one.at, 3))) for one in spooled]
    answer = post(f"{membership.url}events", Report(events, membership.seen), membership.joined.token)
    return _decoded(answer, ReportReply)


def keep_delivering(box: Box, news: threading.Event) -> None:
    """Post new events as they come while the class lasts."""
    failures = 0
    while box.membership() is not None:
        news.clear()
        try:
            more = deliver(box)
        except NotAllowed as refused:
            time.sleep(max(refused.wait, 5.0) * random.uniform(1.0, 1.5))
        except (OSError, ValueError):
            failures += 1
            time.sleep(min(2.0**failures, SLOWEST) * random.uniform(0.5, 1.0))
        else:
            failures = 0
            news.wait(1.0 if more else HEARTBEAT * random.uniform(0.8, 1.2))


@dataclass
class Reporter:
    """The thread that posts for one folder as long as this process lives."""

    box: Box
    _news: threading.Event = field(default_factory=threading.Event, repr=False)
    _thread: threading.Thread | None = field(default=None, repr=False)

    def wake(self) -> None:
        """Post soon; returns at once."""
        self._news.set()
        if self._thread is None or not self._thread.is_alive():
            arguments = (self.box, self._news)
            self._thread = threading.Thread(target=keep_delivering, args=arguments, name="class-reporter", daemon=True)
            self._thread.start()


reporter = cache(Reporter)
"""The one reporter of this process for a folder."""


# --- the network -----------------------------------------------------------------------------------------------------------


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Sends a token to the board that the learner joined and to no other server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def post(url: str, body: Any, token: str, patience: float = PATIENCE) -> bytes:
    """Post JSON and return the answer. Raises NotReached, and NotAllowed if the board refuses."""
    data = msgspec.json.encode(body)
    assert len(data) <= MAX_BYTES
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", TOKEN_HEADER: token})
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=patience) as answer:
            return bytes(answer.read(MAX_ANSWER))
    except urllib.error.HTTPError as error:
        raise _refusal(error) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotReached(str(getattr(error, "reason", error))) from None


def _refusal(error: urllib.error.HTTPError) -> NotAllowed | NotReached:
    """The board's own reason; any other answer comes from something else, such as a proxy whose board is down."""
    with contextlib.suppress(OSError, http.client.HTTPException, msgspec.DecodeError, KeyError, TypeError):
        message = msgspec.json.decode(error.read(MAX_ANSWER))["error"]
        if error.code < 500:
            wait = str(error.headers.get("Retry-After", "0"))
            return NotAllowed(error.code, str(message)[:300], float(wait) if wait.isdecimal() else 0.0)
    return NotReached(f"it answers {error.code}")


def _decoded(answer: bytes, kind: type[Any]) -> Any:
    """Raises NotReached if the answer does not come from a board."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError:
        raise NotReached("something else answers there") from None
