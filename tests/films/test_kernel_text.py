"""The state table shows one moment: values of the previous tile never appear beside values of this one."""

from __future__ import annotations

from pathlib import Path

from checker.films.kernel_text import Variables
from tests.films import films


def test_an_iteration_shows_only_its_own_variables(tmp_path: Path) -> None:
    shot = films.solved("online_softmax", tmp_path)
    film, variables = shot.film, Variables(shot.source.source)
    second, third, fourth = film.steps[1:4]  # two chunks of the first pass, and the first of the second pass
    before, after = variables.before(second.event), variables.after(second)
    assert before["offs_n"] == [4, 5, 6, 7]
    assert "x" not in before, "it still holds the previous chunk"
    assert "m_new" not in before
    assert before["m_i"] == second.event.state["m_i"], "carried values stay"
    assert after["x"] == [round(float(v), 3) for v in shot.values["x_ptr"][0, 4:8]]
    assert after["m_new"] == after["m_i"]
    assert "offs_n" not in after, "the next iteration has already assigned it"
    assert "offs_n" not in variables.after(third), "nor does the last step of a loop show the next loop's"
    assert not {"x", "m_new", "m_safe"} & set(variables.before(fourth.event)), "the loop has ended"
    assert variables.before(fourth.event)["offs_n"] == [0, 1, 2, 3]
