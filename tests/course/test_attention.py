"""The attention references against PyTorch's own, and what the budgets forbid by name."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from checker.course import PUZZLES
from checker.course.attention_inputs import attention, chosen_scores, queries_keys_values, ten_bits
from checker.course.chunk_kinds import IN_SIGHT, Kind, rows_of_kinds
from checker.course.family_words import case_of
from checker.misconceptions import bank
from checker.puzzle import DTYPES, Case
from checker.simulator import SimulateOptions, simulate
from checker.submission.load import load_kernel
from tests.judge.helpers import judge, solution
from tests.judge.local_runner import LocalRunner

FAMILIES = ("normal", "ramp", "negative", "positive")
SIZES = [(1, 16, 16), (17, 16, 16), (65, 32, 32), (100, 64, 32), (129, 32, 64), (257, 16, 64)]  # N, D, tile


def one_head(n_q: int, n_kv: int, d: int, family: str = "normal", dtype: str = "float32") -> Case:
    return case_of({"N_Q": n_q, "N_KV": n_kv, "D": d}, {"BLOCK_M": 16, "BLOCK_N": 16}, family=family, dtype=dtype)


def heads(b, h_q, h_kv, n_q, n_kv, d, *, causal=False, ragged=False, **more) -> Case:
    sizes = {"B": b, "H_Q": h_q, "H_KV": h_kv, "N_Q": n_q, "N_KV": n_kv, "D": d}
    flags = {"IS_CAUSAL": causal, "RAGGED": ragged}
    return case_of(sizes, {"BLOCK_M": 16, "BLOCK_N": 16}, flags=flags, **more)


def references(puzzle: str, case: Case) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    tensors = {n: t.double() if t.is_floating_point() else t for n, t in PUZZLES[puzzle].make(case).items()}
    return tensors, PUZZLES[puzzle].reference(case, tensors)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("n", "d", "tile"), SIZES, ids=str)
def test_one_head_is_pytorchs_attention(n, d, tile, family):
    for n_q, n_kv in ((n, n), (tile, n), (n, tile)):
        inputs, expected = references("flash_attention", one_head(n_q, n_kv, d, family))
        theirs = scaled_dot_product_attention(inputs["q_ptr"][None], inputs["k_ptr"][None], inputs["v_ptr"][None])[0]
        torch.testing.assert_close(expected["o_ptr"], theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_loop_order_asks_for_the_same_output(family):
    case = case_of({"H": 3, "N_Q": 33, "N_KV": 50, "D": 32}, {"BLOCK_M": 16, "BLOCK_N": 16}, family=family)
    inputs, expected = references("flash_attention_v1", case)
    q, k, v = inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"]
    torch.testing.assert_close(expected["o_ptr"], scaled_dot_product_attention(q, k, v), rtol=1e-11, atol=1e-12)
    s = q @ k.mT * 32**-0.5
    torch.testing.assert_close(expected["m_ptr"], s.amax(-1))
    torch.testing.assert_close(expected["l_ptr"], torch.exp(s - s.amax(-1, keepdim=True)).sum(-1))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
def test_grouped_heads_are_pytorchs(layout, family):
    inputs, expected = references("flash_attention_heads", heads(2, 6, 2, 19, 37, 16, layout=layout, family=family))
    theirs = scaled_dot_product_attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], enable_gqa=True)
    torch.testing.assert_close(expected["o_ptr"], theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", [1, 17, 65])
def test_causal_is_pytorchs_where_both_lengths_are_equal(n):
    inputs, expected = references("flash_attention_heads", heads(2, 4, 4, n, n, 16, causal=True, family="ramp"))
    theirs = scaled_dot_product_attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], is_causal=True)
    torch.testing.assert_close(expected["o_ptr"], theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("n_q", "n_kv"), [(3, 5), (1, 40), (33, 20)])
@pytest.mark.parametrize(("causal", "ragged"), [(True, False), (False, True), (True, True)])
def test_ends_are_aligned_and_padding_does_not_exist(n_q, n_kv, causal, ragged):
    """PyTorch is given the mask as such; rows that see nothing are asked of nobody but us."""
    case = heads(3, 4, 2, n_q, n_kv, 16, causal=causal, ragged=ragged)
    inputs, expected = references("flash_attention_heads", case)
    lengths = inputs["key_lengths_ptr"]
    seen = torch.zeros(3, 1, n_q, n_kv, dtype=torch.bool)
    for b, i, j in itertools.product(range(3), range(n_q), range(n_kv)):
        seen[b, 0, i, j] = j < lengths[b] and (not causal or i + n_kv - n_q >= j)
    theirs = scaled_dot_product_attention(
        inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], attn_mask=seen, enable_gqa=True
    )
    some = seen.any(-1, keepdim=True).expand(3, 4, n_q, 1)
    o, lse = expected["o_ptr"], expected["lse_ptr"]
    torch.testing.assert_close(o, torch.where(some, theirs, 0.0), rtol=1e-11, atol=1e-12)
    assert torch.equal(lse.isfinite(), some[..., 0])
    assert (lse[~some[..., 0]] == -torch.inf).all()


def test_the_log_sum_exp_gives_the_weights_back():
    q, k, v = queries_keys_values(one_head(9, 21, 16, "ramp"), (9, 16), (21, 16))
    q, k, v = q.double(), k.double(), v.double()
    o, lse = attention(q, k, v, 0.25)
    p = torch.exp(q @ k.mT * 0.25 - lse[:, None])
    torch.testing.assert_close(p.sum(-1), torch.ones(9, dtype=torch.float64))
    torch.testing.assert_close(p @ v, o)


def test_two_one_three_by_hand():
    """The numbers of the notebook: scores 2, 1, 3 and values 10, 20, 30."""
    k = torch.tensor([[2.0], [1.0], [3.0]], dtype=torch.float64)
    o, lse = attention(torch.ones(1, 1, dtype=torch.float64), k, torch.tensor([[10.0], [20.0], [30.0]]).double(), 1.0)
    assert o.item() == pytest.approx(24.205, abs=1e-3)
    assert lse.item() == pytest.approx(3.408, abs=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("family", "near"), [("negative", -150.0), ("positive", 120.0)])
def test_scores_lie_where_their_family_says(family, near, dtype):
    q, k, _ = queries_keys_values(one_head(40, 60, 64, family, dtype), (40, 64), (60, 64))
    s = q.double() @ k.double().mT / 8
    assert (s.sign() == (1 if near > 0 else -1)).all()
    assert s.abs().min() > 89, "exp of it overflows float32, or is below its smallest normal number"
    assert s.mean().item() == pytest.approx(near, rel=0.05)


def test_growing_keys_bring_late_maxima():
    """Otherwise a rescale that is left out would hardly show."""
    q, k, _ = queries_keys_values(one_head(64, 128, 16, "ramp"), (64, 16), (128, 16))
    s = q.double() @ k.double().mT / 4
    tiles = torch.stack([s[:, j : j + 16].amax(-1) for j in range(0, 128, 16)])
    raised = (tiles[1:] > tiles[:-1].cummax(0).values + 1).sum(0)
    assert (raised >= 1).float().mean() > 0.95
    assert raised.float().mean() > 1.5


def test_huge_values_are_too_large_for_float16():
    _, _, v = queries_keys_values(one_head(16, 16, 16, "huge"), (16, 16), (16, 16))
    assert v.to(torch.float16).isinf().any()
    assert v.isfinite().all()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"sizes": {"D": 48}}, "D is 16, 32, 64 or 128")],
)
def test_inputs_that_do_not_exist_are_refused(changes, complaint):
    case = one_head(16, 16, 16)
    case = replace(case, **{**changes, "sizes": {**case.sizes, **changes.get("sizes", {})}})
    with pytest.raises(ValueError, match=complaint):
        PUZZLES["flash_attention"].make(case)


def test_query_heads_that_cannot_be_shared_out_are_refused():
    with pytest.raises(ValueError, match="4 query heads cannot share 3 key heads"):
        PUZZLES["flash_attention_heads"].make(heads(1, 4, 3, 16, 16, 16))


@pytest.mark.parametrize("name", ["weights_kept_in_memory", "output_kept_in_memory"])
def test_scores_and_half_done_rows_in_memory_are_named(name: str, tmp_path: Path):
    """Where what is kept there has room and is not rounded, every value is right; what such a kernel moves is not."""
    (wrong,) = [m for m in bank("flash_attention") if m.name == name]
    puzzle = replace(PUZZLES["flash_attention"], cases=(one_head(32, 32, 16),))
    verdict = judge(puzzle, wrong.source, LocalRunner(tmp_path, compiles=False), diagnose=False)
    assert verdict.failure is not None
    assert verdict.failure.gate == "traffic"
    assert "o was loaded" in verdict.failure.message
    assert "N_Q × N_KV" in verdict.failure.message


def test_causal_keys_are_counted_tile_by_tile():
    """Four tiles of queries see one, two, three and four tiles of keys."""
    puzzle, case = PUZZLES["flash_attention_heads"], heads(1, 1, 1, 64, 64, 16, causal=True)
    assert puzzle.budget(case)["k_ptr"].loaded == (1 + 2 + 3 + 4) * 16 * 16 * 4
    longer = replace(case, sizes={**case.sizes, "N_KV": 80})
    assert puzzle.budget(longer)["k_ptr"].loaded == (2 + 3 + 4 + 5) * 16 * 16 * 4
    shorter = replace(case, sizes={**case.sizes, "N_KV": 32})  # the first two tiles of queries see nothing
    assert puzzle.budget(shorter)["k_ptr"].loaded == (0 + 0 + 1 + 2) * 16 * 16 * 4


def filmed(name: str, tmp_path: Path, **sizes: int):
    """The events of the solution's film, at other sizes where asked."""
    puzzle = PUZZLES[name]
    case = replace(puzzle.film.case, sizes={**puzzle.film.case.sizes, **sizes})
    launch = puzzle.launch(case, puzzle.make(case), case.meta)
    return simulate(load_kernel(solution(name), tmp_path), launch, SimulateOptions(events=True, state=True))


def loads(trace, tensor: str, program: int) -> list:
    return [e for e in trace.events if e.kind == "load" and e.tensor == tensor and e.program[0] == program]


def test_the_film_of_one_head_keeps_q_and_walks_over_k(tmp_path: Path):
    trace = filmed("flash_attention", tmp_path)
    for program in range(3):
        (q,) = loads(trace, "q_ptr", program)
        assert q.tile.box == ((16 * program, 16 * program + 16), (0, 16))
        assert q.loops == ()
        for tensor in ("k_ptr", "v_ptr"):
            walk = loads(trace, tensor, program)
            assert [e.tile.box for e in walk] == [((n, n + 16), (0, 16)) for n in (0, 16, 32, 48)]
            assert [e.loops for e in walk] == [(("start_n", n),) for n in (0, 16, 32, 48)]
            assert len({e.line for e in walk}) == 1
    stored = [e for e in trace.events if e.kind == "store"]
    assert [e.tile.box[0] for e in stored] == [(0, 16), (16, 32), (32, 48)]
    assert {"m_i", "l_i", "acc"} <= set(stored[0].state)


def test_the_film_of_the_first_order_loads_no_state_at_the_first_visit(tmp_path: Path):
    trace = filmed("flash_attention_v1", tmp_path)
    visits = loads(trace, "o_ptr", 0)
    assert [dict(e.loops) for e in visits] == [
        {"start_n": n, "start_m": m} for n in (0, 16, 32, 48) for m in (0, 16, 32)
    ]
    assert [e.bytes > 0 for e in visits] == [False] * 3 + [True] * 9
    assert len(loads(trace, "k_ptr", 0)) == 4


@pytest.mark.parametrize(
    ("sizes", "rounds"),
    [({}, [1, 2, 3, 4]), ({"N_KV": 160}, [2, 3, 4, 5]), ({"N_Q": 64}, [3, 4]), ({"N_KV": 64}, [0, 0, 1, 2])],
    ids=str,
)
def test_the_film_of_heads_shows_the_staircase(tmp_path: Path, sizes, rounds):
    trace = filmed("flash_attention_heads", tmp_path, **sizes)
    assert [len(loads(trace, "k_ptr", program)) for program in range(len(rounds))] == rounds
    assert trace.findings == []


SCORES_OF = replace(IN_SIGHT, kinds=tuple(kind for kind in IN_SIGHT.kinds if kind != Kind.EMPTY))


class TestChosenScores:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("d", [16, 64])
    def test_come_out_exactly_where_the_scale_is_a_power_of_two(self, d, dtype):
        scores = ten_bits(rows_of_kinds(7, 90, 16, SCORES_OF, DTYPES[dtype], seed=0))
        q, k = chosen_scores(scores, 20, d, d**-0.5, DTYPES[dtype])
        assert torch.equal((q @ k.T) * d**-0.5, scores[torch.arange(20) % 7])
        for x in (q, k):
            assert torch.equal(x.to(DTYPES[dtype]).double(), x)
            assert torch.equal(ten_bits(x), x), "TF32 would round it"

    @pytest.mark.parametrize(("dtype", "eps"), [("float32", 2.0**-10), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)])
    def test_are_rounded_once_for_any_other_scale_and_ties_stay_ties(self, dtype, eps):
        scores = rows_of_kinds(7, 90, 16, SCORES_OF, DTYPES[dtype], seed=0)
        q, k = chosen_scores(scores, 7, 32, 0.1234, DTYPES[dtype])
        got = (q @ k.T) * 0.1234
        assert ((got - scores).abs() <= 0.51 * eps * scores.abs()).all()
        assert ((scores[:, :, None] != scores[:, None]) | (got[:, :, None] == got[:, None])).all()

    def test_stand_in_features_from_end_to_end(self):
        q, _ = chosen_scores(torch.ones(4, 5), 8, 64, 0.125, torch.float32)
        assert q.argmax(dim=-1).tolist() == 2 * [0, 16, 32, 48]

    @pytest.mark.parametrize(
        ("scores", "words"), [(torch.ones(17, 5), "17 rows"), (torch.tensor([[1.0, -torch.inf]]), "finite")]
    )
    def test_that_no_product_gives_are_refused(self, scores, words):
        with pytest.raises(ValueError, match=words):
            chosen_scores(scores, 4, 16, 0.25, torch.float32)
