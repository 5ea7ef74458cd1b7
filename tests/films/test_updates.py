"""A film explains how a sum takes in a chunk: the numbers of ``old × factor + new`` and their sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.films import charts
from checker.films.updates import Addition
from tests.films import films


def test_every_chunk_of_the_solution_adds_up(tmp_path: Path) -> None:
    for name in ("online_softmax", "tiled_softmax", "flash_attention", "flash_attention_heads", "flash_attention_fast"):
        film = films.solved(name, tmp_path).film
        assert len(film.updates) == len(film.programs), name
        sums = [update for row in film.updates for update in row.sums.values()]
        accumulators = [update for row in film.updates for update in row.accumulators.values()]
        assert all(update.right for update in (*sums, *accumulators)), name
        for update in sums:
            assert update.got == pytest.approx(update.old * update.factor + update.new, rel=5e-3), name
        assert any(0.02 < update.factor < 0.98 for update in sums), f"nothing shrinks in {name}"
        assert bool(accumulators) == name.startswith("flash"), name


def test_a_missing_rescale_is_reported(tmp_path: Path) -> None:
    film = films.shoot("online_softmax", films.wrong("online_softmax", "sum_not_rescaled"), tmp_path).film
    second = film.updates[0].sums[1]
    assert not second.right
    assert second.got > second.want
    assert film.change(film.steps[1]).endswith("The sum should be 1.139, and the kernel holds 2.768.")
    source = films.edited("flash_attention", ("acc * alpha[:, None]", "acc"))
    film = films.shoot("flash_attention", source, tmp_path).film
    assert all(update.right for row in film.updates for update in row.sums.values())
    assert not all(update.right for row in film.updates for update in row.accumulators.values())


def test_the_sentence_states_the_numbers_of_the_trace(tmp_path: Path) -> None:
    shot = films.solved("online_softmax", tmp_path)
    sentences = [shot.film.change(step) for step in shot.film.steps]
    m, l = ([float(e.state[name]) for e in shot.trace.events[:4]] for name in ("m_i", "l_i"))
    assert sentences[0] == f"The first chunk has the maximum {m[1]:g}, and its terms add up to {l[1]:.4g}."
    assert sentences[1].startswith(
        f"The maximum rose from {m[1]:g} to {m[2]:g}: the old sum shrinks to 0.0034 of itself"
    )
    assert sentences[3] == "", "the second pass changes nothing"
    assert shot.film.sentence(shot.film.steps[1]) == "Program 0 loads x[0, 4:8]."


def test_a_sum_that_is_nan_throughout_has_a_film() -> None:
    """A row that begins with -inf and has no guard: the card invites to a film of it."""
    nan = float("nan")
    assert charts._shapes(Addition("l_i", nan, nan, nan, nan, right=False)) is not None


def test_a_program_past_the_end_owns_no_row_and_has_a_film(tmp_path: Path) -> None:
    """The first program of this kernel begins behind the last query."""
    source = films.wrong("flash_attention_fast", "last_program_is_the_count")
    sizes = {"B": 1, "H_Q": 1, "H_KV": 1, "N_Q": 1, "N_KV": 1, "D": 16}
    shot = films.shoot("flash_attention_fast", source, tmp_path, sizes=sizes, meta={"BLOCK_M": 16, "BLOCK_N": 16})
    assert "<svg" in shot.html
