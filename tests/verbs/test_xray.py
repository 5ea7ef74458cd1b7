"""The X-ray: its table, and the sentences that explain the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checker import cli
from checker.compiler import EXAMINED, CompileRequest, CompileResult, Dot, SharedTile, TensorCore
from checker.course import LADDER, PUZZLES
from checker.submission.from_path import from_path
from checker.verbs.arguments import UsageError
from checker.verbs.xray import case_to_compile, layouts, realistic_case, sentences, table, xray_panel
from checker.view.panel import Cell
from tests.judge.helpers import solution
from tests.verbs.conftest import ROOT
from tests.view.pages import printed

ROW = PUZZLES["row_softmax"]
PLAIN = SharedTile("swizzled_shared", (64, 64), 32, inner=64)
SWIZZLED = SharedTile("swizzled_shared", (64, 64), 16, stages=2, inner=64, vec=8, per_phase=1, max_phase=8)
HOPPER = SharedTile("nvmma_shared", (64, 64), 16, inner=64, swizzle_bytes=128)


def result(gpu: str, **more: Any) -> CompileResult:
    facts = {"registers": 64, "spilled_bytes": 0, "shared_bytes": 8192, "num_warps": 4, "load_bits": 128}
    facts |= {"store_bits": 128, "narrowest_load_bits": 128, "async_copies": 0, "tma_copies": 0, "bytes_in_flight": 0}
    facts |= more.pop("facts", {})
    made = CompileResult(CompileRequest(EXAMINED[gpu], {}, {}), True, tiles=(), dots=(), tensor_cores=(), facts=facts)
    return replace(made, **more)


def by_name(rows: Sequence[Sequence[Cell]]) -> dict[str, list[str]]:
    return {name.text: [cell.text for cell in cells] for name, *cells in rows}


def cells(results: dict[str, CompileResult]) -> dict[str, list[str]]:
    return by_name(table(results))


def test_a_row_softmax_has_a_table_and_sentences() -> None:
    panel, compiled = xray_panel(ROW, solution("row_softmax"), {})
    assert compiled
    assert panel.heads == ("", "T4 (sm_75)", "A100 (sm_80)", "L4 (sm_89)", "H100 (sm_90)", "B200 (sm_100)")
    table = by_name(panel.rows)
    assert all(0 < int(cell.split()[0]) < 256 for cell in table["registers per thread"])
    assert table["spilled per thread"] == ["nothing"] * 5
    assert table["loads, per lane"] == ["4 bytes"] * 5
    assert table["tensor cores"] == ["no tl.dot"] * 5
    assert "products (tl.dot)" not in table
    (heading, texts), *_ = panel.lists
    assert heading == "What this means"
    assert 2 <= len(texts) <= 5
    assert any("N = 781" in sentence and "the maximum is 16" in sentence for sentence in texts)
    assert not any(row == "not known" for cells in table.values() for row in cells)
    assert "registers per thread" in printed(panel)
    assert "What this means" in panel.html()


def test_amd_s_gpus_have_registers_spills_and_shared_memory_on_request() -> None:
    panel, compiled = xray_panel(ROW, solution("row_softmax"), {"amd": True})
    assert compiled
    assert panel.heads[-2:] == ("MI300X (gfx942)", "RX 7900 (gfx1100)")
    table = by_name(panel.rows)
    for column in (-2, -1):
        assert 0 < int(table["registers per thread"][column]) <= 512
        assert table["spilled per thread"][column] == "nothing"
        assert table["shared memory"][column].endswith("of 64 KiB")
        assert table["tensor cores"][column] == "–"
    assert not any("MI300X" in sentence for _, texts in panel.lists for sentence in texts)


def test_choices_are_compiled() -> None:
    panel, _ = xray_panel(ROW, solution("row_softmax"), {"dtype": "float16", "N": 1024, "num_warps": 8})
    assert "N = 1024, BLOCK_N = 1024 and num_warps = 8, in float16" in panel.prose[0]
    table = by_name(panel.rows)
    assert table["loads, per lane"] == ["8 bytes"] * 5, "1024 elements of 2 bytes for 256 lanes"
    assert table["programs on one SM"][1].endswith("/64 warps)")


@pytest.mark.parametrize(
    ("choices", "table_cells"),
    [
        ({"dtype": "int8"}, "dtype must be one of float32, float16, bfloat16"),
        ({"num_warps": 3}, "num_warps must be one of 1, 2, 4, 8, 16, 32, not 3"),
        ({"num_warps": True}, "num_warps must be one of"),
        ({"num_stages": 0}, "num_stages must be one of"),
        ({"BLOCK_N": 100}, "power of two"),
        ({"K": 1}, "no size called K"),
        ({"M": 1 << 20, "N": 1 << 14}, "too large to prepare"),
    ],
)
def test_a_bad_choice_is_refused(choices: dict[str, Any], table_cells: str) -> None:
    with pytest.raises(UsageError, match=table_cells):
        case_to_compile(ROW, choices)


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_the_default_is_a_case_as_a_gpu_sees_it(puzzle: Any) -> None:
    assert realistic_case(puzzle).devices in ({"gpu"}, {"bench"})
    assert case_to_compile(puzzle, {}) == (realistic_case(puzzle), {})


def test_an_empty_stub_and_a_broken_rule_are_told_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.verbs.xray.Sandbox", None)
    stub = next(iter(from_path(ROOT / "puzzles" / "row_softmax.py", [ROW]))).source
    assert stub is not None
    assert "nothing to compile" in xray_panel(ROW, stub, {})[0].prose[0]
    mine = solution("row_softmax")
    bad = replace(mine, source=mine.source.replace("mask = offs_n < N", "mask = open('x')"))
    panel, compiled = xray_panel(ROW, bad, {})
    assert not compiled
    assert panel.prose[0].startswith("Line ")


def test_a_kernel_that_no_gpu_can_take_says_why_for_each() -> None:
    mine = solution("row_softmax")
    bad = replace(mine, source=mine.source.replace("tl.arange(0, BLOCK_N)", "tl.arange(0, 3)"))
    panel, compiled = xray_panel(ROW, bad, {})
    assert not compiled
    assert [line.split(":")[0] for line in panel.prose[1:]] == list(EXAMINED)
    assert all("power of two" in line for line in panel.prose[1:])


def test_what_is_not_known_is_never_a_zero() -> None:
    bare = CompileResult(CompileRequest(80, {}, {}), True)
    table_cells = cells({"A100": bare})
    assert set().union(*table_cells.values()) == {"not known"}
    assert sentences({"A100": bare}) == []


def test_spills_come_first() -> None:
    spilling = result("L4", facts={"registers": 255, "spilled_bytes": 408})
    assert cells({"L4": spilling})["spilled per thread"] == ["408 bytes"]
    assert "up to 408 bytes per thread" in sentences({"L4": spilling, "A100": result("A100")})[0]


def test_tensor_cores_of_each_generation() -> None:
    dot = Dot(64, 64, 32, "f16", True)
    results = {
        "T4": result("T4", dots=(replace(dot, operands="f32", tensor_core=False),), tiles=(PLAIN,)),
        "A100": result(
            "A100", dots=(dot,), tensor_cores=(TensorCore("mma.sync", "m16n8k8", "tf32", 64),), tiles=(SWIZZLED,)
        ),
        "H100": result(
            "H100", dots=(dot,), tensor_cores=(TensorCore("wgmma.mma_async", "m64n64k16", "f16", 4),), tiles=(HOPPER,)
        ),
        "B200": result("B200", dots=(dot,), tensor_cores=(TensorCore("tcgen05.mma", "", "f16", 40),), tiles=(HOPPER,)),
    }
    table_cells = cells(results)
    assert table_cells["tensor cores"] == [
        "none",
        "64 × mma.sync m16n8k8 tf32",
        "4 × wgmma m64n64k16 f16",
        "40 × tcgen05.mma f16",
    ]
    assert table_cells["products (tl.dot)"] == ["64×32 @ 32×64"] * 4
    assert table_cells["tiles in shared"] == [
        "1 × no swizzle",
        "2 × 128-byte swizzle",
        "1 × 128-byte swizzle",
        "1 × 128-byte swizzle",
    ]
    text = " ".join(sentences(results))
    assert "The T4's tensor cores are not used" in text
    assert "plain multiplications" in text
    assert "On the A100, the tensor cores take float32 operands as TF32: they cut the mantissa off" in text
    assert "The H100 multiplies with wgmma (m64n64k16)" in text
    assert "The B200 multiplies with tcgen05" in text
    plain, swizzled, hopper = layouts(results)
    assert plain.startswith("T4, tiles of 64×64: no swizzle; rows of 256 bytes")
    assert "each column falls into a single bank" in plain
    assert "pieces of 8 elements (16 bytes)" in swizzled
    assert "repeats after 8 rows (vec 8, perPhase 1, maxPhase 8)" in swizzled
    assert "the 128-byte swizzle of the tensor cores" in hopper


def test_few_warps_name_the_resource_that_runs_out() -> None:
    narrow = result("A100", facts={"shared_bytes": 80 * 1024})
    assert cells({"A100": narrow})["programs on one SM"] == ["2 (8/64 warps)"]
    assert cells({"A100": narrow})["limited by"] == ["shared memory"]
    text = sentences({"A100": narrow, "H100": result("H100")})
    assert any(s.startswith("Only 2 programs at a time fit on an SM of the A100 (8 of 64 warps)") for s in text)


def test_the_shell_takes_the_same_choices(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "solutions" / "row_softmax.py")
    assert cli.main(["xray", file, "--dtype", "bfloat16", "--size", "N=512", "--num-warps", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "N = 512, BLOCK_N = 1024 and num_warps = 2, in bfloat16" in shown
    assert cli.main(["xray", file, "--num-warps", "5"]) == 2
    assert "num_warps must be one of" in capsys.readouterr().err
