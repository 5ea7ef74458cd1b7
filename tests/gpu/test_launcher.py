"""The function around kernels on a GPU: large caches, a graph, the compiler, and times."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.sandbox import Sandbox
from tests.judge.launchers import PUZZLE, TEXT, verdict

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]
ALL = range(len(PUZZLE.cases))


def test_the_course_own_is_right_in_a_graph_and_through_the_compiler(tmp_path: Path, sandbox: Sandbox) -> None:
    passed = verdict(TEXT, ALL, tmp_path, sandbox, "cuda")
    assert passed.passed, passed.failure
    gates = {gate.gate: gate for gate in passed.gates}
    assert gates["gpu"].status == gates["speed"].status == "passed"
    assert gates["speed"].message.count("yours") == 2, gates["speed"].message  # both sizes were timed


def test_what_only_a_graph_refuses_is_told_with_its_line(tmp_path: Path, sandbox: Sandbox) -> None:
    """Memory made on the CPU and copied: right everywhere else."""
    text = TEXT.replace(
        "lse_part = torch.empty(B, H_Q, SPLITS, dtype=torch.float32, device=q.device)",
        "lse_part = torch.empty(B, H_Q, SPLITS).to(q.device)",
    )
    failure = verdict(text, ALL, tmp_path, sandbox, "cuda").failure
    assert failure is not None
    assert failure.gate == "gpu", failure.message
    assert failure.message.startswith("Replayed by a CUDA graph: ")
    assert failure.line is not None
    assert "device=q.device" in failure.advice
