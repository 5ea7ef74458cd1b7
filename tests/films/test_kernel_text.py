"""The state table shows one moment: nothing of the tile before stands beside a value of this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.films.kernel_text import Variables
from checker.films.scene import Scenes
from checker.films.tables import state_table
from tests.films import films


def test_a_turn_shows_its_own_variables_only(tmp_path: Path) -> None:
    shot = films.solved("online_softmax", tmp_path)
    film, variables = shot.film, Variables(shot.source.source)
    second, third, fourth = film.steps[1:4]  # chunks of the first walk, and the first of the second walk
    before, after = variables.before(second.event), variables.after(second)
    assert before["offs_n"] == [4, 5, 6, 7]
    assert "x" not in before, "it still holds the chunk before"
    assert "m_new" not in before
    assert before["m_i"] == second.event.state["m_i"], "what is carried from turn to turn stays"
    assert after["x"] == [round(float(v), 3) for v in shot.values["x_ptr"][0, 4:8]]
    assert after["m_new"] == after["m_i"]
    assert "offs_n" not in after, "the next turn has assigned it already"
    assert "offs_n" not in variables.after(third), "nor has the last step of a loop those of the next"
    assert not {"x", "m_new", "m_safe"} & set(variables.before(fourth.event)), "a loop that has ended"
    assert variables.before(fourth.event)["offs_n"] == [0, 1, 2, 3]


def test_of_text_that_is_no_python_everything_is_shown(tmp_path: Path) -> None:
    shot = films.solved("online_softmax", tmp_path)
    event = shot.trace.events[1]
    assert Variables("def (").before(event) == event.state


@pytest.mark.parametrize("name", ["online_softmax", "tiled_softmax", "vector_add", "flash_attention_v1"])
def test_variables_are_listed_once_and_index_arithmetic_last(name: str, tmp_path: Path) -> None:
    film = films.solved(name, tmp_path).film
    names = [name for _, name, _ in state_table(film, Scenes([s.program for s in film.steps]))]
    assert len(names) == len(set(names)), "a loop's variable too"
    offsets = [n for n in names if n.startswith(("offs", "mask", "row", "pid"))]
    assert offsets or name == "flash_attention_v1", "which has too many other variables"
    assert names[len(names) - len(offsets) :] == offsets
