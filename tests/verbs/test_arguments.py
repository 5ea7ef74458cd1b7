"""What the verbs say about a call that cannot work. `tests/submission` tries everything that is not a kernel."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import triton

import checker
from checker.course import PUZZLES
from checker.verbs.arguments import UsageError, kernel_named, need, puzzle_named
from checker.workspace import Workspace


@triton.jit
def row_softmax_kernel(x_ptr):
    pass


def plain_kernel(x_ptr: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, r"check needs a kernel: check\(row_softmax_kernel\)"),
        ("rowsoftmax", "There is no puzzle called rowsoftmax. Did you mean row_softmax"),
        ("gone.py", "there is no file or folder called gone.py. Is the path right"),
        (plain_kernel, "plain_kernel is an ordinary Python function.*@triton.jit"),
    ],
    ids=["nothing", "no name", "no file", "undecorated"],
)
def test_anything_but_a_kernel_is_a_usage_error_with_advice(given: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        checker.check(given)


def test_a_kernel_is_found_with_its_puzzle() -> None:
    puzzle, source = kernel_named(row_softmax_kernel, "check")
    assert puzzle is puzzle_named(row_softmax_kernel, "reset") is PUZZLES["row_softmax"]
    assert source.kernel == "row_softmax_kernel"


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


def test_a_file_of_several_kernels_names_them(space: Workspace) -> None:
    texts = [(space.root / "solutions" / f"{name}.py").read_text() for name in ("row_softmax", "vector_add")]
    (space.root / "two.py").write_text("\n".join(texts))
    with pytest.raises(UsageError, match=r"two.py holds several kernels \(vector_add, row_softmax\). Film takes one"):
        kernel_named("two.py", "film")


def test_a_missing_package_is_named_with_a_pointer_to_doctor() -> None:
    with pytest.raises(
        UsageError, match=r"needs no_such_package, which is not installed here. Call checker.doctor\(\)"
    ):
        need("json", "no_such_package")


def test_a_notebook_shows_no_traceback() -> None:
    assert UsageError("say this")._render_traceback_() == ["say this"]
