"""Cases as an aligned table, one case a line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from checker.puzzle import CPU, DTYPES, GPU, NORMAL, TIMED, Case, Family, Scalar

DEVICES = {"cpu": CPU, "gpu": GPU, "timed": TIMED}
NOT_SIZES = ("values", "dtype", "layout", "flags", "seed", "on", "why")


def table(text: str, families: Iterable[Family] = (), flags: dict[str, Scalar] | None = None) -> tuple[Case, ...]:
    """The cases of a table whose cells are at least two spaces apart; ``-`` is the default.

    The first line names the columns. ``values`` is a family, ``flags`` are words like ``IS_CAUSAL`` or ``PAST=11``, on top of those
    given, and ``on`` is ``cpu``, ``gpu`` or ``timed``. ``why`` is a comment. All other columns are sizes, or tiles if their name is
    CHUNK or begins with BLOCK. Raises ValueError for a line that does not fit.
    """
    by_name = {family.name: family for family in (NORMAL, *families)}
    header, *lines = (_cells(line) for line in text.strip().splitlines() if line.strip())
    return tuple(_case(_row(header, cells), by_name, flags or {}) for cells in lines)


def _row(header: list[str], cells: list[str]) -> dict[str, str]:
    """The cells by column. Empty ones at the end may be left out. Raises ValueError for a cell that cannot be of its column."""
    row = dict(zip(header, cells, strict=False))
    problems = [f"more cells than columns: {cells[len(header) :]}"] if len(cells) > len(header) else []
    allowed: dict[str, Collection[str]] = {"on": DEVICES, "dtype": DTYPES}
    for column, cell in row.items():
        if cell == "-":
            continue
        if column in allowed and cell not in allowed[column]:
            problems.append(f"{column} is {cell!r}, not one of {', '.join(allowed[column])}")
        if column not in NOT_SIZES and not re.fullmatch(r"\d[\d_]*", cell):
            problems.append(f"{column} is {cell!r}, not a number: are two spaces between all cells?")
    if problems:
        raise ValueError(f"in the line {'  '.join(cells)!r} of a table: {'; '.join(problems)}")
    return row


def _cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def _case(cells: dict[str, str], families: dict[str, Family], flags: dict[str, Scalar]) -> Case:
    given = {column: cell for column, cell in cells.items() if cell != "-"}
    numbers = {column: int(cell) for column, cell in given.items() if column not in NOT_SIZES}
    fields: dict[str, Any] = {name: given[name] for name in ("dtype", "layout") if name in given}
    if "values" in given:
        if given["values"] not in families:
            raise ValueError(f"no family of these values is called {given['values']}")
        fields["family"] = families[given["values"]]
    if "on" in given:
        fields["devices"] = DEVICES[given["on"]]
    fields["seed"] = int(given.get("seed", 0))
    fields["flags"] = {**flags, **dict(_flag(word) for word in given.get("flags", "").split())}
    tiles = {name: number for name, number in numbers.items() if is_tile(name)}
    return Case({name: n for name, n in numbers.items() if name not in tiles}, tiles, **fields)


def is_tile(name: str) -> bool:
    return name.startswith("BLOCK") or name == "CHUNK"


def _flag(word: str) -> tuple[str, Scalar]:
    name, _, value = word.partition("=")
    if not value:
        return name, True
    return name, float(value) if "." in value or "e" in value else int(value)
