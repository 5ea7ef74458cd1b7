"""A film marks where the running state departs from its exact value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.films import films

V1 = "flash_attention_v1"


def test_a_divergence_is_reported_once_with_its_exact_value(tmp_path: Path) -> None:
    shot = films.shoot("online_softmax", films.wrong("online_softmax", "sum_not_rescaled"), tmp_path)
    first = shot.film.divergences[0]
    seen = shot.values["x_ptr"][first.row, :8].double()
    assert first.want == pytest.approx((seen - seen.max()).exp().sum().item())
    assert first.words(True) == f"After chunk 2, l_i of row 0 should be {first.want:.4g} and is {first.got:.4g}."
    marks = [note for note in shot.film.notes if note.kind == "running value"]
    assert [(shot.trace.events[note.at].program[0], note.listed) for note in marks] == [(0, True), (1, False)]
    assert shot.html.count('class="finding"') == 1
    assert "1 other program goes wrong too" in shot.html


PAST_THE_ENDS = {"H": 2, "N_Q": 37, "N_KV": 40, "D": 16}


def test_wrong_numbers_in_memory_are_marked_at_their_tile(tmp_path: Path) -> None:
    shot = films.shoot(V1, films.wrong(V1, "padding_keys_counted"), tmp_path, family="negative", sizes=PAST_THE_ENDS)
    assert {(d.chunk, d.name) for d in shot.film.divergences} == {(3, "m_new"), (3, "l_new")}
    assert {(*d.lead, d.row) for d in shot.film.divergences} == {(h, row) for h in range(2) for row in range(37)}
    shot = films.shoot(V1, films.wrong(V1, "sum_not_rescaled"), tmp_path)
    (mark,) = [note for note in shot.film.notes if note.kind == "running value"]
    assert mark.message.startswith("After chunk 2, l_new of row 0, 0 should be ")
    assert mark.message in shot.html
