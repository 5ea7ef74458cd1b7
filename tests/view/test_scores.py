"""Attention in the film: which tiles of scores were on chip, what they held, what became of the accumulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checker.course import PUZZLES
from checker.view.film import side_by_side
from checker.view.heat import LEVELS
from tests.misconceptions import kernels
from tests.view import films, traces
from tests.view.test_film import Reader, data_of

ATTENTION = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
STYLES = [(name, style) for name in ("flash_attention", "flash_attention_heads") for style in kernels.correct(name)]


def solution(name: str, tmp: Path, **changes: object) -> films.Shot:
    return films.shoot(name, traces.solution(name), tmp, **changes)


def at_moment(scores: dict, k: int) -> list[int]:
    return [*scores["at"][k], *[-1] * 5][:5]


@pytest.mark.parametrize("name", ATTENTION)
def test_film_is_well_formed_and_small(name: str, tmp_path: Path) -> None:
    html = solution(name, tmp_path).html
    assert len(html) < 74_000
    assert not [attrs for _, attrs in Reader(html).tags if "id" in attrs]


def test_queries_stay_and_keys_pass_by(tmp_path: Path) -> None:
    shot = solution("flash_attention", tmp_path)
    scores = data_of(shot.html)["scores"]
    visited = list(dict.fromkeys(a[0] for a in scores["at"] if a and a[0] >= 0))
    tiles = [tuple(scores["tiles"][v][1:5]) for v in visited]
    assert tiles == [(r, r + 16, c, c + 16) for r in range(0, 48, 16) for c in range(0, 64, 16)]


def test_keys_stay_and_queries_pass_by_in_the_first_order(tmp_path: Path) -> None:
    scores = data_of(solution("flash_attention_v1", tmp_path).html)["scores"]
    visited = list(dict.fromkeys(a[0] for a in scores["at"] if a and a[0] >= 0))
    tiles = [tuple(scores["tiles"][v][1:5]) for v in visited]
    assert tiles == [(r, r + 16, c, c + 16) for c in range(0, 64, 16) for r in range(0, 48, 16)]


@pytest.mark.parametrize("name", ["flash_attention", "flash_attention_heads"])
def test_heat_maps_hold_the_scores_of_their_tile(name: str, tmp_path: Path) -> None:
    shot = solution(name, tmp_path)
    scores = data_of(shot.html)["scores"]
    q, k = (shot.values[n].double().reshape(-1, 16).numpy() for n in ("q_ptr", "k_ptr"))
    exact = q @ k.T * 16**-0.5
    if name == "flash_attention_heads":
        exact[np.triu_indices(128, 1)] = -np.inf
    pairs = {tuple(a[:2]) for a in scores["at"] if len(a) > 1 and a[1] >= 0}
    assert {visit for visit, _ in pairs} == set(range(len(scores["tiles"]))), "every tile is shown"
    visible = [exact[r0:r1, c0:c1] for _, r0, r1, c0, c1, *_ in scores["tiles"]]
    finite = np.concatenate([tile[np.isfinite(tile)] for tile in visible])
    low, high = finite.min(), finite.max()
    for visit, heat in pairs:
        _, r0, r1, c0, c1, *_ = scores["tiles"][visit]
        rows, cols, levels = scores["heats"][heat]
        shown = np.array([LEVELS.index(x) if x in LEVELS else -np.inf for x in levels]).reshape(rows, cols)
        expected = (exact[r0:r1, c0:c1] - low) / (high - low) * 63
        assert np.array_equal(np.isinf(shown), np.isinf(expected))
        seen = np.isfinite(expected)
        assert np.abs(shown[seen] - expected[seen]).max() < 0.6


def test_causal_tiles_above_the_diagonal_are_skipped(tmp_path: Path) -> None:
    scores = data_of(solution("flash_attention_heads", tmp_path).html)["scores"]
    assert len(scores["tiles"]) == 10
    assert [s[1:5] for s in scores["skipped"]] == [[0, 32, 32, 128], [32, 64, 64, 128], [64, 96, 96, 128]]


def test_no_scores_are_on_chip_before_the_keys_and_after_the_walk(tmp_path: Path) -> None:
    shot = solution("flash_attention", tmp_path)
    scores = data_of(shot.html)["scores"]
    for k, event in enumerate(shot.trace.events):
        visit, heat, *_ = at_moment(scores, k)
        if event.tensor in ("q_ptr", "o_ptr"):
            assert (visit, heat) == (-1, -1)
        if event.tensor == "k_ptr":
            assert visit >= 0
            assert heat == -1
        if event.kind == "dot":
            assert heat >= 0


@pytest.mark.parametrize("name", ATTENTION)
def test_the_accumulator_is_rescaled_once_a_tile(name: str, tmp_path: Path) -> None:
    shot = solution(name, tmp_path)
    scores = data_of(shot.html)["scores"]
    grows = [
        k for k in range(len(shot.trace.events)) if at_moment(scores, k)[4] >= 0 and shot.trace.events[k].kind == "dot"
    ]
    assert len(grows) == len(scores["tiles"])
    assert all(at_moment(scores, k)[2] >= 0 for k in grows), "with the factors of its rows"
    if name != "flash_attention_v1":
        for k in grows:
            event = shot.trace.events[k]
            following = next((j for j in grows if j > k and shot.trace.events[j].program == event.program), None)
            if following is not None:
                assert at_moment(scores, following)[3] == at_moment(scores, k)[4]


def test_numbers_per_query_are_called_by_their_own_index(tmp_path: Path) -> None:
    labels = [t[1] for t in data_of(solution("flash_attention_v1", tmp_path).html)["tiles"]]
    assert "[0, 0:16]" in labels
    assert not [label for label in labels if label.count(",") > 2]


def test_five_hundred_and_twelve_are_still_small_and_whole(tmp_path: Path) -> None:
    case = PUZZLES["flash_attention_heads"].film.case
    shot = solution("flash_attention_heads", tmp_path, sizes={**case.sizes, "N_Q": 512, "N_KV": 512})
    html = shot.html
    data = data_of(html)
    assert len(html) < 112_000
    assert len(data["events"]) == len(shot.trace.events)
    assert len(data["scores"]["tiles"]) == 136


def test_a_longer_film_leaves_out_programs_and_says_so(tmp_path: Path) -> None:
    case = PUZZLES["flash_attention_heads"].film.case
    shot = solution("flash_attention_heads", tmp_path, sizes={**case.sizes, "N_Q": 512, "N_KV": 512}, flags={"IS_CAUSAL": False, "RAGGED": False})  # fmt: skip
    html = shot.html
    assert len(html) < 112_000
    assert "Shown:" in html


def test_a_kernel_without_scores_by_name_still_has_its_tiles(tmp_path: Path) -> None:
    source = films.edited("flash_attention", ("s = tl", "t = tl"), ("(s", "(t"), (", s,", ", t,"))
    source = replace(source, source=source.source.replace("p = tl.exp(", "w = tl.exp(").replace("p.to", "w.to").replace("tl.sum(p", "tl.sum(w"))  # fmt: skip
    scores = data_of(films.shoot("flash_attention", source, tmp_path).html)["scores"]
    assert len(scores["tiles"]) == 12
    assert scores["heats"] == []


@pytest.mark.parametrize("name", ["flash_attention", "flash_attention_heads"])
@pytest.mark.parametrize("family", ["normal", "ramp", "negative"])
def test_solutions_are_never_marked(name: str, family: str, tmp_path: Path) -> None:
    assert solution(name, tmp_path, family=family).departures == []


@pytest.mark.parametrize(("name", "style"), STYLES)
def test_right_kernels_in_other_styles_are_never_marked(name: str, style: str, tmp_path: Path) -> None:
    assert films.shoot(name, films.correct(name, style), tmp_path).departures == []


@pytest.mark.parametrize(
    ("name", "misconception", "family", "variable", "chunk"),
    [
        ("flash_attention", "sum_not_rescaled", "ramp", "l_i", 2),
        ("flash_attention", "max_starts_at_zero", "negative", "m_i", 1),
        ("flash_attention", "scale_forgotten", "ramp", "m_i", 1),
        ("flash_attention_heads", "sum_not_rescaled", "ramp", "l_i", 2),
        ("flash_attention_heads", "causal_ignored", "ramp", "m_i", 1),
    ],
)
def test_wrong_kernels_are_marked_at_the_right_chunk(
    name: str, misconception: str, family: str, variable: str, chunk: int, tmp_path: Path
) -> None:
    shot = films.shoot(name, films.wrong(name, misconception), tmp_path, family=family)
    first = shot.departures[0]
    assert (first.name, first.chunk) == (variable, chunk)
    assert shot.trace.events[first.at].tensor == "k_ptr"


def test_films_stand_side_by_side() -> None:
    html = side_by_side("<p>a</p>", "<p>b</p>")
    Reader(html)
    assert html.index("<p>a</p>") < html.index("<p>b</p>")
