"""A class while it runs: who may join, report and teach, and what each role sees. It knows no HTTP."""

from __future__ import annotations

import hmac
import math
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from checker.api.course import GATES, LADDER, PUZZLES, STATUSES
from checker.api.room import OPEN_FOR, Event, Join, Joined, Message, NotAllowed, Report, Word, plain_code
from classroom.workshop import room, schedule
from classroom.workshop.belief_films import BeliefFilms, misconception
from classroom.workshop.board_store import Store, Stored
from classroom.workshop.join_code import clean_name, new_token, pseudonym, shown
from classroom.workshop.limits import Limit
from classroom.workshop.room import Belief, Learner, Room
from classroom.workshop.schedule import Item

Role = Literal["screen", "helper", "teacher"]
ROLES: tuple[Role, ...] = ("screen", "helper", "teacher")
MAX_LEARNERS = 1000
MAX_MESSAGES = 20
MAX_ANSWERS = 6
NAMES = tuple(puzzle.name for puzzle in LADDER)


class Push(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST teacher/push``: a sentence, or hint `level` of `puzzle`; to all, or only to the learners who hold a `belief` about `puzzle`."""

    text: Annotated[str, Meta(max_length=500)] = ""
    puzzle: Word = ""
    level: Annotated[int, Meta(ge=0, le=3)] = 0
    belief: Word = ""


class LearnerAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action on one learner: claim, helped, mute. `by` is the helper who claims; `on=False` takes it back."""

    who: Annotated[str, Meta(max_length=40)]
    on: bool = True
    by: Annotated[str, Meta(max_length=400)] = ""


class Removal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Learners to remove."""

    who: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_LEARNERS)]


class ClassAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action on the class: door, step, close. Closing with `on` deletes the class."""

    on: bool = True
    step: Annotated[int, Meta(ge=0, le=1000)] = 0


@dataclass
class LiveClass:
    """One class. Learners reach it at `url`; `qr` is a picture of that address as a data URI, if there is one."""

    store: Store
    url: str
    films: BeliefFilms | None = None
    items: Sequence[Item] = ()
    qr: str | None = None
    changed: bool = True
    closed: bool = False
    clock: Callable[[], float] = time.time
    """Runs faster in a rehearsal."""
    room: Room = field(init=False)
    disk: ThreadPoolExecutor = field(init=False, repr=False)
    """A single thread, so that writes and deletions keep their order."""

    def __post_init__(self) -> None:
        self.disk = ThreadPoolExecutor(1, "board-disk")
        self.room = room.replayed(self.store.learners(), self.store.events())
        self._wrong_codes, self._wrong_at_address = Limit(10, 10), Limit(120, 200)
        self._joins = Limit(60, 300)
        self._requests, self._events = Limit(60, 60), Limit(20, 60)
        self._answers = dict[str, str]()  # by learner; nothing of it is stored
        for belief in self.room.beliefs(self.clock()) if self.films is not None else ():
            self.films.want(belief.puzzle, belief.name)  # type: ignore[union-attr]

    # --- who is asking ------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return self.store.meta("title")

    @property
    def code(self) -> str:
        return self.store.meta("code")

    @property
    def join_line(self) -> str:
        """What a learner passes to `join`."""
        return shown(self.code, self.url)

    @property
    def started(self) -> float | None:
        """When the class began its run sheet."""
        text = self.store.meta("started", "")
        return float(text) if text else None

    @property
    def step(self) -> int:
        """The current row of the run sheet, -1 before the class begins."""
        return int(self.store.meta("step", "-1"))

    @property
    def door_open(self) -> bool:
        """Whether the join code works: until somebody shuts the door, and for 12 hours at most."""
        in_time = self.clock() - float(self.store.meta("opened")) < OPEN_FOR
        return self.store.meta("door") == "1" and not self.closed and in_time

    def token_of(self, role: Role) -> str:
        return self.store.meta(role)

    def role_of(self, token: str) -> Role | None:
        given = token.encode("utf-8", "replace")
        return next((role for role in ROLES if hmac.compare_digest(self.token_of(role).encode(), given)), None)

    def learner_of(self, token: str) -> Learner:
        """The learner who has a token. Raises NotAllowed."""
        learner = self.room.learners.get(self.store.who(token))
        if learner is None:
            raise NotAllowed(401, "nobody here has this token: join the class again")
        return learner

    def learner(self, who: str) -> Learner:
        """The learner with an id. Raises NotAllowed."""
        learner = self.room.learners.get(who)
        if learner is None:
            raise NotAllowed(404, "nobody in this class has that id")
        return learner

    # --- learners -----------------------------------------------------------------------------------------------------

    def join(self, request: Join, address: str) -> Joined:
        """Let somebody in, or back in. Raises NotAllowed for a wrong code, a shut door or too many tries."""
        name = clean_name(request.name)
        learner = self.room.learners.get(self.store.who(request.token)) if request.token else None
        if learner is not None:
            if name and name != learner.name:
                learner.name, self.changed = name, True
                self.store.update_learner(learner)
            return Joined(learner.id, request.token, learner.name, self.title)
        client = address, request.client  # a hub or a router has one address for everyone
        if self._wrong_codes.left(client) < 1 or self._wrong_at_address.left(address) < 1:
            raise NotAllowed(429, "too many wrong codes: wait a minute", 60)
        if not hmac.compare_digest(plain_code(request.code).encode(), plain_code(self.code).encode()):
            self._wrong_codes.take(client)
            self._wrong_at_address.take(address)
            raise NotAllowed(403, "the board does not know this code: look at the screen again")
        if not self.door_open:
            raise NotAllowed(403, "this class is closed to newcomers: ask the instructor to open the door")
        if len(self.room.learners) >= MAX_LEARNERS or not self._joins.take(address):
            raise NotAllowed(429, "too many people joined just now: wait a minute", 60)
        name = name or pseudonym({learner.name for learner in self.room.learners.values()})
        now, token = self.clock(), new_token()
        learner = Learner(secrets.token_hex(8), name, now, last=now)
        self.store.add_learner(learner, token)
        self.room.learners[learner.id] = learner
        self.changed = True
        return Joined(learner.id, token, name, self.title)

    def admit(self, learner: Learner, report: Report) -> list[Stored]:
        """The events of a report as they will be stored. Raises NotAllowed for a muted learner and for too many events."""
        if learner.muted:
            raise NotAllowed(403, "the instructor has muted these reports")
        if not self._requests.take(learner.id) or not self._events.take(learner.id, len(report.events)):
            raise NotAllowed(429, "too much at once: wait", 20)
        now = self.clock()
        return [(learner.id, _known_words(event), max(learner.joined, now - event.ago)) for event in report.events]

    def apply(self, stored: Sequence[Stored], new: Sequence[bool]) -> None:
        """Take in the events that are on the disk now; `new` says which were not there before."""
        for (who, event, at), is_new in zip(stored, new, strict=True):
            if not is_new:
                continue
            self.room.apply(who, event, at)
            if event.kind in ("done", "hand_down"):
                self.store.release(who)
            if event.misconception and self.films is not None:
                self.films.want(event.puzzle, event.misconception)
            self.changed = True

    @property
    def question(self) -> str:
        """What the class is asked in this row of the run sheet, if anything."""
        return self.items[self.step].question if 0 <= self.step < len(self.items) else ""

    def guess(self, learner: Learner, text: str) -> str:
        """Take a learner's answer in place of their last one; returns the question. Raises NotAllowed."""
        given = clean_name(text)
        if learner.muted or not self._requests.take(learner.id):
            raise NotAllowed(429, "too many answers: wait", 20)
        if not self.question:
            raise NotAllowed(409, "the class has no question just now")
        if not given:
            raise NotAllowed(400, "this answer has no words")
        self._answers[learner.id], self.changed = given, True
        return self.question

    def answers(self) -> list[tuple[str, int]]:
        """Different answers and how many gave them, the most frequent first. Capitals and a full stop make no difference."""
        spelled = dict[str, list[str]]()
        for text in self._answers.values():
            spelled.setdefault(text.casefold().rstrip(".!"), []).append(text)
        return sorted(((texts[0], len(texts)) for texts in spelled.values()), key=lambda one: -one[1])

    def messages_for(self, learner: Learner, seen: int) -> list[Message]:
        return self.store.messages(learner.id, seen, MAX_MESSAGES)

    def strike_out(self, learner: Learner) -> None:
        """Show and accept nothing more of a learner; `store.forget` then deletes what the file has."""
        self.room.learners.pop(learner.id, None)
        self._answers.pop(learner.id, None)
        self.changed = True

    # --- the instructor -----------------------------------------------------------------------------------------------

    def claim(self, action: LearnerAction) -> None:
        """A helper goes to a learner, or does not after all. Raises NotAllowed if another helper is on the way."""
        who = self.learner(action.who).id
        if not action.on:
            self.store.release(who)
        elif not self.store.claim(who, clean_name(action.by) or "a helper"):
            raise NotAllowed(409, f"{self.store.claims().get(who, 'somebody')} is on the way already")
        self.changed = True

    def helped(self, who: str) -> None:
        """Take a learner's hand down."""
        stored = [(self.learner(who).id, Event(new_token(), "hand_down"), self.clock())]
        self.apply(stored, self.store.add_events(stored))

    def mute(self, who: str, on: bool) -> None:
        learner = self.learner(who)
        learner.muted, self.changed = on, True
        self.store.update_learner(learner)

    def push(self, push: Push) -> int:
        """Send a sentence or a hint; returns to how many learners. Raises NotAllowed."""
        text = " ".join(push.text.split())
        if push.level and (puzzle := PUZZLES.get(push.puzzle)) is not None:
            text = (puzzle.hint.question, puzzle.hint.idea, puzzle.hint.skeleton)[push.level - 1]
        if not text:
            raise NotAllowed(400, "there is nothing to send")
        recipients = list(self.room.learners)
        if push.belief:
            beliefs = self.room.beliefs(self.clock())
            recipients = [w for b in beliefs if (b.puzzle, b.name) == (push.puzzle, push.belief) for w in b.holders]
        if not recipients:
            raise NotAllowed(409, "nobody would get it")
        self.store.add_message(text, push.puzzle, recipients)
        return len(recipients)

    def set_door(self, on: bool) -> None:
        self.store.set_meta(door=int(on))
        self.changed = True

    def go_to(self, step: int) -> None:
        """Begin the run sheet, or go to another row of it. Everybody's `done` is withdrawn."""
        now = self.clock()
        step = min(step, max(len(self.items) - 1, 0))
        if step != self.step:
            self._answers.clear()
        self.store.set_meta(step=step, step_at=now, started=now if self.started is None else self.started)
        self.changed = True

    # --- views --------------------------------------------------------------------------------------------------------

    def view(self, role: Role) -> dict[str, Any]:
        """What a role sees. The projector gets no names, no ids, and no counts in a class of fewer than five."""
        now, since = self.clock(), float(self.store.meta("step_at", "0"))
        planned = {name for item in self.items for name in item.exercises}
        columns = self.room.columns(planned, NAMES)
        counted = role != "screen" or len(self.room.learners) >= room.FEWEST
        beliefs = self.room.beliefs(now)
        if role == "screen":  # a belief that only one learner holds is between them and the instructor
            beliefs = [one for one in beliefs if len(one.holders) > 1][:3] if counted else []
        answers = self.answers() if counted else []
        state: dict[str, Any] = {
            "role": role,
            "title": self.title,
            "over": self.closed,
            "join": self.join_line if self.door_open else "",
            "size": len(self.room.learners) if counted else None,
            "hands": len(self.room.queue()) if counted else None,
            "done": sum(_is_done(one, since) for one in self.room.learners.values()) if counted else None,
            "puzzles": [
                {"name": name, "title": PUZZLES[name].title, "counts": self.room.counts(name, now) if counted else {}}
                for name in columns
            ],
            "question": self.question,
            "answered": len(self._answers) if counted else None,
            "answers": [one for one in answers if role != "screen" or one[1] > 1][:MAX_ANSWERS],
            "beliefs": [self._belief(one, role) for one in beliefs[:10]],
            "agenda": self.items,
            "standing": schedule.standing(self.items, self.started, self.step, now),
        }
        more = {"qr": self.qr} if role == "screen" else self._staff_view(columns, now, since)
        return state | more

    def _staff_view(self, columns: Sequence[str], now: float, since: float) -> dict[str, Any]:
        return {
            "door": self.door_open,
            "advice": self._advice(),
            "claims": self.store.claims(),
            "queue": [
                {
                    "who": one.id,
                    "puzzle": one.puzzle,
                    "seconds": round(now - (one.hand or now)),
                    "passed": one.passed_since(one.hand or now),
                }
                for one in self.room.queue()
            ],
            "stuck": [asdict(one) for one in self.room.stuck(now)],
            "learners": [
                {
                    "id": one.id,
                    "name": one.name,
                    "muted": one.muted,
                    "hand": one.hand is not None,
                    "done": _is_done(one, since),
                    "silent": _silent(one, now, since),
                    "work": [
                        [self.room.shape(one, name, now), one.work[name].attempts if name in one.work else 0]
                        for name in columns
                    ],
                }
                for one in self.room.learners.values()
            ],
        }

    def _belief(self, belief: Belief, role: Role) -> dict[str, Any]:
        entry = misconception(belief.puzzle, belief.name)
        state: dict[str, Any] = {
            "puzzle": belief.puzzle,
            "name": belief.name,
            "believed": entry.believed if entry else belief.name.replace("_", " "),
            "instead": entry.instead if entry else "",
            "count": len(belief.holders),
            "film": self.films is not None and self.films.ready(belief.puzzle, belief.name),
        }
        if role != "screen":
            state["holders"] = [self.room.learners[who].name for who in belief.holders]
        return state

    def _advice(self) -> str:
        if self.started is None or not self.items:
            return ""
        puzzles = [name for name in self.items[min(self.step, len(self.items) - 1)].exercises if name in PUZZLES]
        share = self.room.passed_share(puzzles)
        if share < room.MOVE_ON:
            return ""
        rest = "" if share == 1 else f" The others can come back to {' and '.join(puzzles)} later."
        return f"Move on: {share:.0%} have passed.{rest}"


def _silent(learner: Learner, now: float, since: float) -> int:
    """Minutes of silence since the current row began, 0 if there are few."""
    seconds = now - max(learner.last, since)
    return math.floor(seconds / 60) if seconds > room.SILENT else 0


def _is_done(learner: Learner, since: float) -> bool:
    return learner.done is not None and learner.done >= since


def _known_words(event: Event) -> Event:
    """The event without names that the course does not have, so that the board never shows a word a learner made up."""
    puzzle = event.puzzle if event.puzzle in PUZZLES else ""
    belief = event.misconception if misconception(puzzle, event.misconception) else ""
    status = event.status if event.status in STATUSES else ""
    gate = event.gate if event.gate in GATES else ""
    facts = {"puzzle": puzzle, "misconception": belief, "status": status, "gate": gate}
    return msgspec.structs.replace(event, ago=0.0, **facts)
