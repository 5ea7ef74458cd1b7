"""The film of a failing kernel says so, and marks the wrong elements and the step that stores the first of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checker.films.film_data import WRONG
from checker.films.flaws import Flaws
from checker.films.scene import Scenes
from checker.films.stage import stage
from tests.films import films
from tests.films.films import flaws_of


@pytest.mark.parametrize(
    ("name", "mistake", "output"),
    [
        ("online_softmax", "sum_not_rescaled", "y_ptr"),
        ("flash_attention", "", "o_ptr"),
        ("linear_chunk_states", "", "s_ptr"),
    ],
)
def test_wrong_elements_turn_red_when_they_are_stored(name: str, mistake: str, output: str, tmp_path: Path) -> None:
    source = films.wrong(name, mistake) if mistake else films.solution(name)
    shot = films.shoot(name, source, tmp_path)
    if not mistake:  # make some elements of a right kernel wrong
        shot.values[output][..., 1:3] += 1.0
    flaws = flaws_of(shot)
    shot = replace(shot, flaws=flaws)
    film = shot.film
    (note,) = [n for n in film.notes if n.kind == WRONG]
    assert note.at is not None
    step = film.steps[note.at]
    assert (step.event.kind, step.event.tensor) == ("store", output)
    assert flaws.first in note.message
    assert "and should be" in flaws.first
    assert f'<button type="button" data-at="{note.at}">Go to step {note.at + 1}</button>' in shot.html

    scenes = Scenes([s.program for s in film.steps])
    stage(film, scenes)
    framed = [k for k, changes in enumerate(scenes.changes) for c in changes if '"first-wrong"' in str(c.after)]
    assert framed == [note.at], "from its step on"


def test_a_kernel_that_fails_elsewhere_does_not_look_right(tmp_path: Path) -> None:
    verdict = "This kernel does not pass. Online softmax uses memory unsafely."
    shot = replace(films.solved("online_softmax", tmp_path), flaws=Flaws(verdict))
    assert verdict in shot.html
    assert shot.film.notes == []


def test_an_element_that_no_step_stores_is_wrong_from_the_start(tmp_path: Path) -> None:
    shot = films.solved("vector_add", tmp_path)
    stores = [e for e in shot.trace.events if e.kind != "store" or e.program != (2, 0, 0)]
    shot = replace(shot, trace=replace(shot.trace, events=[replace(e, step=i) for i, e in enumerate(stores)]))
    shot.values["z_ptr"][8:] = np.nan
    (note,) = [n for n in replace(shot, flaws=flaws_of(shot)).film.notes if n.kind == WRONG]
    assert note.at is None
    assert note.message.startswith("z[8] is NaN and should be")
    assert note.message.endswith("No step stores it.")
