"""`python -m checker class …`, as an instructor types it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checker.misconceptions import bank
from classroom import cli
from classroom.workshop import WorkshopError, board_store, reporting
from classroom.workshop.join_code import parse
from classroom.workshop.rehearsal import mistakes, plain_sheet, script
from classroom.workshop.room import Learner, Room
from classroom.workshop.serving import address, qr_path
from tests.classroom.workshop.conftest import ROOT


def opened(folder: Path, *more: str) -> tuple[subprocess.Popen[str], str]:
    """A class in a process of its own, and all that it printed on opening."""
    command = [sys.executable, "-m", "classroom", "open", "--folder", str(folder), "--port", "0", "--no-films"]
    utf8 = {**os.environ, "PYTHONUTF8": "1"}
    process = subprocess.Popen([*command, *more], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=utf8)
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("Ctrl-C"):
            break
    return process, said


def joined(said: str) -> str:
    found = re.search(r'join\("([^"]+)"\)', said)
    assert found, said
    return found[1]


def test_a_class_opens_survives_a_kill_and_is_forgotten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, box = tmp_path / "classes", reporting.Box(tmp_path / "learner")
    process, said = opened(folder)
    address = joined(said)
    assert parse(address).url.startswith("http://127.0.0.1:"), "this machine only, unless told"
    reporting.ask_to_join(box, parse(address))
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    port = address.rpartition(":")[2]
    process, said = opened(folder, "--port", port)
    assert joined(said) == address, "the same class, the same code"
    assert cli.main(["open", "--folder", str(folder), "--port", "0", "--no-films"]) == 2
    assert "is open already, at http://127.0.0.1" in capsys.readouterr().err
    assert cli.main(["export", str(tmp_path / "out.csv"), "--folder", str(folder)]) == 0
    assert cli.main(["close", "--forget", "--folder", str(folder)]) == 0
    assert process.wait(30) == 0
    assert list(folder.glob("*.sqlite*")) == []
    assert cli.main(["close", "--folder", str(folder)]) == 2


def test_a_class_that_was_closed_or_is_of_yesterday_is_not_gone_on_with(tmp_path: Path) -> None:
    store = board_store.open_or_new(tmp_path, "A")
    first = store.path
    store.close()
    assert first.stat().st_mode & 0o777 == 0o600
    store = board_store.open_or_new(tmp_path, "A")
    assert store.path == first
    store.set_meta(opened=time.time() - 13 * 3600)
    store.close()
    first.rename(tmp_path / "class-20200101-000000.sqlite")
    store = board_store.open_or_new(tmp_path, "A")
    assert len(board_store.all_of(tmp_path)) == 2
    assert board_store.old(tmp_path) == []
    store.set_meta(opened=time.time() - 15 * 24 * 3600)
    assert board_store.old(tmp_path) == [store.path]
    store.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["open", "--public", "board.example.org"], "takes an address such as"),
        (["open", "--agenda", "no.json"], "no.json"),
        (["rehearse", "--learners", "0"], "at least one learner"),
        (["export", "out.csv"], "class open"),
        (["export", "out.csv", "--file", "none.sqlite"], "there is no class at none.sqlite"),
        (["export", "out.csv", "--file", "notes.txt"], "is not the file of a class"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("no class")
    assert cli.main([*arguments, "--folder", str(tmp_path / "classes")]) == 2
    assert words in capsys.readouterr().err


def test_a_hub_says_where_the_board_listens() -> None:
    there = {"JUPYTERHUB_SERVICE_PREFIX": "/services/board/", "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:10101"}
    hub = {"JUPYTERHUB_SERVICE_NAME": "board", **there}
    found = address(None, False, "https://hub.example.org/services/board", hub)
    assert (found.host, found.port, found.prefix) == ("127.0.0.1", 10101, "/services/board/")
    assert found.url == "https://hub.example.org/services/board/"
    assert address(None, False, "", hub).url == "http://127.0.0.1:10101/services/board/"
    with pytest.raises(WorkshopError, match="no url"):
        address(None, False, "", {"JUPYTERHUB_SERVICE_NAME": "board"})
    terminal = {"JUPYTERHUB_SERVICE_PREFIX": "/user/ada/", "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:5/user/ada/"}
    assert address(None, False, "", terminal).own == "http://127.0.0.1:8787/", "a terminal in a hub is no service of it"
    assert address(None, True, "", {}).host == "0.0.0.0"


def test_a_rehearsal_makes_the_mistakes_that_were_measured() -> None:
    items = plain_sheet(3)
    moments = script(items, 30)
    assert moments == script(items, 30)
    assert moments != script(items, 30, seed=1)
    room = Room({str(n): Learner(str(n), f"Otter {n}", 0.0) for n in range(30)})
    for moment in moments:
        room.apply(str(moment.learner), moment.event, moment.minute * 60)
    passed = [room.counts(item.puzzles[0], 0.0)["passed"] for item in items]
    assert min(passed) >= 20, "most of a class passes in the end"
    named = {(m.event.puzzle, m.event.misconception) for m in moments if m.event.misconception}
    assert named <= {(p, one.name) for item in items for p in item.puzzles for one in bank(p)}
    assert all(mistakes(item.puzzles[0]) for item in items)
    assert {m.event.kind for m in moments} == {"check", "done", "hand"}


def test_a_class_is_not_made_over_another(tmp_path: Path) -> None:
    board_store.create(tmp_path / "class.sqlite", "A").close()
    with pytest.raises(FileExistsError):
        board_store.create(tmp_path / "class.sqlite", "A")


def test_the_way_to_join_is_drawn_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    segno = pytest.importorskip("segno", reason="it comes with the lock: make setup")
    text = "http://192.0.2.1:8787/#join=tile-7k3fw"
    drawn = qr_path(text)
    assert drawn is not None
    dark = sum(map(sum, segno.make(text, micro=False).matrix))
    assert sum(int(run) for run in re.findall(r"h(\d+)", drawn["path"])) == dark
    monkeypatch.setitem(sys.modules, "segno", None)
    assert qr_path(text) is None
