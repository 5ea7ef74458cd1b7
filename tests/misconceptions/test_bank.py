"""The bank of wrong kernels: read as data, complete, and within the rules that a learner's kernel keeps."""

from __future__ import annotations

import pytest

from checker.course import LADDER, PUZZLES
from checker.misconceptions import ROOT, bank, read
from checker.submission.rules import is_untouched, violations

ALL = [m for puzzle in LADDER for m in bank(puzzle.name)]
FIRST_TWO = ("vector_add", "row_softmax")
LEAST = {"vector_add": 6, "row_softmax": 12}
ids = [f"{m.puzzle}-{m.name}" for m in ALL]


@pytest.mark.parametrize("puzzle", FIRST_TWO)
def test_there_are_enough(puzzle):
    assert len(bank(puzzle)) >= LEAST[puzzle]


def test_folders_are_puzzles():
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= set(PUZZLES)


@pytest.mark.parametrize("misconception", ALL, ids=ids)
def test_words_are_sentences(misconception):
    for text in (misconception.believed, misconception.instead, *filter(None, [misconception.try_])):
        assert text.endswith((".", "?"))
        assert "`" not in text, "words for people hold no code"


@pytest.mark.parametrize("misconception", ALL, ids=ids)
def test_kernel_keeps_the_rules(misconception):
    assert not violations(misconception.source, PUZZLES[misconception.puzzle])
    assert not is_untouched(misconception.source)


@pytest.mark.parametrize("misconception", ALL, ids=ids)
def test_wrong_lines_are_marked(misconception):
    assert misconception.wrong_lines
    lines = misconception.source.source.splitlines()
    assert all(lines[line - 1].rstrip().endswith("# wrong") for line in misconception.wrong_lines)


@pytest.mark.parametrize("misconception", ALL, ids=ids)
def test_same_as_names_exist(misconception):
    assert set(misconception.same_as) <= {m.name for m in bank(misconception.puzzle)} - {misconception.name}


def test_constants_are_not_part_of_the_kernel():
    source = bank("vector_add")[0].source.source
    assert "GATE" not in source
    assert "Believed" not in source


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = (", "not valid Python"),
        ('"""Believed: a.\n\nInstead: b."""\ndef vector_add_kernel(): pass\n', "no GATE"),
        ('"""Instead: b."""\nGATE = "values"\ndef vector_add_kernel(): pass\n', "Believed"),
        ('"""Believed: a.\n\nInstead: b."""\nGATE = "values"\n', "no function vector_add_kernel"),
    ],
)
def test_a_broken_file_is_named(tmp_path, text, complaint):
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"vector_add/broken.py.*{complaint}"):
        read(path, "vector_add")


def test_unknown_puzzle_has_no_misconceptions():
    assert bank("no_such_puzzle") == ()
