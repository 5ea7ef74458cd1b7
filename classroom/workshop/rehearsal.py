"""A class that plays itself, so that an instructor can rehearse alone: made-up learners who make the bank's mistakes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from checker.api.course import PUZZLES, bank
from checker.api.room import Event, Join
from classroom.workshop.board import Server
from classroom.workshop.schedule import Item

GUESSES = ("yes", "no", "the same", "the same", "it depends")


@dataclass(frozen=True, order=True)
class Moment:
    """What the learner with this number does in which minute of the class: without an event they guess, without a number a row begins."""

    minute: float
    learner: int = -1
    event: Event | None = None


@cache
def mistakes(puzzle: str) -> tuple[tuple[str, str], ...]:
    """Gate and misconception of the bank's wrong kernels."""
    return tuple((one.gates[0], one.name) for one in bank(puzzle))


def script(items: Sequence[Item], learners: int, seed: int = 0) -> list[Moment]:
    """What a class does, in order of time; the same for the same seed."""
    chance = random.Random(seed)
    paces = [
        chance.uniform(0.6, 1.6) for _ in range(learners)
    ]  # minutes that a learner needs where an average one needs one
    moments = [Moment(item.start_minute) for item in items]
    asked = [item for item in items if item.question]
    moments += [Moment(item.start_minute + pace, who) for item in asked for who, pace in enumerate(paces)]
    for item in items:
        for puzzle in (name for name in item.exercises if name in PUZZLES):
            wrong = list(mistakes(puzzle))
            chance.shuffle(wrong)
            for who, pace in enumerate(paces):
                moments += _at_puzzle(chance, who, puzzle, item, pace, wrong)
    return sorted(moments, key=lambda moment: moment.minute)


def _at_puzzle(
    chance: random.Random, who: int, puzzle: str, item: Item, pace: float, wrong: Sequence[tuple[str, str]]
) -> Iterator[Moment]:
    """A learner's way through a puzzle: wrong attempts, perhaps a raised hand, and a pass if time allows."""
    weights = [1 / (n + 1) ** 1.3 for n in range(len(wrong))]  # a few beliefs are common, most are rare
    minute = item.start_minute + chance.uniform(1.0, 4.0) * pace
    gate, belief, hand = "compile", "", False

    def does(**facts: Any) -> Moment:
        return Moment(minute, who, Event(f"{chance.getrandbits(128):032x}", **facts))

    for attempt in range(1, 13):
        facts = {"kind": "check", "puzzle": puzzle, "attempt": attempt, "hints": min(3, attempt // 3), "device": "cpu"}
        if chance.random() < 0.08 + 0.07 * attempt / pace:
            yield does(status="passed", **facts)
            if hand or chance.random() < 0.6:
                yield does(kind="done")
            return
        if wrong and (not belief or chance.random() > 0.5 * pace):  # slow learners hold on to a belief for longer
            gate, belief = chance.choices(wrong, weights)[0]
        if not belief or chance.random() < 0.15:
            yield does(status="compile_error", gate="compile", **facts)
        else:
            yield does(status="failed", gate=gate, misconception=belief, **facts)
        if attempt >= 3 and not hand and chance.random() < 0.2:
            hand = True
            yield does(kind="hand")
        minute += chance.uniform(1.0, 3.0) * pace
        if minute > item.start_minute + item.minutes + 3:
            return


async def play(server: Server, learners: int = 12, speed: float = 1.0, seed: int = 0) -> None:
    """Join the class of a board and play a script, `speed` times as fast as a class. An instructor who goes on early is not taken back."""
    live, began = server.live, time.monotonic()
    ids = [live.join(Join(live.code), "rehearsal").who for _ in range(learners)]
    for moment in script(live.items, learners, seed):
        await asyncio.sleep(max(began + moment.minute * 60 / speed - time.monotonic(), 0.0))
        if moment.event is None and moment.learner >= 0:
            learner = live.room.learners.get(ids[moment.learner])
            if learner is not None and live.question:
                live.guess(learner, random.choice(GUESSES))
        elif moment.event is None:
            step = sum(item.start_minute <= moment.minute for item in live.items) - 1
            if step > live.step:
                live.go_to(step)
        elif ids[moment.learner] in live.room.learners:  # unless the instructor removed them
            await server.keep([(ids[moment.learner], moment.event, live.clock())])
