"""`bench`: its contestants, its report, and its predictions without a GPU. The clock is a fake, except on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from checker import cli
from checker.course import PUZZLES
from checker.course.attention_heads import key_lengths, seen
from checker.course.work import WORK, Work
from checker.gpu import Timing
from checker.puzzle import NORMAL, Case, Launch, Tensors
from checker.submission.kernel import KernelSource
from checker.verbs import bench, timing
from checker.verbs.arguments import UsageError
from checker.verbs.bench import COURSE, YOURS, Benchmark, Measured, cases_to_time, measure, predictions
from checker.verbs.roofline import Demand, Limits, demand
from checker.view.panel import Panel
from checker.workspace import Workspace
from tests.judge.helpers import solution
from tests.verbs.conftest import ROOT
from tests.view.pages import printed

ROW, HEADS, FAST = (PUZZLES[name] for name in ("row_softmax", "flash_attention_heads", "flash_attention_fast"))
GPU = Limits("a GPU", copy=1e12, products={"float32": 1e14, "float16": 2e14, "bfloat16": 2e14}, l2=50_000_000)
LONG = {"B": 1, "H_Q": 16, "H_KV": 16, "N_Q": 16384, "N_KV": 16384, "D": 128, "dtype": "bfloat16"}


def took(*medians: float) -> Iterator[Timing]:
    return iter([Timing(median, 0.9 * median, 1.1 * median, 10) for median in medians])


def text(panel: Panel | Benchmark) -> str:
    return " ".join(printed(panel, 200).split())


class FakeClock:
    """Reports 2 ms for your kernel, 1 ms for the course's and 4 ms for a library, and records the order of its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.launches: list[Launch] = []

    def kernel(self, source: KernelSource, launch: Launch) -> Iterator[Timing]:
        self.launches.append(launch)
        return self._times(f"kernel {len(self.launches)}", 2e-3 / len(self.launches))

    def peers(self, work: Work, case: Case, tensors: Tensors) -> Mapping[str, Iterator[Timing]]:
        return {peer.name: self._times(peer.name, 4e-3) for peer in work.peers if peer.takes(case)}

    def _times(self, name: str, seconds: float) -> Iterator[Timing]:
        while True:
            self.calls.append(name)
            yield Timing(seconds, seconds, seconds, 10)


# --- in turn ------------------------------------------------------------------------------------------------------------


def test_contestants_take_turns_and_the_median_is_over_rounds() -> None:
    result = timing.interleaved({"a": took(1.0, 5.0, 2.0), "b": took(3.0, 3.0, 3.0)}, rounds=3)
    assert result == {"a": Timing(2.0, 1.0, 5.0, 30), "b": Timing(3.0, 3.0, 3.0, 30)}


def test_a_contestant_that_fails_says_why_and_does_not_stop_the_others() -> None:
    def broken() -> Iterator[Timing]:
        yield Timing(1.0, 1.0, 1.0, 10)
        raise RuntimeError("out of shared memory\nand much more")

    result = timing.interleaved({"a": broken(), "b": took(1.0, 2.0, 3.0)}, rounds=3)
    assert result["a"] == "out of shared memory"
    assert result["b"] == Timing(2.0, 1.0, 3.0, 30)


def test_every_round_times_your_kernel_the_courses_and_the_libraries(space: Workspace) -> None:
    clock = FakeClock()
    (case,), options = cases_to_time(ROW, {"M": 64, "N": 512, "num_warps": 8})
    result = measure(ROW, solution(ROW.name), case, clock, options, rounds=3)
    assert clock.calls == ["kernel 1", "kernel 2", "torch.softmax"] * 3
    assert [launch.options["num_warps"] for launch in clock.launches] == [8, 8]
    assert list(result.times) == [YOURS, COURSE, "torch.softmax"]
    assert result.left_out == ()


def test_a_library_that_cannot_do_the_case_is_named_and_left_out(space: Workspace) -> None:
    (case,), _ = cases_to_time(HEADS, {"B": 2, "RAGGED": 1, "dtype": "float32"})
    result = measure(HEADS, solution(HEADS.name), case, FakeClock(), rounds=1)
    assert result.left_out == ("torch", "cuDNN")
    assert "cuDNN was not timed" in text(Benchmark("Attention", GPU, (result,)))


# --- what is reported ---------------------------------------------------------------------------------------------------


def benchmark(**times: Timing | str) -> Benchmark:
    needed = Demand(bytes=1_050_000_000, operations=0, dtype="float32")  # 1.05 ms, of which 0.05 may stay in the L2
    case = ROW.cases[0]
    return Benchmark("Row softmax", GPU, (Measured(case, needed, {n.replace("_", " "): t for n, t in times.items()}),))


def test_times_come_with_rates_shares_and_a_medal() -> None:
    result = benchmark(**{YOURS: Timing(2.1e-3, 2e-3, 2.2e-3, 50), COURSE: Timing(1.75e-3, 1.7e-3, 1.8e-3, 50)})
    shown = text(result)
    assert "yours 2.10 ms 2.00 ms to 2.20 ms 500 – 50 % 0.83 ×, silver" in shown
    assert "the course's 1.75 ms" in shown
    assert "1,000 GB/s for copying" in shown
    page = result.html()
    assert page.count('class="tbt-plot"') == 1, "bars; without products there is no roofline to draw"
    assert "no kernel goes below 1.05 ms" in page


def test_an_impossible_time_is_not_reported_but_explained() -> None:
    result = benchmark(**{YOURS: Timing(0.8e-3, 0.8e-3, 0.8e-3, 50), COURSE: Timing(1.2e-3, 1.2e-3, 1.2e-3, 50)})
    shown = text(result)
    assert "yours beyond the limit" in shown
    assert "0.80 ms" not in shown
    assert "800" not in result.html().split("yours")[1].split("</tr>")[0]
    assert "the clock did not wait for the kernel" in shown


def test_limits_allow_for_the_l2_and_a_cool_gpu() -> None:
    large = Demand(1_050_000_000, 0, "float32")
    assert not GPU.impossible(1.0e-4, Demand(100_000_000, 0, "float32"))
    assert not GPU.impossible(0.9e-3, large), "a cool GPU is faster than it was measured"
    assert GPU.impossible(0.8e-3, large)
    assert GPU.impossible(0.8e-3, Demand(1_000, 10**11, "float32")), "as many products take 1 ms"


# --- what a case takes --------------------------------------------------------------------------------------------------


def test_a_library_reads_shared_heads_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expanded keys are more bytes: beside them our kernels would look better than they are."""
    given: list[tuple[int, bool]] = []

    def attention(q: Any, k: Any, v: Any, **options: Any) -> None:
        given.append((k.shape[1], options["enable_gqa"]))

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", attention)
    sizes = {"B": 1, "H_Q": 8, "H_KV": 2, "N_Q": 17, "N_KV": 17, "D": 16}
    torch_peer = next(peer for peer in WORK[HEADS.name].peers if peer.name == "torch")
    for dtype in ("float16", "bfloat16", "float32"):
        case = replace(HEADS.cases[0], sizes=sizes, dtype=dtype, flags={"IS_CAUSAL": True, "RAGGED": 0})
        torch_peer.prepare(case, HEADS.make(case))()
    assert given == [(2, True), (2, True), (8, False)], "no fused kernel of torch shares heads of float32"


def test_padded_keys_take_no_products() -> None:
    sizes = {"B": 3, "H_Q": 4, "H_KV": 2, "N_Q": 21, "N_KV": 83, "D": 16}
    case = replace(HEADS.cases[0], sizes=sizes, flags={"IS_CAUSAL": True, "RAGGED": 1})
    pairs = int(seen(case, key_lengths(case)).sum())
    assert WORK[HEADS.name].products(case) == 2 * 2 * sizes["H_Q"] * pairs * sizes["D"]


def test_the_demand_is_every_tensor_once_and_four_operations_per_pair_and_feature() -> None:
    (case,), _ = cases_to_time(FAST, LONG)
    needed = demand(FAST, case)
    assert needed.operations == 4 * 16 * 16384**2 * 128
    assert needed.bytes == 16 * 16384 * (4 * 128 * 2 + 4)


def test_the_demand_is_within_the_budget() -> None:
    for puzzle in PUZZLES.values():
        on_gpu = [case for case in puzzle.cases if case.devices == {"gpu"}]
        case = max(on_gpu, key=lambda case: sum(case.sizes.values()))
        assert 0 < demand(puzzle, case).bytes <= bench.allowed_bytes(puzzle, case), puzzle.name


def test_libraries_do_the_same_work() -> None:
    for name in ("row_softmax", "flash_attention", "flash_attention_heads", "flash_attention_fast"):
        puzzle = PUZZLES[name]
        case = next(c for c in puzzle.cases if c.dtype == "float32" and c.family == NORMAL and "cpu" in c.devices)
        if "IS_CAUSAL" in case.flags:
            case = replace(case, sizes={**case.sizes, "N_Q": 29, "N_KV": 29}, flags={**case.flags, "IS_CAUSAL": True})
            case = replace(case, flags={k: v for k, v in case.flags.items() if k != "RAGGED"} | {"RAGGED": 0})
        tensors = puzzle.make(case)
        expected = puzzle.reference(case, {n: t.double() if t.is_floating_point() else t for n, t in tensors.items()})
        (peer,) = [peer for peer in WORK[name].peers if peer.name != "cuDNN"]
        assert peer.takes(case)
        got = peer.prepare(case, tensors)()
        assert isinstance(got, torch.Tensor)
        want = expected[puzzle.outputs[0]]
        assert torch.allclose(got.double().reshape(want.shape), want, atol=1e-5), name


# --- what is chosen -----------------------------------------------------------------------------------------------------


def test_the_largest_cases_are_timed_unless_sizes_are_named() -> None:
    cases, options = cases_to_time(FAST, {"num_stages": 3})
    assert [case.sizes["N_Q"] for case in cases][1:] == [4097, 4097]
    assert options == {"num_stages": 3}
    (case,), _ = cases_to_time(FAST, LONG)
    assert (case.sizes["N_Q"], case.dtype, case.family) == (16384, "bfloat16", NORMAL)
    with pytest.raises(UsageError, match="no size called N"):
        cases_to_time(FAST, {"N": 1})


# --- without a GPU ------------------------------------------------------------------------------------------------------


def test_without_a_gpu_the_limits_are_predicted() -> None:
    cases, _ = cases_to_time(FAST, LONG)
    panel = predictions(FAST, cases)
    shown = text(panel)
    assert "predicted, not measured" in shown
    assert [row[0].text for row in panel.rows] == ["T4", "A100", "L4", "H100"]
    assert [row[2].text for row in panel.rows] == ["products"] * 4
    h100 = panel.rows[-1][1].text
    assert h100 == "3.22 ms", "2.2 TFLOP at 0.69 of 989 TFLOP/s"
    assert "took 1.1 times such a prediction" in shown
    assert {row[2].text for row in predictions(ROW, cases_to_time(ROW, {})[0]).rows} == {"bytes"}


def test_the_shell_shows_the_predictions_and_says_that_nothing_was_timed(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("checker.gpu.available", lambda: False)
    file = str(ROOT / "solutions" / "row_softmax.py")
    assert cli.main(["bench", file, "--dtype", "bfloat16", "--size", "N=512"]) == 3
    shown = capsys.readouterr()
    assert "predicted, not measured" in shown.out
    assert "N = 512" in shown.out
    assert "bench needs a GPU" in shown.err
    assert "doctor" in shown.err
    assert cli.main(["bench", file, "--num-warps", "5"]) == 2


# --- with one -----------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_a_real_clock_reports_something_possible(space: Workspace) -> None:
    result: Any = bench.bench_and_show(FAST, solution(FAST.name), {**LONG, "N_Q": 4096, "N_KV": 4096})
    assert isinstance(result, Benchmark)
    (one,) = result.measured
    assert list(one.times) == [YOURS, COURSE, "torch", "cuDNN"]
    assert all(isinstance(time, Timing) for time in one.times.values()), one.times
    assert "beyond the limit" not in text(result)
    ratio = one.times[YOURS].median / one.times[COURSE].median  # type: ignore[union-attr]
    assert 0.9 < ratio < 1.1, "it is the same kernel"
