"""Covering arrays: few rows that contain every pair of values of any two factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

Row = dict[str, Any]


def covering(factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """Rows ``{factor: value}`` in which every pair of values of two factors occurs at least once. Deterministic.

    Pairs that no allowed row can contain are left out. Rows are built greedily, one after another, as in Cohen, Dalal, Fredman &
    Patton 1997 (AETG); among values that cover equally many new pairs, the least used wins. `allowed` also gets incomplete rows,
    and raises KeyError where it cannot decide yet.
    """
    missing = {
        frozenset({(first, x), (second, y)}): None
        for first, second in combinations(factors, 2)
        for x in factors[first]
        for y in factors[second]
    }
    left = Counter(item for pair in missing for item in pair)
    rows: list[Row] = []
    while missing:
        wanted = next(iter(missing))
        start = dict(sorted(wanted, key=lambda item: list(factors).index(item[0])))
        used = Counter(item for row in rows for item in row.items())
        row = completed(start, factors, allowed, partial(_most_missing, missing=missing, left=left, used=used))
        done = [wanted] if row is None else [frozenset(pair) for pair in combinations(row.items(), 2)]
        for pair in done:
            if pair in missing:
                del missing[pair]
                left.subtract(pair)
        if row is not None:
            rows.append({name: row[name] for name in factors})
    return rows


def scattered(
    factors: Mapping[str, Sequence[Any]],
    further: Mapping[str, Sequence[Any]],
    rows: Sequence[Row],
    allowed: Callable[[Row], bool] = lambda row: True,
) -> list[Row]:
    """Few rows beside `rows` that contain each of the `further` values of a factor once, among the least used values of the others.

    Deterministic. A value that no allowed row can contain is left out. `allowed` is used as in `covering`.
    """
    waiting = {name: list(values) for name, values in further.items()}
    used = Counter(item for row in rows for item in row.items())
    least_used = partial(_most_missing, missing={}, left=Counter(), used=used)
    added: list[Row] = []
    while any(waiting.values()):
        start: Row = {}
        for name, values in waiting.items():
            fits = (v for v in values if completed({**start, name: v}, factors, allowed, least_used))
            chosen = next(fits, None)
            if chosen is not None:
                start[name] = chosen
                values.remove(chosen)
        row = completed(start, factors, allowed, least_used) if start else None
        if row is None:
            break
        added.append({name: row[name] for name in factors})
        used.update(added[-1].items())
    return added


def completed(
    row: Row,
    factors: Mapping[str, Sequence[Any]],
    allowed: Callable[[Row], bool],
    ordered: Callable[[Row, str, Sequence[Any]], Sequence[Any]] = lambda row, name, values: values,
) -> Row | None:
    """`row` with a value for each missing factor: the first combination that is allowed, tried as `ordered` says. None if none is."""
    name = next((name for name in factors if name not in row), None)
    try:
        if not allowed(row):
            return None
    except KeyError:
        if name is None:
            raise
    if name is None:
        return row
    tried = (completed({**row, name: v}, factors, allowed, ordered) for v in ordered(row, name, factors[name]))
    return next((done for done in tried if done is not None), None)


def _most_missing(
    row: Row,
    name: str,
    values: Sequence[Any],
    missing: Mapping[frozenset[Any], None],
    left: Counter[Any],
    used: Counter[Any],
) -> Sequence[Any]:
    """`values`, sorted by how many missing pairs each forms with `row`, then by how many it has `left`, then the least used."""

    def gained(value: Any) -> tuple[int, int, int]:
        now = sum(frozenset({(name, value), item}) in missing for item in row.items())
        return now, left[name, value], -used[name, value]

    return sorted(values, key=gained, reverse=True)
