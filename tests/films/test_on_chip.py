"""What is on chip: which tiles of scores, what they hold, what becomes of the accumulator; a state, and what each step does with it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from checker.course import PUZZLES
from checker.course.diagrams import linear
from checker.films.kept_state import StateSteps
from checker.films.svg import LEVELS
from tests.films import films
from tests.misconceptions import kernels

SEQUENTIAL = ("linear_attention", "causal_linear_attention", "causal_linear_attention_chunked")


def state_of(shot: films.Shot) -> StateSteps:
    assert shot.film.state is not None
    return shot.film.state


def words_of(state: StateSteps, action: str) -> list[str]:
    return [at.words for at in state.at if at.action == action]


def reads_of(state: StateSteps) -> set[tuple[int, ...]]:
    return {box for at in state.at for _, box in at.reads}


def shown(heat: tuple[int, int, str]) -> np.ndarray:
    """Numbers from -1 to 1, of whose magnitude the root was drawn."""
    rows, cols, text = heat
    roots = np.array([LEVELS.index(c) for c in text]).reshape(rows, cols) / 31.5 - 1
    return np.sign(roots) * roots**2


# ---- tiles of scores ---------------------------------------------------------------------------------------------------


def test_each_product_of_a_way_back_says_what_it_makes(tmp_path: Path) -> None:
    shot = films.solved("attention_dkdv", tmp_path, N_Q=32, N_KV=32)
    said = [shot.film.product(step) for step in shot.film.steps if step.event.kind == "dot"]
    assert said[:4] == [
        "scores: k[0:16] · q[0:16]ᵀ, made again",
        "dv[0:16] += p · do[0:16]",
        "dP: v[0:16] · do[0:16]ᵀ, on chip",
        "dk[0:16] += ds · q[0:16]",
    ]
    assert len(said) == 4 * 2 * (2 + 1), "two heads, three tiles that are seen"
    assert all(said)


def test_products_under_other_names_are_spoken_of_in_general(tmp_path: Path) -> None:
    source = films.solution("attention_dq")
    renamed = source.source.replace("dp = tl.dot", "upstream = tl.dot").replace("(dp - delta", "(upstream - delta")
    shot = films.shoot("attention_dq", replace(source, source=renamed), tmp_path)
    said = {shot.film.product(step) for step in shot.film.steps if step.event.kind == "dot"}
    assert (
        "a product of queries 0:16 and keys 0:16, on chip" in said
        or "dq of queries 0:16: + what keys 0:16 send" in said
    )


@pytest.mark.parametrize(
    ("name", "order"), [("flash_attention", "queries outside"), ("flash_attention_v1", "keys outside")]
)
def test_tiles_are_visited_in_the_order_of_the_loops(name: str, order: str, tmp_path: Path) -> None:
    visits = films.solved(name, tmp_path).film.visits
    assert visits is not None
    rows, columns = range(0, 48, 16), range(0, 64, 16)
    expected = (
        [(r, c) for r in rows for c in columns]
        if order == "queries outside"
        else [(r, c) for c in columns for r in rows]
    )
    assert [(p.rows[0], p.columns[0]) for p in visits.pairs] == expected


@pytest.mark.parametrize("name", ["flash_attention", "flash_attention_heads"])
def test_heat_maps_hold_the_scores_of_their_tile(name: str, tmp_path: Path) -> None:
    shot = films.solved(name, tmp_path)
    visits = shot.film.visits
    assert visits is not None
    q, k = (shot.values[n].double().reshape(-1, 16).numpy() for n in ("q_ptr", "k_ptr"))
    exact = q @ k.T * 16**-0.5
    if name == "flash_attention_heads":
        exact[np.triu_indices(128, 1)] = -np.inf
    held = {held.pair: visits.heat(k) for k, held in enumerate(visits.at) if held.pair and visits.heat(k)}
    assert set(held) == set(visits.pairs), "every tile is shown"
    tiles = {pair: exact[slice(*pair.rows), slice(*pair.columns)] for pair in held}
    finite = np.concatenate([tile[np.isfinite(tile)] for tile in tiles.values()])
    for pair, heat in held.items():
        assert heat is not None
        rows, cols, text = heat
        levels = np.array([LEVELS.index(c) if c in LEVELS else -np.inf for c in text]).reshape(rows, cols)
        exact_levels = 63 * (tiles[pair] - finite.min()) / (finite.max() - finite.min())
        assert (np.isinf(levels) == np.isinf(exact_levels)).all()
        inside = np.isfinite(levels)
        assert np.abs(levels[inside] - exact_levels[inside]).max() < 0.6


def test_an_accumulator_is_shown_before_and_after_with_its_factors(tmp_path: Path) -> None:
    film = films.solved("flash_attention", tmp_path).film
    assert film.visits is not None
    grows = [k for k, held in enumerate(film.visits.at) if 3 in held.pictures]
    assert len(grows) == 12
    for k, later in itertools.pairwise(grows):
        pictures = film.visits.at[k].pictures
        assert set(pictures) == {0, 1, 2, 3}
        if film.steps[k].program == film.steps[later].program:
            assert film.visits.at[later].pictures[2] == pictures[3]


def test_tiles_that_a_causal_kernel_skips_are_told_at_its_end(tmp_path: Path) -> None:
    film = films.solved("flash_attention_heads", tmp_path).film
    assert film.visits is not None
    gone = {box for _, box, _ in film.visits.skipped}
    assert gone == {(r, r + 32, c, c + 32) for r in range(0, 128, 32) for c in range(0, 128, 32) if c > r}
    assert {last for *_, last in film.visits.skipped} <= {s.at for s in film.steps if s.later is None}


def test_a_kernel_without_scores_by_name_still_has_its_tiles(tmp_path: Path) -> None:
    source = films.edited("flash_attention", ("s = tl", "t = tl"), ("(s", "(t"), (", s,", ", t,"))
    source = replace(
        source,
        source=source.source.replace("p = tl.exp(", "w = tl.exp(")
        .replace("p.to", "w.to")
        .replace("tl.sum(p", "tl.sum(w"),
    )
    visits = films.shoot("flash_attention", source, tmp_path).film.visits
    assert visits is not None
    assert len(visits.pairs) == 12
    assert not any(0 in held.pictures for held in visits.at)


# ---- a state that is kept ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEQUENTIAL[1:])
def test_a_state_holds_the_sum_so_far(name: str, tmp_path: Path) -> None:
    shot = films.solved(name, tmp_path)
    state = state_of(shot)
    k, v, s0 = (shot.values[n][0, 0].double() for n in ("k_ptr", "v_ptr", "s0_ptr"))
    k = torch.nn.functional.elu(k) + 1
    sums = [s0 + k[:n].T @ v[:n] for n in range(len(k) + 1)]
    top, added = max(float(s.abs().max()) for s in sums), 0
    stop = 0
    for step, at in zip(shot.film.steps, state.at, strict=True):
        if step.loads("k_ptr") and step.tile and step.tile.active:
            start, stop = step.tile.active[:2]
        if at.action == "adds":
            for heat, n in ((at.pictures["before"], start), (at.pictures["after"], stop)):
                expected = sums[n].numpy() / top
                roots = np.sqrt(np.abs(expected)) * np.sign(expected)
                drawn = np.sqrt(np.abs(shown(heat))) * np.sign(shown(heat))
                assert np.abs(drawn - roots).max() < 0.05
            added += 1
    assert added == -(-len(k) // {"causal_linear_attention": 1}.get(name, 16))


@pytest.mark.parametrize(
    ("name", "sizes", "expected"),
    [
        ("linear_attention", {"N_Q": 32, "N_KV": 40}, {(0, 16, 0, 40), (16, 32, 0, 40)}),
        ("causal_linear_attention", {"N": 8}, {(n, n + 1, 0, n + 1) for n in range(8)}),
        ("causal_linear_attention_chunked", {"N": 48}, {(16, 32, 0, 16), (32, 48, 0, 32)}),
        ("causal_linear_attention_parallel", {"N": 56}, {(16, 32, 0, 16), (32, 48, 0, 32), (48, 56, 0, 48)}),
    ],
)
def test_pairs_that_go_through_the_state(name: str, sizes: dict[str, int], expected: set, tmp_path: Path) -> None:
    assert reads_of(state_of(films.solved(name, tmp_path, **sizes))) == expected


@pytest.mark.parametrize("name", ["causal_linear_attention_chunked", "causal_linear_attention_parallel"])
def test_every_pair_that_a_query_sees_goes_one_of_two_ways(name: str, tmp_path: Path) -> None:
    shot = films.solved(name, tmp_path)
    assert shot.film.visits is not None
    n = shot.case.sizes["N"]
    pairs = np.zeros((n, n), int)
    for r0, r1, c0, c1 in [*(p.box for p in shot.film.visits.pairs), *reads_of(state_of(shot))]:
        pairs[r0:r1, c0:c1] += 1
    assert (pairs[np.tril_indices(n)] == 1).all()
    assert shot.film.visits.skipped == []


def test_the_words_say_what_a_step_does(tmp_path: Path) -> None:
    state = state_of(films.solved("causal_linear_attention_chunked", tmp_path, N=48))
    assert words_of(state, "starts") == ["state starts from s0"]
    assert words_of(state, "adds")[1] == "state += φ(k[16:32])ᵀ · v[16:32]"
    assert words_of(state, "reads")[:2] == [
        "φ(q[0:16]) · state, which holds no keys so far",
        "φ(q[16:32]) · state, which holds keys 0:16",
    ]
    said = {at.words for at in state.at}
    assert {"a = φ(q[32:48]) · φ(k[32:48])ᵀ, on chip", "+ a · v[32:48]: the keys of this chunk"} <= said
    state = state_of(films.solved("causal_linear_attention_parallel", tmp_path, N=56))
    assert words_of(state, "starts")[2] == "state starts from s, chunk 2: tokens 0:32"
    assert words_of(state, "adds") == []
    state = state_of(films.solved("linear_chunk_states", tmp_path, N=56))
    assert words_of(state, "adds")[3] == "state = φ(k[48:56])ᵀ · v[48:56]"


def test_a_slice_of_the_values_stands_at_its_columns(tmp_path: Path) -> None:
    for name in SEQUENTIAL:
        shot = films.solved(name, tmp_path, D_V=24)
        for step, at in zip(shot.film.steps, state_of(shot).at, strict=True):
            assert at.place in (None, (0, 16 * step.event.program[1], 16, 16))


def test_a_state_read_too_late_shows_its_own_chunk_in_the_square(tmp_path: Path) -> None:
    """Added before it is read: the chunk is in the state and on chip as well."""
    source = films.moved(SEQUENTIAL[2], "state = tl.dot(tl.trans", after="a = tl.where(offs_c")
    shot = films.solved(SEQUENTIAL[2], tmp_path, source, N=48)
    assert reads_of(state_of(shot)) == {(0, 16, 0, 16), (16, 32, 0, 32), (32, 48, 0, 48)}


def test_the_state_is_found_under_another_name(tmp_path: Path) -> None:
    """By what is stored to s and z, whatever it is called."""
    edits = [
        ("state", "everything"),
        ("z += ", "total += "),
        ("z = tl.load", "total = tl.load"),
        ("q * z[", "q * total["),
        ("D + offs_d, z,", "D + offs_d, total,"),
    ]
    state = state_of(films.shoot(SEQUENTIAL[2], films.edited(SEQUENTIAL[2], *edits), tmp_path))
    assert (state.name, state.total) == ("everything", "total")
    assert words_of(state, "adds")[0] == "everything += φ(k[0:16])ᵀ · v[0:16]"


def test_read_and_added_to_in_one_step(tmp_path: Path) -> None:
    """Read before the token's own share goes in, and nothing loaded or stored in between."""
    shot = films.shoot(SEQUENTIAL[1], films.moved(SEQUENTIAL[1], "state += k", after="tl.store(o_ptr"), tmp_path)
    assert reads_of(state_of(shot)) == {(n, n + 1, 0, n) for n in range(1, shot.case.sizes["N"])}
    said = {at.words for at in state_of(shot).at}
    assert "φ(q[3]) · state, which holds keys 0:3; then state += φ(k[3])ᵀ · v[3]" in said


def test_a_nan_is_no_change(tmp_path: Path) -> None:
    source = films.edited(
        "linear_attention",
        ("state = tl.zeros([D, BLOCK_V], tl.float32)", 'state = tl.full([D, BLOCK_V], float("nan"), tl.float32)'),
    )
    state = state_of(films.shoot("linear_attention", source, tmp_path))
    assert words_of(state, "adds") == []
    assert {text for at in state.at if "after" in at.pictures for text in at.pictures["after"][2]} == {"?"}


def test_a_kernel_without_a_state_is_not_given_one(tmp_path: Path) -> None:
    shot = films.shoot("linear_attention", films.edited("linear_attention", ("state", "unknown")), tmp_path)
    assert not any("after" in at.pictures or "holds" in at.words for at in state_of(shot).at)
    assert "no variable holds one" in shot.html
    assert "No pair of query and key was seen to go through a state." in shot.html


@pytest.mark.parametrize(
    ("style", "said"),
    [
        (
            "while_loop",
            [
                "start = total: only x0",
                "total += x[0]",
                "start = total: x0 and all of x[0:1]",
                "end = total: x0 and all of x[0:5]",
            ],
        ),
        ("two_chunks_a_round", ["start = total: only x0", "total += x[0:2]", "end = total: x0 and all of x[0:5]"]),
        ("associative_scan", [""]),
    ],
)
def test_only_additions_that_are_seen_are_told(style: str, said: list[str], tmp_path: Path) -> None:
    shot = films.shoot("linear_state_prefix", kernels.correct("linear_state_prefix")[style], tmp_path)
    told = {at.words for at in state_of(shot).at}
    assert set(said) <= told
    assert "end = total: only x0" not in told


def test_a_state_too_large_to_capture_is_said(tmp_path: Path) -> None:
    case = PUZZLES["linear_attention"].film.case
    shot = films.shoot(
        "linear_attention",
        films.solution("linear_attention"),
        tmp_path,
        sizes={**case.sizes, "D": 64, "D_V": 32},
        meta={**case.meta, "BLOCK_V": 32},
    )
    assert not any("after" in at.pictures for at in state_of(shot).at)
    assert "state: too large to be captured" in shot.html


def test_a_long_text_is_cut_and_that_is_said(tmp_path: Path) -> None:
    assert (
        "Of a program, the first 380 steps are shown." in films.solved("causal_linear_attention", tmp_path, N=150).html
    )


# ---- atomic updates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [False, True], ids=["programs meet", "each for itself"])
def test_atomic_updates_are_counted_and_told(own: bool, tmp_path: Path) -> None:
    html = films.atomic_sums(tmp_path, own=own).html
    assert "3 programs, 27 loads, 0 stores, 9 atomic operations." in html
    assert "36 atomic updates" in html
    assert "atomic update: read, add, write back in one step" in html
    assert ("numbers that several programs update" in html) == (not own)
    assert ('class="shared"' in html) == (not own)


def test_rows_of_the_state_stand_where_the_features_are(tmp_path: Path) -> None:
    """A program that owns features has rows of the state, and reads it where it adds to the output."""
    diagram = linear(output="y_ptr", ends=False)
    film = films.atomic_sums(tmp_path, diagram=diagram).film
    assert film.state is not None
    assert {at.place for at in film.state.at if at.place} == {(4 * i, 0, 4, 4) for i in range(3)}
    assert reads_of(film.state) == {(n, n + 1, 0, n + 1) for n in range(3)}
