"""A class that plays itself, so that an instructor can rehearse alone: learners who make the bank's mistakes, faster than real ones."""

from __future__ import annotations

import json
import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from checker.course import LADDER, PUZZLES
from checker.misconceptions import bank
from classroom.workshop.reporting import NotReached, post
from classroom.workshop.schedule import Item
from classroom.workshop.wire import Event, NotAllowed, Report

REPORT = Path(__file__).resolve().parents[2] / "reports" / "mutants-cpu.json"
MINUTES = 18.0
"""For each puzzle, where no run sheet is given."""


@dataclass(frozen=True, order=True)
class Moment:
    """What the learner with this number does, and in which minute of the class."""

    minute: float
    learner: int
    event: Event = field(compare=False)


@cache
def mistakes(puzzle: str) -> tuple[tuple[str, str], ...]:
    """Gate and misconception of the verdicts on the bank's wrong kernels, as they were measured; else as the bank says."""
    if REPORT.is_file():
        measured = {one["puzzle"]: one["misconceptions"] for one in json.loads(REPORT.read_text("utf-8"))["puzzles"]}
        rows = measured.get(puzzle, [])
        return tuple((row["gate"], row["diagnosed_as"]) for row in rows if row["caught"] and row["diagnosed_as"])
    return tuple((one.gates[0], one.name) for one in bank(puzzle))


def plain_sheet(count: int = 6) -> list[Item]:
    """A run sheet of the first puzzles in their order."""
    return [
        Item(n * MINUTES, MINUTES, puzzle.title, puzzle.notebook, [puzzle.name])
        for n, puzzle in enumerate(LADDER[:count])
    ]


def script(items: Sequence[Item], learners: int, seed: int = 0) -> list[Moment]:
    """What a class of so many does, in the order of time; the same for the same seed."""
    chance = random.Random(seed)
    fast = [chance.uniform(0.6, 1.6) for _ in range(learners)]  # some need half the time of others
    moments: list[Moment] = []
    for item in items:
        for puzzle in (name for name in item.solved if name in PUZZLES):
            wrong = list(mistakes(puzzle))
            chance.shuffle(wrong)
            for who in range(learners):
                moments += _at_puzzle(chance, who, puzzle, item, fast[who], wrong)
    return sorted(moments)


def _at_puzzle(
    chance: random.Random, who: int, puzzle: str, item: Item, pace: float, wrong: Sequence[tuple[str, str]]
) -> list[Moment]:
    weights = [1 / (n + 1) ** 1.3 for n in range(len(wrong))]  # a few beliefs are common, most are rare
    found: list[Moment] = []
    minute = item.start_minute + chance.uniform(1.0, 4.0) * pace

    def does(**facts: Any) -> None:
        found.append(Moment(minute, who, Event(f"{chance.getrandbits(128):032x}", **facts)))

    belief: tuple[str, str] | None = None
    hand = False
    for attempt in range(1, 13):
        facts = {"puzzle": puzzle, "attempt": attempt, "hints": min(3, attempt // 3), "device": "cpu"}
        seconds = round(chance.uniform(2, 9), 1)
        if chance.random() < 0.08 + 0.07 * attempt / pace:
            does(kind="check", status="passed", seconds=seconds, **facts)
            if hand or chance.random() < 0.6:
                does(kind="done")
            return found
        if belief is None or chance.random() > 0.5 * pace:  # who is slow holds on to a belief for longer
            belief = chance.choices(wrong, weights)[0] if wrong else None
        if belief is None or chance.random() < 0.15:
            does(kind="check", status="compile_error", gate="compile", seconds=seconds, **facts)
        else:
            gate, name = belief
            does(kind="check", status="failed", gate=gate, misconception=name, seconds=seconds, **facts)
        if attempt >= 3 and not hand and chance.random() < 0.2:
            hand = True
            does(kind="hand")
        minute += chance.uniform(1.0, 3.0) * pace
        if minute > item.start_minute + item.minutes + 3:
            return found
    return found


@dataclass
class Rehearsal:
    """Plays a script against a board at `url`, `speed` times as fast as a class."""

    url: str
    code: str
    teacher: str
    items: Sequence[Item]
    learners: int = 12
    speed: float = 1.0
    seed: int = 0
    reached: Callable[[], int] = lambda: -1
    """The row of the run sheet that the class is at. Who goes on early is not taken back."""

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self.play, name="rehearsal", daemon=True)
        thread.start()
        return thread

    def play(self) -> None:
        """Join, begin the run sheet, do what the script says, go on to the next row when its time has come."""
        tokens = [self._join() for _ in range(self.learners)]
        began = time.monotonic()
        steps = [Moment(item.start_minute, -1, Event(secrets.token_hex(16), "done")) for item in self.items]
        for moment in sorted([*steps, *script(self.items, self.learners, self.seed)]):
            time.sleep(max(began + moment.minute * 60 / self.speed - time.monotonic(), 0.0))
            if moment.learner < 0:
                step = sum(item.start_minute < moment.minute for item in self.items)
                if step > self.reached():
                    self._post("teacher/step", {"step": step}, self.teacher)
            else:
                self._post("events", Report([moment.event]), tokens[moment.learner])

    def _join(self) -> str:
        answer = self._post("join", {"code": self.code}, "")
        return str(json.loads(answer)["token"]) if answer else ""

    def _post(self, path: str, body: Any, token: str) -> bytes:
        try:
            return post(self.url + path, body, token)
        except (
            NotReached,
            NotAllowed,
        ):  # the instructor shut the door, or muted somebody: that is part of the rehearsal
            return b""
