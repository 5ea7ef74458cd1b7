"""From paths to submissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.course import LADDER
from checker.submission.from_path import Found
from checker.verbs import submissions as collect
from tests.classroom.grading.classes import VECTOR_ADD, laid_out, notebook, zipped
from tests.classroom.grading.conftest import RIGHT, ROOT, STUB


def entries(path: Path) -> dict[str, list[str]]:
    return {
        s.name: [e.puzzle if e.source else e.reason for e in s.entries] for s in collect.submissions([path], LADDER)
    }


def test_each_thing_in_a_folder_is_one_submission(handed_in: Path) -> None:
    assert entries(handed_in) == {
        "alice.py": ["vector_add"],
        "bob": ["vector_add", "vector_add"],
        "carol.py": ["syntax"],
        "dave.py": ["vector_add"],
        "erin.py": ["no_kernel"],
        "mallory.py": ["vector_add"],
    }


def test_each_solution_is_one_submission() -> None:
    found = collect.submissions([ROOT / "solutions"], LADDER)
    assert [s.name for s in found] == sorted(f"{p.name}.py" for p in LADDER)
    assert all(len(s.entries) == 1 for s in found)


def test_a_file_and_a_zip_are_one_submission_each(tmp_path: Path) -> None:
    laid_out(tmp_path, {"alice.py": RIGHT, "bob.zip": zipped({"bob/vector_add.py": RIGHT})})
    found = collect.submissions([tmp_path / "alice.py", tmp_path / "bob.zip"], LADDER)
    assert [(s.name, len(s.entries)) for s in found] == [("alice.py", 1), ("bob.zip", 1)]


def test_a_notebook_is_read_as_data(tmp_path: Path) -> None:
    (tmp_path / "alice.ipynb").write_text(notebook(RIGHT))
    assert entries(tmp_path) == {"alice.ipynb": ["vector_add"]}


def test_hidden_and_cached_folders_are_left_out(tmp_path: Path) -> None:
    names = (".ipynb_checkpoints/a.py", "__pycache__/a.py", ".tile-by-tile/passed/a.py", "alice.py")
    laid_out(tmp_path, dict.fromkeys(names, RIGHT))
    assert list(entries(tmp_path)) == ["alice.py"]


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    laid_out(tmp_path, {"monday/vector_add.py": STUB, "tuesday/vector_add.py": STUB})
    found = collect.submissions([tmp_path / "monday", tmp_path / "tuesday"], LADDER)
    assert len({s.name for s in found}) == 2


def test_a_broken_file_is_named_after_the_puzzle_it_was_meant_for(tmp_path: Path) -> None:
    (tmp_path / "vector_add.py").write_bytes(b"\xff\xfe\x00 not text")
    (found,) = collect.submissions([tmp_path], LADDER)
    assert found.of(VECTOR_ADD)[0].reason == "undecodable"


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file or folder called"):
        collect.submissions([tmp_path / "missing"], LADDER)


@pytest.mark.parametrize(
    ("reason", "status"),
    [("syntax", "compile_error"), ("no_kernel", "not_attempted"), ("unsafe", "forbidden"), ("too_large", "forbidden")],
)
def test_a_file_without_a_kernel_stops_at_the_source_gate(reason: str, status: str) -> None:
    entry = Found("a.py", "vector_add", error="it is not readable", line=3, reason=reason)
    verdict = collect.unreadable_verdict(entry, VECTOR_ADD, "a.py", "cpu")
    assert (verdict.status, verdict.score, verdict.max_score) == (status, 0.0, 1.0)
    assert verdict.failure is not None
    assert (verdict.failure.gate, verdict.failure.line) == ("source", 3)
    assert "a.py" in verdict.failure.message
