"""How a sum takes in a chunk: the numbers of ``old × factor + new`` and their sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.films import films

ADDED_UP = {"online_softmax", "tiled_softmax", "flash_attention", "flash_attention_heads", "flash_attention_fast"}


@pytest.mark.parametrize("name", sorted(ADDED_UP))
def test_every_chunk_of_the_solution_adds_up(name: str, tmp_path: Path) -> None:
    film = films.solved(name, tmp_path).film
    assert len(film.updates) == len(film.programs)
    for row in film.updates:
        assert row.sums
        for at, taken in row.sums.items():
            assert taken.right, (at, taken)
            assert taken.got == pytest.approx(taken.old * taken.factor + taken.new, rel=5e-3)
        assert all(taken.right for taken in row.accumulators.values())
    assert any(0.02 < t.factor < 0.98 for row in film.updates for t in row.sums.values()), "something shrinks"
    assert any(row.accumulators for row in film.updates) == name.startswith("flash")


def test_the_sentence_says_the_numbers_of_the_trace(tmp_path: Path) -> None:
    shot = films.solved("online_softmax", tmp_path)
    said = [shot.film.change(step) for step in shot.film.steps]
    m, l = ([float(e.state[name]) for e in shot.trace.events[:4]] for name in ("m_i", "l_i"))
    assert said[0] == f"The first chunk has the maximum {m[1]:g}, and its terms add up to {l[1]:.4g}."
    assert said[1].startswith(f"The maximum rose from {m[1]:g} to {m[2]:g}: the old sum shrinks to 0.0034 of itself")
    assert said[3] == "", "the second walk changes nothing"
    assert shot.film.sentence(shot.film.steps[1]) == "Program 0 loads x[0, 4:8]."


def test_a_row_of_a_tile_is_named(tmp_path: Path) -> None:
    film = films.solved("flash_attention", tmp_path).film
    said = {film.change(step).partition(":")[0] for step in film.steps} - {""}
    assert said == {f"Query {row.row}" for row in film.updates}


def test_a_sum_that_is_not_rescaled_is_reported(tmp_path: Path) -> None:
    film = films.shoot("online_softmax", films.wrong("online_softmax", "sum_not_rescaled"), tmp_path).film
    second = film.updates[0].sums[1]
    assert not second.right
    assert second.got > second.want
    assert film.change(film.steps[1]).endswith("The sum should be 1.139, and the kernel holds 2.768.")


def test_an_accumulator_that_is_not_rescaled_is_reported(tmp_path: Path) -> None:
    source = films.edited("flash_attention", ("acc * alpha[:, None]", "acc"))
    film = films.shoot("flash_attention", source, tmp_path).film
    assert all(taken.right for row in film.updates for taken in row.sums.values())
    assert not all(taken.right for row in film.updates for taken in row.accumulators.values())


def test_other_puzzles_say_what_their_variables_become(tmp_path: Path) -> None:
    film = films.solved("row_softmax", tmp_path).film
    assert film.updates == []
    assert film.change(film.steps[0]).startswith("The maximum of the row is ")
