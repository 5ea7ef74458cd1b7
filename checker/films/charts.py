"""The running state beside the stage: one row's sums as bars, ``old × factor + new``, and its variables over the steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from checker.films.film_data import FilmData
from checker.films.scene import Scenes
from checker.films.state import vector
from checker.films.steps import Step, by_program
from checker.films.svg import NOTHING, Rect, block, hatch, line, path, pixels, rect, text
from checker.films.updates import Addition
from checker.view.formats import number

LEFT, RIGHT = 84.0, 236.0
"""Bars and lines are between LEFT and RIGHT, their names before and their numbers behind."""
TOP, ROW = 20.0, 17.0


@dataclass(frozen=True)
class Chart:
    """One panel: what it shows, for readers who cannot see it, its picture, and its height."""

    about: str
    picture: Markup
    height: float


def charts(film: FilmData, scenes: Scenes) -> list[Chart]:
    """The panels of a film: bars if sums are rescaled, lines if the rows of a tensor have a running state."""
    out = []
    additions = [(key, [getattr(row, key) for row in film.updates]) for key in ("sums", "accumulators")]
    wrong = any(not a.right for _, rows in additions for by_step in rows for a in by_step.values())
    height = TOP + ROW * (5 if wrong else 4)
    for key, rows in additions:
        if any(rows):
            name = next(t.name for by_step in rows for t in by_step.values()).partition("[")[0]
            about = f"{name}: what it was, times the factor, plus the new terms"
            out.append(Chart(about, _bars(film, key, wrong, scenes), height))
    if film.lines:
        out.append(Chart(f"{' and '.join(film.lines)} over the steps", _lines(film, scenes), height))
    return out


# ---- old × factor + new ------------------------------------------------------------------------------------------------

LABELS = ("before", "", "+ new terms", "= after", "≠ it holds")


def _bars(film: FilmData, key: str, wrong: bool, scenes: Scenes) -> Markup:
    """The old sum, what the factor leaves of it, the new terms, and the result; if some kernel value is wrong, that too."""
    out = scenes.word((key, "name"), 0, 12, "mono", 12)
    for i in range(5 if wrong else 4):
        y, name = TOP + i * ROW + 11, "side warn" if i == 4 else "side"
        out += scenes.word((key, "label", i), 0, y, name, 12) + scenes.word((key, "value", i), RIGHT + 6, y, name, 12)
    for row in film.updates:
        additions: dict[int, Addition] = getattr(row, key)
        for step in (s for s in film.steps if s.at in row.steps):
            now = additions.get(step.at)
            shown = _numbers(now) if now else {}
            named = now.name + ("" if "[" in now.name else film.row_words(row)) if now else ""
            scenes.put(step.at, (key, "name"), named, own=True)
            for i in range(5 if wrong else 4):
                label = f"× {_short(now.factor)}" if now and i == 1 else LABELS[i]
                scenes.put(step.at, (key, "label", i), label if i in shown else "", own=True)
                scenes.put(step.at, (key, "value", i), shown.get(i, ""), own=True)
            scenes.put(step.at, (key, "bars"), _shapes(now) if now else NOTHING, own=True)
    return out + scenes.slot((key, "bars"))


def _short(factor: float) -> str:
    return f"{factor:.3g}" if factor == 0 or factor >= 1e-3 else number(factor, 6)


def _numbers(addition: Addition) -> dict[int, str]:
    values = [addition.old, addition.kept, addition.new, addition.want, *([] if addition.right else [addition.got])]
    return {i: number(value, 6) for i, value in enumerate(values)}


def _shapes(addition: Addition) -> Markup:
    finite = [v for v in (addition.old, addition.kept, addition.want, addition.got) if math.isfinite(v)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    unit = (RIGHT - LEFT) / ((high - low) or 1.0)
    bars = [
        (0, "bar-past", 0.0, addition.old),
        (1, "bar-now", 0.0, addition.kept),
        (2, "bar-new", addition.kept, addition.want),
        (3, "bar-now", 0.0, addition.kept),
        (3, "bar-new", addition.kept, addition.want),
        *([] if addition.right else [(4, "bar-got", 0.0, addition.got)]),
    ]
    out = NOTHING
    for row, name, start, stop in bars:
        if not (math.isfinite(start) and math.isfinite(stop)):
            continue
        a, b = sorted((start, stop))
        q = LEFT + (a - low) * unit, TOP + row * ROW + 2, max((b - a) * unit, 1.0), ROW - 7
        out += rect(q, name) + path("outside-lines", hatch(q, 6) if row == 4 else "")
    zero = LEFT - low * unit
    return out + path("axis", line(zero, TOP, 0, 4 * ROW - 4))


# ---- over the steps ----------------------------------------------------------------------------------------------------


def _lines(film: FilmData, scenes: Scenes) -> Markup:
    """One line for each variable, all of it faint, and a mark at its value now."""
    for program_steps in by_program(film.steps):
        row = next((r for r in film.updates if program_steps[0].at in r.steps), None)
        scenes.put(
            program_steps[0].at, "over the steps", f"over the steps{film.row_words(row).replace(' of', ',')}", own=True
        )
        for place, name in enumerate(film.lines):
            values = [_held(step, name, row.index if row else 0) for step in program_steps]
            scenes.put(program_steps[0].at, ("line", place), _line(place, values), own=True)
            for at, step in enumerate(program_steps):
                value = values[at]
                scenes.put(step.at, ("value", place), "" if value is None else number(value, 6), own=True)
                scenes.put(step.at, ("now", place), _now(place, values, at), own=True)
    out = scenes.word("over the steps", 0, 12, "side", 12)
    for place, name in enumerate(film.lines):
        q = _area(place)
        out += rect(q, "body") + text(0, q[1] + 19, name, "mono", 12)
        out += scenes.slot(("line", place)) + scenes.slot(("now", place))
        out += scenes.word(("value", place), RIGHT + 6, q[1] + 19, "side", 12)
    return out


def _held(step: Step, name: str, index: int) -> float | None:
    """The value after a step."""
    values = vector((step.later or step.event).state.get(name))
    return values[index] if values is not None and index < len(values) else None


def _area(place: int) -> Rect:
    return LEFT, TOP + place * 36 - 3, RIGHT - LEFT, 30.0


def _points(place: int, values: Sequence[float | None]) -> list[tuple[float, float] | None]:
    """The point of each step's value; None if it is not a number."""
    x, y, w, h = _area(place)
    finite = [v for v in values if v is not None and math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    if high == low:  # a line of one height, in the middle, however large the number is
        low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    step = w / max(len(values), 1)
    return [
        (x + (i + 0.5) * step, y + h - 3 - (h - 6) * (v - low) / (high - low))
        if v is not None and math.isfinite(v)
        else None
        for i, v in enumerate(values)
    ]


def _line(place: int, values: Sequence[float | None]) -> Markup:
    step = (RIGHT - LEFT) / max(len(values), 1)
    d, pen = "", False
    for point in _points(place, values):
        if point is not None:
            x, y = point
            d += f"{'L' if pen else 'M'}{pixels(x - step / 2)} {pixels(y)}h{pixels(step)}"
        pen = point is not None
    return path("course", d)


def _now(place: int, values: Sequence[float | None], at: int) -> Markup:
    q, point = _area(place), _points(place, values)[at]
    cursor = path("axis", line(q[0] + (at + 0.5) * q[2] / max(len(values), 1), q[1], 0, q[3]))
    return cursor + path("bar-now", block((point[0] - 3, point[1] - 3, 6, 6)) if point else "")
