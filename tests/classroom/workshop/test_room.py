"""What the board concludes from the events of a class."""

from __future__ import annotations

import secrets
from typing import Any

from checker.verbs.board_wire import Event
from classroom.workshop.room import BELIEVED_FOR, Learner, Room

MINUTE = 60.0


def room(count: int = 3) -> Room:
    return Room({f"w{n}": Learner(f"w{n}", f"Otter {n}", 0.0) for n in range(count)})


def checked(status: Any = "failed", gate: Any = "values", misconception: str = "", **facts: Any) -> Event:
    facts = {"puzzle": "row_softmax", "status": status, "gate": gate, "misconception": misconception, **facts}
    return Event(secrets.token_hex(16), "check", **facts)


def passed() -> Event:
    return checked("passed", "")


def test_a_puzzle_stays_passed_whatever_comes_later() -> None:
    r = room()
    shapes = [r.shape(r.learners["w0"], "row_softmax", 0.0)]
    for event in (checked(), passed(), checked(misconception="a")):
        r.apply("w0", event, MINUTE)
        shapes.append(r.shape(r.learners["w0"], "row_softmax", MINUTE))
    assert shapes == ["untouched", "trying", "passed", "passed"]
    r.apply("w1", passed(), 5 * MINUTE)
    r.apply("w1", checked(misconception="b"), 1 * MINUTE)  # delivered late
    assert r.shape(r.learners["w1"], "row_softmax", 5 * MINUTE) == "passed"
    assert r.beliefs(5 * MINUTE) == []


def test_three_equal_diagnoses_in_a_row_mean_stuck() -> None:
    r = room(4)
    for n, names in enumerate((["a", "a", "a"], ["a", "a"], ["a", "a", "b"], ["", "", ""])):
        for minute, name in enumerate(names):
            r.apply(f"w{n}", checked(misconception=name), minute * MINUTE)
    (stuck,) = r.stuck(3 * MINUTE)
    assert (stuck.who, stuck.why, stuck.belief, stuck.hint) == ("w0", "the same mistake 3 times", "a", 1)
    assert r.shape(r.learners["w0"], "row_softmax", 3 * MINUTE) == "stuck"
    r.apply("w0", checked(puzzle="chunked_softmax"), 4 * MINUTE)
    assert r.stuck(4 * MINUTE) == [], "at another puzzle now"


def test_eight_minutes_at_one_gate_mean_stuck_and_another_gate_is_progress() -> None:
    r = room(2)
    for minute in (0, 5, 9):
        r.apply("w0", checked(gate="compile", hints=1), minute * MINUTE)
        r.apply("w1", checked(gate=("compile", "values", "memory")[minute // 4]), minute * MINUTE)
    (stuck,) = r.stuck(10 * MINUTE)
    assert (stuck.who, stuck.why, stuck.hint) == ("w0", "no progress for 10 min", 2)


def test_beliefs_come_from_the_newest_checks_commonest_first_and_fade() -> None:
    r = room(4)
    for who, name in (("w0", "a"), ("w1", "b"), ("w2", "b"), ("w3", "b"), ("gone", "a")):
        r.apply(who, checked(misconception=name), MINUTE)
    assert [(b.name, len(b.holders)) for b in r.beliefs(MINUTE)] == [("b", 3), ("a", 1)]
    r.apply("w1", checked(misconception="a"), 2 * MINUTE)
    r.apply("w2", passed(), 2 * MINUTE)
    assert [(b.name, len(b.holders)) for b in r.beliefs(2 * MINUTE)] == [("a", 2), ("b", 1)]
    assert r.beliefs(3 * MINUTE + BELIEVED_FOR) == []
