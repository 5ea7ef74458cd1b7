"""The columns of running state beside a tensor's rows: one value for each row, before and after the step of the moment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.puzzle import Running
from checker.view.departures import Departure
from checker.view.heat import LEVELS
from checker.view.layout import Panel
from checker.view.running import held_rows, vector
from checker.view.shapes import Rect, block, border, ground, path, pixels, rect, text
from checker.view.theme import LIGHT, number

if TYPE_CHECKING:
    from checker.view.film_model import Moment

Row = int  # slice * rows + row
Column = dict[Row, str]


@dataclass
class Sides:
    """Values by moment: `at[k]` is None or ``[first row, vector of each column or -1]``, with vectors in `vectors`."""

    panel: int
    names: list[str]
    texts: bool
    vectors: list[Any]
    at: list[list[int] | None]
    ranges: list[tuple[float, float]]
    news: list[Any]
    """`at`, with 0 where it says the same as at the program's last moment."""
    wrong: list[tuple[int, Row, int]] = field(default_factory=list)
    """``(moment, row, column)``: from this moment on the value is not what it must be."""

    @property
    def data(self) -> list[Any]:
        """For the player."""
        return [self.panel, self.names, int(self.texts), self.vectors, self.news, self.wrong]


def present(moments: Sequence[Moment], running: Running) -> tuple[str, ...]:
    """The variables that the kernel has."""
    return tuple(n for n in running.names if any(vector(m.event.state.get(n)) for m in moments))


def build_sides(
    moments: Sequence[Moment], panel: int, drawn: Panel, running: Running, departures: Sequence[Departure]
) -> Sides:
    """Number the vectors of every moment. `drawn` is the panel whose rows they belong to."""
    names = list(drawn.sides)
    held = held_rows([(m.event, m.flat) for m in moments], running)
    last: dict[tuple[int, int, int], tuple[int, tuple[int, int]]] = {}
    raw: list[tuple[int, list[list[float] | None]] | None] = []
    for moment, after in zip(moments, held, strict=True):
        program = moment.event.program
        place = last.get(program, after)
        if after is not None:
            last[program] = after
        if place is None:
            raw.append(None)
            continue
        slice_, (start, stop) = place
        vectors = [vector(moment.event.state.get(name)) for name in names]
        vectors = [v if v is not None and len(v) == stop - start else None for v in vectors]
        inside = max(start, 0), min(stop, drawn.rows)
        cut = [v if v is None else v[inside[0] - start : inside[1] - start] for v in vectors]
        raw.append((slice_ * drawn.rows + inside[0], cut) if any(cut) else None)
    ranges = [_range([v for r in raw if r and r[1][i] for v in r[1][i] or ()]) for i in range(len(names))]
    table: dict[str, int] = {}
    at: list[list[int] | None] = []
    items: list[Any] = []
    for entry in raw:
        if entry is None:
            at.append(None)
            continue
        numbers = []
        for values, (low, high) in zip(entry[1], ranges, strict=True):
            if values is None:
                numbers.append(-1)
                continue
            packed: Any = [number(v, 5) for v in values] if drawn.texts else _levels(values, low, high)
            key = repr(packed)
            if key not in table:
                table[key] = len(items)
                items.append(packed)
            numbers.append(table[key])
        at.append([entry[0], *numbers])
    news, latest = list[Any](), dict[tuple[int, int, int], Any]()
    for moment, numbers_at in zip(moments, at, strict=True):
        program = moment.event.program
        news.append(0 if numbers_at is not None and latest.get(program) == numbers_at else numbers_at)
        latest[program] = numbers_at
    wrong = [
        (d.at, _slice_of(d, drawn) * drawn.rows + d.row, names.index(d.name)) for d in departures if d.name in names
    ]
    return Sides(panel, names, drawn.texts, items, at, ranges, news, wrong)


def _slice_of(departure: Departure, panel: Panel) -> int:
    out = 0
    for index, extent in zip(departure.lead, panel.shape[:-2], strict=True):
        out = out * extent + index
    return out


def _range(values: list[float]) -> tuple[float, float]:
    finite = [v for v in values if math.isfinite(v)]
    return (min(finite), max(finite)) if finite else (0.0, 0.0)


def _levels(values: list[float], low: float, high: float) -> str:
    out = []
    for v in values:
        if math.isnan(v):
            out.append("?")
        elif math.isinf(v):
            out.append("+" if v > 0 else "-")
        else:
            out.append(LEVELS[round(63 * (v - low) / (high - low)) if high > low else 32])
    return "".join(out)


# ---- the picture, as the player draws it too ---------------------------------------------------------------------------


def frame(sides: Sides, panel: Panel) -> str:
    """What never changes: the columns and their names."""
    out = []
    for i, name in enumerate(sides.names):
        x, w, high = panel.side_x(i), panel.side_width, panel.rows * panel.uy
        q = (x, panel.y, float(w), high)
        out.append(text(x + w / 2, panel.top - 5, name, "mono", 11, "middle") + ground(q))
        lines = (f"M{pixels(x)} {pixels(panel.y + r * panel.uy)}h{w}" for r in range(1, panel.rows * sides.texts))
        out.append(path("grid", "".join(lines), f'stroke="{LIGHT["faint"]}"') + border(q))
    return "".join(out)


def values_at(sides: Sides, moments: Sequence[Moment], k: int) -> tuple[list[Column], list[Column]]:
    """Before and after moment `k`, by column and row; `after` holds only rows of the program of the moment."""
    before: list[Column] = [{} for _ in sides.names]
    after: list[Column] = [{} for _ in sides.names]
    for entry in sides.at[: k + 1]:
        _put(sides, before, entry)
    program = moments[k].event.program
    following = next((j for j in range(k + 1, len(moments)) if moments[j].event.program == program), k)
    _put(sides, after, sides.at[following])
    return before, after


def _put(sides: Sides, columns: list[Column], entry: list[int] | None) -> None:
    for column, vec in zip(columns, (entry or [0])[1:], strict=False):
        if vec >= 0:
            column.update(enumerate(sides.vectors[vec], (entry or [0])[0]))


def layer(sides: Sides, panel: Panel, moments: Sequence[Moment], k: int, slice_: int) -> str:
    """The values at moment `k`: ``before → after`` in text, or bars."""
    before, after = values_at(sides, moments, k)
    wrong = {(row, column) for at, row, column in sides.wrong if at <= k}
    out = []
    for i in range(len(sides.names)):
        x, w, rows = panel.side_x(i), panel.side_width, range(slice_ * panel.rows, (slice_ + 1) * panel.rows)
        seen = [(r, before[i].get(row), after[i].get(row)) for r, row in enumerate(rows)]
        fields = [
            ((x, panel.y + r * panel.uy, float(w), panel.uy), old, new, (rows[r], i) in wrong)
            for r, old, new in seen
            if old is not None or new is not None
        ]
        out.append("".join(_text(*f) for f in fields) if sides.texts else _bars(fields))
    return "".join(out)


def _text(q: Rect, old: str | None, new: str | None, wrong: bool) -> str:
    x, y, w, h = q
    changes = new is not None and old != new
    said = (f"{old} → {new}" if old is not None else f"→ {new}") if changes else old or new or ""
    out = rect(q, "changes", f'fill="{LIGHT["mark"]}"') if changes else ""
    if wrong:
        said = "≠ " + said
        out += rect((x + 1, y + 1, w - 2, h - 2), "departs", f'stroke="{LIGHT["warn"]}" stroke-width="2"')
    name, fill = ("side warn", LIGHT["warn"]) if wrong else ("side", LIGHT["ink"])
    return out + text(x + w / 2, y + h / 2 + 4, said, name, 11, "middle", fill)


def _bars(fields: list[tuple[Rect, str | None, str | None, bool]]) -> str:
    """One bar for each row: those of the program of the moment, those of others, and marks of departures."""
    now, past, marks = "", "", ""
    for (x, y, w, h), old, new, wrong in fields:
        level = new if new is not None else old or "-"
        if level in LEVELS:
            length, thick = 2 + (w - 4) * LEVELS.index(level) / 63, max(h - (0.6 if h > 2.5 else 0), 0.8)
            bar = block((x + 1, y, length, thick))
            now, past = (now + bar, past) if new is not None else (now, past + bar)
        if wrong:
            marks += f"M{pixels(x + w + 2)} {pixels(y)}v{pixels(max(h, 2))}"
    out = path("bar-now", now, f'fill="{LIGHT["dot"]}"') + path("bar-past", past, f'fill="{LIGHT["mask"]}"')
    return out + path("departs", marks, f'stroke="{LIGHT["warn"]}" stroke-width="4"')
