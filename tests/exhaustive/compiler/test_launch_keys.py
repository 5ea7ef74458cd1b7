"""What the compile gate compiled is found again by the launch on a GPU: otherwise every check there waits for the compiler twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import triton
from triton.backends.compiler import GPUTarget

from checker.compiler import compile_kernel
from checker.course import PUZZLES
from checker.judge.compile_gate import Compilation
from checker.judge.launches import plan, prepare_all, without_numbers
from checker.judge.outcome import Candidate
from checker.sandbox.job import adopt_compiled
from checker.submission.from_path import from_path
from checker.submission.load import load_kernel

ROOT = Path(__file__).parents[3]


CASES = 16
"""Of each puzzle, beside those for a GPU only: what is compiled for them takes seconds, and more of them ask nothing new."""


class StandIn:
    """A driver whose GPU is an H100 that takes no launches."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0


class Here:
    """A runner that compiles in this process."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.compiled = kernel, 0

    def compile(self, _source: object, requests: Any, *, aside: bool = False) -> Iterator[Any]:
        for request in requests:
            self.compiled += not request.front_end_only
            yield compile_kernel(self.kernel, request)


@pytest.fixture
def hits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each compilation since was found in the cache."""
    found: list[bool] = []
    monkeypatch.setattr(triton.knobs.compilation, "listener", lambda *, cache_hit, **_: found.append(cache_hit))
    active = triton.runtime.driver._active
    triton.runtime.driver.set_active(StandIn())
    yield found
    triton.runtime.driver._active = active


@pytest.mark.parametrize("name", ["online_softmax", "merge_softmax_stats", "flash_attention"])
def test_every_launch_finds_what_the_gate_compiled(
    name: str, hits: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    puzzle = PUZZLES[name]
    source = next(f.source for f in from_path(ROOT / "solutions", {name: puzzle}) if f.source is not None)
    built, moved = tmp_path / "built", tmp_path / "moved"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(built))
    both = [case for case in puzzle.cases if {"cpu", "gpu"} <= case.devices][:CASES]
    only_gpu = [case for case in puzzle.cases if case.devices == {"gpu"}]
    prepared = prepare_all(puzzle, plan(both, ()))
    runner = Here(load_kernel(source, tmp_path))
    gate = Compilation(Candidate(puzzle, source, runner), prepared, here=90)  # type: ignore[arg-type]
    assert gate.first() is None
    large = [without_numbers(puzzle, case) for case in only_gpu]
    gate.begin_rest([*(one.launch for one in prepared), *large])
    assert gate.rest() is None
    assert runner.compiled <= len(both) + len(only_gpu)

    built.rename(moved)  # as the folder of one job becomes another's
    adopt_compiled(moved)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(moved))
    hits.clear()
    again = load_kernel(source, tmp_path)
    for one in prepared:
        launch = one.launch
        again.warmup(**launch.arguments, **launch.meta, **launch.options, grid=launch.grid)
    assert hits
    assert all(hits)
    assert not built.exists()
