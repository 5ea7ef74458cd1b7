"""The figure of shared memory's banks: what it says is what the layouts do, and one of six pictures is seen."""

from __future__ import annotations

import re

import pytest

from checker.view.banks import LAYOUTS, READS, Banks, turns

TURNS = {"row-major": (1, 8), "padded": (1, 1), "swizzled": (1, 1)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lanes_meet_down_a_column_of_a_row_major_tile_only(layout: str) -> None:
    assert tuple(turns(layout, read) for read in READS) == TURNS[layout]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_piece_has_a_place_of_its_own(layout: str) -> None:
    place = LAYOUTS[layout][1]
    assert len({place(r, c) for r in range(8) for c in range(8)}) == 64


def test_two_pairs_of_buttons_choose_one_of_six_pictures() -> None:
    page = Banks()._repr_html_()
    assert page.count('type="radio"') == len(LAYOUTS) + len(READS)
    assert page.count(" checked>") == 2
    shown = re.findall(r"has\(\.(l\d)[^)]*\).*?has\(\.(r\d)[^)]*\)[^{]*\.(l\dr\d)\{display:block\}", page)
    assert sorted(l + r for l, r, _ in shown) == sorted(name for _, _, name in shown)
    assert len(shown) == page.count("<svg") == 6
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    groups = set(re.findall(r'name="(\w+)"', page))
    assert len(groups) == 2
    assert not groups & set(re.findall(r'name="(\w+)"', Banks()._repr_html_())), "two figures on a page are apart"
    assert repr(Banks()).startswith("row-major: 1 turn along a row, 8 turns down a column")
