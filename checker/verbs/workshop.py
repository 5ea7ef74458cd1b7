"""`join`, `done`, `hand`, `leave`: the learner's side of the live board, and what `check` adds after `join`."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup

from checker.verbs import board_client
from checker.verbs.arguments import UsageError
from checker.verbs.board_client import Box, NotReached, own_box
from checker.verbs.board_wire import AddressError, Event, EventKind, Message, NotAllowed, parse
from checker.view import display
from checker.view.panel import Panel
from checker.view.theme import asset, style_element

if TYPE_CHECKING:
    from rich.console import Console

    from checker.judge.verdict import Verdict
    from checker.verbs.progress_file import Record

SENT = (
    "the puzzle, whether it passed, and the gate and misconception that the checker named",
    "how many attempts and hints it took, how long the check ran, cpu or cuda",
    "your notes and answers: done(), hand(), guess()",
)
NOT_JOINED = 'Join the class first: join("code@host") with the address on the screen.'
NEVER = "Your code, your file names and your machine's name are never sent."


def join(address: str, name: str = "", me: str = "") -> None:
    """Join the class of ``code@host``. Raises UsageError."""
    box = own_box()
    try:
        where = parse(address)
        joined = board_client.join(box, where, name, me)
    except AddressError as error:
        raise UsageError(str(error)) from None
    except NotAllowed as refused:
        raise UsageError(f"Not joined: {refused}.") from None
    except NotReached as error:
        raise UsageError(
            f"Not joined: this machine finds no board at {where.url} ({error}). Are you on the same network as your instructor? "
            "A notebook in Colab reaches only a public https address. The rest of the course works without the board."
        ) from None
    except OSError as error:
        raise UsageError(f"Not joined: cannot write to {box.folder} ({error.strerror or error}).") from None
    host = urlsplit(where.url)
    notes = [
        f"{NEVER} done() and hand() tell the room how you are doing; leave() deletes everything.",
        f"To be the same person on another machine, pass the token in {box.file} as me=.",
    ]
    if host.scheme == "http" and host.hostname not in ("localhost", "127.0.0.1", "::1"):
        notes.append("The board uses plain http, so others on this network could read what you send.")
    Panel(
        f"You joined “{joined.title}” as {joined.name}",
        prose=(f"From now on, each `check` also reports to the board at {host.netloc}, which your instructor reads:",),
        lists=[("What is sent", SENT)],
        footer=notes,
    ).show()


def done() -> None:
    """Tell the room that you are ready. Raises UsageError before `join`."""
    _note("done", "Done: the board shows it.")


def hand(up: bool = True) -> None:
    """Raise your hand, or lower it. Raises UsageError before `join`."""
    _note("hand" if up else "hand_down", "Your hand is up. Somebody will come." if up else "Your hand is down.")


def guess(answer: object) -> None:
    """Answer the question of the class, or answer it anew. Raises UsageError."""
    box = own_box()
    membership = box.membership()
    if membership is None:
        raise UsageError(NOT_JOINED)
    try:
        question = board_client.guess(membership, str(answer))
    except (NotReached, NotAllowed) as error:
        raise UsageError(f"Not answered: {error}.") from None
    Panel("The board counts your answer, without your name.", prose=(question,)).show()


def leave() -> None:
    """Stop reporting, and have the board delete your reports. Raises UsageError."""
    try:
        left = board_client.leave(own_box())
    except (NotReached, NotAllowed) as error:
        raise UsageError(
            f"You report nothing any more, but the board could not delete what it has ({error}). "
            "Call leave() again once you can reach it."
        ) from None
    Panel(
        "You are not in a class."
        if left is None
        else f"You left “{left.joined.title}”, and the board deleted your reports."
    ).show()


def _note(kind: EventKind, message: str) -> None:
    box = own_box()
    if box.membership() is None:
        raise UsageError(NOT_JOINED)
    board_client.report(box, Event(secrets.token_hex(16), kind), display.interactive())
    Panel(message, footer=_undelivered(box)).show()


def after_check(verdict: Verdict, record: Record) -> None:
    """Report a verdict and show the instructor's messages. Does nothing before `join`."""
    box = own_box()
    if box.membership() is None:
        return
    board_client.report(box, check_event(verdict, record), display.interactive())
    messages, lines = box.take_messages(), _undelivered(box)
    if messages or lines:
        display.show(_notes(messages, lines))


def check_event(verdict: Verdict, record: Record) -> Event:
    """The part of a verdict that is sent."""
    failure, diagnosis = verdict.failure, verdict.diagnosis
    return Event(
        secrets.token_hex(16),
        "check",
        puzzle=verdict.puzzle,
        status=verdict.status,
        gate=failure.gate if failure is not None else "",
        misconception=(diagnosis.misconception or "") if diagnosis is not None else "",
        attempt=record.attempts,
        hints=record.hints,
        seconds=round(verdict.seconds, 2),
        device="cpu" if verdict.device == "cpu" else "cuda",
    )


def _undelivered(box: Box) -> Sequence[str]:
    waiting = box.overdue()
    results = "1 result is" if waiting == 1 else f"{waiting} results are"
    return (f"The board cannot be reached. {results} kept here and will be sent later.",) if waiting else ()


def _notes(messages: Sequence[Message], lines: Sequence[str]) -> display.Output:
    """Folded in a notebook, so that learners who do not want a hint need not read it."""

    def html() -> str:
        fold = Markup('<details><summary>{}</summary><p style="white-space:pre-wrap">{}</p></details>')
        parts = [fold.format(_heading(message), message.text) for message in messages]
        parts += [Markup('<p class="soft">{}</p>').format(line) for line in lines]
        style = style_element("tbt-panel", asset("checker.view", "panel.css"))
        return str(Markup('{}<div class="tbt-panel">{}</div>').format(style, Markup().join(parts)))

    def text(console: Console) -> None:
        for message in messages:
            console.print(f"{_heading(message)}:\n{message.text}", markup=False, highlight=False)
        for line in lines:
            console.print(line, style="dim", markup=False)

    return display.Output(html, text)


def _heading(message: Message) -> str:
    return f"From your instructor, about {message.about}" if message.about else "From your instructor"
