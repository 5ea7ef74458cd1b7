"""What events say about a class."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from checker.course import LADDER
from classroom.workshop import WorkshopError
from classroom.workshop.room import BELIEVED_FOR, Learner, Room
from classroom.workshop.schedule import Item, parse, standing
from classroom.workshop.wire import Event

MINUTE = 60.0


def room(count: int = 3) -> Room:
    return Room({f"w{n}": Learner(f"w{n}", f"Otter {n}", 0.0) for n in range(count)})


def checked(status: str = "failed", gate: str = "values", misconception: str = "", **facts: Any) -> Event:
    facts = {"puzzle": "row_softmax", "status": status, "gate": gate, "misconception": misconception, **facts}
    return Event(secrets.token_hex(16), "check", **facts)


def passed() -> Event:
    return checked("passed", "")


def test_a_puzzle_is_untouched_then_tried_then_passed_and_stays_so() -> None:
    r, learner = room(), "w0"
    shapes = [r.shape(r.learners[learner], "row_softmax", 0.0)]
    for event in (checked(), passed(), checked()):
        r.apply(learner, event, MINUTE)
        shapes.append(r.shape(r.learners[learner], "row_softmax", MINUTE))
    assert shapes == ["untouched", "trying", "passed", "passed"]


def test_three_times_the_same_diagnosis_is_stuck_and_two_or_different_ones_are_not() -> None:
    r = room()
    for n, names in enumerate((["a", "a", "a"], ["a", "a"], ["a", "a", "b"])):
        for minute, name in enumerate(names):
            r.apply(f"w{n}", checked(misconception=name), minute * MINUTE)
    (stuck,) = r.stuck(3 * MINUTE)
    assert (stuck.who, stuck.why, stuck.belief, stuck.hint) == ("w0", "3 times the same mistake", "a", 1)


def test_failures_without_a_diagnosis_are_not_the_same_mistake() -> None:
    r = room()
    for minute in range(4):
        r.apply("w0", checked(), minute * MINUTE)
    assert r.stuck(4 * MINUTE) == []


def test_eight_minutes_at_one_gate_are_stuck_and_a_further_gate_is_progress() -> None:
    r = room(2)
    for minute in (0, 5, 9):
        r.apply("w0", checked(gate="compile", hints=1), minute * MINUTE)
        r.apply("w1", checked(gate=("compile", "values", "memory")[minute // 4]), minute * MINUTE)
    (stuck,) = r.stuck(10 * MINUTE)
    assert (stuck.who, stuck.why, stuck.hint) == ("w0", "no progress for 10 min", 2)


def test_who_went_on_to_another_puzzle_is_not_stuck_at_the_last() -> None:
    r = room()
    for minute in range(3):
        r.apply("w0", checked(misconception="a"), minute * MINUTE)
    r.apply("w0", checked(puzzle="chunked_softmax"), 4 * MINUTE)
    assert r.stuck(4 * MINUTE) == []


def test_beliefs_are_what_the_newest_checks_show_commonest_first_and_fade() -> None:
    r = room(4)
    for who, name in (("w0", "a"), ("w1", "b"), ("w2", "b"), ("w3", "b")):
        r.apply(who, checked(misconception=name), MINUTE)
    assert [(b.name, len(b.holders)) for b in r.beliefs(MINUTE)] == [("b", 3), ("a", 1)]
    r.apply("w1", checked(misconception="a"), 2 * MINUTE)
    r.apply("w2", passed(), 2 * MINUTE)
    assert [(b.name, len(b.holders)) for b in r.beliefs(2 * MINUTE)] == [("a", 2), ("b", 1)]
    assert r.beliefs(3 * MINUTE + BELIEVED_FOR) == []


def test_a_result_that_is_delivered_late_does_not_undo_what_came_after_it() -> None:
    r = room()
    r.apply("w0", passed(), 5 * MINUTE)
    r.apply("w0", checked(misconception="a"), 1 * MINUTE)
    assert r.shape(r.learners["w0"], "row_softmax", 5 * MINUTE) == "passed"
    assert r.beliefs(5 * MINUTE) == []
    assert r.learners["w0"].last == 5 * MINUTE


def test_hands_queue_by_how_long_they_are_up_and_done_takes_one_down() -> None:
    r = room()
    for who, minute in (("w1", 1), ("w0", 2), ("w1", 3), ("w2", 4)):
        r.apply(who, Event(secrets.token_hex(16), "hand"), minute * MINUTE)
    assert [one.id for one in r.queue()] == ["w1", "w0", "w2"]
    r.apply("w1", Event(secrets.token_hex(16), "done"), 5 * MINUTE)
    assert [one.id for one in r.queue()] == ["w0", "w2"]


def test_the_puzzles_shown_are_those_of_the_sheet_or_as_far_as_anybody_came() -> None:
    names = [puzzle.name for puzzle in LADDER]
    r = room()
    assert r.columns((), names) == names[:1]
    r.apply("w0", checked(puzzle=names[1]), 0.0)
    assert r.columns((), names) == names[1:3]
    assert r.columns({names[3]}, names) == [names[1], names[3]]


def test_of_somebody_who_left_nothing_is_taken_in() -> None:
    r = room()
    r.apply("gone", checked(misconception="a"), 0.0)
    assert r.beliefs(0.0) == []


def test_the_run_sheet_says_how_much_time_is_left_or_gone_too_far() -> None:
    items = parse(
        b'[{"start_minute": 20, "minutes": 30, "title": "b"}, {"start_minute": 0, "minutes": 20, "title": "a"}]'
    )
    assert [item.title for item in items] == ["a", "b"]
    assert standing(items, None, 0, 0.0) is None
    early, late = (standing(items, 0.0, 0, minute * MINUTE) for minute in (15, 24))
    assert early is not None
    assert late is not None
    assert (early.left, early.over) == (5.0, -5.0)
    assert (late.left, late.over) == (0.0, 4.0)
    assert standing([Item(0, 10, "a")], 0.0, 7, 0.0).step == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("text", [b"[]", b"{}", b'[{"title": "a"}]', b"rows"])
def test_what_is_no_agenda_is_told(text: bytes) -> None:
    with pytest.raises(WorkshopError):
        parse(text)
