"""Kernels with an autotune: each configuration is judged on enough cases to be trusted, in its own tiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.launches import MOST_GROWN, in_tiles, plan, plan_on_gpu
from checker.submission.from_path import from_path
from checker.submission.kernel import Config
from tests.judge.helpers import changed, cpu_cases, judge, solution

TWO = (Config({"BLOCK_N": 64}, {}), Config({"BLOCK_N": 256}, {"num_warps": 8}))


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_every_configuration_meets_every_dtype_with_every_family_layout_and_flag(puzzle):
    cases = cpu_cases(puzzle)
    tile = next(iter(cases[0].meta))
    configs = [Config({tile: 32}, {}), Config({tile: 32}, {"num_warps": 8})]

    def met(cases):
        factors = [{"family": case.family, "layout": case.layout, **case.flags} for case in cases]
        return {(case.dtype, *factor) for case, own in zip(cases, factors, strict=True) for factor in own.items()}

    planned = plan(puzzle, cases, configs)
    assert [case for case, config in planned if config is configs[0]] == [in_tiles(case, configs[0]) for case in cases]
    second = [case for case, config in planned if config is configs[1]]
    assert met(second) == met(cases)
    assert len(second) < len(cases)


def test_a_size_grows_with_its_tile():
    case = next(case for case in cpu_cases(PUZZLES["tiled_softmax"]) if case.meta == {"BLOCK_M": 4, "BLOCK_N": 16})
    tiled = in_tiles(case, Config({"BLOCK_N": 64}, {}))
    full, rest = divmod(case.sizes["N"], 16)
    assert tiled.sizes == {"M": case.sizes["M"], "N": full * 64 + rest}
    assert tiled.meta == {"BLOCK_M": 4, "BLOCK_N": 64}
    assert f"N = {full * 64 + rest}, BLOCK_M = 4, BLOCK_N = 64" in tiled.name


@pytest.mark.parametrize("block", [8, 2048])
def test_no_size_shrinks_or_grows_without_end(block):
    for case in cpu_cases(PUZZLES["online_softmax"]):
        grown = in_tiles(case, Config({"BLOCK_N": block}, {})).sizes["N"]
        assert case.sizes["N"] <= grown <= max(case.sizes["N"], MOST_GROWN)


def test_keys_and_queries_grow_with_their_own_tiles():
    heads = PUZZLES["flash_attention_heads"]
    case = next(case for case in cpu_cases(heads) if case.meta == {"BLOCK_M": 16, "BLOCK_N": 16})
    tiled = in_tiles(case, Config({"BLOCK_N": 32}, {}))
    assert tiled.sizes["N_Q"] == case.sizes["N_Q"]
    assert tiled.sizes["N_KV"] // 32 == case.sizes["N_KV"] // 16


def test_a_gpu_launches_further_configurations_twice():
    puzzle = PUZZLES["online_softmax"]
    cases = [case for case in puzzle.cases if "gpu" in case.devices]
    planned = plan_on_gpu(puzzle, cases, TWO)
    assert len(planned) == len(cases) + 2
    assert planned[-1][1] is TWO[1]


ONLY_IN = {
    "float16 in the second": "BLOCK_N == 256 and x_ptr.dtype.element_ty == tl.float16",
    "padded rows in the second": "BLOCK_N == 256 and stride_xm > N",
    "more than two chunks of the second": "BLOCK_N == 256 and N > 512",
}


@pytest.mark.parametrize("condition", ONLY_IN.values(), ids=ONLY_IN)
def test_a_kernel_that_is_wrong_in_one_configuration_fails(runner, condition):
    source = solution("online_softmax")
    line = next(line for line in source.source.splitlines() if line.strip().startswith("l_i = ") and "sum" in line)
    indent = line[: len(line) - len(line.lstrip())]
    wrong = changed(source, line, f"{line}\n{indent}if {condition}:\n{indent}    l_i = l_i * 1.25")
    for configs, passes in ((TWO[:1], True), (TWO, False)):
        verdict = judge(PUZZLES["online_softmax"], replace(wrong, configs=configs), runner, diagnose=False)
        assert verdict.passed is passes, verdict.failure


@pytest.mark.parametrize(
    ("name", "why"),
    [("D", "which the launch sets"), ("BLOCK_Q", "which is no parameter of this kernel")],
    ids=["a size of the launch", "an unknown name"],
)
def test_a_configuration_chooses_tiles_and_nothing_else(tmp_path, runner, name, why):
    puzzle = PUZZLES["flash_attention"]
    head, body = solution(puzzle.name).source.split("@triton.jit", 1)
    path = tmp_path / "kernel.py"
    config = f'triton.Config({{"BLOCK_N": 32, "{name}": 64}})'
    path.write_text(f"{head}@triton.autotune(configs=[{config}], key=[])\n@triton.jit{body}")
    source = next(found.source for found in from_path(path, [puzzle]) if found.source is not None)
    verdict = judge(puzzle, source, runner)
    assert verdict.status == "forbidden"
    assert f"but not `{name}`, {why}" in verdict.failure.message
