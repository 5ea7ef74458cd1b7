"""What is written into the page is small, and nothing of the film is lost in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checker.course import PUZZLES
from checker.view.film_build import build
from checker.view.packing import packed
from tests.view import films, traces
from tests.view.unpacking import unpacked

MOST = 60_000
LARGER = {"flash_attention_v1": 67_000, "flash_attention_heads": 74_000}
"""Their heat maps alone take 9 and 14 kB: every tile of scores and every accumulator, each number of them."""


@pytest.fixture(scope="module", params=PUZZLES)
def shot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> films.Shot:
    """The film of every puzzle's solution at its usual size."""
    name = request.param
    return films.shoot(name, traces.solution(name), tmp_path_factory.mktemp(name))


def data_of(shot: films.Shot) -> dict[str, Any]:
    puzzle = PUZZLES[shot.name]
    film = build(
        shot.trace,
        puzzle.film,
        shot.case,
        shot.values,
        puzzle.budget(shot.case),
        puzzle.outputs,
        shot.source.source,
    )
    return film.data


def test_films_at_their_usual_size_are_small(shot: films.Shot) -> None:
    assert len(shot.html.encode()) < LARGER.get(shot.name, MOST)


def test_the_player_reads_the_same_data(shot: films.Shot) -> None:
    data = data_of(shot)
    sent = json.loads(json.dumps(packed(data)))
    expected = json.loads(json.dumps(data), parse_float=lambda text: round(float(text), 4))
    assert unpacked(sent) == expected
    assert len(json.dumps(sent)) < len(json.dumps(data))


def test_packing_leaves_the_data_of_the_static_picture_alone(shot: films.Shot) -> None:
    data = data_of(shot)
    before = json.dumps(data)
    packed(data)
    assert json.dumps(data) == before


BARE = {"programs": [], "events": [], "cells": [], "tiles": [], "scores": 0, "states": 0, "sides": 0}


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("3", "3"),
        (["1", "2", "3", "4"], [1, 4]),
        (["7", "8", "9", "…"], [7, 3, "…"]),
        (["-∞"] * 16 + ["…"], ["-∞", 16, "…"]),
        (["0", "0"], ["0 0"]),
        (["0.5000", "-0.250", "12.500", "10.000", "1e-6"], [".5 -.25 12.5 10. 1e-6"]),
        (["1.0e-5", "NaN", "100000"], ["1.0e-5 NaN 100000"]),
        (["0.1"], ["0.1", 1]),
        (["0.5000", "0.1"], ["0.5000", "0.1"]),
        (["a b", "c"], ["a b", "c"]),
        ([["1", "2", "3"], ["✓", "✓", "✓"], "…"], [[1, 3], ["✓", 3], "…"]),
        ([["5"], ["6"], ["7"]], [["5"], ["6"], ["7"]]),
        ([], []),
    ],
    ids=["number", "counts", "counts and is cut", "repeats and is cut", "too short", "fractions", "no fractions", "one word", "words", "a blank", "tile", "column", "empty"],
)  # fmt: skip
def test_values_are_sent_short_and_come_back(value: Any, sent: Any) -> None:
    out = packed({**BARE, "vals": [value]})
    assert out["vals"] == [sent]
    assert unpacked(json.loads(json.dumps(out)))["vals"] == [value]


@pytest.mark.parametrize("levels", ["", "abc", "aaa", "aaaa", "-" * 64, "-" * 65 + "z", "0" * 200 + "$$$$"])
def test_runs_of_levels_come_back(levels: str) -> None:
    data = {**BARE, "vals": [], "scores": {"at": [], "heats": [[1, len(levels), levels]], "alphas": [levels]}}
    assert unpacked(json.loads(json.dumps(packed(data))))["scores"] == data["scores"]


def test_values_that_become_zero_are_sent() -> None:
    """A change is a name and a value: zeros at its end are no filling."""
    event = [0, 0, 0, 7, -1, 0, 0, [3, 0]]
    out = packed({**BARE, "programs": ["0"], "vals": [], "events": [event]})
    assert unpacked(out)["events"] == [event]


@pytest.mark.parametrize("path", sorted(Path(build.__code__.co_filename).parent.glob("*.js")), ids=lambda p: p.name)
def test_names_that_the_script_shortens_are_not_in_the_data(path: Path) -> None:
    fields = {n for line in path.read_text("utf-8").splitlines() if "own fields:" in line for n in line.split(":")[1].split()}  # fmt: skip
    keys = {
        "programs",
        "panels",
        "cells",
        "written",
        "tiles",
        "traffic",
        "findings",
        "sides",
        "scores",
        "states",
        "names",
    }
    keys |= {"words", "vals", "loops", "events", "sites", "at", "heats", "accs", "alphas", "sums", "places", "reads"}
    keys |= {"square", "lens", "skipped", "wide", "boxes", "whole"}
    assert not fields & keys


def test_every_program_shows_the_state_that_the_first_one_shows(shot: films.Shot) -> None:
    """A table of names that is full takes no new ones, and goes on following those it has."""
    data = data_of(shot)
    shown: dict[int, set[str]] = {}
    for row in data["events"]:
        delta = row[7] if len(row) > 7 and row[7] else []
        shown.setdefault(row[0], set()).update(data["names"][i] for i in delta[::2])
    first, *others = shown.values()
    assert first
    assert [first - other for other in others] == [set()] * len(others)
