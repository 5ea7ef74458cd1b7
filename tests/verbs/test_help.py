"""Hints, reset, and the words for a call that cannot work."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import triton
import triton.language as tl

import checker
from checker.course import PUZZLES
from checker.verbs import progress_file
from checker.verbs.arguments import UsageError, live_kernel, puzzle_named
from checker.verbs.hint import hint_at
from checker.verbs.reset import notebook_cell
from checker.workspace import Workspace

ROW_SOFTMAX = PUZZLES["row_softmax"]


@triton.jit
def row_softmax_kernel(x_ptr, N, BLOCK_N: tl.constexpr):
    pass


@triton.autotune(configs=[triton.Config({"BLOCK_N": 16}), triton.Config({"BLOCK_N": 32})], key=["N"])
@triton.jit
def vector_add_kernel(x_ptr, N, BLOCK_N: tl.constexpr):
    pass


@triton.jit
def row_sofmax_kernel(x_ptr):
    pass


def plain_kernel(x_ptr: Any) -> None:
    pass


class TestWhichPuzzle:
    def test_by_the_kernels_name(self) -> None:
        assert live_kernel(row_softmax_kernel, "check")[0] is ROW_SOFTMAX

    def test_through_an_autotune(self) -> None:
        assert live_kernel(vector_add_kernel, "check")[0].name == "vector_add"

    def test_a_misspelt_kernel_gets_the_nearest_and_the_list(self) -> None:
        with pytest.raises(UsageError, match=r"Did you mean row_softmax_kernel\?") as told:
            checker.check(row_sofmax_kernel)
        assert "vector_add_kernel" in str(told.value)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (None, r"check needs a kernel: check\(row_softmax_kernel\)"),
            ("row_softmax", r"Without the quotation marks: check\(row_softmax_kernel\)"),
            ("row_softmax_kernel", r"Without the quotation marks: check\(row_softmax_kernel\)"),
            ("puzzles/row_softmax.py", "in a shell: python -m checker check puzzles/row_softmax.py"),
            ("row_sofmax", r"Did you mean row_softmax\?"),
            (lambda x: x, "this is a lambda"),
            (plain_kernel, "plain_kernel is an ordinary Python function.*@triton.jit"),
            (3, r"this is 3 \(int\)"),
            (Path, "this is the class"),
        ],
        ids=["nothing", "puzzle", "name", "path", "misspelt", "lambda", "undecorated", "number", "class"],
    )
    def test_each_misuse_is_told_what_to_do(self, given: Any, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            checker.check(given)

    def test_a_launched_kernel_is_not_mistaken_for_one(self) -> None:
        with pytest.raises(UsageError, match=r"needs the kernel|ordinary Python function"):
            checker.check(row_softmax_kernel[(1,)])

    def test_a_notebook_shows_no_traceback(self) -> None:
        assert UsageError("say this")._render_traceback_() == ["say this"]

    def test_by_name_for_the_verbs_that_take_one(self) -> None:
        for given in ("row_softmax", "row_softmax_kernel", row_softmax_kernel):
            assert puzzle_named(given, "reset") is ROW_SOFTMAX
        with pytest.raises(UsageError, match="Did you mean row_softmax"):
            puzzle_named("rowsoftmax", "reset")
        with pytest.raises(UsageError, match="reset needs a puzzle"):
            checker.reset()


class TestHints:
    def test_each_call_goes_one_further_and_stops_at_the_last(self, space: Workspace) -> None:
        levels = [checker.hint(row_softmax_kernel).level for _ in range(4)]
        assert levels == [1, 2, 3, 3]
        assert progress_file.load(space).of("row_softmax").hints == 3

    def test_a_level_that_is_asked_for_is_shown_and_remembered(self, space: Workspace) -> None:
        assert checker.hint("row_softmax", 2).prose == ROW_SOFTMAX.hint.idea
        assert checker.hint("row_softmax", "question").prose == ROW_SOFTMAX.hint.question
        assert progress_file.load(space).of("row_softmax").hints == 2
        assert checker.hint("row_softmax").code == ROW_SOFTMAX.hint.skeleton

    @pytest.mark.parametrize("level", [0, 4, "answer", True, 1.5])
    def test_a_level_that_is_none_is_told(self, space: Workspace, level: Any) -> None:
        with pytest.raises(UsageError, match=r"levels 1 \(question\), 2 \(idea\) and 3"):
            checker.hint("row_softmax", level)

    def test_after_passing_it_explains_and_shows_the_solution(self, space: Workspace) -> None:
        progress_file.update(
            space, "row_softmax", lambda r: replace(r, attempts=1, first_passed="2026-01-01T00:00:00+00:00")
        )
        told = checker.hint(row_softmax_kernel)
        assert told.prose == ROW_SOFTMAX.explanation
        assert "tl.store(" in told.code
        assert "@triton.jit" not in told.code
        assert not told.code.startswith(" "), "as in a text, not as inside the kernel"
        assert progress_file.load(space).of("row_softmax").hints == 0, "an explanation after passing is not a hint"
        assert checker.hint(row_softmax_kernel, 1).level == 1

    def test_the_solution_is_not_shown_before(self, space: Workspace) -> None:
        for _ in range(5):
            assert "p / l_i" not in checker.hint(row_softmax_kernel).code

    @pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=lambda p: p.name)
    def test_every_puzzle_has_all_levels(self, puzzle: Any, space: Workspace) -> None:
        shown = [hint_at(puzzle, level, space) for level in (1, 2, 3, 4)]
        assert all(h.prose or h.code for h in shown)
        assert shown[3].code

    def test_its_value_in_a_cell_is_one_line(self, space: Workspace) -> None:
        assert repr(checker.hint("row_softmax")) == "<hint for row_softmax: hint 1 of 3: question>"


def test_a_lambda_is_called_one() -> None:
    with pytest.raises(UsageError, match=r"this is a lambda, .*: check\("):
        checker.check(lambda x: x)


def test_checks_from_several_threads_are_all_counted(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    spec = importlib.util.spec_from_file_location("several", space.root / "solutions" / "vector_add.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with ThreadPoolExecutor(3) as pool:
        verdicts = list(pool.map(lambda _: checker.check(module.vector_add_kernel, device="cpu"), range(3)))
    assert [v.status for v in verdicts] == ["passed"] * 3
    assert progress_file.load(space).of("vector_add").attempts == 3


class TestReset:
    def test_the_learners_version_is_saved_before_the_stub_is_back(self, space: Workspace) -> None:
        file = space.puzzle_file("row_softmax")
        untouched = file.read_text()
        file.write_text("my work\n")
        done = checker.reset("row_softmax")
        assert file.read_text() == untouched
        assert done.saved is not None
        assert done.saved.read_text() == "my work\n"
        assert done.saved.parent == space.ours / "saved"
        assert str(done.saved) in done.message

    def test_two_versions_are_both_kept(self, space: Workspace) -> None:
        for work in ("one\n", "two\n"):
            space.puzzle_file("row_softmax").write_text(work)
            checker.reset("row_softmax")
        assert sorted(p.read_text() for p in (space.ours / "saved").iterdir()) == ["one\n", "two\n"]

    def test_an_untouched_stub_is_left_alone(self, space: Workspace) -> None:
        done = checker.reset("row_softmax")
        assert not done.changed
        assert not (space.ours / "saved").exists()

    def test_a_missing_file_is_made(self, space: Workspace) -> None:
        space.puzzle_file("row_softmax").unlink()
        assert checker.reset("row_softmax").changed
        assert space.puzzle_file("row_softmax").exists()

    def test_where_nothing_can_be_saved_nothing_is_changed_and_the_way_out_is_told(self, space: Workspace) -> None:
        file = space.puzzle_file("row_softmax")
        file.write_text("my work\n")
        space.ours.write_text("a file where the folder should be")
        with pytest.raises(UsageError, match=r"(?s)nothing was changed.*TILE_BY_TILE_HOME"):
            checker.reset("row_softmax")
        assert file.read_text() == "my work\n"

    def test_what_is_not_text_is_saved_byte_for_byte(self, space: Workspace) -> None:
        space.puzzle_file("row_softmax").write_bytes(b"\xff\xfe\r\n")
        done = checker.reset("row_softmax")
        assert done.saved is not None
        assert done.saved.read_bytes() == b"\xff\xfe\r\n"

    def test_nothing_changes_where_nothing_can_be_saved(self, space: Workspace) -> None:
        space.puzzle_file("row_softmax").write_text("my work\n")
        space.ours.write_text("a file where the folder should be")
        with pytest.raises(UsageError, match="nothing was changed"):
            checker.reset("row_softmax")
        assert space.puzzle_file("row_softmax").read_text() == "my work\n"

    def test_no_notebook_is_touched(self, space: Workspace) -> None:
        notebook = space.root / "notebooks" / "01_row_softmax.ipynb"
        notebook.write_text("{}")
        space.puzzle_file("row_softmax").write_text("my work\n")
        checker.reset("row_softmax")
        assert notebook.read_text() == "{}"

    def test_the_cell_to_paste_is_the_stub_without_the_files_title(self, space: Workspace) -> None:
        cell = notebook_cell(space.puzzle_file("row_softmax").read_text())
        assert cell.startswith("import triton\n")
        assert "# your code starts here" in cell
