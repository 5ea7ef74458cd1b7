"""`lab` gives learners a folder of their own, and never writes over their work."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.course import LADDER
from checker.verbs import folder
from checker.verbs.arguments import UnavailableHere, UsageError


def test_the_folder_has_every_notebook_and_puzzle(tmp_path: Path) -> None:
    copied = folder.fill(tmp_path / "mine")
    assert {path.stem for path in copied if path.suffix == ".py"} == {puzzle.name for puzzle in LADDER}
    assert {puzzle.notebook for puzzle in LADDER} <= {path.stem for path in copied if path.suffix == ".ipynb"}
    assert (tmp_path / "mine" / folder.FIRST).is_file()


def test_the_learners_files_stay_as_they_are(tmp_path: Path) -> None:
    folder.fill(tmp_path)
    mine, lost = tmp_path / "puzzles" / "row_softmax.py", tmp_path / "puzzles" / "vector_add.py"
    mine.write_text("my work\n")
    lost.unlink()
    assert folder.fill(tmp_path) == [lost]
    assert mine.read_text() == "my work\n"


def test_a_folder_that_cannot_be_written_to_is_explained(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match="cannot be copied"):
        folder.fill(tmp_path / "taken")


def test_without_jupyterlab_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnavailableHere, match=r"pip install \"tile-by-tile\[lab\]\""):
        folder.lab(tmp_path)
