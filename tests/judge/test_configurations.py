"""Kernels with an autotune: each configuration is judged on enough cases, in its own tiles."""

from __future__ import annotations

from dataclasses import replace

from checker.course import LADDER, PUZZLES
from checker.judge.launches import in_tiles, plan
from checker.submission.from_path import from_path
from checker.submission.kernel import Config
from tests.judge.helpers import changed, cpu_cases, judge, solution

SMALL, LARGE = Config({"BLOCK_N": 64}, {}), Config({"BLOCK_N": 256}, {"num_warps": 8})


def factors(cases):
    """Each case's dtype together with its family, layout and flags."""
    pairs = [(case, {"family": case.family, "layout": case.layout, **case.flags}) for case in cases]
    return {(case.dtype, *factor) for case, values in pairs for factor in values.items()}


def test_every_configuration_meets_every_dtype_with_every_family_layout_and_flag():
    for puzzle in LADDER:
        cases = cpu_cases(puzzle)
        tile = next(iter(cases[0].meta))
        configs = [Config({tile: 32}, {}), Config({tile: 32}, {"num_warps": 8})]
        planned = plan(cases, configs)
        first, second = ([case for case, config in planned if config is one] for one in configs)
        assert first == [in_tiles(case, configs[0]) for case in cases], puzzle.name
        assert factors(second) == factors(cases), puzzle.name
        assert len(second) < len(cases), puzzle.name


def test_a_kernel_that_is_wrong_in_one_configuration_fails(runner):
    source = solution("online_softmax")
    line = next(line for line in source.source.splitlines() if line.strip().startswith("l_i = ") and "sum" in line)
    indent = line[: len(line) - len(line.lstrip())]
    for condition in (
        "BLOCK_N == 256 and x_ptr.dtype.element_ty == tl.float16",
        "BLOCK_N == 256 and stride_xm > N",
        "BLOCK_N == 256 and N > 512",
    ):
        wrong = changed(source, line, f"{line}\n{indent}if {condition}:\n{indent}    l_i = l_i * 1.25")
        verdict = judge(PUZZLES["online_softmax"], replace(wrong, configs=(SMALL, LARGE)), runner, diagnose=False)
        assert verdict.failure is not None, condition


def test_a_configuration_may_only_choose_tiles(tmp_path, runner):
    puzzle = PUZZLES["flash_attention"]
    head, body = solution(puzzle.name).source.split("@triton.jit", 1)
    path = tmp_path / "kernel.py"
    for name, why in (("D", "which the launch sets"), ("BLOCK_Q", "which is no parameter of this kernel")):
        config = f'triton.Config({{"BLOCK_N": 32, "{name}": 64}})'
        path.write_text(f"{head}@triton.autotune(configs=[{config}], key=[])\n@triton.jit{body}")
        source = next(entry.source for entry in from_path(path, [puzzle]) if entry.source is not None)
        verdict = judge(puzzle, source, runner)
        assert verdict.status == "forbidden"
        assert f"`{name}`, {why}" in verdict.failure.message
