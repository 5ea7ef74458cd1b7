"""The state of a class, computed from its events: who is at which puzzle, who is stuck, which beliefs are common.

It has no clock, disk or network of its own. Times are seconds by the board's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from checker.api.course import GATES
from checker.api.room import Event

SAME_DIAGNOSIS = 3
"""Consecutive failures with one diagnosis after which a learner counts as stuck."""
NO_PROGRESS = 8 * 60.0
"""Seconds at a puzzle without passing another gate after which a learner counts as stuck."""
SILENT = 10 * 60.0
BELIEVED_FOR = 20 * 60.0
"""Seconds for which a diagnosed belief counts as held."""
FEWEST = 5
"""In a smaller class the projector shows no counts, because everyone would know whose they are."""
MOVE_ON = 0.7
"""The share of the class that has to pass before the board suggests moving on."""

Shape = Literal["untouched", "trying", "stuck", "passed"]


@dataclass
class Work:
    """One learner's work on one puzzle. `furthest` is the index of a gate, `progress` when it was reached."""

    attempts: int = 0
    hints: int = 0
    passed: bool = False
    status: str = ""
    belief: str = ""
    same: int = 0
    furthest: int = -1
    progress: float = 0.0
    last: float = 0.0

    def check(self, event: Event, at: float) -> None:
        """Count a check that ended at `at`."""
        self.hints = max(self.hints, event.hints)
        self.attempts = max(self.attempts + 1, event.attempt)
        self.passed = self.passed or event.status == "passed"
        if at < self.last:  # it was delivered late, so a newer check counts
            return
        self.same = self.same + 1 if event.misconception == self.belief else 1
        self.last, self.status, self.belief = at, event.status, event.misconception
        reached = GATES.index(event.gate) if event.gate else -1
        if event.status == "passed" or reached > self.furthest:
            self.furthest, self.progress = max(reached, self.furthest), at


@dataclass
class Learner:
    """Somebody who joined. `hand` is when they raised their hand, `puzzle` what they worked on last."""

    id: str
    name: str
    joined: float
    muted: bool = False
    last: float = 0.0
    hand: float | None = None
    done: float | None = None
    puzzle: str = ""
    work: dict[str, Work] = field(default_factory=dict)

    def has_passed(self, puzzle: str) -> bool:
        return puzzle in self.work and self.work[puzzle].passed

    def passed_since(self, at: float) -> bool:
        """Whether they have passed a puzzle since then."""
        return any(work.passed and work.progress > at for work in self.work.values())


@dataclass(frozen=True)
class Belief:
    """A named misconception and the ids of the learners who hold it."""

    puzzle: str
    name: str
    holders: tuple[str, ...]


@dataclass(frozen=True)
class Stuck:
    """A learner who needs help: why, for how many seconds, and which hint comes next."""

    who: str
    puzzle: str
    why: str
    seconds: float
    belief: str
    hint: int


@dataclass
class Room:
    """The class as it is now, by id. Events of different learners may come in any order, and late."""

    learners: dict[str, Learner] = field(default_factory=dict)

    def apply(self, who: str, event: Event, at: float) -> None:
        """Take in an event that happened at `at`, unless the learner has left."""
        learner = self.learners.get(who)
        if learner is None:
            return
        learner.last = max(learner.last, at)
        if event.kind == "hand":
            learner.hand = at if learner.hand is None else learner.hand
        elif event.kind == "hand_down":
            learner.hand = None
        elif event.kind == "done":
            learner.done, learner.hand = at, None
        elif event.puzzle:
            learner.puzzle = event.puzzle
            learner.work.setdefault(event.puzzle, Work(progress=at)).check(event, at)

    def shape(self, learner: Learner, puzzle: str, now: float) -> Shape:
        if puzzle not in learner.work:
            return "untouched"
        if learner.has_passed(puzzle):
            return "passed"
        return "stuck" if puzzle == learner.puzzle and self.stuck_at(learner, now) else "trying"

    def stuck_at(self, learner: Learner, now: float) -> Stuck | None:
        """Why a learner is stuck at their puzzle; None if they passed it, fell silent or make progress."""
        work = learner.work.get(learner.puzzle)
        if work is None or work.passed or now - learner.last > SILENT + NO_PROGRESS:
            return None
        since = now - work.progress
        if work.status == "infra_error":
            why = "the checker fails on this machine"
        elif work.belief and work.same >= SAME_DIAGNOSIS:
            why = f"the same mistake {work.same} times"
        elif since > NO_PROGRESS:
            why = f"no progress for {since / 60:.0f} min"
        else:
            return None
        return Stuck(learner.id, learner.puzzle, why, since, work.belief, min(3, work.hints + 1))

    def stuck(self, now: float) -> list[Stuck]:
        """The learners who are stuck, longest first."""
        everyone = (self.stuck_at(learner, now) for learner in self.learners.values())
        return sorted((one for one in everyone if one), key=lambda one: -one.seconds)

    def beliefs(self, now: float) -> list[Belief]:
        """The misconceptions in the learners' newest checks, commonest first."""
        holders: dict[tuple[str, str], list[str]] = {}
        for learner in self.learners.values():
            for puzzle, work in learner.work.items():
                if work.belief and not work.passed and now - work.last <= BELIEVED_FOR:
                    holders.setdefault((puzzle, work.belief), []).append(learner.id)
        beliefs = [Belief(puzzle, name, tuple(ids)) for (puzzle, name), ids in holders.items()]
        return sorted(beliefs, key=lambda one: (-len(one.holders), one.puzzle, one.name))

    def queue(self) -> list[Learner]:
        """The learners with a raised hand, longest first."""
        return sorted((one for one in self.learners.values() if one.hand is not None), key=lambda one: one.hand or 0.0)

    def counts(self, puzzle: str, now: float) -> Counter[Shape]:
        """How many learners have each shape at a puzzle."""
        return Counter(self.shape(learner, puzzle, now) for learner in self.learners.values())

    def columns(self, planned: Collection[str], ladder: Sequence[str]) -> list[str]:
        """The puzzles to show: planned or tried by anybody; without a run sheet, the next one too."""
        touched = {puzzle for learner in self.learners.values() for puzzle in learner.work}
        columns = [puzzle for puzzle in ladder if puzzle in touched or puzzle in planned]
        if not planned:
            after = ladder.index(columns[-1]) + 1 if columns else 0
            columns += ladder[after : after + 1]
        return columns

    def passed_share(self, puzzles: Sequence[str]) -> float:
        """The share of learners who have passed all of these puzzles; 0 without learners or puzzles."""
        if not self.learners or not puzzles:
            return 0.0
        return sum(all(map(one.has_passed, puzzles)) for one in self.learners.values()) / len(self.learners)


def replayed(learners: Iterable[Learner], events: Iterable[tuple[str, Event, float]]) -> Room:
    """The room after all stored events."""
    room = Room({learner.id: learner for learner in learners})
    for who, event, at in events:
        room.apply(who, event, at)
    return room
