"""Chunked linear attention is the recurrence and the quadratic form, at every chunk length, whole and in pieces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest
import torch

from checker.course import PUZZLES
from checker.course.linear import EPS
from checker.judge.comparison import error_against
from checker.judge.launches import prepare
from checker.puzzle import Case, Tensors
from checker.simulator import simulate
from checker.submission.load import load_kernel
from tests.course.linear import linear_case
from tests.judge.helpers import solution

CHUNKED, RECURRENT, STATES = "causal_linear_attention_chunked", "causal_linear_attention", "linear_chunk_states"
LENGTHS = [(16, 1), (16, 15), (16, 32), (16, 47), (32, 7), (32, 65), (64, 63), (64, 64), (64, 100)]  # chunk, tokens
DTYPES = ("float32", "float16", "bfloat16")
BLOCK_V = 16
Run = Callable[[str, Case, Tensors], Tensors]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Simulate a puzzle's solution on tensors of one's own; gives its outputs."""

    @cache
    def kernel(name: str):
        return load_kernel(solution(name), tmp_path_factory.mktemp(name))

    def once(name: str, case: Case, tensors: Tensors) -> Tensors:
        launch = PUZZLES[name].launch(case, tensors, case.meta)
        trace = simulate(kernel(name), launch)
        assert trace.findings == []
        return {output: tensors[output] for output in launch.outputs}

    return once


def texts(n: int, chunk: int, dtype: str = "float32", *, past: int = 11, **more) -> Case:
    """Two heads whose values are longer than their keys, and do not fill the last slice."""
    sizes = {"B": 2, "H": 1, "N": n, "D": 16, "D_V": 20}
    flags: Mapping[str, int] = {"PAST": past} if past else {}
    return linear_case(sizes, {"CHUNK": chunk, "BLOCK_V": BLOCK_V}, dtype=dtype, flags=flags, **more)


def quadratic(tensors: Tensors) -> torch.Tensor:
    """All N × N weights at once in float64, the earlier text by its state; written apart from the course's reference."""
    q, k, v, s0, z0 = (tensors[f"{name}_ptr"].double() for name in ("q", "k", "v", "s0", "z0"))
    q, k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    weights = torch.einsum("bhid,bhjd->bhij", q, k)
    i = torch.arange(q.shape[-2])
    weights = weights * (i[:, None] >= i[None, :])
    num = torch.einsum("bhij,bhje->bhie", weights, v) + torch.einsum("bhid,bhde->bhie", q, s0)
    den = weights.sum(-1) + torch.einsum("bhid,bhd->bhi", q, z0) + EPS
    return num / den[..., None]


def worst(name: str, case: Case, got: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest error over what the puzzle allows: at most 1 would pass."""
    return float(error_against(PUZZLES[name], case, PUZZLES[name].outputs[0], got, expected.double()).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("chunk", "n"), LENGTHS, ids=str)
def test_every_chunk_length_gives_the_quadratic_form(run: Run, chunk: int, n: int, dtype: str):
    case = texts(n, chunk, dtype)
    tensors = PUZZLES[CHUNKED].make(case)
    got = run(CHUNKED, case, tensors)
    assert worst(CHUNKED, case, got["o_ptr"], quadratic(tensors)) <= 0.5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("chunk", "n"), [(16, 33), (32, 33), (64, 33)], ids=str)
def test_the_recurrent_kernel_gives_the_same(run: Run, chunk: int, n: int, dtype: str):
    case = texts(n, chunk, dtype)
    chunked = run(CHUNKED, case, PUZZLES[CHUNKED].make(case))
    token = Case(case.sizes, {"BLOCK_V": BLOCK_V}, dtype=dtype, flags=case.flags)
    recurrent = run(RECURRENT, token, PUZZLES[RECURRENT].make(token))
    for output in ("o_ptr", "s_ptr", "z_ptr"):
        assert worst(CHUNKED, case, chunked[output], recurrent[output]) <= 0.5, output  # both err, each by 0.25 at most


@pytest.mark.parametrize("past", [0, 11])
@pytest.mark.parametrize("cut", [1, 16, 23, 32, 39])
def test_a_text_in_two_pieces_is_the_text(run: Run, cut: int, past: int):
    """The state that the first piece leaves behind is what the second one starts from, wherever the cut is."""
    n, chunk = 40, 16
    case = texts(n, chunk, past=past)
    tensors = PUZZLES[CHUNKED].make(case)
    pieces, s, z = [], tensors["s0_ptr"], tensors["z0_ptr"]
    for start, stop in ((0, cut), (cut, n)):
        piece = {name: tensors[name][..., start:stop, :].contiguous() for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")}
        piece |= {
            "s0_ptr": s,
            "z0_ptr": z,
            "s_ptr": torch.full_like(s, torch.nan),
            "z_ptr": torch.full_like(z, torch.nan),
        }
        after = run(CHUNKED, texts(stop - start, chunk, past=past), piece)
        pieces, s, z = [*pieces, after["o_ptr"]], after["s_ptr"], after["z_ptr"]
    whole = run(CHUNKED, case, tensors)
    assert worst(CHUNKED, case, torch.cat(pieces, dim=-2), whole["o_ptr"]) <= 0.5
    assert worst(CHUNKED, case, s, whole["s_ptr"]) <= 0.25
    torch.testing.assert_close(z, whole["z_ptr"], rtol=1e-5, atol=0.0)  # features are summed in float32: no TF32 here


@pytest.mark.parametrize(("chunk", "n"), [(16, 1), (16, 48), (32, 47)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_chunk_states_sum_to_the_final_state(run: Run, chunk: int, n: int, dtype: str):
    case = texts(n, chunk, dtype, past=0)
    states = run(STATES, case, PUZZLES[STATES].make(case))
    assert states["s_ptr"].shape[2] == -(-n // chunk)
    final = run(CHUNKED, case, PUZZLES[CHUNKED].make(case))
    for output in ("s_ptr", "z_ptr"):
        assert worst(CHUNKED, case, states[output].sum(dim=2), final[output]) <= 0.25, output


@pytest.mark.parametrize("layout", ["contiguous", "padded"])
def test_a_chunk_state_is_that_of_its_tokens_alone(run: Run, layout: str):
    """Chunk c's state is what the same kernel makes of a text that consists of chunk c."""
    case = texts(41, 16, past=0, layout=layout, family="growing")
    tensors = PUZZLES[STATES].make(case)
    states = run(STATES, case, tensors)
    for c, (start, stop) in enumerate([(0, 16), (16, 32), (32, 41)]):
        alone = {name: tensors[name][..., start:stop, :].contiguous() for name in ("k_ptr", "v_ptr")}
        alone |= {name: torch.full_like(tensors[name][:, :, :1], torch.nan) for name in ("s_ptr", "z_ptr")}
        one = run(STATES, texts(stop - start, 16, past=0), alone)
        for output in ("s_ptr", "z_ptr"):
            assert torch.equal(one[output][:, :, 0], states[output][:, :, c])


@pytest.mark.parametrize("name", [CHUNKED, STATES])
@pytest.mark.parametrize("d", [8, 48, 256])
def test_a_width_that_tl_dot_does_not_take_is_refused(name: str, d: int):
    case = texts(16, 16)
    with pytest.raises(ValueError, match=f"D is 16, 32, 64 or 128, not {d}"):
        PUZZLES[name].make(Case({**case.sizes, "D": d}, case.meta))


@pytest.mark.parametrize("name", [CHUNKED, STATES])
def test_the_sums_outgrow_float16(name: str):
    """Otherwise a state or a normaliser kept in 16 bits would go unnoticed."""
    case = next(
        c for c in PUZZLES[name].cases if c.family.name == "outlier" and c.dtype == "float16" and "cpu" in c.devices
    )
    expected = prepare(PUZZLES[name], case).expected
    for output in ("s_ptr", "z_ptr"):
        assert expected[output].abs().max() > torch.finfo(torch.float16).max, output
    assert all(torch.isfinite(tensor).all() for tensor in PUZZLES[name].make(case).values())


def test_a_later_chunk_changes_nothing_before_it(run: Run):
    """Bit by bit, although the state that it goes into is the one that the chunks before were answered from."""
    case = texts(48, 16)
    tensors = PUZZLES[CHUNKED].make(case)
    other = {name: tensor.clone() for name, tensor in tensors.items()}
    other["k_ptr"][..., 32:, :] += 1.0
    other["v_ptr"][..., 32:, :] -= 3.0
    one, two = run(CHUNKED, case, tensors), run(CHUNKED, case, other)
    assert torch.equal(one["o_ptr"][..., :32, :], two["o_ptr"][..., :32, :])
    assert (one["o_ptr"][..., 32:, :] != two["o_ptr"][..., 32:, :]).all()
    assert (one["s_ptr"] != two["s_ptr"]).all()
