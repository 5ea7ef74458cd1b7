"""The attention references agree with PyTorch's, families keep their promises, and films show what a kernel does."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from checker.course import PUZZLES
from checker.course.attention import attention
from checker.course.attention_values import given_scores, queries_keys_values, ten_bits
from checker.course.chunk_kinds import IN_SIGHT, Kind, rows_of_kinds
from checker.misconceptions import bank
from checker.puzzle import DTYPES, Case
from checker.simulator import SimulateOptions, simulate
from checker.submission.load import load_kernel
from tests.course.attention import FAMILIES, TILE, heads_case, one_head
from tests.judge.helpers import judge, solution
from tests.judge.local_runner import LocalRunner

TRIED = ("normal", "ramp", "negative", "positive")


def reference(puzzle: str, case: Case) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Inputs and expected outputs in float64."""
    tensors = {n: t.double() if t.is_floating_point() else t for n, t in PUZZLES[puzzle].make(case).items()}
    return tensors, PUZZLES[puzzle].reference(case, tensors)


def assert_same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)


def test_one_head_equals_pytorchs_attention():
    sizes = [(1, 16, 16), (17, 16, 16), (65, 32, 32), (100, 64, 32), (129, 32, 64), (257, 16, 64)]
    for (n, d, other), family in itertools.product(sizes, TRIED):
        for n_q, n_kv in ((n, n), (other, n), (n, other)):
            inputs, expected = reference("flash_attention", one_head(n_q, n_kv, d, family=family))
            q, k, v = (inputs[f"{name}_ptr"][None] for name in "qkv")
            assert_same(expected["o_ptr"], scaled_dot_product_attention(q, k, v)[0])


def test_the_first_loop_order_gives_the_same_output_with_maximum_and_sum():
    for family in TRIED:
        case = Case({"H": 3, "N_Q": 33, "N_KV": 50, "D": 32}, TILE, family=FAMILIES[family])
        inputs, expected = reference("flash_attention_v1", case)
        q, k, v = (inputs[f"{name}_ptr"] for name in "qkv")
        assert_same(expected["o_ptr"], scaled_dot_product_attention(q, k, v))
        s = q @ k.mT * 32**-0.5
        torch.testing.assert_close(expected["m_ptr"], s.amax(-1))
        torch.testing.assert_close(expected["l_ptr"], torch.exp(s - s.amax(-1, keepdim=True)).sum(-1))


def test_grouped_heads_and_causal_masks_equal_pytorchs():
    cases = [
        heads_case(2, (6, 2), (19, 37), 16, family=family, layout=layout)
        for family in TRIED
        for layout in ("contiguous", "transposed", "strided")
    ]
    cases += [heads_case(2, (4, 4), (n, n), 16, flags={"IS_CAUSAL": True}, family="ramp") for n in (1, 17, 65)]
    for case in cases:
        inputs, expected = reference("flash_attention_heads", case)
        q, k, v = (inputs[f"{name}_ptr"] for name in "qkv")
        theirs = scaled_dot_product_attention(q, k, v, is_causal=bool(case.flags["IS_CAUSAL"]), enable_gqa=True)
        assert_same(expected["o_ptr"], theirs)


def test_a_causal_mask_aligns_the_ends_and_padded_keys_do_not_exist():
    """PyTorch gets the mask itself. Rows that see nothing are 0, with a log-sum-exp of -inf."""
    for n_q, n_kv in ((3, 5), (1, 40), (33, 20)):
        for causal, ragged in ((True, 0), (False, 1), (True, 1)):
            case = heads_case(3, (4, 2), (n_q, n_kv), 16, flags={"IS_CAUSAL": causal, "RAGGED": ragged})
            inputs, expected = reference("flash_attention_heads", case)
            lengths = inputs["key_lengths_ptr"]
            seen = torch.zeros(3, 1, n_q, n_kv, dtype=torch.bool)
            for b, i, j in itertools.product(range(3), range(n_q), range(n_kv)):
                seen[b, 0, i, j] = j < lengths[b] and (not causal or i + n_kv - n_q >= j)
            q, k, v = (inputs[f"{name}_ptr"] for name in "qkv")
            theirs = scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
            some = seen.any(-1, keepdim=True).expand(3, 4, n_q, 1)
            assert_same(expected["o_ptr"], torch.where(some, theirs, 0.0))
            lse = expected["lse_ptr"]
            assert torch.equal(lse.isfinite(), some[..., 0])
            assert (lse[~some[..., 0]] == -torch.inf).all()


def test_the_log_sum_exp_gives_the_weights():
    q, k, v = (x.double() for x in queries_keys_values(one_head(9, 21, 16, family="ramp"), (9, 16), (21, 16)))
    o, lse = attention(q, k, v, 0.25)
    p = torch.exp(q @ k.mT * 0.25 - lse[:, None])
    torch.testing.assert_close(p.sum(-1), torch.ones(9, dtype=torch.float64))
    torch.testing.assert_close(p @ v, o)


def test_scores_two_one_three_by_hand():
    """The numbers of the notebook: scores 2, 1, 3 and values 10, 20, 30."""
    k = torch.tensor([[2.0], [1.0], [3.0]], dtype=torch.float64)
    o, lse = attention(torch.ones(1, 1, dtype=torch.float64), k, torch.tensor([[10.0], [20.0], [30.0]]).double(), 1.0)
    assert o.item() == pytest.approx(24.205, abs=1e-3)
    assert lse.item() == pytest.approx(3.408, abs=1e-3)


def test_negative_and_positive_scores_are_beyond_the_range_of_exp():
    for dtype, (family, near) in itertools.product(DTYPES, (("negative", -150.0), ("positive", 120.0))):
        q, k, _ = queries_keys_values(one_head(40, 60, 64, family=family, dtype=dtype), (40, 64), (60, 64))
        s = q.double() @ k.double().mT / 8
        assert (s.sign() == (1 if near > 0 else -1)).all()
        assert s.abs().min() > 89, "exp of it overflows float32, or is below its smallest normal number"
        assert s.mean().item() == pytest.approx(near, rel=0.05)


def test_growing_keys_raise_the_maximum_late():
    """Otherwise a missing rescale would hardly show."""
    q, k, _ = queries_keys_values(one_head(64, 128, 16, family="ramp"), (64, 16), (128, 16))
    s = q.double() @ k.double().mT / 4
    tiles = torch.stack([s[:, j : j + 16].amax(-1) for j in range(0, 128, 16)])
    raised = (tiles[1:] > tiles[:-1].cummax(0).values + 1).sum(0)
    assert (raised >= 1).float().mean() > 0.95
    assert raised.float().mean() > 1.5


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="D is 16, 32, 64 or 128"):
        PUZZLES["flash_attention"].make(one_head(16, 16, 48))
    with pytest.raises(ValueError, match="4 query heads cannot share 3 key heads"):
        PUZZLES["flash_attention_heads"].make(heads_case(1, (4, 3), (16, 16), 16))


@pytest.mark.parametrize("name", ["weights_kept_in_memory", "output_kept_in_memory"])
def test_the_traffic_gate_names_scores_and_half_done_rows_in_memory(name: str, tmp_path: Path):
    """Their values are right as long as memory has room for them and nothing is rounded."""
    (wrong,) = [m for m in bank("flash_attention") if m.name == name]
    puzzle = replace(PUZZLES["flash_attention"], cases=(one_head(32, 32, 16),))
    verdict = judge(puzzle, wrong.source, LocalRunner(tmp_path, compiles=False), diagnose=False)
    assert verdict.failure is not None
    assert verdict.failure.gate == "traffic"
    assert "o was loaded" in verdict.failure.message
    assert "N_Q × N_KV" in verdict.failure.message


def test_the_budget_counts_causal_keys_tile_by_tile():
    """Four tiles of queries see one, two, three and four tiles of keys; with fewer keys the first two see nothing."""
    for n_kv, tiles in ((64, 1 + 2 + 3 + 4), (80, 2 + 3 + 4 + 5), (32, 1 + 2)):
        case = heads_case(1, (1, 1), (64, n_kv), 16, flags={"IS_CAUSAL": True})
        assert PUZZLES["flash_attention_heads"].budget(case)["k_ptr"].loaded == tiles * 16 * 16 * 4


def filmed(name: str, tmp_path: Path, **sizes: int):
    """The events of the solution's film, with some `sizes` changed."""
    puzzle = PUZZLES[name]
    case = replace(puzzle.film.case, sizes={**puzzle.film.case.sizes, **sizes})
    launch = puzzle.launch(case, puzzle.make(case), case.meta)
    return simulate(load_kernel(solution(name), tmp_path), launch, SimulateOptions(events=True, state=True))


def loads(trace, tensor: str, program: int) -> list:
    return [e for e in trace.events if e.kind == "load" and e.tensor == tensor and e.program[0] == program]


def test_the_film_of_one_head_keeps_q_and_loops_over_k(tmp_path: Path):
    trace = filmed("flash_attention", tmp_path)
    for program in range(3):
        (q,) = loads(trace, "q_ptr", program)
        assert q.tile.box == ((16 * program, 16 * program + 16), (0, 16))
        assert q.loops == ()
        for tensor in ("k_ptr", "v_ptr"):
            steps = loads(trace, tensor, program)
            assert [e.tile.box for e in steps] == [((n, n + 16), (0, 16)) for n in (0, 16, 32, 48)]
            assert [e.loops for e in steps] == [(("start_n", n),) for n in (0, 16, 32, 48)]
            assert len({e.line for e in steps}) == 1
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


def test_the_film_of_heads_shows_the_causal_staircase(tmp_path: Path):
    steps = [({}, [1, 2, 3, 4]), ({"N_KV": 160}, [2, 3, 4, 5]), ({"N_Q": 64}, [3, 4]), ({"N_KV": 64}, [0, 0, 1, 2])]
    for i, (sizes, iterations) in enumerate(steps):
        (folder := tmp_path / str(i)).mkdir()
        trace = filmed("flash_attention_heads", folder, **sizes)
        assert [len(loads(trace, "k_ptr", program)) for program in range(len(iterations))] == iterations, sizes
        assert trace.findings == []


SCORES = replace(IN_SIGHT, kinds=tuple(kind for kind in IN_SIGHT.kinds if kind != Kind.EMPTY))


def test_given_scores_are_exact_where_the_scale_is_a_power_of_two():
    for d, (dtype, torch_dtype) in itertools.product((16, 64), DTYPES.items()):
        scores = ten_bits(rows_of_kinds(7, 90, 16, SCORES, torch_dtype, seed=0))
        q, k = given_scores(scores, 20, d, d**-0.5, torch_dtype)
        assert torch.equal((q @ k.T) * d**-0.5, scores[torch.arange(20) % 7]), dtype
        for x in (q, k):
            assert torch.equal(x.to(torch_dtype).double(), x), dtype
            assert torch.equal(ten_bits(x), x), "TF32 would round it"


def test_given_scores_are_rounded_once_for_any_other_scale_and_ties_stay_ties():
    for dtype, eps in ((torch.float32, 2.0**-10), (torch.float16, 2.0**-10), (torch.bfloat16, 2.0**-7)):
        scores = rows_of_kinds(7, 90, 16, SCORES, dtype, seed=0)
        q, k = given_scores(scores, 7, 32, 0.1234, dtype)
        got = (q @ k.T) * 0.1234
        assert ((got - scores).abs() <= 0.51 * eps * scores.abs()).all()
        assert ((scores[:, :, None] != scores[:, None]) | (got[:, :, None] == got[:, None])).all()


def test_given_scores_use_features_from_end_to_end():
    q, _ = given_scores(torch.ones(4, 5), 8, 64, 0.125, torch.float32)
    assert q.argmax(dim=-1).tolist() == 2 * [0, 16, 32, 48]


def test_scores_that_no_product_gives_are_refused():
    for scores, words in ((torch.ones(17, 5), "17 rows"), (torch.tensor([[1.0, -torch.inf]]), "finite")):
        with pytest.raises(ValueError, match=words):
            given_scores(scores, 4, 16, 0.25, torch.float32)
