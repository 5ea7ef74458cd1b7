"""What the board concludes from the events of a class."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from checker.course import LADDER
from checker.verbs.board_wire import Event
from classroom.workshop.room import BELIEVED_FOR, Learner, Room
from classroom.workshop.schedule import Item, parse, standing

MINUTE = 60.0


def room(count: int = 3) -> Room:
    return Room({f"w{n}": Learner(f"w{n}", f"Otter {n}", 0.0) for n in range(count)})


def did(kind: Any) -> Event:
    return Event(secrets.token_hex(16), kind)


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


def test_hands_queue_in_order_and_done_lowers_one() -> None:
    r = room()
    for who, minute in (("w1", 1), ("w0", 2), ("w1", 3), ("w2", 4)):
        r.apply(who, did("hand"), minute * MINUTE)
    assert [one.id for one in r.queue()] == ["w1", "w0", "w2"]
    r.apply("w1", did("done"), 5 * MINUTE)
    assert [one.id for one in r.queue()] == ["w0", "w2"]


def test_the_columns_are_the_planned_puzzles_or_one_more_than_anybody_tried() -> None:
    names = [puzzle.name for puzzle in LADDER]
    r = room()
    assert r.columns((), names) == names[:1]
    r.apply("w0", checked(puzzle=names[1]), 0.0)
    assert r.columns((), names) == names[1:3]
    assert r.columns({names[3]}, names) == [names[1], names[3]]


def test_the_run_sheet_says_how_much_time_is_left() -> None:
    items = parse(
        b'[{"start_minute": 20, "minutes": 30, "title": "b"}, {"start_minute": 0, "minutes": 20, "title": "a"}]'
    )
    assert [item.title for item in items] == ["a", "b"]
    assert standing(items, None, 0, 0.0) is None
    assert [standing(items, 0.0, 0, minute * MINUTE).left for minute in (15, 24)] == [5.0, -4.0]  # type: ignore[union-attr]
    assert standing([Item(0, 10, "a")], 0.0, 7, 0.0).step == 0  # type: ignore[union-attr]
    for text in (b"[]", b"{}", b'[{"title": "a"}]', b"rows"):
        with pytest.raises(ValueError, match="agenda"):
            parse(text)
