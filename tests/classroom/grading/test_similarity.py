"""Kernels that are alike but for names, comments and layout; information, never a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from classroom.grading.pages import class_page
from classroom.grading.similarity import clusters, shape_of
from tests.classroom.grading.classes import run_folder, scored
from tests.classroom.grading.conftest import RIGHT, STUB, UNMASKED

RENAMED = RIGHT.replace("offs_n", "columns").replace("mask =", "inside =").replace("mask=mask", "mask=inside")
OTHER_ORDER = RIGHT.replace("x + y", "y + x")


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        (RENAMED, True),
        (RIGHT.replace("    # [BLOCK_N]\n", "\n    # mine\n"), True),
        (RIGHT.replace('"""Program', '"""My program'), True),
        (OTHER_ORDER, False),
        (UNMASKED, False),
        (RIGHT.replace("other=0.0", "other=1.0"), False),
        (RIGHT.replace("tl.program_id(0)", "tl.program_id(1)"), False),
    ],
)
def test_names_and_comments_make_no_difference_and_everything_else_does(text: str, alike: bool) -> None:
    assert text != RIGHT
    assert (shape_of(text, "vector_add") == shape_of(RIGHT, "vector_add")) == alike


@pytest.mark.parametrize("text", [STUB, "", "def f(:", "x = " + "(" * 5000, "\0", "other = 1"])
def test_what_is_small_or_broken_is_like_nothing(text: str) -> None:
    assert shape_of(text, "vector_add") is None


def test_clusters_name_the_published_solution_and_stand_on_the_class_page(tmp_path: Path) -> None:
    files = {
        "anna.py": RENAMED,
        "bob.py": RIGHT,
        "carol.py": UNMASKED,
        "dave.py": UNMASKED + "\n# mine",
        "erin.py": OTHER_ORDER,
    }
    result = scored(run_folder(tmp_path, files))
    found = clusters(result, {"vector_add": RIGHT})
    assert [(one.learners, one.published) for one in found] == [(("anna", "bob"), True), (("carol", "dave"), False)]
    page = class_page(result, found)
    assert "as the published solution is" in page
    assert "carol, dave" in page
