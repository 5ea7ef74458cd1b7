"""The figure of shared memory's banks."""

from __future__ import annotations

import re

from checker.view.banks import LAYOUTS, READS, Banks, turns


def test_lanes_share_a_bank_only_down_a_column_of_a_row_major_tile() -> None:
    assert {layout: tuple(turns(layout, read) for read in READS) for layout in LAYOUTS} == {
        "row-major": (1, 8),
        "padded": (1, 1),
        "swizzled": (1, 1),
    }
    assert repr(Banks()).startswith("row-major: 1 turn along a row, 8 turns down a column")
    for _, place in LAYOUTS.values():
        assert len({place(r, c) for r in range(8) for c in range(8)}) == 64


def test_two_pairs_of_buttons_choose_one_of_six_pictures() -> None:
    page = Banks()._repr_html_()
    assert page.count('type="radio"') == len(LAYOUTS) + len(READS)
    assert page.count(" checked>") == 2
    rules = re.findall(r"has\(\.(l\d)[^)]*\).*?has\(\.(r\d)[^)]*\)[^{]*\.(l\dr\d)\{display:block\}", page)
    assert sorted(l + r for l, r, _ in rules) == sorted(name for _, _, name in rules)
    assert len(rules) == page.count("<svg") == 6
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    groups = set(re.findall(r'name="(\w+)"', page))
    assert not groups & set(re.findall(r'name="(\w+)"', Banks()._repr_html_())), "two figures on a page are independent"
