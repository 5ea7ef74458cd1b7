"""The board over the wire: what each role sees, and what hostile clients get."""

from __future__ import annotations

import http.client
import json
import sqlite3
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from checker.misconceptions import bank
from classroom.workshop import board_store
from classroom.workshop.schedule import Item
from classroom.workshop.wire import OPEN_FOR
from tests.classroom.workshop.conftest import Board, Start, event, wrong

SCRIPT = "<img src=x onerror=alert(1)>"


def test_a_check_arrives_and_the_instructor_sees_who_and_what(board: Board) -> None:
    ada = board.join(name="Ada")
    status, said = board.send(ada["token"], wrong(attempt=2), event("hand"))
    assert (status, said) == (200, {"kept": 2, "messages": []})
    state = board.view("teacher")
    believed = next(one for one in bank("row_softmax") if one.name == "no_max_subtraction").believed
    assert [(b["believed"], b["count"], b["holders"]) for b in state["beliefs"]] == [(believed, 1, ["Ada"])]
    assert [(one["name"], one["work"][0]) for one in state["learners"]] == [("Ada", ["trying", 2])]
    assert [(one["name"], one["puzzle"]) for one in state["queue"]] == [("Ada", "row_softmax")]


def test_the_projector_shows_no_name_no_id_and_no_count_below_five(board: Board) -> None:
    joined = [board.join(name=f"{SCRIPT} {n}") for n in range(4)]
    for one in joined:
        board.send(one["token"], wrong(), event("hand"))
    few = board.view("screen")
    assert (few["size"], few["hands"], few["done"], few["beliefs"]) == (None, None, None, [])
    assert [puzzle["counts"] for puzzle in few["puzzles"]] == [{}, {}]
    joined.append(board.join(name=f"{SCRIPT} 4"))
    board.send(joined[-1]["token"], wrong("sums_first_tile_only"))
    enough = board.view("screen")
    assert (enough["size"], enough["hands"]) == (5, 4)
    assert [b["count"] for b in enough["beliefs"]] == [4], "what one alone believes is shown to nobody"
    assert enough["puzzles"][0]["counts"] == {"trying": 5}
    text = json.dumps([few, enough])
    assert not any(one["who"] in text or one["token"] in text for one in joined)
    assert SCRIPT not in text
    called = [one["name"] for one in board.view("teacher")["learners"]]
    assert called == [f"{SCRIPT} {n}" for n in range(5)], "a script as a name stays text"


def test_a_wrong_code_is_refused_and_after_ten_the_right_one_too(board: Board) -> None:
    assert [board.ask("join", {"code": f"tile-{n}"})[0] for n in range(10)] == [403] * 10
    status, said = board.ask("join", {"code": board.code})
    assert (status, said) == (429, {"error": "too many wrong codes: wait a minute"})


def test_the_door_shuts_and_opens_and_shuts_by_itself_after_twelve_hours(start: Start) -> None:
    ahead = [0.0]
    board = start(clock=lambda: time.time() + ahead[0])
    inside = board.join()
    assert board.teach("door", {"on": False})[0] == 200
    assert board.ask("join", {"code": board.code})[0] == 403
    assert board.send(inside["token"], wrong())[0] == 200, "who is inside stays"
    board.teach("door", {"on": True})
    assert board.ask("join", {"code": board.code})[0] == 200
    code, ahead[0] = board.code, OPEN_FOR + 1
    assert board.ask("join", {"code": code})[0] == 403
    assert board.view("screen")["join"] == ""


def test_who_joins_again_with_their_token_is_the_same_person(board: Board) -> None:
    first = board.join(name="Ada")
    again = board.join(token=first["token"])
    assert again == first
    assert len(board.view("teacher")["learners"]) == 1
    assert board.join(token="f" * 32)["who"] != first["who"]


def test_words_that_the_course_does_not_have_are_dropped(board: Board) -> None:
    one = board.join()
    board.send(one["token"], wrong("alert_1"), wrong("no_max_subtraction", puzzle="no_such_puzzle"))
    state = board.view("teacher")
    assert state["beliefs"] == []
    assert "alert_1" not in json.dumps(state)
    assert "no_such_puzzle" not in json.dumps(state)


def test_nobody_posts_or_leaves_as_another(board: Board) -> None:
    ada, eve = board.join(name="Ada"), board.join(name="Eve")
    mine = wrong()
    board.send(ada["token"], mine)
    assert board.send(eve["token"], {**mine, "who": ada["who"]})[0] == 400, "an id has no place in an event"
    assert board.send(ada["who"], wrong())[0] == 401, "an id is no token"
    assert board.send(eve["token"], mine)[0] == 200, "the number of another's event takes nothing away from it"
    assert board.ask("leave", {"who": ada["who"]}, eve["token"])[0] == 200
    assert [(one["name"], one["work"][0][1]) for one in board.view("teacher")["learners"]] == [("Ada", 1)]


@pytest.mark.parametrize("action", ["claim", "helped", "mute", "remove", "push", "door", "step", "close"])
def test_a_learners_token_opens_no_route_of_the_instructor(board: Board, action: str) -> None:
    one = board.join()
    for token, expected in ((one["token"], 401), ("", 401), (board.code, 401), (board.live.token_of("screen"), 403)):
        assert board.ask(f"teacher/{action}", {"who": one["who"]}, token)[0] == expected
    assert [board.ask(path, None, one["token"])[0] for path in ("state", "stream", "qr")] == [401, 401, 401]


@pytest.mark.parametrize("action", ["mute", "remove", "push", "door", "step", "close"])
def test_a_helper_claims_and_does_nothing_else(board: Board, action: str) -> None:
    one = board.join()
    assert board.teach(action, {"who": one["who"]}, "helper")[0] == 403
    assert board.teach("claim", {"who": one["who"], "by": "Grace"}, "helper")[0] == 200


def test_two_helpers_do_not_go_to_one_desk(board: Board) -> None:
    one = board.join()
    board.send(one["token"], event("hand"))
    assert board.teach("claim", {"who": one["who"], "by": "Grace"}, "helper")[0] == 200
    refused = (409, {"error": "Grace is on the way already"})
    assert board.teach("claim", {"who": one["who"], "by": "Alan"}, "helper") == refused
    board.teach("claim", {"who": one["who"], "on": False}, "helper")
    assert board.teach("claim", {"who": one["who"], "by": "Alan"}, "helper")[0] == 200
    board.teach("helped", {"who": one["who"]}, "helper")
    state = board.view("helper")
    assert (state["queue"], state["hands"]) == ([], 0)


UNFIT = {
    "empty": b"",
    "no json": b"no json",
    "no text": b"\xff\xfe",
    "a list": [],
    "uid": {"events": [{"uid": "x", "kind": "check"}]},
    "kind": {"events": [event("shout")]},
    "status": {"events": [event(status="great")]},
    "puzzle": {"events": [event(puzzle=SCRIPT)]},
    "unknown field": {"events": [event(source="secret = 1")]},
    "negative": {"events": [event(attempt=-1)]},
    "huge": {"events": [event(ago=1e300)]},
    "many": {"events": [event() for _ in range(21)]},
}


@pytest.mark.parametrize("body", UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_the_schema_is_refused_whole(board: Board, body: Any) -> None:
    one = board.join()
    assert board.ask("events", body, one["token"])[0] == 400
    assert board.live.store.events() == []


def test_a_body_of_more_than_64_kib_is_not_read(board: Board) -> None:
    one = board.join()
    place = urlsplit(board.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    connection.putrequest("POST", "/events")
    connection.putheader("X-Class-Token", one["token"])
    connection.putheader("Content-Length", str(65 * 1024))
    connection.endheaders()
    assert connection.getresponse().status == 400
    assert board.send(one["token"], wrong())[0] == 200


def test_a_flood_is_stopped_and_hurts_nobody_else(board: Board) -> None:
    loud, quiet = board.join(), board.join()
    sent = [board.send(loud["token"], *(wrong() for _ in range(20)))[0] for _ in range(5)]
    assert sent == [200, 200, 200, 429, 429]
    assert board.send(quiet["token"], wrong())[0] == 200
    assert len(board.live.store.events()) == 61


def test_who_is_muted_is_not_heard(board: Board) -> None:
    one = board.join()
    board.teach("mute", {"who": one["who"]})
    assert board.send(one["token"], wrong())[0] == 403
    board.teach("mute", {"who": one["who"], "on": False})
    assert board.send(one["token"], wrong())[0] == 200


def test_who_is_removed_is_gone_with_all_that_was_kept(board: Board) -> None:
    rude, ada = board.join(name="something rude"), board.join(name="Ada")
    board.send(rude["token"], wrong())
    assert board.teach("remove", {"who": rude["who"]})[0] == 200
    assert board.teach("remove", {"who": "nobody"})[0] == 404
    assert [one["name"] for one in board.view("teacher")["learners"]] == ["Ada"]
    assert board.live.store.events() == []
    assert (board.send(rude["token"], wrong())[0], board.send(ada["token"], wrong())[0]) == (401, 200)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_server_is_refused(board: Board, origin: str) -> None:
    teacher = board.live.token_of("teacher")
    assert board.ask("teacher/door", {"on": False}, teacher, Origin=origin)[0] == 403
    assert board.ask("teacher/door", {"on": False}, teacher, Origin=board.url.rstrip("/"))[0] == 200


def test_pages_carry_a_policy_without_inline_scripts_and_no_token(board: Board) -> None:
    place = urlsplit(board.url)
    for path in ("/", "/board_page.js", "/board_page.css", "/state"):
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert board.live.token_of("screen") not in answer.read().decode()


def test_behind_a_proxy_a_client_cannot_choose_its_address(board: Board) -> None:
    board.server.forwarded = True
    claimed = [{"X-Forwarded-For": f"10.0.0.{n}, 192.0.2.7"} for n in range(11)]
    tries = [board.ask("join", {"code": "x"}, "", **headers)[0] for headers in claimed]
    assert tries == [403] * 10 + [429]
    assert board.ask("join", {"code": board.code}, "", **{"X-Forwarded-For": "192.0.2.8"})[0] == 200


def test_a_message_goes_to_those_who_hold_a_belief_and_once(board: Board) -> None:
    ada, bob = board.join(), board.join()
    board.send(ada["token"], wrong())
    board.send(bob["token"], wrong("divides_by_max"))
    text = f"Think of 89. {SCRIPT}"
    sent = board.teach("push", {"text": text, "puzzle": "row_softmax", "belief": "no_max_subtraction"})
    assert sent == (200, {"sent": 1})
    (message,) = board.send(ada["token"])[1]["messages"]
    assert message["text"] == text
    assert board.send(ada["token"], seen=message["id"])[1]["messages"] == []
    assert board.send(bob["token"])[1]["messages"] == []
    assert board.teach("push", {"puzzle": "row_softmax", "level": 1}) == (200, {"sent": 2})
    assert board.teach("push", {"text": " "})[0] == 400
    assert board.teach("push", {"text": "x" * 501})[0] == 400


def test_who_leaves_is_deleted_from_the_file(board: Board) -> None:
    ada, bob = board.join(name="Ada Lovelace of London"), board.join(name="Bob")
    for one in (ada, bob):
        board.send(one["token"], wrong(), event("hand"))
    board.teach("push", {"text": "to all"})
    board.teach("claim", {"who": ada["who"]})
    assert board.ask("leave", {}, ada["token"]) == (200, {"left": True})
    assert [one["name"] for one in board.view("teacher")["learners"]] == ["Bob"]
    assert board.send(ada["token"], wrong())[0] == 401
    with sqlite3.connect(board.live.store.path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert not any(ada["who"] in str(db.execute(f"SELECT * FROM {table}").fetchall()) for table in tables)
    files = list(board.live.store.path.parent.glob("class.sqlite*"))
    assert not any(b"Lovelace" in path.read_bytes() for path in files), "not even in a page that is free"


def test_a_class_goes_on_where_it_stopped(start: Start) -> None:
    items = [Item(0, 20, "a", puzzles=["vector_add"]), Item(20, 30, "b", puzzles=["row_softmax"])]
    first = start(items=items)
    ada, mine = first.join(name="Ada"), wrong()
    first.send(ada["token"], mine)
    first.teach("step", {"step": 1})
    first.teach("push", {"text": "hello"})
    before = first.view("teacher")
    first.stop()
    second = start(items=items)
    assert second.send(ada["token"], mine)[1]["messages"][0]["text"] == "hello"
    after = second.view("teacher")
    assert len(second.live.store.events()) == 1, "what is sent twice is stored once"
    for state in (before, after):
        state["standing"].pop("elapsed"), state["standing"].pop("left"), state["standing"].pop("over")
        state.pop("join")
    assert after == before


def test_at_seven_in_ten_the_board_says_move_on(start: Start) -> None:
    board = start(items=[Item(0, 20, "a", puzzles=["row_softmax"], kind="exercise"), Item(20, 30, "b")])
    learners = [board.join() for _ in range(10)]
    board.teach("step", {"step": 0})
    for n, one in enumerate(learners):
        if n == 6:
            assert board.view("teacher")["advice"] == ""
        if n < 7:
            board.send(one["token"], event(puzzle="row_softmax", status="passed"))
    assert board.view("teacher")["advice"].startswith("Move on: 70% have passed. Offer row_softmax")


def test_an_export_names_nobody_unless_asked_and_holds_no_formula(board: Board, tmp_path: Path) -> None:
    one = board.join(name="=HYPERLINK(1)")
    board.send(one["token"], wrong())
    plain, named, base = tmp_path / "plain.csv", tmp_path / "named.csv", tmp_path / "class.out.sqlite"
    assert board_store.export(board.live.store, plain) == 1
    row = plain.read_text().splitlines()[1]
    assert row.startswith("learner 1,0.0,check,row_softmax,failed,values,no_max_subtraction")
    board_store.export(board.live.store, named, names=True)
    assert "'=HYPERLINK(1)," in named.read_text()
    board_store.export(board.live.store, base)
    with sqlite3.connect(base) as db:
        assert db.execute("SELECT learner, puzzle FROM events").fetchall() == [("learner 1", "row_softmax")]
    for path in (plain, named, base):
        text = path.read_bytes()
        assert not any(secret.encode() in text for secret in (one["token"], one["who"], board.code))
    with pytest.raises(ValueError, match=r"neither"):
        board_store.export(board.live.store, tmp_path / "class.txt")


def test_who_listened_is_not_called_silent_when_the_exercise_begins(start: Start) -> None:
    now = [time.time()]
    board = start(items=[Item(0, 20, "Rows")], clock=lambda: now[0])
    board.join()
    now[0] += 15 * 60
    assert board.view("teacher")["learners"][0]["silent"] == 15
    board.teach("step", {"step": 0})
    assert board.view("teacher")["learners"][0]["silent"] == 0
