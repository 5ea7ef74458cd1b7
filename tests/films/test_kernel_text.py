"""The state table shows one moment: no value of the previous tile appears beside one of this tile."""

from __future__ import annotations

from pathlib import Path

from checker.films.kernel_text import Variables
from checker.films.scene import Scenes, Stage
from checker.films.tables import state_table
from tests.films import films


def test_an_iteration_shows_only_its_own_variables(tmp_path: Path) -> None:
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


def test_all_variables_are_shown_if_the_text_is_not_python(tmp_path: Path) -> None:
    shot = films.solved("online_softmax", tmp_path)
    event = shot.trace.events[1]
    assert Variables("def (").before(event) == event.state


def test_variables_are_listed_once_and_index_arithmetic_last(tmp_path: Path) -> None:
    for name in ("online_softmax", "tiled_softmax", "vector_add"):
        film = films.solved(name, tmp_path).film
        scenes = Scenes([s.program for s in film.steps])
        rows = state_table(film, scenes)
        names = [row.name for row in rows(Stage(scenes, 0))]
        assert len(names) == len(set(names)), "including the variable of a loop"
        offsets = [n for n in names if n.startswith(("offs", "mask", "row", "pid"))]
        assert offsets
        assert names[len(names) - len(offsets) :] == offsets
