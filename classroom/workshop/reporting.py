"""A learner's side of the board: results are appended to a file, and a thread in the background posts what is in it.

In `.tile-by-tile/workshop/`: `identity.json` (which board, and the token), `spool.jsonl` (one event a line, only ever appended to),
`spool.sent` (how many bytes of it the board has acknowledged), `messages.json` (what the instructor sent). Nothing here waits for the
network except `ask_to_join`, `ask_to_leave` and the thread.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import subprocess
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
from classroom.workshop.join_code import JoinAddress
from classroom.workshop.wire import (
    HEARTBEAT,
    MOST_BYTES,
    MOST_EVENTS,
    OPEN_FOR,
    TOKEN_HEADER,
    Event,
    Join,
    Joined,
    Message,
    NotAllowed,
    Report,
    ReportReply,
)

PATIENCE = 2.0  # seconds for one post
SLOWEST = 60.0  # seconds between two tries, at most
MOST_READ = 1 << 20
OVERDUE = 30.0  # seconds after which a result that was not delivered is spoken of
DETACHED_FOR = 60.0  # seconds that a process of its own tries, for a shell that is gone by then


class NotReached(OSError):
    """The board did not answer."""


class Identity(msgspec.Struct, frozen=True):
    """Which class somebody joined, when, and as whom. `left`: nothing is reported any more."""

    url: str
    joined: Joined
    at: float
    left: bool = False


class Inbox(msgspec.Struct):
    """What the instructor sent that was not shown yet; `seen` is the last message that is kept here."""

    seen: int = 0
    unread: list[Message] = []


class Spooled(msgspec.Struct, frozen=True):
    """A line of the spool: an event, and when it happened by this machine's clock."""

    at: float
    event: Event


@dataclass(frozen=True)
class Box:
    """The files of one learner's folder."""

    folder: Path

    @property
    def identity_file(self) -> Path:
        return self.folder / "identity.json"

    @property
    def spool(self) -> Path:
        return self.folder / "spool.jsonl"

    @property
    def sent_file(self) -> Path:
        return self.folder / "spool.sent"

    @property
    def inbox_file(self) -> Path:
        return self.folder / "messages.json"

    def identity(self) -> Identity | None:
        """Which class this folder is in; None before `join`, after `leave`, when it is over, and where the file is damaged."""
        try:
            found = msgspec.json.decode(self.identity_file.read_bytes(), type=Identity)
        except (OSError, msgspec.DecodeError):
            return None
        return None if found.left or time.time() - found.at > OPEN_FOR else found

    def append(self, event: Event) -> None:
        """Add an event, in one write, so that two notebooks never mix their lines. Raises OSError."""
        line = msgspec.json.encode(Spooled(time.time(), event)) + b"\n"
        handle = os.open(self.spool, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def sent(self) -> int:
        try:
            return int(self.sent_file.read_text())
        except (OSError, ValueError):
            return 0

    def unsent(self, most: int = MOST_EVENTS) -> tuple[list[Spooled], int]:
        """The oldest events that the board has not acknowledged, and the byte after them. A damaged line is passed over."""
        found: list[Spooled] = []
        try:
            with self.spool.open("rb") as file:
                end = file.seek(self.sent())
                for line in file:
                    if len(found) == most or not line.endswith(b"\n"):
                        break
                    end += len(line)
                    with contextlib.suppress(msgspec.DecodeError):
                        found.append(msgspec.json.decode(line, type=Spooled))
        except FileNotFoundError:
            return [], 0
        return found, end

    def inbox(self) -> Inbox:
        try:
            return msgspec.json.decode(self.inbox_file.read_bytes(), type=Inbox)
        except (OSError, msgspec.DecodeError):
            return Inbox()

    @contextlib.contextmanager
    def change_inbox(self) -> Iterator[Inbox]:
        with workspace.locked(self.inbox_file, patience=1.0):
            inbox = self.inbox()
            yield inbox
            workspace.write_atomically(self.inbox_file, msgspec.json.encode(inbox))


def own_box() -> Box:
    return Box(workspace.find().ours / "workshop")


# ----------------------------------------------------------------------------------------------------------- reporting


def report(box: Box, event: Event, stays: bool) -> None:
    """Keep an event and have it posted; never waits for the network, never raises.

    `stays` says whether this process goes on for long; where it does not, another one posts.
    """
    with contextlib.suppress(OSError):  # a full disk must not spoil a verdict
        box.append(event)
        if stays:
            reporter(box).wake()
        else:
            command = [sys.executable, "-m", "classroom.workshop.reporting", str(box.folder)]
            quiet = subprocess.DEVNULL
            subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def overdue(box: Box) -> int:
    """How many results wait, where the oldest has waited long enough for the board not to be reached."""
    oldest, _ = box.unsent(most=1)
    if not oldest or time.time() - oldest[0].at <= OVERDUE:
        return 0
    with box.spool.open("rb") as file:
        file.seek(box.sent())
        return sum(1 for _ in file)


def take_messages(box: Box) -> list[Message]:
    """What the instructor sent and nobody has read yet; it is not shown again."""
    if not box.inbox().unread:
        return []
    try:
        with box.change_inbox() as inbox:
            unread, inbox.unread = inbox.unread, []
    except OSError:
        return []
    return unread


def deliver(box: Box) -> bool:
    """Post what waits, or only ask for messages where nothing does; returns whether more is left to post.

    Raises NotReached and NotAllowed. Where another process of this folder is posting, nothing is done.
    """
    identity = box.identity()
    if identity is None:
        return False
    with contextlib.suppress(TimeoutError), workspace.locked(box.spool, patience=0.05):
        waiting, end = box.unsent()
        try:
            reply = _post(identity, box, waiting)
        except NotAllowed as refused:
            if refused.status in (401, 410):  # the class is over, or knows us no more
                _keep_identity(box, msgspec.structs.replace(identity, left=True))
            if refused.status != 400 or not waiting:
                raise
            # a board of another version takes no such event: the others are still worth posting
            waiting, end = box.unsent(most=1)
            with contextlib.suppress(NotAllowed):
                _post(identity, box, waiting)
            reply = ReportReply(0)
        if waiting:
            workspace.write_atomically(box.sent_file, str(end))
        if reply.messages:
            _keep(box, reply.messages)
        return bool(box.unsent(most=1)[0])
    return False


def _post(identity: Identity, box: Box, waiting: list[Spooled]) -> ReportReply:
    now = time.time()
    events = [msgspec.structs.replace(one.event, ago=max(0.0, round(now - one.at, 3))) for one in waiting]
    answer = post(identity.url + "events", Report(events, box.inbox().seen), identity.joined.token)
    return _decoded(answer, ReportReply)


def _keep(box: Box, messages: list[Message]) -> None:
    with contextlib.suppress(OSError), box.change_inbox() as inbox:
        new = [message for message in messages if message.id > inbox.seen]
        inbox.unread += [Message(one.id, one.text[:4000], one.about[:60]) for one in new]
        inbox.seen = max([inbox.seen, *(message.id for message in new)])


@dataclass
class Reporter:
    """The thread that posts for one folder as long as this process lives."""

    box: Box
    _news: threading.Event = field(default_factory=threading.Event, repr=False)
    _thread: threading.Thread | None = field(default=None, repr=False)

    def wake(self) -> None:
        """There is something to post; returns at once."""
        self._news.set()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="class-reporter", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        wait = 0.0
        while True:
            self._news.clear()
            try:
                more = deliver(self.box)
                wait = 1.0 if more else HEARTBEAT * random.uniform(0.8, 1.2)
            except NotAllowed as refused:
                wait = max(refused.wait, 5.0) * random.uniform(1.0, 1.5)
            except (OSError, ValueError):
                wait = min(max(2 * wait, 1.0), SLOWEST) * random.uniform(0.5, 1.0)
                time.sleep(min(wait, SLOWEST))  # news does not make an unreachable board reachable
                continue
            if self.box.identity() is None:
                return
            if wait > HEARTBEAT / 2:
                self._news.wait(wait)
            else:
                time.sleep(wait)


@cache
def reporter(box: Box) -> Reporter:
    """The one thread of this process for a folder."""
    return Reporter(box)


def deliver_all(box: Box) -> None:
    """Post all that waits, with tries for `DETACHED_FOR` seconds."""
    end, wait = time.monotonic() + DETACHED_FOR, 0.5
    while time.monotonic() < end:
        try:
            if not deliver(box):
                return
        except NotAllowed as refused:
            if refused.status != 429:
                return
        except (OSError, ValueError):
            pass
        wait = min(2 * wait, 10.0)
        time.sleep(wait)


# ----------------------------------------------------------------------------------------------------------- join and leave


def ask_to_join(box: Box, address: JoinAddress, name: str = "", token: str = "") -> Joined:
    """Join a class, or join it again as the same person. Raises NotReached, NotAllowed, OSError."""
    old = box.identity()
    known = token or (old.joined.token if old is not None and old.url == address.url else "")
    joined = _decoded(post(address.url + "join", Join(address.code, name, known), "", patience=8.0), Joined)
    box.folder.mkdir(parents=True, exist_ok=True)
    if old is None or old.joined.who != joined.who:  # results of another class do not go to this one
        for path in (box.spool, box.sent_file, box.inbox_file):
            path.unlink(missing_ok=True)
    _keep_identity(box, Identity(address.url, joined, time.time()))
    reporter(box).wake()
    return joined


def ask_to_leave(box: Box) -> Identity | None:
    """Have everything deleted, there and here; None where nobody joined.

    Raises NotReached and NotAllowed: nothing is reported any more then either, and it can be asked again.
    """
    try:
        identity = msgspec.json.decode(box.identity_file.read_bytes(), type=Identity)
    except (OSError, msgspec.DecodeError):
        return None
    _keep_identity(box, msgspec.structs.replace(identity, left=True))
    try:
        post(identity.url + "leave", {}, identity.joined.token, patience=8.0)
    except NotAllowed as refused:
        if refused.status not in (401, 410):  # 401: the board knows nobody by this token, so there is nothing to delete
            raise
    for path in (box.spool, box.sent_file, box.inbox_file, box.identity_file):
        path.unlink(missing_ok=True)
    return identity


def _keep_identity(box: Box, identity: Identity) -> None:
    workspace.write_atomically(box.identity_file, msgspec.json.encode(identity))
    box.identity_file.chmod(0o600)


# ----------------------------------------------------------------------------------------------------------- the network


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the board that was joined and nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(url: str, body: Any, token: str, patience: float = PATIENCE) -> bytes:
    """Post JSON; returns the answer. Raises NotReached, and NotAllowed where the board says no."""
    data = msgspec.json.encode(body)
    assert len(data) <= MOST_BYTES
    headers = {"Content-Type": "application/json", TOKEN_HEADER: token}
    try:
        with _OPENER.open(urllib.request.Request(url, data, headers), timeout=patience) as answer:
            return bytes(answer.read(MOST_READ))
    except urllib.error.HTTPError as error:
        raise _refusal(error) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotReached(str(getattr(error, "reason", error))) from None


def _refusal(error: urllib.error.HTTPError) -> NotAllowed | NotReached:
    """The reason that a board gives. Any other answer comes from something else, such as a proxy whose board is down."""
    with contextlib.suppress(OSError, http.client.HTTPException, msgspec.DecodeError, KeyError, TypeError):
        said = msgspec.json.decode(error.read(MOST_READ))["error"]
        if error.code < 500:
            wait = str(error.headers.get("Retry-After", "0"))
            return NotAllowed(error.code, str(said)[:300], float(wait) if wait.isdecimal() else 0.0)
    return NotReached(f"it answers {error.code}")


def _decoded(answer: bytes, kind: type[Any]) -> Any:
    """Raises NotReached where what answered is no board."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError:
        raise NotReached("what answers there is no board") from None


if __name__ == "__main__":
    deliver_all(Box(Path(sys.argv[1])))
