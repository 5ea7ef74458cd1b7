"""The figure of shared memory's banks."""

from __future__ import annotations

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
