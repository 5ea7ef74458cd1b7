"""What the events of a class say about it: who is where, who is stuck, what is believed. No clock of its own, no disk, no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from classroom.workshop.wire import Event, Gate

GATES: tuple[Gate, ...] = ("source", "compile", "values", "memory", "traffic", "gpu", "speed")
SAME_DIAGNOSIS = 3
"""Failures in a row with the same diagnosis after which a learner counts as stuck."""
NO_PROGRESS = 8 * 60.0
"""Seconds at a puzzle without progress after which a learner counts as stuck."""
SILENT = 10 * 60.0
BELIEVED_FOR = 20 * 60.0
"""Seconds after which a belief that was diagnosed no longer counts as held."""
FEWEST = 5
"""On the projector there are no counts in a smaller class: everyone would know who is meant."""
MOVE_ON = 0.7

Shape = Literal["untouched", "trying", "stuck", "passed"]


@dataclass
class Work:
    """One learner at one puzzle. Times are seconds of the board's clock; `furthest` is the index of a gate."""

    attempts: int = 0
    hints: int = 0
    passed: bool = False
    status: str = ""
    belief: str = ""
    believed_at: float = 0.0
    same: int = 0
    furthest: int = -1
    progress: float = 0.0
    last: float = 0.0


@dataclass
class Learner:
    """Somebody who joined. `hand` is since when the hand is up."""

    id: str
    name: str
    joined: float
    muted: bool = False
    last: float = 0.0
    hand: float | None = None
    done: float | None = None
    puzzle: str = ""
    """What they worked at last."""
    work: dict[str, Work] = field(default_factory=dict)


@dataclass(frozen=True)
class Belief:
    """A named misconception and who holds it now, by id."""

    puzzle: str
    name: str
    holders: tuple[str, ...]


@dataclass(frozen=True)
class Stuck:
    """A learner who needs help: why, for how many `seconds`, and the next hint."""

    who: str
    puzzle: str
    why: str
    seconds: float
    belief: str
    hint: int


@dataclass
class Room:
    """The class as it is now, by id. Events may come in any order of learners, and late."""

    learners: dict[str, Learner] = field(default_factory=dict)

    def apply(self, who: str, event: Event, at: float) -> None:
        """Take in an event that happened at `at`. Events of a learner who left are dropped."""
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
            work = learner.work.setdefault(event.puzzle, Work(progress=at))
            work.hints = max(work.hints, event.hints)
            _checked(work, event, at)

    def shape(self, learner: Learner, puzzle: str, now: float) -> Shape:
        work = learner.work.get(puzzle)
        if work is None:
            return "untouched"
        if work.passed:
            return "passed"
        return "stuck" if self.stuck_at(learner, puzzle, now) else "trying"

    def stuck_at(self, learner: Learner, puzzle: str, now: float) -> Stuck | None:
        """Why somebody is stuck at a puzzle; None where they passed, went on to another, fell silent, or are not stuck."""
        work = learner.work.get(puzzle)
        if work is None or work.passed or learner.puzzle != puzzle or now - learner.last > SILENT + NO_PROGRESS:
            return None
        since = now - work.progress
        if work.status == "infra_error":
            why = "the checker fails on this machine"
        elif work.same >= SAME_DIAGNOSIS:
            why = f"{work.same} times the same mistake"
        elif since > NO_PROGRESS and work.attempts:
            why = f"no progress for {since / 60:.0f} min"
        else:
            return None
        return Stuck(learner.id, puzzle, why, since, work.belief, min(3, work.hints + 1))

    def stuck(self, now: float) -> list[Stuck]:
        """Who is stuck, longest first."""
        found = [self.stuck_at(learner, learner.puzzle, now) for learner in self.learners.values()]
        return sorted((one for one in found if one), key=lambda one: -one.seconds)

    def beliefs(self, now: float) -> list[Belief]:
        """The named misconceptions that somebody's newest check shows, commonest first."""
        holders: dict[tuple[str, str], list[str]] = {}
        for learner in self.learners.values():
            for puzzle, work in learner.work.items():
                if work.belief and not work.passed and now - work.believed_at <= BELIEVED_FOR:
                    holders.setdefault((puzzle, work.belief), []).append(learner.id)
        found = [Belief(puzzle, name, tuple(ids)) for (puzzle, name), ids in holders.items()]
        return sorted(found, key=lambda one: (-len(one.holders), one.puzzle, one.name))

    def queue(self) -> list[Learner]:
        """Whose hand is up, longest first."""
        up = [learner for learner in self.learners.values() if learner.hand is not None]
        return sorted(up, key=lambda learner: learner.hand or 0.0)

    def counts(self, puzzle: str, now: float) -> Counter[Shape]:
        """How many learners have each shape at a puzzle."""
        return Counter(self.shape(learner, puzzle, now) for learner in self.learners.values())

    def columns(self, planned: Collection[str], ladder: Sequence[str]) -> list[str]:
        """The puzzles to show: those on the run sheet and those that anybody tried; without a sheet, the next one too."""
        touched = {puzzle for learner in self.learners.values() for puzzle in learner.work}
        shown = [puzzle for puzzle in ladder if puzzle in touched or puzzle in planned]
        if not planned:
            after = ladder.index(shown[-1]) + 1 if shown else 0
            shown += ladder[after : after + 1]
        return shown

    def passed_share(self, puzzles: Sequence[str]) -> float:
        """What share of all learners has passed all of these puzzles; 0 where there are none."""
        if not self.learners or not puzzles:
            return 0.0
        whole = sum(all(_passed(learner.work, puzzle) for puzzle in puzzles) for learner in self.learners.values())
        return whole / len(self.learners)


def _passed(work: Mapping[str, Work], puzzle: str) -> bool:
    return puzzle in work and work[puzzle].passed


def _checked(work: Work, event: Event, at: float) -> None:
    work.attempts = max(work.attempts + 1, event.attempt)
    if at < work.last:  # delivered late: what came after it counts
        work.passed = work.passed or event.status == "passed"
        return
    work.last, work.status = at, event.status
    if event.status == "passed":
        work.passed, work.belief, work.same, work.progress = True, "", 0, at
        return
    work.same = work.same + 1 if event.misconception and event.misconception == work.belief else 1
    if not event.misconception:
        work.same = 0
    work.belief, work.believed_at = event.misconception, at
    reached = GATES.index(event.gate) if event.gate else -1
    if reached > work.furthest:
        work.furthest, work.progress = reached, at


def replayed(learners: Iterable[Learner], events: Iterable[tuple[str, Event, float]]) -> Room:
    """The room after all that was stored."""
    room = Room({learner.id: learner for learner in learners})
    for who, event, at in events:
        room.apply(who, event, at)
    return room
