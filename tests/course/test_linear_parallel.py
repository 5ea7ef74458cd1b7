"""Three kernels for few heads: each reference against its definition, and the chain of all three against the recurrent kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checker.course import PUZZLES, causal_linear_attention, linear
from checker.course.linear import magnitude
from checker.course.linear_pipeline import KERNELS, OUTPUTS, PREFIX, STATES, chained, pipeline_case
from checker.course.linear_values import feature_map
from checker.puzzle import DTYPES, Case, Launch
from checker.simulator import simulate
from checker.submission.load import load_kernel
from tests.course.linear import FAMILIES, linear_case
from tests.judge.helpers import solution

RECURRENT = causal_linear_attention.PUZZLE
CASES = [
    pipeline_case(1, 1, 1, 16, 16),
    pipeline_case(1, 1, 13, 16, 24, flags={"PAST": 9}),  # one chunk, not full
    pipeline_case(1, 1, 16, 16, 16, flags={"PAST": 9}),
    pipeline_case(1, 1, 75, 16, 16, flags={"PAST": 20}),
    pipeline_case(2, 2, 37, 16, 24, family=FAMILIES["growing"], layout="padded"),
    pipeline_case(1, 2, 65, 32, 40, chunk=32, block_v=32, dtype="float16", flags={"PAST": 20}),
    pipeline_case(1, 2, 50, 16, 17, dtype="bfloat16", family=FAMILIES["signs"], layout="padded"),
    pipeline_case(1, 1, 33, 16, 16, family=FAMILIES["cold"]),
    pipeline_case(1, 1, 33, 16, 16, family=FAMILIES["frozen"]),
]
ids = [case.name for case in CASES]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Launches a solution in the simulator, in this process."""
    folder = tmp_path_factory.mktemp("kernels")
    kernels = {name: load_kernel(solution(name), folder) for name in (*(p.name for p in KERNELS), RECURRENT.name)}

    def launch(name: str, bound: Launch) -> dict[str, torch.Tensor]:
        trace = simulate(kernels[name], bound)
        assert trace.findings == []
        return {n: t for n, t in bound.arguments.items() if isinstance(t, torch.Tensor)}

    return launch


def by_reference(name: str, launch: Launch) -> dict[str, torch.Tensor]:
    """In the place of a kernel: the reference of its puzzle, in float64."""
    sizes = {"CHUNK": launch.meta["CHUNK"]} if "CHUNK" in launch.meta else {}
    inputs = {n: t.double() for n, t in launch.arguments.items() if isinstance(t, torch.Tensor)}
    shape = inputs["k_ptr"].shape if "k_ptr" in inputs else ()
    case = Case(dict(zip(("B", "H", "N", "D"), shape, strict=False)) | {"D_V": 0}, sizes)
    return {**inputs, **PUZZLES[name].reference(case, inputs)}


def worst(case: Case, got: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest error in units of what the recurrent kernel's own check allows."""
    tolerance, eps = RECURRENT.tolerance[case.dtype], torch.finfo(DTYPES[case.dtype]).eps
    expected = expected.double()
    allowed = tolerance.rtol * expected.abs() + tolerance.c * eps * magnitude(case, "o_ptr", expected)
    return float(((got.double() - expected).abs() / allowed).max())


def expected(case: Case, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return linear.reference(case, {name: t.double() for name, t in tensors.items()})


# --- the references -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_references_chained_are_causal_linear_attention(case):
    tensors = {name: t.double() for name, t in linear.make(case).items()}
    wanted = expected(case, tensors)
    for name, got in chained(case, tensors, by_reference).items():
        torch.testing.assert_close(got, wanted[name], rtol=1e-11, atol=1e-13)


def prefix_case(g: int, chunks: int, size: int, **more) -> Case:
    return linear_case({"G": g, "N_CHUNKS": chunks, "SIZE": size}, {"BLOCK_SIZE": 16}, **more)


def test_a_prefix_by_hand():
    """The numbers of the hint: three chunks add 1, 2 and 3 to 10."""
    case = prefix_case(1, 3, 1, family="counting")
    tensors = {name: t.double() for name, t in PREFIX.make(case).items()}
    assert tensors["x_ptr"].flatten().tolist() == [1, 2, 3]
    after = PREFIX.reference(case, tensors)
    assert after["start_ptr"].flatten().tolist() == [10, 11, 13]
    assert after["end_ptr"].flatten().tolist() == [16]


@pytest.mark.parametrize("family", ["normal", "counting", "huge"])
def test_every_start_is_the_one_before_and_what_it_adds(family):
    case = prefix_case(3, 5, 7, family=family)
    tensors = {name: t.double() for name, t in PREFIX.make(case).items()}
    after = PREFIX.reference(case, tensors)
    following = torch.cat([after["start_ptr"][:, 1:], after["end_ptr"][:, None]], dim=1)
    assert torch.equal(after["start_ptr"][:, 0], tensors["x0_ptr"])
    torch.testing.assert_close(following, after["start_ptr"] + tensors["x_ptr"], rtol=1e-12, atol=0)


def test_huge_sums_are_too_large_for_float16():
    tensors = PREFIX.make(prefix_case(2, 12, 24, family="huge"))
    assert tensors["x_ptr"].to(torch.float16).isinf().any()


@pytest.mark.parametrize("case", [c for c in OUTPUTS.cases if "cpu" in c.devices], ids=lambda c: c.name)
def test_the_states_of_a_case_are_sums_over_the_tokens_before(case):
    """One token after another, in float64."""
    tensors = OUTPUTS.make(case)
    k, v, chunk = feature_map(tensors["k_ptr"].double()), tensors["v_ptr"].double(), case.meta["CHUNK"]
    s, z = tensors["s_ptr"][:, :, 0].double(), tensors["z_ptr"][:, :, 0].double()
    assert bool(z.any()) == bool(case.flags.get("PAST"))
    for i in range(case.sizes["N"]):
        if i % chunk == 0:
            torch.testing.assert_close(tensors["s_ptr"][:, :, i // chunk].double(), s, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(tensors["z_ptr"][:, :, i // chunk].double(), z, rtol=1e-6, atol=1e-30)
        s = s + k[:, :, i, :, None] * v[:, :, i, None, :]
        z = z + k[:, :, i]


@pytest.mark.parametrize(
    ("puzzle", "case", "complaint"),
    [
        (OUTPUTS, replace(OUTPUTS.cases[0], sizes={**OUTPUTS.cases[0].sizes, "D": 48}), "D is 16, 32, 64 or 128"),
    ],
    ids=["width"],
)
def test_inputs_that_do_not_exist_are_refused(puzzle, case, complaint):
    with pytest.raises(ValueError, match=complaint):
        puzzle.make(case)


# --- the kernels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_three_kernels_are_the_recurrent_one_and_float64(run, case):
    tensors = linear.make(case)
    got = chained(case, tensors, run)
    tiles = {name: case.meta[name] for name in RECURRENT.cases[0].meta}
    recurrent = run(RECURRENT.name, RECURRENT.launch(case, linear.make(case), tiles))
    wanted = expected(case, tensors)
    for name in RECURRENT.outputs:
        assert got[name].shape == wanted[name].shape
        assert worst(case, got[name], wanted[name]) <= 0.5, name
        assert worst(case, got[name], recurrent[name]) <= 0.5, name


@pytest.mark.parametrize("cut", [1, 16, 21, 36])
def test_a_text_in_two_pieces_is_the_text(run, cut):
    """The state at the end of the first piece is what the second starts from, wherever the cut lies."""
    case = pipeline_case(1, 2, 37, 16, 24, family=FAMILIES["growing"], flags={"PAST": 5})
    tensors = linear.make(case)
    wanted = expected(case, tensors)
    carried, outputs = {"s0_ptr": tensors["s0_ptr"], "z0_ptr": tensors["z0_ptr"]}, []
    for start, stop in ((0, cut), (cut, 37)):
        part = {name: tensors[name][:, :, start:stop] for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")}
        piece = replace(case, sizes={**case.sizes, "N": stop - start})
        after = chained(piece, {**part, **carried}, run)
        outputs.append(after["o_ptr"])
        carried = {"s0_ptr": after["s_ptr"], "z0_ptr": after["z_ptr"]}
    assert worst(case, torch.cat(outputs, dim=2), wanted["o_ptr"]) <= 0.5
    assert worst(case, carried["s0_ptr"], wanted["s_ptr"]) <= 0.5
    assert worst(case, carried["z0_ptr"], wanted["z_ptr"]) <= 0.5


def test_the_length_of_a_chunk_is_a_matter_of_speed(run):
    case = pipeline_case(1, 1, 70, 16, 16, flags={"PAST": 5})
    tensors = linear.make(case)
    wanted = expected(case, tensors)
    for chunk in (16, 32, 64, 128):
        again = replace(case, meta={**case.meta, "CHUNK": chunk})
        got = chained(again, {**tensors, "o_ptr": torch.zeros_like(tensors["o_ptr"])}, run)
        assert worst(case, got["o_ptr"], wanted["o_ptr"]) <= 0.5, chunk


def test_programs_grow_with_the_text_and_not_with_the_heads_alone():
    """Where the recurrent kernel has one program for each head and slice, two of the three have one for each chunk of them."""
    launches = []

    def noted(name: str, launch: Launch) -> dict[str, torch.Tensor]:
        launches.append((name, launch.grid))
        return by_reference(name, launch)

    case = pipeline_case(1, 2, 250, 16, 40, block_v=32, block=64)
    tensors = {name: t.double() for name, t in linear.make(case).items()}
    chained(case, tensors, noted)
    assert launches == [
        (STATES.name, (16, 2, 2)),
        (PREFIX.name, (16 * 40 // 64, 2)),
        (PREFIX.name, (1, 2)),
        (OUTPUTS.name, (16, 2, 2)),
    ]


def test_a_kernel_may_have_tiles_of_its_own(run):
    case = pipeline_case(1, 1, 40, 16, 40, block_v=16)
    tensors = linear.make(case)
    got = chained(case, tensors, run, {STATES.name: {"BLOCK_V": 64}, PREFIX.name: {"BLOCK_SIZE": 256}})
    assert worst(case, got["o_ptr"], expected(case, tensors)["o_ptr"]) <= 0.5
