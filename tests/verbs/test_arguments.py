"""What the verbs say about a call that cannot work. `tests/submission` tries everything that is not a kernel."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import triton

from checker.verbs.arguments import UsageError, kernel_named, puzzle_named
from checker.workspace import Workspace


@triton.jit
def row_softmax_kernel(x_ptr):
    pass


@pytest.mark.parametrize(
    "given", ["row_softmax", "row_softmax_kernel", "solutions/row_softmax.py", Path("solutions/row_softmax.py")]
)
@pytest.mark.parametrize("verb", ["check", "film", "xray", "bench"])
def test_a_kernel_is_found_by_name_and_by_path(space: Workspace, verb: str, given: str | Path) -> None:
    puzzle, source = kernel_named(given, verb)
    assert (puzzle.name, source.kernel) == ("row_softmax", "row_softmax_kernel")
    assert puzzle_named(given, "hint") is puzzle


def test_a_name_means_the_kernel_of_the_session_where_there_is_one(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SimpleNamespace(user_ns={"row_softmax_kernel": row_softmax_kernel})
    monkeypatch.setattr("checker.submission.notebook.shell", lambda: session)
    assert "def row_softmax_kernel(x_ptr):" in kernel_named("row_softmax", "check")[1].source


def test_a_puzzle_whose_file_is_missing_can_be_reset(space: Workspace) -> None:
    space.puzzle_file("row_softmax").unlink()
    with pytest.raises(UsageError, match=r"`python -m checker reset row_softmax` writes the stub there"):
        kernel_named("row_softmax", "check")


def test_a_file_of_several_kernels_names_them(space: Workspace) -> None:
    texts = [(space.root / "solutions" / f"{name}.py").read_text() for name in ("row_softmax", "vector_add")]
    (space.root / "two.py").write_text("\n".join(texts))
    with pytest.raises(UsageError, match=r"two.py holds several kernels \(vector_add, row_softmax\). Film takes one"):
        kernel_named("two.py", "film")
