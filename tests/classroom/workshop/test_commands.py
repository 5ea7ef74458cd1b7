"""`python -m classroom open`, `close`, `export`, `rehearse`, as an instructor types them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from checker.verbs import board_client
from checker.verbs.board_wire import parse
from classroom import cli
from classroom.workshop import board_store, rehearsal
from classroom.workshop.board import Server
from classroom.workshop.live_class import LiveClass
from classroom.workshop.schedule import Item
from classroom.workshop.serving import address
from tests.classroom.workshop.conftest import ROOT


def open_board(folder: Path, port: str = "0") -> tuple[subprocess.Popen[str], str]:
    """A class in a process of its own, and the address that it printed."""
    command = [sys.executable, "-m", "classroom", "open", "--no-films", "--folder", str(folder), "--port", port]
    environment = {**os.environ, "PYTHONUTF8": "1"}
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith("Ctrl-C"):
            break
    address = re.search(r'join\("([^"]+)"\)', printed)
    assert address, printed
    return process, address[1]


def test_a_class_opens_survives_a_kill_and_is_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "classes"
    process, address = open_board(folder)
    assert parse(address).url.startswith("http://127.0.0.1:"), "this machine only by default"
    board_client.join(board_client.Box(tmp_path / "learner"), parse(address))
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process, again = open_board(folder, address.rpartition(":")[2])
    assert again == address, "the same class with the same code"
    options = ["--folder", str(folder)]
    assert cli.main(["open", "--port", "0", "--no-films", *options]) == 2
    assert "is open already, at http://127.0.0.1" in capsys.readouterr().err
    assert cli.main(["export", str(tmp_path / "out.csv"), *options]) == 0
    assert cli.main(["close", "--forget", *options]) == 0
    assert process.wait(30) == 0
    assert list(folder.glob("*.sqlite*")) == []
    assert cli.main(["close", *options]) == 2


def test_only_the_owner_reads_a_class_and_one_of_yesterday_does_not_continue(tmp_path: Path) -> None:
    store = board_store.open_or_new(tmp_path, "A")
    assert store.path.stat().st_mode & 0o777 == 0o600
    store.set_meta(opened=time.time() - 13 * 3600)
    store.close()
    store.path.rename(tmp_path / "class-20200101-000000.sqlite")
    board_store.open_or_new(tmp_path, "A").close()
    assert len(board_store.all_of(tmp_path)) == 2


def test_wrong_usage_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("not a class")
    for arguments, words in (
        (["open", "--public", "board.example.org"], "takes an address such as"),
        (["open", "--agenda", "no.json"], "no.json"),
        (["rehearse", "--learners", "0"], "greater than or equal to 1"),
        (["export", "out.csv"], "classroom open"),
        (["export", "out.csv", "--file", "none.sqlite"], "there is no class at none.sqlite"),
        (["export", "out.csv", "--file", "notes.txt"], "is not the file of a class"),
    ):
        assert cli.main([*arguments, "--folder", str(tmp_path / "classes")]) == 2, arguments
        assert words in " ".join(capsys.readouterr().err.split()), arguments


def test_a_hub_says_where_the_board_listens() -> None:
    there = {"JUPYTERHUB_SERVICE_PREFIX": "/services/board/", "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:10101"}
    hub = {"JUPYTERHUB_SERVICE_NAME": "board", **there}
    where = address(None, False, "https://hub.example.org/services/board", hub)
    assert (where.host, where.port, where.prefix) == ("127.0.0.1", 10101, "/services/board/")
    assert where.url == "https://hub.example.org/services/board/"
    assert address(None, False, "", hub).url == "http://127.0.0.1:10101/services/board/"
    with pytest.raises(ValueError, match="no url"):
        address(None, False, "", {"JUPYTERHUB_SERVICE_NAME": "board"})
    terminal = {"JUPYTERHUB_SERVICE_PREFIX": "/user/ada/", "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:5/user/ada/"}
    assert address(None, False, "", terminal).own == "http://127.0.0.1:8787/", "a terminal in a hub is not its service"
    assert address(None, True, "", {}).host == "0.0.0.0"


def test_a_rehearsal_plays_a_class_to_its_end(tmp_path: Path) -> None:
    items = [
        Item(0, 25, "a", puzzles=["vector_add"]),
        Item(25, 20, "b", puzzles=["row_softmax"]),
        Item(45, 5, "c", kind="closing"),
    ]
    store = board_store.create(tmp_path / "class.sqlite", "A rehearsal")
    live = LiveClass(store, "http://127.0.0.1/", items=items)
    live.go_to(1)
    steps: list[int] = []
    live.go_to = lambda step: (steps.append(step), LiveClass.go_to(live, step))[1]  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as thread:  # Playwright keeps an event loop running in the thread of the tests
        thread.submit(asyncio.run, rehearsal.play(Server(live), learners=10, speed=1e6)).result()
    assert steps == [2], "an instructor who went on early is not taken back"
    counts = live.room.counts("vector_add", time.time())
    assert counts["passed"] >= 6, "most of a class passes in the end"
    assert {event.kind for _, event, _ in store.events()} == {"check", "done", "hand"}
    assert {event.misconception for _, event, _ in store.events()} - {""}, "they make the bank's mistakes"
    live.disk.shutdown()
    store.close()
