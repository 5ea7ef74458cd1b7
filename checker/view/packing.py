"""The film's data as it is written into the page: what the player can work out is left out.

`unpack` in `film.js` is the other half. Nothing is lost: the player starts from the same data as the static picture.
"""

from __future__ import annotations

import re
from typing import Any

from checker.view.heat import LEVELS

SITE = (1, 2, 3, 5, 8, 9, 10)
"""Where an event has what a line of the kernel does the same way again and again: kind, panel, line, bytes, lanes."""
EVENT = 11
_RUN = re.compile(r"(.)\1{3,63}")
_FRACTION = re.compile(r"(?=.{6}$)-?\d+\.\d+$")
LEVELLED = ("heats", "accs", "alphas", "sums")
"""The lists of attention and of the state that hold strings of levels."""
SHORTEST = 3


def packed(data: dict[str, Any]) -> dict[str, Any]:
    """`data` of a Film, shorter.

    * `events` are one list for each program, each event ``[site, tile + 1, loops, name, value, …]``, without zeros at the
      end where no value changes; `sites` are its numbers that depend on the line.
    * Lists of formatted values are one string each, with blanks between them; so are the `cells` of a tensor. A list of one
      value again and again is that value and how often, one that counts up is the first number and how many. Fractions of six
      characters leave out the zeros at their ends. What could be taken for something else stays a list.
    * A tile whose active part is the whole of it has 1 for it.
    * Where attention's or the state's numbers of a moment are those of the moment before there is 0; others are one larger.
    * In a string of levels, four and more of one level are ``~``, the level, and one less than how many, as a level.
    """
    out = dict(data)
    sites: list[list[int]] = []
    programs: list[list[list[int]]] = [[] for _ in data["programs"]]
    for event in data["events"]:
        whole = [*event, *[0] * (EVENT - len(event))]
        site = _trimmed([whole[i] for i in SITE])
        if site not in sites:
            sites.append(site)
        row, changes = [sites.index(site), whole[4] + 1, whole[6]], whole[7] or []
        programs[whole[0]].append([*row, *changes] if changes else _trimmed(row))
    out["sites"], out["events"] = sites, programs
    out["cells"] = [" ".join(cells) if cells else 0 for cells in data["cells"]]
    out["vals"] = [_joined(value) for value in data["vals"]]
    out["tiles"] = [_tile(tile) for tile in data["tiles"]]
    for part in ("scores", "states"):
        if data[part]:
            out[part] = data[part] | {"at": _changes(data[part]["at"])}
            for key in (key for key in LEVELLED if key in out[part]):
                out[part][key] = [_runs(item) for item in out[part][key]]
    if data["sides"] and not data["sides"][2]:
        out["sides"] = [*data["sides"]]
        out["sides"][3] = [_runs(item) for item in data["sides"][3]]
    return {name: _rounded(value) for name, value in out.items()}


def _rounded(value: Any) -> Any:
    """Places and sizes on the stage to four decimals, whole ones without a fraction."""
    if isinstance(value, float):
        return int(value) if value == int(value) else round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _runs(item: Any) -> Any:
    if not isinstance(item, str):
        return [_runs(i) if isinstance(i, str) and len(i) > SHORTEST else i for i in item]
    return _RUN.sub(lambda run: f"~{run[1]}{LEVELS[len(run[0]) - 1]}", item)


def _trimmed(numbers: list[int]) -> list[int]:
    """Without the zeros at its end."""
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    return numbers


def _joined(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        return value
    if any(isinstance(v, list) for v in value):
        return [_joined(v) for v in value]
    cut = value[-1:] == ["…"]
    items = value[:-1] if cut else value
    if len(items) > 2:
        first, more = items[0], ["…"] if cut else []
        if items == [first] * len(items):
            return [first, len(items), *more]
        if str(first).isdecimal() and items == [str(int(first) + i) for i in range(len(items))]:
            return [int(first), len(items), *more]
    texts = [str(v) for v in value]
    if any(" " in text or ("." in text and "e" not in text and not _FRACTION.match(text)) for text in texts):
        return texts if len(texts) > 1 else [*texts, 1]
    return [" ".join(map(_bare, texts))]


def _bare(text: str) -> str:
    """A decimal fraction of six characters without the zeros at its ends: ``-.5`` for ``-0.500``."""
    return re.sub(r"^(-?)(?:0(?=\.))?(\d*\.\d*?)0*$", r"\1\2", text) if _FRACTION.match(text) else text


def _tile(tile: list[Any]) -> list[Any]:
    slice_, label, box, active, runs = tile
    return _trimmed([slice_, label, box, 1 if active == box else active, runs])


def _changes(rows: list[list[int]]) -> list[Any]:
    out: list[Any] = []
    for before, row in zip([None, *rows], rows, strict=False):
        out.append(0 if row == before else [n + 1 for n in row])
    return out
