"""The board over HTTP: what each role sees, and attacks by hostile clients."""

from __future__ import annotations

import http.client
import json
import sqlite3
import time
from pathlib import Path
from urllib.parse import urlsplit

from checker.verbs.board_wire import OPEN_FOR
from classroom.workshop import board_store
from classroom.workshop.schedule import Item
from tests.classroom.workshop.conftest import Board, Start, event, wrong

SCRIPT = "<img src=x onerror=alert(1)>"
TEACHING = ("mute", "remove", "push", "door", "step", "close")


def test_the_projector_shows_no_name_no_id_and_no_count_below_five(board: Board) -> None:
    people = [board.join(name=f"{SCRIPT} {n}") for n in range(4)]
    for one in people:
        board.send(one["token"], wrong(), event("hand"))
    few = board.view("screen")
    assert (few["size"], few["hands"], few["done"], few["beliefs"]) == (None, None, None, [])
    assert [puzzle["counts"] for puzzle in few["puzzles"]] == [{}, {}]
    people.append(board.join(name=f"{SCRIPT} 4"))
    board.send(people[-1]["token"], wrong("sums_first_tile_only"))
    enough = board.view("screen")
    assert (enough["size"], enough["hands"]) == (5, 4)
    assert [b["count"] for b in enough["beliefs"]] == [4], "a belief that one learner holds is shown to nobody"
    assert enough["puzzles"][0]["counts"] == {"trying": 5}
    text = json.dumps([few, enough])
    assert not any(secret in text for one in people for secret in (one["who"], one["token"], SCRIPT))
    names = [one["name"] for one in board.view("teacher")["learners"]]
    assert names == [f"{SCRIPT} {n}" for n in range(5)], "a script in a name stays text"


def test_after_ten_wrong_codes_a_client_must_wait_and_cannot_choose_its_address(board: Board) -> None:
    assert [board.ask("join", {"code": f"tile-{n}"})[0] for n in range(10)] == [403] * 10
    assert board.ask("join", {"code": board.live.code}) == (429, {"error": "too many wrong codes: wait a minute"})
    board.server.forwarded = True
    forged = [{"X-Forwarded-For": f"10.0.0.{n}, 192.0.2.7"} for n in range(11)]
    tries = [board.ask("join", {"code": "x"}, "", **headers)[0] for headers in forged]
    assert tries == [403] * 10 + [429], "the address that the proxy added counts"
    assert board.ask("join", {"code": board.live.code}, "", **{"X-Forwarded-For": "192.0.2.8"})[0] == 200


def test_sixty_people_join_from_one_address_while_somebody_there_guesses(board: Board) -> None:
    """Behind a hub or a router. Whoever pretends to be many clients is stopped too, and other addresses are not."""
    code = board.live.code
    for n in range(60):
        guess = board.ask("join", {"code": f"tile-{n}", "client": "eve"})[0]
        assert guess == (403 if n < 10 else 429)
        assert board.ask("join", {"code": code, "client": f"honest {n}"})[0] == 200
    many = [board.ask("join", {"code": "x", "client": f"eve {n}"})[0] for n in range(250)]
    assert many[:150] == [403] * 150
    assert many[-1] == 429
    board.server.forwarded = True
    assert board.ask("join", {"code": code}, "", **{"X-Forwarded-For": "192.0.2.9"})[0] == 200


def test_the_door_can_be_closed_and_closes_by_itself_after_twelve_hours(start: Start) -> None:
    ahead = [0.0]
    board = start(clock=lambda: time.time() + ahead[0])
    inside, code = board.join(), board.live.code
    assert board.teach("door", {"on": False})[0] == 200
    assert board.ask("join", {"code": code})[0] == 403
    assert board.send(inside["token"], wrong())[0] == 200, "learners who joined stay in"
    board.teach("door", {"on": True})
    assert board.ask("join", {"code": code})[0] == 200
    ahead[0] = OPEN_FOR + 1
    assert board.ask("join", {"code": code})[0] == 403
    assert board.view("screen")["join"] == ""


def test_a_token_makes_a_learner_the_same_person_again(board: Board) -> None:
    first = board.join(name="Ada")
    assert board.join(token=first["token"]) == first
    assert board.join(token=first["token"], name="Ada L.")["name"] == "Ada L."
    assert len(board.view("teacher")["learners"]) == 1
    assert board.join(token="f" * 32)["who"] != first["who"]


def test_nobody_posts_or_leaves_as_somebody_else(board: Board) -> None:
    ada, eve = board.join(name="Ada"), board.join(name="Eve")
    mine = wrong()
    board.send(ada["token"], mine)
    assert board.send(eve["token"], {**mine, "who": ada["who"]})[0] == 400, "an event has no field for an id"
    assert board.send(ada["who"], wrong())[0] == 401, "an id is not a token"
    assert board.send(eve["token"], mine)[0] == 200, "reusing somebody's event number takes nothing from them"
    assert board.ask("leave", {"who": ada["who"]}, eve["token"])[0] == 200
    assert [(one["name"], one["work"][0][1]) for one in board.view("teacher")["learners"]] == [("Ada", 1)]


def test_each_token_opens_only_its_own_routes(board: Board) -> None:
    one = board.join()
    body, screen = {"who": one["who"]}, board.live.token_of("screen")
    for action in ("claim", "helped", *TEACHING):
        tokens = (one["token"], "", board.live.code, screen)
        assert [board.ask(f"teacher/{action}", body, token)[0] for token in tokens] == [401, 401, 401, 403], action
    assert [board.ask(path, None, one["token"])[0] for path in ("state", "stream")] == [401, 401]
    assert [board.teach(action, body, "helper")[0] for action in TEACHING] == [403] * len(TEACHING)


def test_the_projector_counts_answers_to_the_question_and_stores_none(start: Start) -> None:
    """An answer of one person, which may be a name or an insult, is shown to the staff alone; each counts once."""
    items = [
        Item(0, 9, "Row softmax", question="The same?"),
        Item(9, 9, "Write it"),
        Item(18, 9, "Next", question="Why?"),
    ]
    board = start(items=items)
    people = [board.join(name=f"{SCRIPT} {n}") for n in range(6)]

    def guess(n: int, text: str) -> int:
        return board.ask("guess", {"text": text}, people[n]["token"])[0]

    assert guess(0, "yes") == 409, "before the class begins"
    board.teach("step", {"step": 0})
    given = ["no", "Yes.", "yes", " YES! ", "no", f"{SCRIPT} is dumb"]
    assert [guess(n, text) for n, text in enumerate(given)] == [200] * 6
    assert guess(4, "yes") == 200
    assert board.view("screen")["question"] == "The same?"
    assert (board.view("screen")["answers"], board.view("screen")["answered"]) == ([["Yes.", 4]], 6)
    assert [n for _, n in board.view("teacher")["answers"]] == [4, 1, 1]
    assert (guess(0, " \n "), board.ask("guess", {"text": "x"}, "nobody")[0]) == (400, 401)
    board.teach("mute", {"who": people[5]["who"], "on": True})
    assert guess(5, "again") == 429
    board.ask("leave", {}, people[5]["token"])
    assert board.view("screen")["answered"] == 5
    board.teach("step", {"step": 1})
    assert (board.view("screen")["question"], guess(0, "late")) == ("", 409)
    board.teach("step", {"step": 2})
    assert board.view("screen")["answered"] == 0
    assert b"dumb" not in b"".join(path.read_bytes() for path in board.live.store.path.parent.glob("class.sqlite*"))


def test_two_helpers_never_go_to_one_desk(board: Board) -> None:
    one = board.join()
    board.send(one["token"], event("hand"))
    assert board.teach("claim", {"who": one["who"], "by": "Grace"}, "helper")[0] == 200
    refused = (409, {"error": "Grace is on the way already"})
    assert board.teach("claim", {"who": one["who"], "by": "Alan"}, "helper") == refused
    board.teach("claim", {"who": one["who"], "on": False}, "helper")
    assert board.teach("claim", {"who": one["who"], "by": "Alan"}, "helper")[0] == 200
    assert board.view("helper")["claims"] == {one["who"]: "Alan"}
    board.teach("helped", {"who": one["who"]}, "helper")
    state = board.view("helper")
    assert (state["queue"], state["hands"], state["claims"]) == ([], 0, {})


def test_a_report_that_does_not_fit_the_schema_is_refused_whole(board: Board) -> None:
    one = board.join()
    for body in (
        b"",
        b"not json",
        b"\xff\xfe",
        [],
        {"events": [{"uid": "x", "kind": "check"}]},
        {"events": [event("shout")]},
        {"events": [event(), event(status="<great>")]},
        {"events": [event(puzzle=SCRIPT)]},
        {"events": [event(source="secret = 1")]},
        {"events": [event(attempt=-1)]},
        {"events": [event(ago=1e300)]},
        {"events": [event() for _ in range(21)]},
    ):
        assert board.ask("events", body, one["token"])[0] == 400, body
    assert board.live.store.events() == []
    place = urlsplit(board.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    connection.putrequest("POST", "/events")
    connection.putheader("X-Class-Token", one["token"])
    connection.putheader("Content-Length", str(65 * 1024))  # refused without reading the body
    connection.endheaders()
    assert connection.getresponse().status == 400
    board.send(one["token"], wrong("alert_1"), wrong("no_max_subtraction", puzzle="no_such_puzzle"))
    state = board.view("teacher")
    assert state["beliefs"] == [], "words that the course does not use are dropped"
    assert not any(word in json.dumps(state) for word in ("alert_1", "no_such_puzzle"))


def test_a_flood_or_a_muted_learner_hurts_nobody_else(board: Board) -> None:
    loud, quiet = board.join(), board.join()
    statuses = [board.send(loud["token"], *(wrong() for _ in range(20)))[0] for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    board.teach("mute", {"who": loud["who"]})
    assert board.send(loud["token"], wrong())[0] == 403
    assert board.send(quiet["token"], wrong())[0] == 200
    assert len(board.live.store.events()) == 61


def test_a_removed_learner_is_gone_with_everything_stored(board: Board) -> None:
    rude, ada = board.join(name="something rude"), board.join(name="Ada")
    others = [board.join(name=f"nobody {n}")["who"] for n in range(40)]
    board.send(rude["token"], wrong())
    assert board.teach("remove", {"who": [ada["who"], "nobody"]})[0] == 404
    assert board.teach("remove", {"who": []})[0] == 400
    assert len(board.view("teacher")["learners"]) == 42, "nobody goes where one of them is unknown"
    assert board.teach("remove", {"who": [rude["who"], *others]})[0] == 200
    assert [one["name"] for one in board.view("teacher")["learners"]] == ["Ada"]
    assert board.live.store.events() == []
    assert (board.send(rude["token"], wrong())[0], board.send(ada["token"], wrong())[0]) == (401, 200)


def test_a_raised_hand_says_whether_its_owner_has_passed_since(board: Board) -> None:
    before, after, never = (board.join(name=name)["token"] for name in ("before", "after", "never"))
    passed = event(puzzle="row_softmax", status="passed")
    for token, events in ((before, (passed, event("hand"))), (after, (event("hand"), {**passed, "uid": "f" * 32}))):
        for one in events:
            board.send(token, one)
    board.send(never, event("hand"), wrong())
    names = {one["id"]: one["name"] for one in board.view("teacher")["learners"]}
    hands = {names[one["who"]]: one["passed"] for one in board.view("helper")["queue"]}
    assert hands == {"before": False, "after": True, "never": False}


def test_pages_of_other_servers_are_refused_and_own_pages_run_no_inline_script(board: Board) -> None:
    teacher, place = board.live.token_of("teacher"), urlsplit(board.url)
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        assert board.ask("teacher/door", {"on": False}, teacher, Origin=origin)[0] == 403
    assert board.ask("teacher/door", {"on": False}, teacher, Origin=board.url.rstrip("/"))[0] == 200
    for path in ("/", "/board_page.js", "/board_page.css", "/state"):
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert board.live.token_of("screen") not in answer.read().decode()


def test_a_message_reaches_the_holders_of_a_belief_once(board: Board) -> None:
    ada, bob = board.join(), board.join()
    board.send(ada["token"], wrong())
    board.send(bob["token"], wrong("divides_by_max"))
    text = f"Think of 89. {SCRIPT}"
    push = {"text": text, "puzzle": "row_softmax", "belief": "no_max_subtraction"}
    assert board.teach("push", push) == (200, {"sent": 1})
    (message,) = board.send(ada["token"])[1]["messages"]
    assert message["text"] == text
    assert board.send(ada["token"], seen=message["id"])[1]["messages"] == []
    assert board.send(bob["token"])[1]["messages"] == []
    assert board.teach("push", {"puzzle": "row_softmax", "level": 1}) == (200, {"sent": 2})
    assert [board.teach("push", {"text": unfit})[0] for unfit in (" ", "x" * 501)] == [400, 400]


def test_a_learner_who_leaves_is_deleted_from_the_disk(board: Board) -> None:
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
    assert not any(b"Lovelace" in path.read_bytes() for path in files), "not even in an unused page"


def test_a_class_continues_where_it_stopped(start: Start) -> None:
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
    assert len(second.live.store.events()) == 1, "an event sent twice is stored once"
    assert [state.pop("standing")["step"] for state in (before, after)] == [1, 1]
    assert [state.pop("join") != "" for state in (before, after)] == [True, True]
    assert after == before


def test_an_export_names_nobody_unless_asked_and_holds_no_formula(board: Board, tmp_path: Path) -> None:
    one = board.join(name="=HYPERLINK(1)")
    board.send(one["token"], wrong())
    plain, named = tmp_path / "plain.csv", tmp_path / "named.csv"
    assert board_store.export(board.live.store, plain) == 1
    assert board_store.export(board.live.store, named, names=True) == 1
    first = plain.read_text().splitlines()[1]
    assert first.startswith("learner 1,0.0,check,row_softmax,failed,values,no_max_subtraction")
    assert "'=HYPERLINK(1)," in named.read_text()
    for path in (plain, named):
        assert not any(secret in path.read_text() for secret in (one["token"], one["who"], board.live.code))
