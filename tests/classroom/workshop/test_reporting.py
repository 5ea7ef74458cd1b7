"""A learner's reports: nothing before `join`, nothing lost in an outage, no waiting for the network."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import checker
from checker import workspace
from checker.judge.verdict import Diagnosis, GateResult, Verdict
from checker.verbs import board_client, workshop
from checker.verbs.arguments import UsageError
from checker.verbs.board_client import Box, NotReached, deliver
from checker.verbs.board_wire import Event, Message
from checker.verbs.progress_file import Record
from classroom.workshop.schedule import Item
from tests.classroom.workshop.conftest import Board, Start

SOURCE = "secret_kernel_source"


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """A learner's own folder."""
    home = tmp_path / "learner"
    home.mkdir()
    monkeypatch.setenv(workspace.HOME_VARIABLE, str(home))
    yield board_client.own_box()
    board_client.reporter.cache_clear()


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `deliver` posts anything."""
    monkeypatch.setattr(board_client.Reporter, "wake", lambda self: None)
    monkeypatch.setattr("checker.view.display.interactive", lambda: True)


def check_a_wrong_kernel() -> None:
    gate = GateResult("values", "failed", f"/course/ada/{SOURCE} is wrong", detail=SOURCE)
    diagnosis = Diagnosis("no_max_subtraction", note=SOURCE)
    path = f"/course/ada/{SOURCE}.py"
    verdict = Verdict(
        "row_softmax", path, "failed", "cpu", 1.234, 0.0, 1.0, (gate,), diagnosis=diagnosis, source=SOURCE
    )
    workshop.after_check(verdict, Record(attempts=3, hints=1))


def events_on(board: Board, at_least: int = 0) -> list[Event]:
    end = time.monotonic() + 60
    while len(events := [event for _, event, _ in board.live.store.events()]) < at_least and time.monotonic() < end:
        time.sleep(0.05)
    return events


def test_nothing_is_written_before_join(box: Box) -> None:
    check_a_wrong_kernel()
    assert not box.folder.exists()
    for verb in (checker.done, checker.hand):
        with pytest.raises(UsageError, match="Join the class first"):
            verb()


def test_a_check_reports_facts_but_no_source_without_touching_the_network(
    box: Box, board: Board, by_hand: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker.join(board.address)
    with monkeypatch.context() as offline:

        def no_network(*_: object, **__: object) -> None:
            raise AssertionError("the verb itself reached for the network")

        offline.setattr(socket, "socket", no_network)
        offline.setattr(socket, "getaddrinfo", no_network)
        check_a_wrong_kernel()
    spooled = box.spool.read_text()
    assert not any(secret in spooled for secret in (SOURCE, "/course", socket.gethostname()))
    deliver(box)
    (event,) = events_on(board)
    facts = (event.puzzle, event.status, event.gate, event.misconception, event.attempt, event.hints, event.seconds)
    assert facts == ("row_softmax", "failed", "values", "no_max_subtraction", 3, 1, 1.23)


def test_a_notebook_posts_from_a_thread_and_a_shell_before_it_ends(
    box: Box, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checker.view.display.interactive", lambda: True)
    checker.join(board.address, name="Ada")
    checker.hand()
    checker.done()
    assert [event.kind for event in events_on(board, 2)] == ["hand", "done"]
    assert board.view("teacher")["learners"][0]["done"]
    monkeypatch.setattr("checker.view.display.interactive", lambda: False)
    monkeypatch.setattr(board_client.Reporter, "wake", lambda self: None)
    checker.hand()
    assert [event.kind for event in events_on(board, 3)] == ["hand", "done", "hand"]


def test_an_outage_loses_nothing_and_stores_nothing_twice(
    box: Box, start: Start, by_hand: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start()
    port = int(first.url.rsplit(":", 1)[1].strip("/"))
    checker.join(first.address)
    check_a_wrong_kernel()
    with monkeypatch.context() as crash:  # the board has the event, but the notebook dies before it notes that
        crash.setattr(board_client.workspace, "write_atomically", lambda *_: (_ for _ in ()).throw(OSError("died")))
        with pytest.raises(OSError, match="died"):
            deliver(box)
    first.stop()
    for _ in range(30):
        check_a_wrong_kernel()
    with pytest.raises(NotReached):
        deliver(box)
    monkeypatch.setattr(board_client, "OVERDUE", -1.0)
    assert workshop._undelivered(box) == (
        "The board cannot be reached. 31 results are kept here and will be sent later.",
    )
    second = start(port=port)
    while deliver(box):
        pass
    assert len(events_on(second)) == 31
    assert workshop._undelivered(box) == ()


def test_a_damaged_line_and_an_unknown_event_block_nothing(box: Box, board: Board, by_hand: None) -> None:
    checker.join(board.address)
    with box.spool.open("ab") as file:
        file.write(b"\x00 half a line\n")
    box.append(Event("not-a-number", "check"))  # as a notebook of another version might send it
    deliver(box)
    check_a_wrong_kernel()
    deliver(box)
    assert [event.kind for event in events_on(board)] == ["check"]


def test_a_message_appears_once_folded_and_escaped_below_the_next_check(
    box: Box, board: Board, by_hand: None, capsys: pytest.CaptureFixture[str]
) -> None:
    checker.join(board.address)
    board.teach("push", {"text": "What is exp(<b>89</b>)?"})
    deliver(box)
    deliver(box)
    capsys.readouterr()
    check_a_wrong_kernel()
    assert capsys.readouterr().out.count("What is exp(<b>89</b>)?") == 1
    check_a_wrong_kernel()
    assert capsys.readouterr().out == ""
    html = workshop._notes([Message(1, "<script>x</script>", "<i>")], []).html()
    assert "<details><summary>" in html
    assert "&lt;script&gt;x" in html
    assert not any(tag in html for tag in ("<script", "<i>"))
    workshop._notes([Message(1, "[bold]x[/bold]")], []).print(Console())
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_leave_deletes_both_sides_and_joining_again_is_a_new_person(box: Box, board: Board, by_hand: None) -> None:
    checker.join(board.address)
    check_a_wrong_kernel()
    deliver(box)
    checker.leave()
    assert (events_on(board), list(box.folder.glob("*[!k]"))) == ([], [])
    check_a_wrong_kernel()
    assert not box.spool.exists()
    checker.leave()
    checker.join(board.address)
    assert len(board.view("teacher")["learners"]) == 1


def test_results_of_one_class_do_not_go_to_another(box: Box, start: Start, by_hand: None) -> None:
    checker.join(start("one.sqlite").address)
    check_a_wrong_kernel()
    other = start("two.sqlite")
    checker.join(other.address)
    deliver(box)
    assert events_on(other) == []


def test_leaving_an_unreachable_board_stops_reports_and_can_be_repeated(box: Box, start: Start, by_hand: None) -> None:
    first = start()
    port = int(first.url.rsplit(":", 1)[1].strip("/"))
    checker.join(first.address)
    first.stop()
    with pytest.raises(UsageError, match="You report nothing any more"):
        checker.leave()
    check_a_wrong_kernel()
    assert not box.spool.exists()
    second = start(port=port)
    checker.leave()
    assert second.view("teacher")["learners"] == []


def test_a_wrong_address_is_explained(box: Box, board: Board) -> None:
    for address, words in (
        (f"tile-2a2aa@{board.url}", "does not know this code"),
        ("tile-2a2aa@127.0.0.1:9", r"finds no board at http://127\.0\.0\.1:9/"),
        ("tile", "Copy the address from the screen"),
    ):
        with pytest.raises(UsageError, match=words):
            checker.join(address)
    assert not box.folder.exists()


def test_a_token_is_never_redirected_to_another_server(board: Board) -> None:
    paths: list[str] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.append(self.path)
            self.send_response(307)
            self.send_header("Location", board.url + "events")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(NotReached, match="307"):
            board_client.post(f"http://127.0.0.1:{server.server_port}/events", {"events": []}, "token")
        server.shutdown()
    assert paths == ["/events"]


def test_a_guess_needs_a_class_and_a_question(start: Start, box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="Join the class first"):
        checker.guess("the same")
    board = start(items=[Item(0, 9, "Row softmax", question="What is the softmax of 103, 102, 101?")])
    checker.join(board.address)
    with pytest.raises(UsageError, match="no question just now"):
        checker.guess("the same")
    board.teach("step", {"step": 0})
    checker.guess(0.665)
    assert "What is the softmax of 103" in capsys.readouterr().out
    assert board.view("teacher")["answers"] == [["0.665", 1]]
    board.stop()
    with pytest.raises(UsageError, match="Not answered"):
        checker.guess("the same")
