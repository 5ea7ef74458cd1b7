"""The kill table: which kernels count as caught, what a GPU must show, and what the table says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import torch

from checker import cli
from checker.course import PUZZLES
from checker.judge.gpu_gate import NOT_VISIBLE, seen_on_gpu
from checker.judge.launches import GUARD, whole
from checker.judge.outcome import Candidate
from checker.judge.runner import RunResult
from checker.live.in_process import InProcess
from checker.misconceptions import Misconception, bank, quick
from checker.puzzle import Launch
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource
from checker.verbs import mutants
from checker.verbs.mutants import exit_code, kill_table
from tests.judge.helpers import solution

VECTOR_ADD = PUZZLES["vector_add"]
SMALL = quick(VECTOR_ADD)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Sequence[Misconception]:
    """Four wrong kernels instead of the bank, at least one for each gate."""
    names = ("adds_to_output", "no_mask", "tail_dropped", "through_memory")
    few = tuple(wrong for wrong in bank("vector_add") if wrong.name in names)
    monkeypatch.setattr(mutants, "bank", lambda puzzle: few)
    monkeypatch.setattr(mutants, "refused", lambda puzzle: ())
    return few


class Hardware(InProcess):
    """A runner whose GPU is the simulator, with `mark` left in the tensors by every launch."""

    def __init__(
        self, directory: Path, mark: Callable[[dict[str, torch.Tensor]], None] = lambda tensors: None, status: str = ""
    ) -> None:
        super().__init__(directory, compiles=False)
        self.mark, self.status, self.launched = mark, status, 0

    def launch(self, kernel: KernelSource, launches: Sequence[Launch]) -> Iterator[RunResult]:
        if self.status:
            yield RunResult(self.status, message="it burns")  # type: ignore[arg-type]
            return
        for result in super().simulate(kernel, launches, SimulateOptions()):
            self.launched += 1
            if result.status == "passed":
                self.mark(dict(result.tensors))
            yield result


def test_a_gpu_shows_wrong_values_changed_inputs_and_writes_outside_tensors(tmp_path: Path) -> None:
    def spoil(name: str, element: int) -> Callable[[dict[str, torch.Tensor]], None]:
        def mark(tensors: dict[str, torch.Tensor]) -> None:
            whole(tensors[name])[GUARD + element] = 123.0

        return mark

    for mark, seen in (
        (spoil("z_ptr", 0), "wrong values"),
        (spoil("x_ptr", 0), "modified input"),
        (spoil("z_ptr", -1), "guard band"),
        (spoil("y_ptr", -7), "guard band"),
        (lambda tensors: None, NOT_VISIBLE),
    ):
        runner = Hardware(tmp_path, mark)
        assert seen_on_gpu(Candidate(SMALL, solution("vector_add"), runner), large=False) == seen
    both = sum({"cpu", "gpu"} <= case.devices for case in SMALL.cases)
    assert runner.launched == 2 * both, "each case with two poisons"
    crashed = Hardware(tmp_path, status="runtime_error")
    assert seen_on_gpu(Candidate(SMALL, solution("vector_add"), crashed)) == "error: it burns"
    with pytest.raises(RuntimeError, match="it burns"):
        seen_on_gpu(Candidate(SMALL, solution("vector_add"), Hardware(tmp_path, status="infra_error")))


def test_without_a_gpu_the_table_does_not_mention_one(
    tmp_path: Path, few: Sequence[Misconception], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = kill_table([SMALL], "cpu", runner=InProcess(tmp_path, compiles=False))
    assert exit_code(rows) == 0
    mutants.print_kill_table(rows, "cpu")
    printed = capsys.readouterr().out
    assert "GPU" not in printed
    assert f"cpu: {len(few)} of {len(few)} caught by a gate meant for it" in printed


def test_show_prints_one_wrong_kernel_with_its_belief(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mutants", "--puzzle", "vector_add", "--show", "mask_less_or_equal"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# vector_add: mask_less_or_equal\n# Believed: the last element has index N")
    assert "    mask = offs_n <= N  # wrong\n" in text
    assert "# Gate: memory\n\nimport triton\n" in text
    compile(text, "shown.py", "exec")
    for name, complaint in (
        ("no_maks", "no wrong kernel no_maks; did you mean no_mask"),
        ("no_mask", "choose one with --puzzle"),
    ):
        assert cli.main(["mutants", "--show", name]) == 2
        assert complaint in capsys.readouterr().err
