"""An unfinished kernel is judged on the parts of its puzzle, but never passes that way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import checker
from checker.course import PUZZLES
from checker.submission.kernel import KernelSource, Piece
from checker.verbs import progress_file
from checker.verbs.arguments import UsageError
from checker.verbs.parts import narrowed
from checker.workspace import Workspace
from tests.verbs.conftest import ROOT, live_kernel

HEADS = PUZZLES["flash_attention_heads"]
WITH_PARTS = [puzzle for puzzle in PUZZLES.values() if puzzle.parts]


def kernel(folder: Path, old: str, new: str) -> Any:
    """The course's kernel, changed, from a file."""
    text = (ROOT / "solutions/flash_attention_heads.py").read_text()
    assert text.count(old) == 1
    path = folder / "changed.py"
    path.write_text(text.replace(old, new))
    return live_kernel(path, "flash_attention_heads_kernel")


def source(text: str) -> KernelSource:
    return KernelSource(HEADS.name, HEADS.kernel, text, (Piece(1, text.count("\n"), "a.py", 1),))


@pytest.mark.parametrize("puzzle", WITH_PARTS, ids=lambda p: p.name)
def test_the_parts_together_are_the_whole(puzzle: Any) -> None:
    parts = narrowed(puzzle, source("x = 1"))
    assert all(part.cases for part in parts.values())
    whole = {(case.name, output) for case in puzzle.cases for output in puzzle.outputs}
    assert {(c.name, o) for part in parts.values() for c in part.cases for o in part.outputs} == whole


def test_an_output_that_the_kernel_uses_is_judged_from_the_first_part_on() -> None:
    parts = narrowed(HEADS, source("tl.store(lse_ptr, 0.0)"))
    assert {part.outputs for part in parts.values()} == {HEADS.outputs}
    assert parts["lse"].cases == (), "all of it was judged before"


def test_a_kernel_without_groups_passes_up_to_there(
    tmp_path: Path, space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    without_groups = kernel(tmp_path, "head_kv = head // (H_Q // H_KV)", "head_kv = head % H_KV")
    found = checker.check(without_groups, only="groups")
    assert repr(found) == "<flash_attention_heads, up to groups: heads; then it stopped>"
    shown = capsys.readouterr().out
    assert "1 of 5 parts" in shown
    assert "gives wrong numbers" in shown
    assert progress_file.load(space).puzzles == {}, "a part is neither an attempt nor a pass"


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    whole = kernel(tmp_path, "m_i + tl.log(l_safe)", "m_i + tl.log(l_safe)")
    with pytest.raises(UsageError, match=r"no part called 'head'. Its parts are heads, groups, causal, lengths, lse"):
        checker.check(whole, only="head")
