"""A class while it runs: the store, the room in memory, and what each role may see and do. No HTTP in it."""

from __future__ import annotations

import hmac
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from checker.course import LADDER, PUZZLES
from classroom.workshop import room, schedule
from classroom.workshop.belief_films import BeliefFilms, misconception
from classroom.workshop.board_store import Store, Stored
from classroom.workshop.join_code import clean_name, digest, new_token, pseudonym, same_code, shown
from classroom.workshop.limits import Limit
from classroom.workshop.room import Belief, Learner, Room
from classroom.workshop.schedule import Item
from classroom.workshop.wire import OPEN_FOR, Event, Join, Joined, Message, NotAllowed, Push, Report

Role = Literal["screen", "helper", "teacher"]
ROLES: tuple[Role, ...] = ("screen", "helper", "teacher")
MOST_LEARNERS = 1000
MOST_MESSAGES = 20
NAMES = tuple(puzzle.name for puzzle in LADDER)


@dataclass
class LiveClass:
    """One class. `url` is where learners reach it; `qr` draws the way there as the path of an SVG, where that is possible."""

    store: Store
    url: str
    films: BeliefFilms | None = None
    items: Sequence[Item] = ()
    qr: Mapping[str, Any] | None = None
    changed: bool = True
    closed: bool = False
    clock: Callable[[], float] = time.time
    """Runs faster in a rehearsal."""
    room: Room = field(init=False)
    disk: ThreadPoolExecutor = field(init=False, repr=False)
    """One thread, so that what is written and what is deleted keep their order."""

    def __post_init__(self) -> None:
        self.disk = ThreadPoolExecutor(1, "board-disk")
        self.room = room.replayed(self.store.learners(), self.store.events())
        self._tokens = self.store.tokens()
        self._messages = self.store.messages()
        self._claims = self.store.claims()
        self._meta = {key: self.store.meta(key) for key in ("board", "code", "title", "opened", *ROLES)}
        self._door = self.store.meta("door") == "1"
        self._step = int(self.store.meta("step", "0"))
        self._step_at = float(self.store.meta("step_at", "0"))
        started = self.store.meta("started", "")
        self._started = float(started) if started else None
        self._wrong_codes, self._all_wrong_codes = Limit(10, 10), Limit(120, 200)
        self._joins = Limit(60, 300)
        self._requests, self._events = Limit(60, 60), Limit(20, 60)

    # ------------------------------------------------------------------------------------------------------- who asks

    @property
    def title(self) -> str:
        return self._meta["title"]

    @property
    def join_line(self) -> str:
        """What a learner passes to `join`."""
        return shown(self._meta["code"], self.url)

    @property
    def step(self) -> int:
        """The row of the run sheet that the class is at, -1 before it begins."""
        return -1 if self._started is None else self._step

    @property
    def door_open(self) -> bool:
        """Whether the join code works: until somebody shuts the door, and for 12 hours at most."""
        return self._door and not self.closed and self.clock() - float(self._meta["opened"]) < OPEN_FOR

    def role_of(self, token: str) -> Role | None:
        given = token.encode("utf-8", "replace")
        return next((role for role in ROLES if hmac.compare_digest(self._meta[role].encode(), given)), None)

    def token_of(self, role: Role) -> str:
        return self._meta[role]

    def learner_of(self, token: str) -> Learner:
        """Whose token it is. Raises NotAllowed."""
        who = self._tokens.get(digest(token))
        learner = self.room.learners.get(who or "")
        if learner is None:
            raise NotAllowed(401, "this token is nobody's here: join the class again")
        return learner

    # ------------------------------------------------------------------------------------------------------- learners

    def join(self, asked: Join, address: str) -> Joined:
        """Let somebody in, or back in. Raises NotAllowed for a wrong code, a shut door, too many tries."""
        known = self._tokens.get(digest(asked.token)) if asked.token else None
        if known is not None:
            return self._back(self.room.learners[known], asked)
        if self._wrong_codes.left(address) < 1 or self._all_wrong_codes.left("") < 1:
            raise NotAllowed(429, "too many wrong codes: wait a minute", 60)
        if not hmac.compare_digest(same_code(asked.code).encode(), same_code(self._meta["code"]).encode()):
            self._wrong_codes.take(address)
            self._all_wrong_codes.take("")
            raise NotAllowed(403, "the board does not know this code: look at the screen again")
        if not self.door_open:
            raise NotAllowed(403, "the door of this class is shut: ask the instructor to open it")
        if len(self.room.learners) >= MOST_LEARNERS or not self._joins.take(address):
            raise NotAllowed(429, "too many joined just now: wait a minute", 60)
        own = clean_name(asked.name)
        name = own or pseudonym({learner.name for learner in self.room.learners.values()})
        now, token = self.clock(), new_token()
        learner = Learner(secrets.token_hex(8), name, now, last=now)
        self.store.add_learner(learner, bool(own), token)
        self.room.learners[learner.id] = learner
        self._tokens[digest(token)] = learner.id
        self.changed = True
        return Joined(learner.id, token, name, self.title, self._meta["board"])

    def _back(self, learner: Learner, asked: Join) -> Joined:
        own = clean_name(asked.name)
        if own and own != learner.name:
            self.store.rename(learner.id, own)
            learner.name, self.changed = own, True
        return Joined(learner.id, asked.token, learner.name, self.title, self._meta["board"])

    def admit(self, learner: Learner, report: Report) -> list[Stored]:
        """The events of a report as they will be stored. Raises NotAllowed for those who are muted, or send too much."""
        if learner.muted:
            raise NotAllowed(403, "the instructor has muted these reports")
        if not self._requests.take(learner.id) or not self._events.take(learner.id, len(report.events)):
            raise NotAllowed(429, "too much at once: wait", 20)
        now = self.clock()
        return [(learner.id, _known(event), max(learner.joined, now - event.ago)) for event in report.events]

    def apply(self, stored: Sequence[Stored], new: Sequence[bool]) -> None:
        """Take in what is on the disk now."""
        for (who, event, at), fresh in zip(stored, new, strict=True):
            if not fresh:
                continue
            self.room.apply(who, event, at)
            if event.kind in ("done", "hand_down"):
                self._release(who)
            if event.misconception and self.films is not None:
                self.films.want(event.puzzle, event.misconception)
            self.changed = True

    def want_films(self) -> None:
        """Have the films made of what the room believes already."""
        for belief in self.room.beliefs(self.clock()) if self.films is not None else ():
            self.films.want(belief.puzzle, belief.name)  # type: ignore[union-attr]

    def messages_for(self, learner: Learner, seen: int) -> list[Message]:
        return [message for message in self._messages.get(learner.id, []) if message.id > seen][:MOST_MESSAGES]

    def strike_out(self, learner: Learner) -> None:
        """Nothing of this learner's is taken in or shown any more; `store.forget` then deletes it."""
        self.room.learners.pop(learner.id, None)
        self._tokens = {token: who for token, who in self._tokens.items() if who != learner.id}
        self._messages.pop(learner.id, None)
        self._claims.pop(learner.id, None)
        self.changed = True

    # ------------------------------------------------------------------------------------------------------- the instructor

    def claim(self, who: str, by: str, on: bool) -> None:
        """Somebody goes to a learner, or does not after all. Raises NotAllowed where somebody else does."""
        self.learner(who)
        if not on:
            self._release(who)
        elif not self.store.claim(who, name := clean_name(by) or "a helper"):
            raise NotAllowed(409, f"{self._claims.get(who, 'somebody')} is on the way already")
        else:
            self._claims[who] = name
        self.changed = True

    def helped(self, who: str) -> None:
        """The hand is down again."""
        self.learner(who)
        self.apply([(stored := (who, Event(new_token(), "hand_down"), self.clock()))], self.store.add_events([stored]))

    def mute(self, who: str, on: bool) -> None:
        self.learner(who).muted = on
        self.store.mute(who, on)
        self.changed = True

    def push(self, push: Push) -> int:
        """Send a sentence or a hint; returns to how many. Raises NotAllowed."""
        puzzle = PUZZLES.get(push.puzzle)
        text = " ".join(push.text.split())
        if push.level and puzzle is not None:
            hint = puzzle.hint
            text = (hint.question, hint.idea, hint.skeleton)[push.level - 1]
        if not text:
            raise NotAllowed(400, "there is nothing to send")
        to = list(self.room.learners)
        if push.belief:
            held = self.room.beliefs(self.clock())
            to = [who for b in held if (b.puzzle, b.name) == (push.puzzle, push.belief) for who in b.holders]
        if not to:
            raise NotAllowed(409, "nobody would get it")
        message = Message(self.store.push(text, push.puzzle, to), text, push.puzzle)
        for who in to:
            self._messages.setdefault(who, []).append(message)
        return len(to)

    def set_door(self, on: bool) -> None:
        self._door = on
        self.store.set_meta(door=int(on))
        self.changed = True

    def go_to(self, step: int) -> None:
        """Begin the run sheet, or go to another row of it; green notes come off."""
        now = self.clock()
        if self._started is None:
            self._started = now
        self._step, self._step_at = min(step, max(len(self.items) - 1, 0)), now
        self.store.set_meta(step=self._step, step_at=now, started=self._started)
        self.changed = True

    def learner(self, who: str) -> Learner:
        """The learner with an id. Raises NotAllowed."""
        learner = self.room.learners.get(who)
        if learner is None:
            raise NotAllowed(404, "nobody in this class has that id")
        return learner

    def _release(self, who: str) -> None:
        if self._claims.pop(who, None) is not None:
            self.store.claim(who, None)

    # ------------------------------------------------------------------------------------------------------- what is shown

    def view(self, role: Role) -> dict[str, Any]:
        """The state for a role. On the projector there is no name, no id, and no count in a class of fewer than five."""
        now = self.clock()
        planned = {name for item in self.items for name in item.solved}
        columns = self.room.columns(planned, NAMES)
        size = len(self.room.learners)
        counted = role != "screen" or size >= room.FEWEST
        beliefs = self.room.beliefs(now)
        if role == "screen":  # what one person alone believes is between them and the instructor
            beliefs = [one for one in beliefs if len(one.holders) > 1][:3] if counted else []
        state: dict[str, Any] = {
            "role": role,
            "title": self.title,
            "over": self.closed,
            "join": self.join_line if self.door_open else "",
            "size": size if counted else None,
            "puzzles": [
                {
                    "name": name,
                    "title": PUZZLES[name].title,
                    "counts": self.room.counts(name, now) if counted else {},
                }
                for name in columns
            ],
            "beliefs": [self._belief(one, role) for one in beliefs[:10]],
            "hands": len(self.room.queue()) if counted else None,
            "done": sum(self._is_done(one) for one in self.room.learners.values()) if counted else None,
            "agenda": self.items,
            "standing": schedule.standing(self.items, self._started, self._step, now),
        }
        return state if role == "screen" else state | self._names(columns, now)

    def _names(self, columns: Sequence[str], now: float) -> dict[str, Any]:
        called = {learner.id: learner.name for learner in self.room.learners.values()}
        return {
            "door": self.door_open,
            "advice": self._advice(),
            "learners": [
                {
                    "id": one.id,
                    "name": one.name,
                    "muted": one.muted,
                    "hand": one.hand is not None,
                    "done": self._is_done(one),
                    "silent": self._silent(one, now),
                    "work": [
                        [self.room.shape(one, name, now), one.work[name].attempts if name in one.work else 0]
                        for name in columns
                    ],
                }
                for one in self.room.learners.values()
            ],
            "queue": [
                {
                    "who": one.id,
                    "name": one.name,
                    "seconds": round(now - (one.hand or now)),
                    "puzzle": one.puzzle,
                    "claimed": self._claims.get(one.id, ""),
                }
                for one in self.room.queue()
            ],
            "stuck": [
                {
                    "who": one.who,
                    "name": called[one.who],
                    "puzzle": one.puzzle,
                    "why": one.why,
                    "belief": one.belief.replace("_", " "),
                    "hint": one.hint,
                    "claimed": self._claims.get(one.who, ""),
                }
                for one in self.room.stuck(now)
            ],
        }

    def _belief(self, belief: Belief, role: Role) -> dict[str, Any]:
        found = misconception(belief.puzzle, belief.name)
        shown: dict[str, Any] = {
            "puzzle": belief.puzzle,
            "name": belief.name,
            "believed": found.believed if found else belief.name.replace("_", " "),
            "instead": found.instead if found else "",
            "count": len(belief.holders),
            "film": self.films is not None and self.films.ready(belief.puzzle, belief.name),
        }
        if role != "screen":
            shown["holders"] = [self.room.learners[who].name for who in belief.holders]
        return shown

    def _silent(self, learner: Learner, now: float) -> int:
        """Minutes without a word since this row of the run sheet began, 0 where there are few."""
        since = max(learner.last, self._step_at)
        return math.floor((now - since) / 60) if now - since > room.SILENT else 0

    def _is_done(self, learner: Learner) -> bool:
        return learner.done is not None and learner.done >= self._step_at

    def _advice(self) -> str:
        if self._started is None or not self.items:
            return ""
        puzzles = [name for name in self.items[self._step].solved if name in PUZZLES]
        share = self.room.passed_share(puzzles)
        if share < room.MOVE_ON:
            return ""
        left = "" if share == 1 else f" Offer {' and '.join(puzzles)} to the others as something to come back to."
        return f"Move on: {share:.0%} have passed.{left}"


def _known(event: Event) -> Event:
    """The event with nothing in it that the course does not have, so that no word of a learner's own is ever shown."""
    puzzle = event.puzzle if event.puzzle in PUZZLES else ""
    belief = event.misconception if misconception(puzzle, event.misconception) else ""
    return msgspec.structs.replace(event, ago=0.0, puzzle=puzzle, misconception=belief)
