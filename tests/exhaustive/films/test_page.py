"""The film of every solution is well formed and small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.course import PUZZLES
from tests.films import films
from tests.films.test_page import data_of
from tests.view.pages import Page


@pytest.mark.parametrize("name", PUZZLES)
def test_the_film_of_a_solution_is_well_formed_and_small(name: str, tmp_path: Path) -> None:
    shot = films.solved(name, tmp_path)
    data, film = data_of(shot.html), shot.film
    tags = Page(shot.html).tags
    assert len(shot.html.encode()) <= 132_000
    assert not re.findall(r"""\b(?:src|href)=|url\(|https?://(?!www\.w3\.org/2000/svg)""", shot.html)
    assert not [attrs for _, attrs in tags if "id" in attrs], "two films on one page would share ids"
    assert all(attrs.get("aria-label") for tag, attrs in tags if attrs.get("role") == "img")
    assert [step[2] for step in data["steps"]] == [e.line for e in shot.trace.events]
    moved = sum(sum(step[3][1::2]) for step in data["steps"])
    assert moved == sum(t.loaded + t.stored for t in shot.trace.traffic.values())
    assert data["notes"] == []
    assert 'class="verdict"' not in shot.html
    assert film.left_out == film.cut == 0
