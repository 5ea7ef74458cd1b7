"""Linear attention and its recurrence: the references against a quadratic form, and the solutions fed in pieces and slices."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from checker.course import LADDER, PUZZLES
from checker.course.linear import causal_linear_attention, linear_attention
from checker.course.linear_values import State, feature_map, past
from checker.judge.launches import prepare
from checker.puzzle import Case, Tensors
from checker.simulator import SimulateOptions, simulate
from checker.simulator.trace import Trace
from checker.submission.load import load_kernel
from tests.course.linear import FAMILIES as FAMILY
from tests.course.linear import linear_case
from tests.judge.helpers import solution

BOTH = ("linear_attention", "causal_linear_attention")
FAMILIES = ("normal", "growing", "constant", "warm", "cold", "signs", "huge", "outlier")
SHAPES = [(1, 1, 16, 16), (7, 5, 16, 40), (33, 65, 32, 20), (1, 129, 64, 64), (300, 3, 16, 8)]  # N_Q, N_KV, D, D_V
LENGTHS = [(1, 16, 16), (2, 16, 24), (65, 32, 20), (257, 64, 8), (600, 16, 16)]  # N, D, D_V


def all_keys(n_q: int, n_kv: int, d: int, d_v: int, *, ragged: bool = False, **more) -> Case:
    sizes = {"B": 2, "H": 3, "N_Q": n_q, "N_KV": n_kv, "D": d, "D_V": d_v}
    meta = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_V": 16}
    return linear_case(sizes, meta, flags={"RAGGED": ragged}, **more)


def causal(n: int, d: int, d_v: int, *, past: int = 0, block_v: int = 16, **more) -> Case:
    sizes = {"B": 2, "H": 1, "N": n, "D": d, "D_V": d_v}
    return linear_case(sizes, {"BLOCK_V": block_v}, flags={"PAST": past}, **more)


def in_float64(name: str, case: Case) -> tuple[Tensors, Tensors]:
    """The inputs as they are after rounding, and what is expected."""
    inputs = {n: t.double() if t.is_floating_point() else t for n, t in PUZZLES[name].make(case).items()}
    return inputs, PUZZLES[name].reference(case, inputs)


def one_query(q: torch.Tensor, keys: list[torch.Tensor], values: list[torch.Tensor], d_v: int) -> torch.Tensor:
    """What one query gets, from PyTorch's own elu and one weight after another."""
    phi = torch.nn.functional.elu
    weights = [((phi(q) + 1) * (phi(k) + 1)).sum() for k in keys]
    num = sum((w * v for w, v in zip(weights, values, strict=True)), torch.zeros(d_v, dtype=torch.float64))
    return num / (sum(weights) + 1e-6)


def quadratic(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """The N × N weights written out, with PyTorch's own elu; `seen` [..., N_Q, N_KV] says which of them count."""
    elu = torch.nn.functional.elu
    weights = torch.einsum("...id,...jd->...ij", elu(q) + 1, elu(k) + 1) * seen
    return torch.einsum("...ij,...jv->...iv", weights, v) / (weights.sum(-1, keepdim=True) + 1e-6)


# --- the references ---------------------------------------------------------------------------------------------------


def test_the_feature_map_is_elu_plus_one():
    x = torch.cat([torch.linspace(-200, 200, 4001), torch.tensor([0.0, -0.0, 1e-30, -1e-30])]).double()
    torch.testing.assert_close(feature_map(x), torch.nn.functional.elu(x) + 1, rtol=1e-12, atol=1e-15)
    assert (feature_map(x) >= 0).all()
    assert feature_map(torch.zeros(1)).item() == 1.0


@pytest.mark.parametrize(("shape", "family"), list(itertools.product(SHAPES, FAMILIES)), ids=str)
def test_linear_attention_is_its_quadratic_form(shape, family):
    inputs, expected = in_float64("linear_attention", all_keys(*shape, family=family, ragged=True))
    q, k, v, lengths = (inputs[name] for name in ("q_ptr", "k_ptr", "v_ptr", "key_lengths_ptr"))
    seen = (torch.arange(shape[1]) < lengths[:, None])[:, None, None, :]
    torch.testing.assert_close(expected["o_ptr"], quadratic(q, k, v, seen), rtol=1e-9, atol=1e-12)
    assert (expected["o_ptr"][lengths == 0] == 0).all()


def test_one_weight_after_another_gives_the_same():
    inputs, expected = in_float64("linear_attention", all_keys(2, 9, 16, 5, ragged=True))
    q, k, v, lengths = (inputs[name] for name in ("q_ptr", "k_ptr", "v_ptr", "key_lengths_ptr"))
    for b, h, i in itertools.product(range(2), range(3), range(2)):
        keys = range(int(lengths[b]))
        by_hand = one_query(q[b, h, i], [k[b, h, j] for j in keys], [v[b, h, j] for j in keys], 5)
        torch.testing.assert_close(expected["o_ptr"][b, h, i], by_hand, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", LENGTHS, ids=str)
def test_the_recurrence_is_its_quadratic_form(shape, family):
    n = shape[0]
    inputs, expected = in_float64("causal_linear_attention", causal(*shape, family=family))
    q, k, v = (inputs[name] for name in ("q_ptr", "k_ptr", "v_ptr"))
    theirs = quadratic(q, k, v, torch.ones(n, n).tril())
    torch.testing.assert_close(expected["o_ptr"], theirs, rtol=1e-9, atol=1e-12)
    features = torch.nn.functional.elu(k) + 1
    torch.testing.assert_close(expected["z_ptr"], features.sum(-2))
    torch.testing.assert_close(expected["s_ptr"], torch.einsum("bhnd,bhnv->bhdv", features, v))


@pytest.mark.parametrize("step", [1, 3, 64, 256, 1000])
def test_the_causal_reference_is_the_same_in_steps_of_any_length(step):
    inputs, expected = in_float64("causal_linear_attention", causal(300, 16, 24, past=10))
    before = State(inputs["s0_ptr"], inputs["z0_ptr"])
    o, after = causal_linear_attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], before, step)
    torch.testing.assert_close(o, expected["o_ptr"], rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(after.s, expected["s_ptr"], rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(after.z, expected["z_ptr"], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("a", [0, 1, 11, 40, 41])
def test_a_text_in_two_pieces_is_the_text(a):
    """By the quadratic form of the whole text, which knows of no state."""
    inputs, _ = in_float64("causal_linear_attention", causal(41, 16, 24, family="growing"))
    q, k, v = (inputs[name] for name in ("q_ptr", "k_ptr", "v_ptr"))
    empty = State(torch.zeros_like(inputs["s0_ptr"]), torch.zeros_like(inputs["z0_ptr"]))
    state, outputs = empty, []
    for piece in (slice(0, a), slice(a, None)):
        if q[:, :, piece].numel():
            o, state = causal_linear_attention(q[:, :, piece], k[:, :, piece], v[:, :, piece], state)
            outputs.append(o)
    whole = quadratic(q, k, v, torch.ones(41, 41).tril())
    torch.testing.assert_close(torch.cat(outputs, dim=2), whole, rtol=1e-10, atol=1e-12)


def test_the_last_token_of_a_causal_text_sees_all_keys():
    inputs, expected = in_float64("causal_linear_attention", causal(37, 16, 24))
    o = linear_attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"])
    torch.testing.assert_close(expected["o_ptr"][:, :, -1], o[:, :, -1], rtol=1e-11, atol=1e-13)


def test_a_text_without_a_past_starts_from_zeros():
    assert not past(causal(5, 16, 24)).s.any()
    assert not past(causal(5, 16, 24)).z.any()
    assert past(causal(5, 16, 24, past=3)).z.min() > 0


# --- the families -----------------------------------------------------------------------------------------------------


def test_cold_normalisers_are_about_as_small_as_what_is_added():
    inputs, _ = in_float64("causal_linear_attention", causal(5, 16, 16, family="cold"))
    z = feature_map(inputs["k_ptr"]).cumsum(-2)
    normaliser = (feature_map(inputs["q_ptr"]) * z).sum(-1)
    assert normaliser.min() > 1e-7
    assert normaliser.max() < 2e-5


def test_warm_inputs_overflow_an_exponential_and_not_the_map():
    q = PUZZLES["causal_linear_attention"].make(causal(3, 16, 16, family="warm"))["q_ptr"]
    assert torch.exp(q).isinf().any()
    assert feature_map(q).isfinite().all()


@pytest.mark.parametrize("name", BOTH)
def test_sums_over_an_outlier_pass_what_float16_holds(name):
    case = next(c for c in PUZZLES[name].cases if c.family.name == "outlier" and "cpu" in c.devices)
    inputs, _ = in_float64(name, case)
    k, v = inputs["k_ptr"], inputs["v_ptr"]
    assert case.dtype == "float16"
    assert feature_map(k).sum(-2).amax() > 65_504
    assert (feature_map(k).mT @ v).amax() > 65_504
    assert feature_map(k).amax() < 65_504 / 8, "a feature by itself is nothing special"


WITH_KEYS = [p for p in PUZZLES.values() if {"k_ptr", "BLOCK_V"} <= set(p.parameters)]


@pytest.mark.parametrize("puzzle", WITH_KEYS, ids=lambda p: p.name)
def test_float16_cannot_hold_what_is_huge_in_float32(puzzle):
    """Whatever is cast to float16 on the way is infinite then: queries, keys, values, and the sums of keys and of values."""
    case = next(c for c in puzzle.cases if (c.family.name, c.dtype) == ("huge", "float32"))
    tensors = puzzle.make(case)
    for name in {"q_ptr", "k_ptr", "v_ptr"} & set(puzzle.parameters):
        assert tensors[name].half().isinf().any(), name
        assert tensors[name].isfinite().all(), name
    for name, output in prepare(puzzle, case).expected.items():
        assert output.half().isinf().any(), name


@pytest.mark.parametrize("puzzle", WITH_KEYS, ids=lambda p: p.name)
def test_rows_of_no_two_padded_tensors_are_as_far_apart(puzzle):
    """A kernel that takes one stride for another, or the width of the rows, is right by luck otherwise."""
    apart = [c for c in puzzle.cases if c.layout not in ("contiguous", "roomy") and "cpu" in c.devices]
    assert {c.layout for c in apart} == {"padded", "transposed"}
    for case in apart:
        tensors = {n: t for n, t in puzzle.make(case).items() if n in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")}
        steps = {t.stride(-2) for t in tensors.values()}
        assert len(steps) == len(tensors), case.name
        assert not steps & {case.sizes["D"], case.sizes["D_V"]}, case.name


@pytest.mark.parametrize(
    "puzzle", [p for p in LADDER if any(c.layout == "roomy" for c in p.cases)], ids=lambda p: p.name
)
def test_rows_of_roomy_tensors_are_alike_and_no_two_heads_are(puzzle):
    """A kernel that takes the place of a row for its place in another tensor is wrong only in which head it finds."""
    for case in (c for c in puzzle.cases if c.layout == "roomy"):
        made = puzzle.make(case)
        tensors = [
            made[n] for n in ("q_ptr", "k_ptr", "v_ptr", "o_ptr", "do_ptr", "dq_ptr", "dk_ptr", "dv_ptr") if n in made
        ]
        wide = {t.shape[-1] for t in tensors}
        assert {(t.shape[-1], t.stride(2)) for t in tensors} == {(width, width) for width in wide}, case.name
        alike = [[t for t in tensors if t.shape[-1] == width] for width in wide]
        assert all(len({t.stride(1) for t in same}) == len(same) for same in alike), case.name


def test_signs_are_mixed_in_every_row():
    inputs = PUZZLES["linear_attention"].make(all_keys(5, 9, 16, 16, family="signs"))
    for name in ("q_ptr", "k_ptr"):
        assert ((inputs[name] < 0).sum(-1) == 8).all()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"sizes": {"D": 48}}, "D is 16, 32, 64 or 128")],
    ids=["D"],
)
@pytest.mark.parametrize("case", [all_keys(16, 16, 16, 16), causal(16, 16, 16)], ids=BOTH)
def test_inputs_that_do_not_exist_are_refused(case, changes, complaint):
    name = BOTH[0] if "N_Q" in case.sizes else BOTH[1]
    case = replace(case, **{**changes, "sizes": {**case.sizes, **changes.get("sizes", {})}})
    with pytest.raises(ValueError, match=complaint):
        PUZZLES[name].make(case)


# --- the solutions ----------------------------------------------------------------------------------------------------


def ran(name: str, case: Case, tensors: Tensors, folder: Path, **options: bool) -> Trace:
    """The solution, simulated; its outputs are in `tensors` afterwards."""
    launch = PUZZLES[name].launch(case, tensors, case.meta)
    return simulate(load_kernel(solution(name), folder), launch, SimulateOptions(**options))


def piece(tensors: Tensors, state: State, start: int, stop: int) -> Tensors:
    """A part of a text as views, the state it starts from, and places for what it leaves behind."""
    part = {name: tensors[name][:, :, start:stop] for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")}
    return {
        **part,
        "s0_ptr": state.s,
        "z0_ptr": state.z,
        "s_ptr": torch.full_like(state.s, torch.nan),
        "z_ptr": torch.full_like(state.z, torch.nan),
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("cuts", [(0,), (1,), (5,), (18,), (19,), (3, 4), (7, 7, 12)], ids=str)
def test_fed_in_pieces_the_recurrence_does_not_notice(cuts, dtype, tmp_path):
    """f(x[:a]), then f(x[a:]) from the state it left: the same numbers in the same order, so the same bits."""
    name, n = "causal_linear_attention", 19
    case = causal(n, 16, 20, past=6, dtype=dtype, family="growing", layout="padded")
    whole, parts = PUZZLES[name].make(case), PUZZLES[name].make(case)
    ran(name, case, whole, tmp_path)
    state = State(parts["s0_ptr"], parts["z0_ptr"])
    for start, stop in itertools.pairwise((0, *cuts, n)):
        tensors = piece(parts, state, start, stop)
        ran(name, replace(case, sizes={**case.sizes, "N": stop - start}), tensors, tmp_path)
        state = State(tensors["s_ptr"], tensors["z_ptr"])
    assert torch.equal(parts["o_ptr"], whole["o_ptr"])
    assert torch.equal(state.s, whole["s_ptr"])
    assert torch.equal(state.z, whole["z_ptr"])


@pytest.mark.parametrize("case", [all_keys(9, 21, 16, 40), causal(9, 16, 40)], ids=BOTH)
def test_every_slicing_of_the_values_gives_the_same(case, tmp_path):
    """D_V = 40: three slices, two, and one that is wider than the values; the last one is partial each time."""
    name = BOTH[0] if "N_Q" in case.sizes else BOTH[1]
    case = replace(case, family=FAMILY["growing"], layout="padded")
    _, expected = in_float64(name, case)
    outputs = []
    for block_v in (16, 32, 64):
        tensors = PUZZLES[name].make(case)
        trace = ran(name, replace(case, meta={**case.meta, "BLOCK_V": block_v}), tensors, tmp_path)
        assert trace.findings == []
        outputs.append(tensors)
    for output in PUZZLES[name].outputs:
        torch.testing.assert_close(outputs[0][output].double(), expected[output], rtol=4e-3, atol=4e-3)
        for other in outputs[1:]:
            torch.testing.assert_close(other[output], outputs[0][output], rtol=1e-5, atol=1e-5)


def test_a_batch_without_keys_gives_zeros(tmp_path):
    case = all_keys(5, 20, 16, 16, ragged=True)
    tensors = PUZZLES["linear_attention"].make(case)
    tensors["o_ptr"].fill_(torch.nan)
    assert tensors["key_lengths_ptr"].tolist() == [15, 0]
    ran("linear_attention", case, tensors, tmp_path)
    assert (tensors["o_ptr"][1] == 0).all()
    assert (tensors["o_ptr"][0] != 0).all()


def test_the_film_walks_over_all_keys_and_then_over_the_queries(tmp_path):
    puzzle = PUZZLES["linear_attention"]
    trace = ran(puzzle.name, puzzle.film.case, puzzle.make(puzzle.film.case), tmp_path, events=True, state=True)
    loads = [(e.tensor, e.tile.box[2]) for e in trace.events if e.kind == "load" and e.tensor in ("k_ptr", "q_ptr")]
    keys, queries = [(0, 16), (16, 32), (32, 48)], [(0, 16), (16, 32)]
    assert loads == [*(("k_ptr", box) for box in keys), *(("q_ptr", box) for box in queries)]
    assert {"state", "z"} <= set([e for e in trace.events if e.kind == "store"][-1].state)


def test_the_film_of_the_recurrence_takes_a_token_a_step(tmp_path):
    puzzle = PUZZLES["causal_linear_attention"]
    trace = ran(puzzle.name, puzzle.film.case, puzzle.make(puzzle.film.case), tmp_path, events=True, state=True)
    steps = [(e.kind, e.tensor) for e in trace.events if e.kind in ("load", "store") and e.loops]
    assert steps == [("load", "q_ptr"), ("load", "k_ptr"), ("load", "v_ptr"), ("store", "o_ptr")] * 8
    around = [(e.kind, e.tensor) for e in trace.events if e.kind in ("load", "store") and not e.loops]
    assert around == [("load", "s0_ptr"), ("load", "z0_ptr"), ("store", "s_ptr"), ("store", "z_ptr")]
