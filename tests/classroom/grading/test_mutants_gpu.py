"""The kill table with a GPU: what the hardware has to show of a wrong kernel, and what the table says in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
import torch

from checker.course import PUZZLES
from checker.judge.gpu_gate import NOT_VISIBLE, seen_on_gpu
from checker.judge.launches import GUARD, whole
from checker.judge.runner import RunResult
from checker.misconceptions import bank
from checker.puzzle import Launch
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource
from checker.verbs import mutants
from checker.verbs.mutants import Row, document, exit_code, kill_table, markdown
from tests.judge.helpers import solution
from tests.judge.local_runner import LocalRunner

VECTOR_ADD = PUZZLES["vector_add"]
VECTOR_ADD = replace(VECTOR_ADD, cases=tuple(case for case in VECTOR_ADD.cases if case.sizes["N"] < 10_000))


@pytest.fixture
def few(monkeypatch):
    """Four wrong kernels instead of the bank, at least one for each gate: all of them are judged in tests/misconceptions."""
    names = ("adds_to_output", "no_mask", "tail_dropped", "through_memory")
    few = tuple(wrong for wrong in bank("vector_add") if wrong.name in names)
    monkeypatch.setattr(mutants, "bank", lambda puzzle: few)
    return few


class Hardware(LocalRunner):
    """A runner whose GPU is the simulator, with `mark` left in the tensors by every launch."""

    def __init__(self, directory, mark: Callable[[dict[str, torch.Tensor]], None] = lambda tensors: None) -> None:
        super().__init__(directory, compiles=False)
        self.mark, self.launched = mark, 0

    def launch(self, kernel: KernelSource, launches: Sequence[Launch]) -> Iterator[RunResult]:
        for result in super().simulate(kernel, launches, SimulateOptions()):
            self.launched += 1
            if result.status == "passed":
                self.mark(dict(result.tensors))
            yield result


def spoil(name: str, element: int) -> Callable[[dict[str, torch.Tensor]], None]:
    """Writes a number into the storage of a tensor, `element` elements after its first."""

    def mark(tensors: dict[str, torch.Tensor]) -> None:
        whole(tensors[name])[GUARD + element] = 123.0

    return mark


@pytest.mark.parametrize(
    ("mark", "seen"),
    [
        (spoil("z_ptr", 0), "wrong values"),
        (spoil("x_ptr", 0), "modified input"),
        (spoil("z_ptr", -1), "guard band"),
        (spoil("y_ptr", -7), "guard band"),
        (lambda tensors: None, NOT_VISIBLE),
    ],
    ids=["output", "input", "before an output", "before an input", "nothing"],
)
def test_what_the_gpu_shows(tmp_path, mark, seen):
    assert seen_on_gpu(VECTOR_ADD, solution("vector_add"), Hardware(tmp_path, mark), large=False) == seen


def test_every_small_case_is_launched_with_two_poisons(tmp_path):
    runner = Hardware(tmp_path)
    seen_on_gpu(VECTOR_ADD, solution("vector_add"), runner, large=False)
    assert runner.launched == 2 * sum("cpu" in case.devices for case in VECTOR_ADD.cases)


class Broken(Hardware):
    def __init__(self, directory, status: str) -> None:
        super().__init__(directory)
        self.status = status

    def launch(self, kernel: KernelSource, launches: Sequence[Launch]) -> Iterator[RunResult]:
        yield RunResult(self.status, message="it burns")  # type: ignore[arg-type]


def test_a_crash_on_the_gpu_is_seen(tmp_path):
    assert seen_on_gpu(VECTOR_ADD, solution("vector_add"), Broken(tmp_path, "runtime_error")) == "error: it burns"


def test_a_launch_that_was_never_made_shows_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="it burns"):
        seen_on_gpu(VECTOR_ADD, solution("vector_add"), Broken(tmp_path, "infra_error"))


def test_the_gpu_is_asked_about_every_kernel_whatever_the_simulator_said(tmp_path, monkeypatch, few):
    monkeypatch.setattr("checker.checking.resolve_device", lambda asked: asked)
    runner = Hardware(tmp_path)
    rows = kill_table([VECTOR_ADD], "cuda", runner=runner, jobs=1)
    assert {row.gate for row in rows} == {"values", "memory", "traffic"}
    assert runner.launched >= len(rows) == len(few)
    for row in rows:
        assert row.caught
        assert row.gpu is not None
        assert row.agrees
        assert (row.gpu == "wrong values") == (row.gate == "values")


def test_a_gpu_that_cannot_be_used_is_the_graders_failure(tmp_path, monkeypatch, few):
    monkeypatch.setattr("checker.checking.resolve_device", lambda asked: asked)
    rows = kill_table([VECTOR_ADD], "cuda", runner=Broken(tmp_path, "infra_error"), jobs=1)
    assert {row.status for row in rows} == {"infra_error"}
    assert exit_code(rows) == 3


def test_without_a_gpu_nothing_is_said_about_one(tmp_path, few):
    rows = kill_table([VECTOR_ADD], "cpu", runner=LocalRunner(tmp_path, compiles=False))
    assert exit_code(rows) == 0
    assert all("gpu" not in entry for entry in document(rows, [VECTOR_ADD], "cpu")["puzzles"][0]["misconceptions"])
    assert "| on a GPU |" not in markdown(rows, [VECTOR_ADD], "cpu")


def row(gate="values", gpu=None, status="failed") -> Row:
    return Row("vector_add", "made_up", status, gate, ("values", "memory", "traffic"), None, (), gpu)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([row(gpu="wrong values")], 0),
        ([row(gpu=NOT_VISIBLE)], 1),
        ([row(gate="memory", gpu=NOT_VISIBLE)], 0),
        ([row(gate="traffic", gpu=NOT_VISIBLE)], 0),
        ([], 2),
    ],
)
def test_exit_code(rows, code):
    assert exit_code(rows) == code


def test_the_table_shows_what_the_gpu_showed():
    rows = [row(gpu="wrong values"), row(gpu=NOT_VISIBLE)]
    entries = document(rows, [VECTOR_ADD], "cuda", {"device": "a GPU"})["puzzles"][0]["misconceptions"]
    assert [entry["gpu"] for entry in entries] == ["wrong values", NOT_VISIBLE]
    page = markdown(rows, [VECTOR_ADD], "cuda")
    assert "| on a GPU |" in page
    assert "**Not seen on a GPU:** `vector_add/made_up` (not visible)." in page


def test_kernels_are_reported_in_order_however_many_run_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "_row", lambda puzzle, wrong, device, runner: row())
    seen: list[Row] = []
    rows = kill_table([VECTOR_ADD], "cpu", report=seen.append, runner=LocalRunner(tmp_path), jobs=4)
    assert seen == rows
    assert len(rows) == len(mutants.bank("vector_add"))
