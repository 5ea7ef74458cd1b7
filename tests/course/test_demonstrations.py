"""Kernels that are shown and not asked: right, filmed with their atomic updates marked, and nowhere in what is graded."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from checker import gpu
from checker.compiler import TARGETS, compile_kernel, requests_for
from checker.course import KERNELS, LADDER
from checker.course.demonstrations import DEMONSTRATIONS, FOLDER
from checker.judge.comparison import compare
from checker.judge.launches import damages, prepare
from checker.simulator import SimulateOptions, simulate
from checker.submission import rules
from checker.submission.from_path import from_path
from checker.submission.load import load_kernel
from checker.submission.marked_region import START
from checker.verbs import submissions as collect

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ROOT / "solutions" / FOLDER
CASES = [(shown, case) for shown in DEMONSTRATIONS.values() for case in shown.cases]


def kernel_of(shown, folder):
    return load_kernel(source_of(shown), folder)


def source_of(shown):
    (found,) = from_path(SHOWN / f"{shown.name}.py", [shown])
    assert found.source is not None, found.error
    return found.source


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def ids(value):
    return getattr(value, "name", None)


@pytest.mark.parametrize(("shown", "case"), [(s, c) for s, c in CASES if "cpu" in c.devices], ids=ids)
@pytest.mark.parametrize("order", ["row-major", "shuffled"])
def test_a_demonstration_is_right_in_any_order_of_programs(shown, case, order, folder):
    ready = prepare(shown, case)
    trace = simulate(kernel_of(shown, folder), ready.launch, SimulateOptions(order=order))
    after = {name: ready.launch.arguments[name] for name in ready.before}
    assert compare(shown, ready, after, trace).worst < 0.5
    assert damages(ready, after) == []
    assert trace.findings == []
    allowed = shown.budget(case)
    assert {n: (t.loaded, t.stored) for n, t in trace.traffic.items()} == {
        n: (a.loaded, a.stored) for n, a in allowed.items()
    }


@pytest.mark.parametrize("shown", DEMONSTRATIONS.values(), ids=ids)
def test_it_compiles_for_every_gpu(shown, folder, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    case = shown.cases[-1]
    launch = shown.launch(case, shown.make(case), case.meta)
    requests = requests_for(launch, shown.parameters, TARGETS.values())
    results = [compile_kernel(kernel_of(shown, folder), request) for request in requests]
    assert [result.message for result in results] == [""] * 4
    assert {result.facts["spilled_bytes"] for result in results} == {0}


def test_it_keeps_the_rules_has_nothing_to_fill_in_and_is_no_puzzle():
    assert {path.stem for path in SHOWN.glob("*.py")} == set(DEMONSTRATIONS)
    for shown in DEMONSTRATIONS.values():
        assert START not in (SHOWN / f"{shown.name}.py").read_text()
        source = source_of(shown)
        assert rules.violations(source, shown) == []
        assert not rules.is_untouched(source)
        assert shown.name not in {puzzle.name for puzzle in LADDER}
        assert (shown.kernel, shown.points) == (f"{shown.name}_kernel", 0)
        assert shown.kernel not in KERNELS


def test_the_folder_is_no_submission(tmp_path):
    """Neither beside the solutions nor by itself; but what a learner hands in under the same name is read."""
    assert FOLDER not in {s.name for s in collect.submissions([ROOT / "solutions"], LADDER)}
    assert collect.submissions([SHOWN], LADDER) == []
    mine = tmp_path / FOLDER
    mine.mkdir()
    (mine / "mine.py").write_text("print('no kernel at all')")
    assert [s.name for s in collect.submissions([tmp_path], LADDER)] == [FOLDER]


@pytest.mark.gpu
@pytest.mark.parametrize(("shown", "case"), CASES, ids=ids)
def test_a_demonstration_is_right_on_a_gpu(shown, case, folder):
    ready = prepare(shown, case)
    after = gpu.launch_kernel(kernel_of(shown, folder), ready.launch)
    assert compare(shown, ready, after, None).worst < 1
    assert damages(ready, after) == []
    assert all(torch.isfinite(after[name]).all() for name in shown.outputs)
