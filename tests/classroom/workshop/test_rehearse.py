"""`make workshop`: the run sheet that the board gets, slides made only where they are missing, and a class that plays itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from classroom.workshop.rehearsal import Rehearsal
from classroom.workshop.schedule import Item
from tests.classroom.workshop.conftest import Start
from tools import rehearse


def test_slides_are_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def write(names: list[str], root: Path, to: Path) -> None:
        asked.append(names)
        to.mkdir(parents=True)
        for name in names:
            (to / f"{name}.html").touch()

    (tmp_path / "notebooks").symlink_to(rehearse.ROOT / "notebooks")
    monkeypatch.setattr(rehearse, "ROOT", tmp_path)
    monkeypatch.setattr(rehearse, "SLIDES", tmp_path / ".slides" / "html")
    monkeypatch.setattr(rehearse.deck, "write", write)
    rows = json.loads(rehearse.prepare(90).read_text())
    assert sum(row["minutes"] for row in rows) == 90
    rehearse.prepare(90)
    assert asked == [["00_start_here", "01_row_softmax", "02_chunked_softmax"]]


def test_jupyterlab_opens_the_first_notebook() -> None:
    assert rehearse.lab()[-1] == "notebooks/00_start_here.ipynb"


def test_a_rehearsal_takes_nobody_back_who_went_on_early(start: Start) -> None:
    items = [Item(n, 1, f"Row {n}", kind="teaching") for n in range(3)]
    board = start(items=items)
    code, token = board.live.join_line.partition("@")[0], board.live.token_of("teacher")

    def play() -> None:
        Rehearsal(board.url, code, token, items[:2], learners=1, speed=10_000, reached=lambda: board.live.step).play()

    play()
    assert board.live.step == 1
    board.teach("step", {"step": 2})
    play()
    assert board.live.step == 2
