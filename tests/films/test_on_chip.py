"""What a film shows on chip: tiles of scores with their values, and a state with the effect of each step."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import torch

from checker.course import PUZZLES
from checker.films.kept_state import StateSteps
from checker.films.square import Visits
from checker.films.svg import LEVELS
from tests.films import films

SEQUENTIAL = ("linear_attention", "causal_linear_attention", "causal_linear_attention_chunked")
CHUNKED = SEQUENTIAL[2]


def state_of(shot: films.Shot) -> StateSteps:
    assert shot.film.state is not None
    return shot.film.state


def visits_of(shot: films.Shot) -> Visits:
    assert shot.film.visits is not None
    return shot.film.visits


def words_of(state: StateSteps, action: str) -> list[str]:
    return [at.words for at in state.at if at.action == action]


def levels_of(heat: tuple[int, int, str]) -> np.ndarray:
    rows, columns, text = heat
    return np.array([LEVELS.index(c) if c in LEVELS else -np.inf for c in text]).reshape(rows, columns)


def test_tiles_are_visited_in_the_order_of_the_loops(tmp_path: Path) -> None:
    rows, columns = range(0, 48, 16), range(0, 64, 16)
    queries_outside = list(itertools.product(rows, columns))
    keys_outside = [(row, column) for column in columns for row in rows]
    for name, order in (("flash_attention", queries_outside), ("flash_attention_v1", keys_outside)):
        pairs = visits_of(films.solved(name, tmp_path)).pairs
        assert [(p.rows[0], p.columns[0]) for p in pairs] == order


def test_heat_maps_hold_the_scores_and_skipped_tiles_are_crossed_out(tmp_path: Path) -> None:
    shot = films.solved("flash_attention_heads", tmp_path)
    visits = visits_of(shot)
    q, k = (shot.values[n].double().reshape(-1, 16).numpy() for n in ("q_ptr", "k_ptr"))
    exact = q @ k.T * 16**-0.5
    exact[np.triu_indices(128, 1)] = -np.inf
    heats = {held.pair: heat for k, held in enumerate(visits.at) if held.pair and (heat := visits.heat(k))}
    assert set(heats) == set(visits.pairs), "every tile is shown"
    tiles = {pair: exact[slice(*pair.rows), slice(*pair.columns)] for pair in heats}
    finite = np.concatenate([tile[np.isfinite(tile)] for tile in tiles.values()])
    for pair, heat in heats.items():
        levels, expected = levels_of(heat), 63 * (tiles[pair] - finite.min()) / (finite.max() - finite.min())
        assert (np.isinf(levels) == np.isinf(expected)).all()
        inside = np.isfinite(levels)
        assert np.abs(levels[inside] - expected[inside]).max() < 0.6
    starts = range(0, 128, 32)
    assert {box for _, box, _ in visits.skipped} == {(r, r + 32, c, c + 32) for r in starts for c in starts if c > r}
    assert {last for *_, last in visits.skipped} <= {s.at for s in shot.film.steps if s.later is None}


def test_a_state_holds_the_sum_so_far(tmp_path: Path) -> None:
    for name, chunk in (("causal_linear_attention", 1), (CHUNKED, 16)):
        shot = films.solved(name, tmp_path)
        k, v, s0 = (shot.values[n][0, 0].double() for n in ("k_ptr", "v_ptr", "s0_ptr"))
        k = torch.nn.functional.elu(k) + 1
        sums = [(s0 + k[:n].T @ v[:n]).numpy() for n in range(len(k) + 1)]
        top = max(np.abs(s).max() for s in sums)
        added = stop = 0
        for step, at in zip(shot.film.steps, state_of(shot).at, strict=True):
            if step.loads("k_ptr") and step.tile and step.tile.active:
                start, stop = step.tile.active[:2]
            if at.action == "adds":
                for picture, n in (("before", start), ("after", stop)):
                    roots = np.sqrt(np.abs(sums[n] / top)) * np.sign(sums[n])
                    assert np.abs(levels_of(at.pictures[picture]) / 31.5 - 1 - roots).max() < 0.05  # type: ignore[arg-type]
                added += 1
        assert added == -(-len(k) // chunk)


def test_the_words_say_what_a_step_does(tmp_path: Path) -> None:
    state = state_of(films.solved(CHUNKED, tmp_path, N=48))
    assert words_of(state, "starts") == ["state starts from s0"]
    assert words_of(state, "adds")[1] == "state += φ(k[16:32])ᵀ · v[16:32]"
    assert words_of(state, "reads")[0] == "φ(q[0:16]) · state, which holds no keys so far"
    assert words_of(state, "reads")[1] == "φ(q[16:32]) · state, which holds keys 0:16"
    words = {at.words for at in state.at}
    assert {"a = φ(q[32:48]) · φ(k[32:48])ᵀ, on chip", "+ a · v[32:48]: the keys of this chunk"} <= words
    state = state_of(films.solved("causal_linear_attention_parallel", tmp_path, N=56))
    assert words_of(state, "starts")[2] == "state starts from s, chunk 2: tokens 0:32"
    assert words_of(state, "adds") == []
    state = state_of(films.solved("linear_chunk_states", tmp_path, N=56))
    assert words_of(state, "adds")[3] == "state = φ(k[48:56])ᵀ · v[48:56]"


def test_the_walk_of_the_delta_rule_says_what_meets_the_state(tmp_path: Path) -> None:
    """Its tile w is as large as the weights and loaded, and two of its products may stand in one line."""
    name, read = "delta_chunk_walk", 'tl.dot(q.to(tl.float32) * tl.exp(b)[:, None], state, input_precision="tf32")'
    edits = ((f"o = {read}", "a = a"), ('o = tl.dot(a, v, o, input_precision="tf32")', f"o = tl.dot(a, v) + {read}"))
    shot = films.shoot(name, films.edited(name, *edits), tmp_path)
    assert shot.film.visits is not None
    assert shot.film.visits.names == ["a"]
    assert [at.words for at in state_of(shot).at if at.words][6:11] == [
        "w[16:32] · state: what is to go before u[16:32] comes",
        "a = q[16:32] · k[16:32]ᵀ, each decayed, on chip",
        "+ a · (U - W S)[16:32]: the keys of this chunk",
        "q[16:32], decayed, · state, which holds keys 0:16",
        "state = what is left of it + k[16:32]ᵀ · (U - W S)[16:32], decayed",
    ]


def test_a_state_is_found_by_its_values_and_not_by_its_name(tmp_path: Path) -> None:
    edits = [
        ("state", "everything"),
        ("z += ", "total += "),
        ("z = tl.load", "total = tl.load"),
        ("q * z[", "q * total["),
        ("D + offs_d, z)", "D + offs_d, total)"),
    ]
    state = state_of(films.shoot(CHUNKED, films.edited(CHUNKED, *edits), tmp_path))
    assert (state.name, state.total) == ("everything", "total"), "found by its values in memory"
    assert words_of(state, "adds")[0] == "everything += φ(k[0:16])ᵀ · v[0:16]"


def test_a_state_that_cannot_be_shown_says_why(tmp_path: Path) -> None:
    name, zeros = "linear_attention", "state = tl.zeros([D, BLOCK_V], tl.float32)"
    nan = films.edited(name, (zeros, 'state = tl.full([D, BLOCK_V], float("nan"), tl.float32)'))
    state = state_of(films.shoot(name, nan, tmp_path))
    assert words_of(state, "adds") == [], "a NaN is no change"
    assert {text for at in state.at if "after" in at.pictures for text in at.pictures["after"][2]} == {"?"}

    shot = films.shoot(name, films.edited(name, ("state", "unknown")), tmp_path)
    assert not any("after" in at.pictures or "holds" in at.words for at in state_of(shot).at)
    assert "no variable holds one" in shot.html
    assert "No pair of query and key was seen to go through a state." in shot.html

    case = PUZZLES[name].film.case
    large = {"sizes": {**case.sizes, "D": 64, "D_V": 32}, "meta": {**case.meta, "BLOCK_V": 32}}
    shot = films.shoot(name, films.solution(name), tmp_path, **large)
    assert not any("after" in at.pictures for at in state_of(shot).at)
    assert "state: too large to be captured" in shot.html


def test_long_films_are_cut_and_atomic_updates_are_counted(tmp_path: Path) -> None:
    long = films.solved("causal_linear_attention", tmp_path, N=150).html
    assert "Of a program, the first 380 steps are shown." in long
    for place, shared in (("z_ptr + offs_n", False), ("z_ptr + tl.arange(0, BLOCK_N)", True)):
        adds = films.edited("vector_add", ("tl.store(z_ptr + offs_n", f"tl.atomic_add({place}"))
        html = films.shoot("vector_add", adds, tmp_path).html
        assert "3 programs, 6 loads, 0 stores, 3 atomic operations." in html
        assert "atomic update: read, add, write back in one step" in html
        assert ("numbers that several programs update" in html) == shared
        assert ('class="shared"' in html) == shared
