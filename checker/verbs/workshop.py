"""`join`, `done`, `hand`, `leave`: a learner's side of the live board; and what `check` adds once somebody joined."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup

from checker.verbs.arguments import UsageError
from checker.view import display
from checker.view.panel import Panel
from checker.view.theme import asset, style_element
from classroom.workshop import reporting
from classroom.workshop.join_code import AddressError, parse
from classroom.workshop.wire import Event, Kind, Message

if TYPE_CHECKING:
    from rich.console import Console

    from checker.judge.verdict import Verdict
    from checker.verbs.progress_file import Record

SENT = (
    "the puzzle, whether it passed, the gate and the misconception the checker named",
    "how many attempts and hints, the seconds of the check, cpu or cuda",
    "your notes: done(), hand()",
)
NEVER = "Never sent: your code, your files' names, your machine's name."


def join(address: str, name: str = "", me: str = "") -> None:
    """Join the class of ``code@host``. Raises UsageError."""
    try:
        where = parse(address)
    except AddressError as error:
        raise UsageError(str(error)) from None
    box = reporting.own_box()
    try:
        joined = reporting.ask_to_join(box, where, name, me)
    except reporting.NotAllowed as refused:
        raise UsageError(f"Not joined: {refused}.") from None
    except reporting.NotReached as error:
        raise UsageError(
            f"Not joined: there is no board at {where.url} for this machine ({error}). Are you in the same network as the instructor? "
            "A notebook in Colab reaches only a public https address. Everything else in the course works without the board."
        ) from None
    except OSError as error:
        raise UsageError(f"Not joined: {box.folder} cannot be written ({error.strerror or error}).") from None
    host = urlsplit(where.url)
    plain = host.scheme == "http" and host.hostname not in ("localhost", "127.0.0.1", "::1")
    notes = [
        f"{NEVER} done() and hand() tell the room how you are; leave() deletes all of it.",
        f"To be the same person on another machine, pass the token in {box.identity_file} as me=.",
    ]
    if plain:
        notes.append("This is plain http, which others in the same network could read.")
    Panel(
        f"You joined “{joined.title}” as {joined.name}",
        prose=(f"From now on each `check` also tells the board at {host.netloc}, which your instructor reads:",),
        lists=[("What is sent", SENT)],
        footer=notes,
    ).show()


def done() -> None:
    """The note that says: ready. Raises UsageError before `join`."""
    _note("done", "Done: it is on the board.")


def hand(up: bool = True) -> None:
    """The note that says: help, please. Raises UsageError before `join`."""
    _note("hand" if up else "hand_down", "Your hand is up: somebody will come." if up else "Your hand is down.")


def leave() -> None:
    """Stop reporting, and have what was reported deleted. Raises UsageError."""
    box = reporting.own_box()
    try:
        left = reporting.ask_to_leave(box)
    except (reporting.NotReached, reporting.NotAllowed) as error:
        raise UsageError(
            f"Nothing is reported any more, but the board could not be told to delete what it has ({error}). "
            "Call leave() again when it can be reached."
        ) from None
    message = (
        "You are in no class."
        if left is None
        else f"You left “{left.joined.title}”, and the board deleted what it had of you."
    )
    Panel(message).show()


def _note(kind: Kind, message: str) -> None:
    box = reporting.own_box()
    if box.identity() is None:
        raise UsageError('Join the class first: join("code@host"), as it stands on the screen.')
    reporting.report(box, Event(secrets.token_hex(16), kind), display.interactive())
    Panel(message, footer=_not_reached(box)).show()


# ----------------------------------------------------------------------------------------------------------- after a check


def after_check(verdict: Verdict, record: Record) -> None:
    """Report a verdict and show what the instructor sent; before `join`, nothing."""
    box = reporting.own_box()
    if box.identity() is None:
        return
    reporting.report(box, check_event(verdict, record), display.interactive())
    messages, lines = reporting.take_messages(box), _not_reached(box)
    if messages or lines:
        display.show(_notes(messages, lines))


def check_event(verdict: Verdict, record: Record) -> Event:
    """What is sent of a verdict."""
    failure, diagnosis = verdict.failure, verdict.diagnosis
    return Event(
        secrets.token_hex(16),
        "check",
        puzzle=verdict.puzzle,
        status=verdict.status,  # type: ignore[arg-type]
        gate=failure.gate if failure is not None else "",
        misconception=(diagnosis.misconception or "") if diagnosis is not None else "",
        attempt=record.attempts,
        hints=record.hints,
        seconds=round(verdict.seconds, 2),
        device="cpu" if verdict.device == "cpu" else "cuda",
    )


def _not_reached(box: reporting.Box) -> Sequence[str]:
    waiting = reporting.overdue(box)
    results = "1 result is" if waiting == 1 else f"{waiting} results are"
    return (f"The board is not reached; {results} kept and will be delivered.",) if waiting else ()


def _notes(messages: Sequence[Message], lines: Sequence[str]) -> display.Output:
    """Folded in a notebook, so that a hint is read only by who wants it."""

    def html() -> str:
        fold = Markup('<details><summary>{}</summary><p style="white-space:pre-wrap">{}</p></details>')
        shown = [fold.format(_heading(message), message.text) for message in messages]
        shown += [Markup('<p class="soft">{}</p>').format(line) for line in lines]
        style = style_element("tbt-panel", asset("checker.view", "panel.css"))
        return str(Markup('{}<div class="tbt-panel">{}</div>').format(style, Markup().join(shown)))

    def text(console: Console) -> None:
        for message in messages:
            console.print(f"{_heading(message)}:\n{message.text}", markup=False, highlight=False)
        for line in lines:
            console.print(line, style="dim", markup=False)

    return display.Output(html, text)


def _heading(message: Message) -> str:
    return f"From your instructor, about {message.about}" if message.about else "From your instructor"
