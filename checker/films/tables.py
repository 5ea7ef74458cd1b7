"""What is shown beside the stage: the source, the kernel's variables before and after a step, the bytes moved, what went wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from checker.films.film_data import FilmData
from checker.films.kernel_text import Variables, counts
from checker.films.scene import Scenes, Stage
from checker.films.svg import NOTHING
from checker.puzzle import Allowance
from checker.view.code import body_start, highlight
from checker.view.formats import count, number, short, size

HIDDEN = Markup(" hidden")
STATE_ROWS = 8
"""Rows for variables that the puzzle does not name."""
ROOM = ((2, 2, 12_000), (1, 2, 12_000), (0, 2, 16_000), (0, 1, 26_000), (-1, 1, 26_000), (-1, 0, 0))
"""What is kept of variables, most first: the highest rank of unnamed and of named ones, 2 for tiles, 1 for vectors, 0 for
numbers, and the characters that they may take; what needs more goes on to the next."""


# ---- the kernel's text -------------------------------------------------------------------------------------------------


def source_listing(film: FilmData) -> Markup:
    """The learner's lines, the one of the first step marked."""
    source, current, lines = film.source, film.steps[0].event.line, []
    first = body_start(source.source)
    for i, html in enumerate(highlight(source.source), 1):
        if i >= first:
            name = Markup(" class=current") if i == current else ""
            lines.append(Markup("<span{}><i>{}</i>{}\n</span>").format(name, source.locate(i)[1], html))
    page = Markup(
        '<h4>{}</h4><pre class="source" tabindex="0" data-first="{}" aria-label="Source of the kernel">{}</pre>'
    )
    return page.format(source.locate(first)[0], first, NOTHING.join(lines).rstrip("\n"))


# ---- variables ---------------------------------------------------------------------------------------------------------


def state_table(film: FilmData, scenes: Scenes) -> list[tuple[str, str, str]]:
    """Set every step's values, before it and after it; the rows ``(key, name, words)`` of the table."""
    loops = dict.fromkeys(name for s in film.steps for name, _ in s.event.loops)
    for step in film.steps:
        values = {"program": film.who(step)} | {f"loop {name}": str(value) for name, value in step.event.loops}
        for key in ("program", *(f"loop {name}" for name in loops)):
            scenes.put(step.at, ("state", key), values.get(key, ""), own=True)
    named = {n: w for n, w in film.puzzle.film.state.items() if not film.state or n != film.state.name}
    rows = [("program", "program", "")] + [(f"loop {name}", name, "loop") for name in loops]
    return rows + _variables(film, named, scenes)


def _variables(film: FilmData, named: Mapping[str, str], scenes: Scenes) -> list[tuple[str, str, str]]:
    """What holds before each step, and what is new after it; those that count, such as offsets, come last."""
    drawn = {film.state.name} if film.state else set()  # on the stage, and not in the table too
    variables = Variables(film.source.source)
    moments = [(variables.before(s.event), variables.after(s)) for s in film.steps]
    whole = {n for s in film.steps for n in s.event.state if counts(s.event.state, n)} - set(named)
    loops = {name for s in film.steps for name, _ in s.event.loops}
    texts: dict[int, Markup] = {}
    for unnamed, most, room in ROOM:
        seen = dict.fromkeys(n for before, after in moments for n in (*before, *after))
        others = sorted((n for n in seen if n not in named and n not in loops | drawn), key=lambda n: n in whole)
        names = [n for n in named if n in seen] + others

        def kept(values: Mapping[str, Any], names: Sequence[str] = names, unnamed: int = unnamed, most: int = most) -> dict[str, Markup]:  # fmt: skip
            fits = (n for n in names if n in values and _rank(values[n]) <= (most if n in named else unnamed))
            return {n: texts.setdefault(id(values[n]), _shown(values[n])) for n in fits}

        shown = [(kept(before), kept(after)) for before, after in moments]
        there = [n for n in names if any(n in values for pair in shown for values in pair)]
        if not room or sum(map(len, {text for pair in shown for values in pair for text in values.values()})) <= room:
            break
    there = there[: STATE_ROWS + len(named)]
    for step, (before, after) in zip(film.steps, shown, strict=True):
        for name in there:
            scenes.put(step.at, ("state", name), before.get(name, NOTHING), own=True)
            # of tiles only one moment is shown: two would fill the table
            if name in after and (name not in before or _rank((step.later or step.event).state[name]) < 2):
                scenes.flash(step.at, ("then", name), after[name])
    return [(name, name, named.get(name, "")) for name in there]


def _rank(value: Any) -> int:
    return 0 if not isinstance(value, list) else 2 if value and isinstance(value[0], list) else 1


def _shown(value: Any) -> Markup:
    """As HTML; large tiles are cut, and say so. The player puts a box around each number of a vector."""
    if not isinstance(value, list):
        return Markup.escape(_number(value))
    line = Markup("<span class={}>{}</span>")
    if _rank(value) == 1:
        return line.format("vector", " ".join([*map(_number, value[:16])] + ["…"] * (len(value) > 16)))
    rows = [" ".join([*map(_number, r[:16] if isinstance(r, list) else [r])] + ["…"] * (isinstance(r, list) and len(r) > 16)) for r in value[:8]]  # fmt: skip
    return NOTHING.join(line.format(Markup('"vector line"'), r) for r in rows + ["…"] * (len(value) > 8))


def _number(value: Any) -> str:
    if isinstance(value, (int, float, np.number, np.bool_)):
        return number(value.item() if isinstance(value, np.generic) else value)
    return str(value)[:40]


def state_html(rows: Sequence[tuple[str, str, str]], stage: Stage) -> Markup:
    """The table at a step. A row is hidden while it is empty."""
    row = Markup(
        '<tr data-hide{}><th scope="row">{}{}</th><td><span data-s="{}">{}</span>'
        '<span data-hide class="later"{}><span class="then">→</span><span data-s="{}">{}</span></span></td></tr>'
    )
    plain = Markup('<tr data-hide{}><th scope="row">{}{}</th><td data-s="{}">{}</td></tr>')
    out, slot = [], stage.scenes.numbers
    for key, name, words in rows:
        now, then = stage.html(("state", key)) if ("state", key) in slot else "", ""
        small = Markup("<small>{}</small>").format(words) if words else ""
        number_ = stage.scenes.number(("state", key), own=True)
        if ("then", key) in slot:
            then = stage.html(("then", key))
            hidden, late = (NOTHING if shown else HIDDEN for shown in (now or then, then))
            out.append(row.format(hidden, name, small, number_, now, late, slot["then", key], then))
        else:
            out.append(plain.format(NOTHING if now else HIDDEN, name, small, number_, now))
    page = Markup(
        '<div class="now"><h4>state before this step → after it</h4><div class="stateBox"><table class="state">{}</table></div></div>'
    )
    return page.format(NOTHING.join(out))


# ---- bytes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meter:
    """What the whole launch loads or stores of one tensor: `total`, what is `allowed` (-1 if nothing is said), bytes of the tensor.

    `updates` counts numbers updated atomically, of `item` bytes each.
    """

    tensor: str
    stored: bool
    total: int
    allowed: int
    whole: int
    updates: int
    item: int

    def counts(self, tensor: str, kind: str) -> bool:
        return tensor == self.tensor and (kind == "atomic" or (kind == "store") == self.stored)


def meters(film: FilmData, budget: Mapping[str, Allowance]) -> list[Meter]:
    """Of everything that moved or may move."""
    out = []
    sizes = {"float16": 2, "bfloat16": 2, "int64": 8, "float64": 8, "int8": 1, "bool": 1, "uint8": 1, "int16": 2}
    for t in film.layout.tensors:
        moved, may = film.trace.traffic.get(t.name), budget.get(t.name)
        item = sizes.get(t.dtype, 4)
        updates = sum(e.bytes for e in film.trace.events if e.kind == "atomic" and e.tensor == t.name) // item
        for stored, total, allowed in (
            (False, moved.loaded if moved else 0, may.loaded if may else 0),
            (True, moved.stored if moved else 0, may.stored if may else 0),
        ):
            if total or allowed:
                out.append(Meter(t.name, stored, total, allowed if budget else -1, math.prod(t.shape) * item, updates if stored else 0, item))  # fmt: skip
    return out


def _passes(meter: Meter) -> str:
    if not meter.whole:
        return ""
    times = f"{meter.total / meter.whole:.2f}".rstrip("0").rstrip(".")
    return f", {times} pass{'' if meter.total == meter.whole else 'es'}"


def _percent(part: float) -> str:
    return f"{100 * part:.2f}".rstrip("0").rstrip(".") + "%"


def meters_html(listed: Sequence[Meter]) -> Markup:
    """What the whole launch loads and stores of each tensor, against the puzzle's budget."""
    row = Markup(
        '<div class="row{}{}" data-meter="{} {} {} {} {}"><span class="what2"><b>{}</b> <small>{}</small></span>'
        '<span class="bar" style="--moved:{};--budget:{}"></span> <span class="words">{}</span></div>'
    )
    rows = []
    for m in listed:
        limit, over = max(m.allowed, m.total, 1), 0 <= m.allowed < m.total
        words = size(m.total) + (f" of {size(m.allowed)}" if m.allowed >= 0 else "") + _passes(m)
        words += f": {size(m.total - m.allowed)} too many" if over else ""
        words += f", {count(m.updates, 'atomic update')}" if m.updates else ""
        rows.append(
            row.format(
                " stored" if m.stored else "", " over" if over else "", m.total, m.allowed, m.whole, m.item if m.updates else 0, int(m.stored),
                short(m.tensor), "stored" if m.stored else "loaded",
                _percent(m.total / limit), _percent(m.allowed / limit) if m.allowed >= 0 else "-9px", words,
            )
        )  # fmt: skip
    page = Markup('<div class="traffic"><h4 class="measure">bytes so far, against the budget</h4>{}</div>')
    return page.format(NOTHING.join(rows))


# ---- what went wrong ---------------------------------------------------------------------------------------------------


def notes_html(film: FilmData) -> Markup:
    """The findings below the film; each that belongs to a step is a button that leads there."""
    plain = Markup('<li><div class="finding">{}</div></li>')
    leading = Markup('<li><button type="button" data-at="{}" class="finding">{}</button></li>')
    rows = []
    silent = sum(not note.listed for note in film.notes)
    for note in [n for n in film.notes if n.listed][:8]:
        more = ""
        if note.kind == "running value" and silent:
            more = f" {count(silent, 'other program')} {'goes' if silent == 1 else 'go'} wrong too."
        text = Markup("<b>⚠ {}</b> {}{}").format(note.kind, note.message, more)
        rows.append(plain.format(text) if note.at is None else leading.format(note.at, text))
    return Markup('<ul class="findings">{}</ul>').format(NOTHING.join(rows)) if rows else NOTHING
