"""A covering array holds every pair that is allowed, and few rows."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from checker.authoring.covering import covering

FACTORS = {"dtype": ("a", "b", "c"), "layout": ("x", "y"), "tile": (16, 32, 64), "rows": (1, 2, 9), "rest": (0, 1, -1)}


def pairs(row) -> set:
    return set(combinations(row.items(), 2))


@pytest.mark.parametrize("factors", [FACTORS, {str(i): range(4) for i in range(9)}], ids=["mixed", "nine of four"])
def test_every_pair_stands_in_some_row_and_rows_are_few(factors):
    rows = covering(factors)
    held = set().union(*map(pairs, rows))
    assert held == {((a, x), (b, y)) for a, b in combinations(factors, 2) for x, y in product(factors[a], factors[b])}
    least = max(len(factors[a]) * len(factors[b]) for a, b in combinations(factors, 2))
    assert len(rows) <= 2 * least


def test_rows_are_the_same_every_time_and_begin_with_the_first_values():
    rows = covering(FACTORS)
    assert rows == covering(FACTORS)
    assert list(rows[0]) == list(FACTORS)
    assert rows[0]["dtype"] == "a"
    assert rows[0]["layout"] == "x"


def test_a_row_that_is_not_allowed_is_never_given_and_every_other_pair_stays():
    def allowed(row) -> bool:
        return row["tile"] != 64 or (row["dtype"] == "a" and row["rest"] != 1)

    rows = covering(FACTORS, allowed)
    assert all(map(allowed, rows))
    possible = [dict(zip(FACTORS, values, strict=True)) for values in product(*FACTORS.values())]
    assert set().union(*map(pairs, rows)) == set().union(*(pairs(row) for row in possible if allowed(row)))
