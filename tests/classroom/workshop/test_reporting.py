"""A learner's side: nothing before `join`, nothing lost when the board is away, nothing that waits for it."""

from __future__ import annotations

import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import checker
from checker import workspace
from checker.judge.verdict import Diagnosis, GateResult, Verdict
from checker.verbs import workshop as verbs
from checker.verbs.arguments import UsageError
from checker.verbs.progress_file import Record
from classroom.workshop import reporting
from classroom.workshop.wire import Event, Message
from tests.classroom.workshop.conftest import ROOT, Board, Start

SOURCE = "secret_kernel_source"


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[reporting.Box]:
    """A learner's own folder."""
    home = tmp_path / "learner"
    home.mkdir()
    monkeypatch.setenv(workspace.HOME_VARIABLE, str(home))
    yield reporting.own_box()
    reporting.reporter.cache_clear()


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is posted but by `deliver`."""
    monkeypatch.setattr(reporting.Reporter, "wake", lambda self: None)
    monkeypatch.setattr("checker.view.display.interactive", lambda: True)


def failed() -> Verdict:
    gate = GateResult("values", "failed", f"/course/ada/{SOURCE} is wrong", detail=SOURCE)
    return Verdict(
        "row_softmax", f"/course/ada/{SOURCE}.py", "failed", "cpu", 1.234, 0.0, 1.0, (gate,),
        diagnosis=Diagnosis("no_max_subtraction", note=SOURCE), source=SOURCE,
    )  # fmt: skip


def checked() -> None:
    verbs.after_check(failed(), Record(attempts=3, hints=1))


def stored(board: Board) -> list[Event]:
    return [event for _, event, _ in board.live.store.events()]


def eventually(board: Board, count: int) -> list[Event]:
    end = time.monotonic() + 60
    while len(stored(board)) < count and time.monotonic() < end:
        time.sleep(0.05)
    return stored(board)


def test_before_join_nothing_is_kept_and_nothing_is_written(box: reporting.Box) -> None:
    checked()
    assert not box.folder.exists()
    for verb in (checker.done, checker.hand):
        with pytest.raises(UsageError, match="Join the class first"):
            verb()


def test_after_join_a_check_reports_the_facts_and_no_source(box: reporting.Box, board: Board, by_hand: None) -> None:
    checker.join(board.address)
    checked()
    kept = box.spool.read_text()
    assert SOURCE not in kept
    assert "/course" not in kept
    assert socket.gethostname() not in kept
    reporting.deliver(box)
    (event,) = stored(board)
    facts = (event.puzzle, event.status, event.gate, event.misconception, event.attempt, event.hints, event.seconds)
    assert facts == ("row_softmax", "failed", "values", "no_max_subtraction", 3, 1, 1.23)


def test_the_thread_delivers_by_itself(box: reporting.Box, board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.view.display.interactive", lambda: True)
    checker.join(board.address, name="Ada")
    checker.hand()
    checker.done()
    assert [event.kind for event in eventually(board, 2)] == ["hand", "done"]
    assert board.view("teacher")["learners"][0]["done"]


def test_a_shell_leaves_delivery_to_a_process_of_its_own(box: reporting.Box, board: Board) -> None:
    checker.join(board.address)
    checker.hand()
    assert [event.kind for event in eventually(board, 1)] == ["hand"]


def test_the_report_itself_never_touches_the_network(
    box: reporting.Box, board: Board, by_hand: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker.join(board.address)

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("the verb's own thread reached for the network")

    monkeypatch.setattr(socket, "socket", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    checked()
    assert len(box.unsent()[0]) == 1


def test_an_outage_loses_nothing_and_stores_nothing_twice(
    box: reporting.Box, start: Start, by_hand: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start()
    port = int(first.url.rsplit(":", 1)[1].strip("/"))
    checker.join(first.address)
    checked()
    real = reporting.workspace.write_atomically
    with monkeypatch.context() as crash:  # the board has it, and the notebook dies before it notes so
        crash.setattr(reporting.workspace, "write_atomically", lambda *_: (_ for _ in ()).throw(OSError("died")))
        with pytest.raises(OSError, match="died"):
            reporting.deliver(box)
    assert reporting.workspace.write_atomically is real
    first.stop()
    for _ in range(30):
        checked()
    with pytest.raises(reporting.NotReached):
        reporting.deliver(box)
    monkeypatch.setattr(reporting, "OVERDUE", -1.0)
    assert verbs._not_reached(box) == ("The board is not reached; 31 results are kept and will be delivered.",)
    second = start(port=port)
    reporting.deliver_all(box)
    assert len(stored(second)) == 31
    assert verbs._not_reached(box) == ()


def test_a_flood_of_ones_own_is_delivered_in_time(box: reporting.Box, board: Board, by_hand: None) -> None:
    checker.join(board.address)
    for _ in range(70):
        checked()
    assert [reporting.deliver(box) for _ in range(3)] == [True] * 3
    with pytest.raises(reporting.NotAllowed, match="too much at once") as refused:
        reporting.deliver(box)
    assert (refused.value.status, refused.value.wait) == (429, 20.0)
    assert len(stored(board)) == 60
    assert len(box.unsent()[0]) == 10


def test_a_line_that_is_damaged_or_that_the_board_does_not_know_blocks_nothing(
    box: reporting.Box, board: Board, by_hand: None
) -> None:
    checker.join(board.address)
    with box.spool.open("ab") as file:
        file.write(b"\x00 half a line\n")
    box.append(Event("not-a-number", "check"))  # as a notebook of another version might send it
    checked()
    while reporting.deliver(box):
        pass
    assert [event.kind for event in stored(board)] == ["check"]


def test_what_the_instructor_sends_stands_folded_and_escaped_below_the_next_check(
    box: reporting.Box, board: Board, by_hand: None, capsys: pytest.CaptureFixture[str]
) -> None:
    checker.join(board.address)
    board.teach("push", {"text": "What is exp(<b>89</b>)?"})
    reporting.deliver(box)
    reporting.deliver(box)
    capsys.readouterr()
    checked()
    assert capsys.readouterr().out.count("What is exp(<b>89</b>)?") == 1
    checked()
    assert capsys.readouterr().out == "", "it is shown once"
    html = verbs._notes([Message(1, "<script>x</script>", "<i>")], []).html()
    assert "<details><summary>" in html
    assert "&lt;script&gt;x" in html
    assert "<script" not in html
    assert "<i>" not in html
    verbs._notes([Message(1, "[bold]x[/bold]")], []).print(Console())
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_leave_deletes_both_sides_and_joining_again_is_a_new_person(
    box: reporting.Box, board: Board, by_hand: None
) -> None:
    checker.join(board.address)
    checked()
    reporting.deliver(box)
    checker.leave()
    assert (stored(board), list(box.folder.glob("*[!k]"))) == ([], [])
    checked()
    assert not box.spool.exists()
    checker.leave()
    checker.join(board.address)
    assert len(board.view("teacher")["learners"]) == 1


def test_leaving_a_board_that_is_away_stops_at_once_and_can_be_asked_again(
    box: reporting.Box, start: Start, by_hand: None
) -> None:
    first = start()
    port = int(first.url.rsplit(":", 1)[1].strip("/"))
    checker.join(first.address)
    first.stop()
    with pytest.raises(UsageError, match="Nothing is reported any more"):
        checker.leave()
    checked()
    assert not box.spool.exists()
    second = start(port=port)
    checker.leave()
    assert second.view("teacher")["learners"] == []


def test_joining_another_class_takes_no_result_along(box: reporting.Box, start: Start, by_hand: None) -> None:
    checker.join(start("one.sqlite").address)
    checked()
    other = start("two.sqlite")
    checker.join(other.address)
    reporting.deliver(box)
    assert stored(other) == []


def test_a_wrong_address_is_told_in_plain_words(box: reporting.Box, board: Board) -> None:
    with pytest.raises(UsageError, match="does not know this code"):
        checker.join(f"tile-2a2aa@{board.url}")
    with pytest.raises(UsageError, match=r"there is no board at http://127\.0\.0\.1:9/"):
        checker.join("tile-2a2aa@127.0.0.1:9")
    with pytest.raises(UsageError, match="join takes what is on the screen"):
        checker.join("tile")
    assert not box.folder.exists()


def test_a_token_is_carried_to_no_other_server(box: reporting.Box, board: Board, by_hand: None) -> None:
    asked: list[str] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", board.url + "events")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    checker.join(board.address)
    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(reporting.NotReached, match="307"):
            reporting.post(f"http://127.0.0.1:{server.server_port}/events", {"events": []}, "token")
        server.shutdown()
    assert asked == ["/events"]


def test_notebooks_of_one_folder_append_whole_lines(box: reporting.Box, board: Board, by_hand: None) -> None:
    checker.join(board.address)
    code = (
        "import sys; from pathlib import Path; from classroom.workshop.reporting import Box; from classroom.workshop.wire import Event\n"
        "for n in range(200): Box(Path(sys.argv[1])).append(Event(f'{n:032x}', 'done', puzzle='p' * 50))"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(box.folder)], cwd=ROOT) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    lines = box.spool.read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 400


def test_when_the_class_is_over_a_check_says_nothing_of_it_any_more(
    box: reporting.Box, board: Board, by_hand: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checker.join(board.address)
    monkeypatch.setattr(reporting, "OVERDUE", -1.0)
    checked()
    tomorrow = time.time() + reporting.OPEN_FOR + 1
    with monkeypatch.context() as later:
        later.setattr(reporting.time, "time", lambda: tomorrow)
        assert box.identity() is None
    board.live.closed = True
    with pytest.raises(reporting.NotAllowed, match="this class is over"):
        reporting.deliver(box)
    capsys.readouterr()
    checked()
    assert capsys.readouterr().out == ""
    assert len(box.unsent()[0]) == 1
