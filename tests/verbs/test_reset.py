"""The stub comes back, and nothing of the learner's is ever lost."""

from __future__ import annotations

import pytest

import checker
from checker.verbs.arguments import UsageError
from checker.verbs.reset import notebook_cell
from checker.workspace import Workspace


def test_the_learners_version_is_saved_before_the_stub_returns(space: Workspace) -> None:
    file, notebook = space.puzzle_file("row_softmax"), space.root / "notebooks" / "01_row_softmax.ipynb"
    untouched = file.read_text()
    file.write_text("my work\n")
    notebook.write_text("{}")
    done = checker.reset("row_softmax")
    assert file.read_text() == untouched
    assert done.saved is not None
    assert done.saved.read_text() == "my work\n"
    assert done.saved.parent == space.ours / "saved"
    assert str(done.saved) in done.message
    assert notebook.read_text() == "{}", "no notebook is touched"


def test_every_version_is_kept_byte_for_byte(space: Workspace) -> None:
    versions = [b"\xff\xfe\r\n", b"one\n", b"two\n"]
    for work in versions:
        space.puzzle_file("row_softmax").write_bytes(work)
        checker.reset("row_softmax")
    assert sorted(path.read_bytes() for path in (space.ours / "saved").iterdir()) == sorted(versions)


def test_an_untouched_stub_is_left_alone(space: Workspace) -> None:
    assert not checker.reset("row_softmax").changed
    assert not (space.ours / "saved").exists()


def test_a_missing_file_is_made(space: Workspace) -> None:
    space.puzzle_file("row_softmax").unlink()
    assert checker.reset("row_softmax").changed
    assert space.puzzle_file("row_softmax").exists()


def test_if_nothing_can_be_saved_nothing_is_changed(space: Workspace) -> None:
    file = space.puzzle_file("row_softmax")
    file.write_text("my work\n")
    space.ours.write_text("a file where the folder should be")
    with pytest.raises(UsageError, match=r"(?s)nothing was changed.*TILE_BY_TILE_HOME"):
        checker.reset("row_softmax")
    assert file.read_text() == "my work\n"


def test_the_cell_to_paste_is_the_stub_without_the_files_title(space: Workspace) -> None:
    cell = notebook_cell(space.puzzle_file("row_softmax").read_text())
    assert cell.startswith("import triton\n")
    assert "# your code starts here" in cell
