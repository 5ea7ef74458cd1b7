"""The film's data as the player reads them: what `packing.packed` leaves out, put back."""

from __future__ import annotations

from typing import Any

from checker.view.heat import LEVELS
from checker.view.packing import EVENT, LEVELLED, SITE


def unpacked(data: dict[str, Any]) -> dict[str, Any]:
    """As `unpack` in `film.js`, but with events and tiles as lists, as `Film.data` has them."""
    out = {name: value for name, value in data.items() if name != "sites"}
    out["events"] = [_event(program, row, data["sites"]) for program, rows in enumerate(data["events"]) for row in rows]
    out["cells"] = [cells.split(" ") if cells else 0 for cells in data["cells"]]
    out["vals"] = [_parted(value) for value in data["vals"]]
    out["tiles"] = [_tile([*tile, *[0] * 5][:5]) for tile in data["tiles"]]
    for part in ("scores", "states"):
        if data[part]:
            out[part] = data[part] | {"at": _changes(data[part]["at"])}
            for key in (key for key in LEVELLED if key in out[part]):
                out[part][key] = [_runs(item) for item in out[part][key]]
    if data["sides"] and not data["sides"][2]:
        out["sides"] = [*data["sides"][:3], [_runs(item) for item in data["sides"][3]], *data["sides"][4:]]
    return out


def _event(program: int, row: list[int], sites: list[list[int]]) -> list[Any]:
    site, tile, loop, *delta = [*row, *[0] * (3 - len(row))]
    event: list[Any] = [0] * EVENT
    for i, value in zip(SITE, sites[site], strict=False):
        event[i] = value
    event[0], event[4], event[6], event[7] = program, tile - 1, loop, delta
    while len(event) > 5 and not event[-1]:
        event.pop()
    return event


def _tile(tile: list[Any]) -> list[Any]:
    return [*tile[:3], tile[2] if tile[3] == 1 else tile[3], tile[4]]


def _changes(rows: list[Any]) -> list[list[int]]:
    out: list[list[int]] = []
    for row in rows:
        out.append([n - 1 for n in row] if row != 0 else out[-1])
    return out


def _runs(item: Any) -> Any:
    if isinstance(item, list):
        return [_runs(i) for i in item]
    if not isinstance(item, str):
        return item
    first, *runs = item.split("~")
    return first + "".join(run[0] * (LEVELS.index(run[1]) + 1) + run[2:] for run in runs)


def _parted(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        return value
    first, many, *more = [*value, None]
    if isinstance(many, int):
        return [str(first + i) if isinstance(first, int) else first for i in range(many)] + more[:-1]
    if len(value) == 1 and isinstance(first, str):
        return [_whole(text) for text in first.split(" ")]
    return [_parted(v) for v in value]


def _whole(text: str) -> str:
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text)
    if "." not in digits or "e" in digits:
        return text
    return (sign + digits.replace(".", "0.", 1) if digits[0] == "." else text).ljust(6, "0")
