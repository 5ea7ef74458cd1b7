"""Linear attention in the film: what the state holds at every step, what is read out of it, and where several programs add up."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from checker.course import PUZZLES
from checker.course.linear_inputs import feature_map
from checker.puzzle import Carried
from checker.simulator.trace import Tile
from checker.view.carried_deeds import ADDS, READS, STARTS
from checker.view.heat import LEVELS
from checker.view.layout import flatten, in_a_row
from tests.view import films, traces
from tests.view.test_film import Reader, data_of

SEQUENTIAL = ("linear_attention", "causal_linear_attention", "causal_linear_attention_chunked")
PARALLEL = ("linear_chunk_states", "linear_state_prefix", "causal_linear_attention_parallel")


def solution(name: str, tmp: Path, **sizes: int) -> films.Shot:
    """The solution at the film's case, with other sizes where some are given."""
    case = PUZZLES[name].film.case
    return films.shoot(name, traces.solution(name), tmp, sizes={**case.sizes, **sizes})


def chunked(tmp: Path, *edits: tuple[str, str]) -> films.Shot:
    """The chunked kernel, edited, on three chunks."""
    name = "causal_linear_attention_chunked"
    case = PUZZLES[name].film.case
    return films.shoot(name, films.edited(name, *edits), tmp, sizes={**case.sizes, "N": 48})


def states_of(shot: films.Shot) -> dict:
    return data_of(shot.html)["states"]


def at_moment(states: dict, k: int) -> list[int]:
    return [*states["at"][k], *[-1] * 7][:7]


def shown(states: dict, heat: int) -> np.ndarray:
    """A heat map between -1 and 1, the roots undone."""
    rows, cols, levels = states["heats"][heat]
    part = (np.array([LEVELS.index(x) for x in levels]).reshape(rows, cols) - 31.5) / 31.5
    return np.sign(part) * part**2


def unscripted(html: str) -> str:
    return re.sub(r"<(script|style).*?</\1>", "", html, flags=re.DOTALL)


def words_of(states: dict, deed: int) -> list[str]:
    told = [at_moment(states, k) for k in range(len(states["at"]))]
    return list(dict.fromkeys(states["words"][a[6]] for a in told if a[5] == deed))


@pytest.mark.parametrize("name", [*SEQUENTIAL, *PARALLEL])
def test_film_is_well_formed_and_small(name: str, tmp_path: Path) -> None:
    html = solution(name, tmp_path).html
    assert len(html) < 60_000
    assert not [attrs for _, attrs in Reader(html).tags if "id" in attrs]
    assert 'class="carried"' in html


@pytest.mark.parametrize("name", ["linear_attention", "causal_linear_attention", "causal_linear_attention_chunked"])
def test_heat_maps_hold_the_state_after_each_addition(name: str, tmp_path: Path) -> None:
    shot = solution(name, tmp_path)
    states = states_of(shot)
    k, v = (feature_map(shot.values["k_ptr"][0, 0].double()), shot.values["v_ptr"][0, 0].double())
    s0 = shot.values.get("s0_ptr", torch.zeros(1, 1, 16, 16))[0, 0].double()
    top = max(float((s0 + k[:n].T @ v[:n]).abs().max()) for n in range(len(k) + 1))
    added = 0
    for moment, event in enumerate(shot.trace.events):
        before, after, *_, deed, _ = at_moment(states, moment)
        if event.kind == "load" and event.tensor == "k_ptr":
            assert event.tile is not None
            tile = event.tile.active[-2]
        if deed == ADDS:
            for heat, stop in ((before, tile[0]), (after, tile[1])):
                expected = (s0 + k[:stop].T @ v[:stop]).numpy() / top
                roots = np.sqrt(np.abs(expected)) * np.sign(expected)
                seen = np.sqrt(np.abs(shown(states, heat))) * np.sign(shown(states, heat))
                assert np.abs(seen - roots).max() < 0.02
            added += 1
    tile = {"causal_linear_attention": 1}.get(name, 16)
    assert added == -(-len(k) // tile)


def test_sums_of_features_are_as_long_as_they_are_large(tmp_path: Path) -> None:
    shot = solution("causal_linear_attention", tmp_path)
    states = states_of(shot)
    z = feature_map(shot.values["k_ptr"][0, 0].double()).cumsum(0)
    last = [at_moment(states, k)[3] for k, e in enumerate(shot.trace.events) if e.tensor == "o_ptr"]
    for n, column in enumerate(last):
        levels = np.array([LEVELS.index(x) for x in states["sums"][column]])
        assert np.abs(levels - z[n].numpy() / float(z.max()) * 63).max() <= 0.51


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear_attention", {(0, 16, 0, 40), (16, 32, 0, 40)}),
        ("causal_linear_attention", {(n, n + 1, 0, n + 1) for n in range(8)}),
        ("causal_linear_attention_chunked", {(16, 32, 0, 16), (32, 48, 0, 32)}),
        ("causal_linear_attention_parallel", {(16, 32, 0, 16), (32, 48, 0, 32), (48, 56, 0, 48)}),
    ],
)
def test_pairs_that_go_through_the_state(name: str, expected: set, tmp_path: Path) -> None:
    sizes = {"linear_attention": {"N_Q": 32, "N_KV": 40}, SEQUENTIAL[1]: {"N": 8}, SEQUENTIAL[2]: {"N": 48}}.get(name, {"N": 56})  # fmt: skip
    states = states_of(solution(name, tmp_path, **sizes))
    assert {tuple(r[2:]) for r in states["reads"]} == expected


@pytest.mark.parametrize("name", ["causal_linear_attention_chunked", "causal_linear_attention_parallel"])
def test_only_tiles_on_the_diagonal_are_on_chip(name: str, tmp_path: Path) -> None:
    shot = solution(name, tmp_path)
    scores, states = data_of(shot.html)["scores"], states_of(shot)
    n = shot.case.sizes["N"]
    tiles = {tuple(t[1:5]) for t in scores["tiles"]}
    assert tiles == {(c, min(c + 16, n), c, min(c + 16, n)) for c in range(0, n, 16)}
    pairs = np.zeros((n, n), int)
    for r0, r1, c0, c1 in [*tiles, *(r[2:] for r in states["reads"])]:
        pairs[r0:r1, c0:c1] += 1
    assert (pairs[np.tril_indices(n)] == 1).all(), "every pair a query sees goes one of the two ways"
    assert scores["skipped"] == []
    assert len(scores["heats"]) == len(tiles)


def test_the_words_say_what_a_step_does(tmp_path: Path) -> None:
    states = states_of(chunked(tmp_path))
    assert words_of(states, STARTS) == ["state starts from s0"]
    assert words_of(states, ADDS)[1] == "state += φ(k[16:32])ᵀ · v[16:32]"
    assert words_of(states, READS)[:2] == [
        "φ(q[0:16]) · state, which holds no keys so far",
        "φ(q[16:32]) · state, which holds keys 0:16",
    ]
    assert {"a = φ(q[32:48]) · φ(k[32:48])ᵀ, on chip", "+ a · v[32:48]: the keys of this chunk"} <= set(states["words"])
    states = states_of(solution("causal_linear_attention_parallel", tmp_path, N=56))
    assert words_of(states, STARTS)[2] == "state starts from s, chunk 2: tokens 0:32"
    assert words_of(states, ADDS) == []
    states = states_of(solution("linear_chunk_states", tmp_path, N=56))
    assert words_of(states, ADDS)[3] == "state = φ(k[48:56])ᵀ · v[48:56]"


def test_a_slice_of_the_values_stands_at_its_columns(tmp_path: Path) -> None:
    for name in SEQUENTIAL:
        shot = solution(name, tmp_path, D_V=24)
        states = states_of(shot)
        assert states["places"] == [[0, 0, 16, 16], [0, 16, 16, 16]]
        for k, event in enumerate(shot.trace.events):
            place = at_moment(states, k)[4]
            assert place in (-1, event.program[1])


def test_what_hangs_over_is_hatched(tmp_path: Path) -> None:
    """The third tile of keys, of 8 that there are; a state in memory has no room for it."""
    shot = solution("linear_attention", tmp_path, N_KV=40)
    data = data_of(shot.html)
    panels = {p[0]: p for p in data["panels"]}
    assert [panels["k"][i] for i in (5, 9)] == [40, 48]
    assert [panels["v"][i] for i in (5, 9)] == [40, 48]
    assert "masked lanes: switched off" in shot.html
    assert panels["k"][1] + 48 * panels["k"][3] < panels["v"][1], "and does not reach the state"
    shot = solution("causal_linear_attention", tmp_path, D_V=24)
    panels = {p[0]: p for p in data_of(shot.html)["panels"]}
    assert [panels["o"][i] for i in (6, 10)] == [24, 32]
    assert [panels["s"][i] for i in (6, 10)] == [24, 24]


def test_a_state_read_too_late_shows_its_own_chunk_in_the_square(tmp_path: Path) -> None:
    """Added before it is read: the chunk is in the state and on chip as well."""
    source = films.moved(SEQUENTIAL[2], "state = tl.dot(tl.trans", after="a = tl.where(offs_c")
    case = PUZZLES[SEQUENTIAL[2]].film.case
    shot = films.shoot(SEQUENTIAL[2], source, tmp_path, sizes={**case.sizes, "N": 48})
    states = states_of(shot)
    assert {tuple(r[2:]) for r in states["reads"]} == {(0, 16, 0, 16), (16, 32, 0, 32), (32, 48, 0, 48)}


def test_the_state_is_found_under_another_name(tmp_path: Path) -> None:
    """By what is stored to s and z, whatever it is called."""
    states = states_of(chunked(tmp_path, ("state", "everything"), ("z += ", "total += "), ("z = tl.load", "total = tl.load"), ("q * z[", "q * total["), ("D + offs_d, z,", "D + offs_d, total,")))  # fmt: skip
    assert {tuple(r[2:]) for r in states["reads"]} == {(16, 32, 0, 16), (32, 48, 0, 32)}
    assert words_of(states, ADDS)[0] == "everything += φ(k[0:16])ᵀ · v[0:16]"
    assert len(states["sums"]) == 4


def test_a_state_on_its_side_is_drawn_upright(tmp_path: Path) -> None:
    upright = states_of(chunked(tmp_path))
    turned = states_of(
        chunked(
            tmp_path,
            ("state = tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0)", "state_t = tl.trans(tl.load(s0_ptr + offs_s, mask=mask_v[None, :], other=0.0))"),
            ("num = tl.dot(q, state)", "num = tl.dot(q, tl.trans(state_t))"),
            ("state = tl.dot(tl.trans(k.to(v.dtype)), v, state)", "state_t = tl.dot(tl.trans(v), k.to(v.dtype), state_t)"),
            ("offs_s, state, mask", "offs_s, tl.trans(state_t), mask"),
        )
    )  # fmt: skip
    assert [heat[:2] for heat in turned["heats"]] == [[16, 16]] * 4
    assert [shown(turned, i).round(1).tolist() for i in range(4)] == [
        shown(upright, i).round(1).tolist() for i in range(4)
    ]


def test_read_and_added_to_in_one_step(tmp_path: Path) -> None:
    """Read before the token's own share goes in, and nothing loaded or stored in between."""
    shot = films.shoot(SEQUENTIAL[1], films.moved(SEQUENTIAL[1], "state += k", after="tl.store(o_ptr"), tmp_path)
    states = states_of(shot)
    assert {tuple(r[2:]) for r in states["reads"]} == {(n, n + 1, 0, n) for n in range(1, shot.case.sizes["N"])}
    assert "φ(q[3]) · state, which holds keys 0:3; then state += φ(k[3])ᵀ · v[3]" in states["words"]


def test_a_nan_is_no_change(tmp_path: Path) -> None:
    shot = films.shoot("linear_attention", films.edited("linear_attention", ("state = tl.zeros([D, BLOCK_V], tl.float32)", 'state = tl.full([D, BLOCK_V], float("nan"), tl.float32)')), tmp_path)  # fmt: skip
    states = states_of(shot)
    assert words_of(states, ADDS) == []
    assert set(states["heats"][0][2]) == {"?"}


def test_a_kernel_without_a_state_is_not_given_one(tmp_path: Path) -> None:
    shot = films.shoot("linear_attention", films.edited("linear_attention", ("state", "unknown")), tmp_path)
    assert states_of(shot)["heats"] == []
    assert "no variable holds one" in shot.html
    assert "No pair of query and key was seen to go through a state." in shot.html
    assert "never formed" not in shot.html
    assert not [words for words in states_of(shot)["words"] if "holds" in words]


@pytest.mark.parametrize(
    ("style", "said"),
    [
        ("while_loop", ["start = total: only x0", "total += x[0]", "start = total: x0 and all of x[0:1]", "end = total: x0 and all of x[0:5]"]),
        ("two_chunks_a_round", ["start = total: only x0", "total += x[0:2]", "end = total: x0 and all of x[0:5]"]),
        ("associative_scan", [""]),
    ],
)  # fmt: skip
def test_only_additions_that_are_seen_are_told(style: str, said: list[str], tmp_path: Path) -> None:
    case = PUZZLES["linear_state_prefix"].film.case
    source = films.correct("linear_state_prefix", style)
    shot = films.shoot("linear_state_prefix", source, tmp_path, sizes={**case.sizes, "N_CHUNKS": 5})
    assert set(said) <= set(states_of(shot)["words"])
    assert "end = total: only x0" not in states_of(shot)["words"]


def test_a_state_too_large_to_capture_is_said(tmp_path: Path) -> None:
    case = PUZZLES["linear_attention"].film.case
    shot = films.shoot("linear_attention", traces.solution("linear_attention"), tmp_path, sizes={**case.sizes, "D": 64, "D_V": 32}, meta={**case.meta, "BLOCK_V": 32})  # fmt: skip
    assert states_of(shot)["heats"] == []
    assert "state: too large to be captured" in shot.html


def test_a_long_text_is_cut_and_that_is_said(tmp_path: Path) -> None:
    html = solution("causal_linear_attention", tmp_path, N=150, D_V=24).html
    assert len(html) < 108_000
    assert "Of a program, the first 380 steps are shown." in html


def test_the_state_is_on_the_stage_and_not_in_the_table_too(tmp_path: Path) -> None:
    data = data_of(solution("causal_linear_attention", tmp_path).html)
    assert "state" not in data["names"]
    assert "z" in data["names"]


def test_states_of_chunks_stand_in_a_row(tmp_path: Path) -> None:
    shot = solution("linear_chunk_states", tmp_path, N=56)
    data = data_of(shot.html)
    names = [p[0] for p in data["panels"]]
    stored = {"s": [], "z": []}
    for event in data["events"]:
        if event[1] == 1:
            stored[names[event[2]]].append(data["tiles"][event[4]])
    assert [tile[2] for tile in stored["s"]] == [[0, 16, c * 19, c * 19 + 16] for c in range(4)]
    assert [tile[2] for tile in stored["z"]] == [[0, 16, c * 19, c * 19 + 1] for c in range(4)]
    assert [tile[1] for tile in stored["s"]][1] == "[0, 0, 1, 0:16, 0:16]", "indices stay those of the tensor"
    for c in range(4):
        assert f">chunk {c}</text>" in shot.html
    whole = {names[row[0]]: row[4] for row in data["traffic"]}
    assert whole["s"] == 4 * 16 * 16 * 4, "gaps between blocks are no memory"


@pytest.mark.parametrize(
    ("tile", "box", "active", "elements"),
    [
        (Tile(((0, 1), (2, 3), (0, 4), (0, 8)), ((0, 1), (2, 3), (0, 4), (0, 6))), (0, 4, 20, 26), (0, 4, 20, 26), None),
        (Tile(((0, 1), (1, 3), (0, 1), (0, 2)), ((0, 1), (1, 3), (0, 1), (0, 2))), (0, 1, 10, 22), (0, 1, 10, 22), ((0, 10, 12), (0, 20, 22))),
        (Tile(((1, 2), (0, 1), (0, 4), (0, 6)), ((1, 2), (0, 1), (0, 2), (0, 6)), (72, 79)), (0, 4, 0, 6), (0, 2, 0, 6), ((0, 0, 1), (1, 1, 2))),
        (Tile(((0, 1), (1, 2), (0, 4), (0, 6)), None), (0, 4, 10, 16), None, None),
    ],
    ids=["what hangs over is cut", "two blocks", "scattered in another slice", "all masked"],
)  # fmt: skip
def test_blocks_are_laid_in_a_row(tile: Tile, box: tuple, active: tuple | None, elements: tuple | None) -> None:
    shape = (2, 3, 4, 6)
    flat = flatten(in_a_row(tile, shape, 10), (2, 4, 30))
    assert (flat.box, flat.active, flat.runs) == (box, active, elements)


def test_a_prefix_over_states_is_a_running_sum(tmp_path: Path) -> None:
    shot = solution("linear_state_prefix", tmp_path, G=2, N_CHUNKS=5, SIZE=24)
    states = states_of(shot)
    x, x0 = shot.values["x_ptr"].double(), shot.values["x0_ptr"].double()
    start = x0[:, None] + torch.cat([torch.zeros_like(x[:, :1]), x.cumsum(1)], dim=1)  # [G, N_CHUNKS + 1, SIZE]
    top = float(start.abs().max())
    stores = 0
    for k, event in enumerate(shot.trace.events):
        if event.kind == "store" and event.tensor == "start_ptr":
            _, after, *_, place, deed, words = at_moment(states, k)
            group, chunk, (c0, c1) = event.tile.box[0][0], event.tile.box[1][0], event.tile.active[2]
            assert deed == READS
            assert states["places"][place][:2] == [0, c0]
            expected = start[group, chunk, c0:c1].numpy() / top
            assert np.abs(shown(states, after)[0, : c1 - c0] - expected).max() < 0.05
            said = "only x0" if chunk == 0 else f"x0 and all of x[0:{chunk}]"
            assert states["words"][words] == f"start = state: {said}"
            stores += 1
    assert stores == 20


# ---- atomic updates ------------------------------------------------------------------------------------------------


def test_atomic_updates_are_counted_and_told(tmp_path: Path) -> None:
    shot, html = films.atomic_sums(tmp_path)
    data = data_of(html)
    atomics = [e for e in shot.trace.events if e.kind == "atomic"]
    assert len(atomics) == 9
    rows = {tuple(row[:2]): row for row in data["traffic"]}
    at = [p[0] for p in data["panels"]].index("y")
    assert rows[at, 1][5:] == [9 * 4, 4]
    assert len(rows[at, 0]) == 5
    picture = unscripted(html)
    words = " ".join("".join(Reader(picture).words).split())
    assert "3 programs, 27 loads, 0 stores, 9 atomic operations." in words
    assert "36 atomic updates" in words
    assert "atomic update: read, add, write back in one step" in words
    assert "numbers that several programs update" in words
    assert picture.count('class="plus-sign top"') >= 2, "in the legend and in the strip"
    assert picture.count('class="shared"') >= 2


def test_programs_that_never_meet_share_nothing(tmp_path: Path) -> None:
    _, html = films.atomic_sums(tmp_path, own=True)
    assert "numbers that several programs update" not in html
    assert 'class="shared"' not in unscripted(html)
    assert "36 atomic updates" in html


def test_a_film_without_atomics_does_not_carry_their_player(tmp_path: Path) -> None:
    html = solution("linear_attention", tmp_path).html
    assert "plus-sign" not in html


def test_rows_of_the_state_stand_where_the_features_are(tmp_path: Path) -> None:
    """A program that owns features has rows of the state, and reads it where it adds to the output."""
    shot, html = films.atomic_sums(
        tmp_path, carried=Carried(keys="k_ptr", values="v_ptr", output="y_ptr", start=(), end=())
    )
    states = data_of(html)["states"]
    assert states["places"] == [[4 * i, 0, 4, 4] for i in range(3)]
    assert {tuple(r[2:]) for r in states["reads"]} == {(n, n + 1, 0, n + 1) for n in range(3)}
    assert len(words_of(states, ADDS)) == 3
    for k, event in enumerate(shot.trace.events):
        assert at_moment(states, k)[4] in (-1, event.program[0])
