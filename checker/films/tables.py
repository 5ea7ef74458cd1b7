"""What a film shows beside its stage: the source, the kernel's variables around each step, the bytes moved, the findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from checker.films.film_data import FilmData, Note
from checker.films.kernel_text import Variables, counts
from checker.films.scene import Scenes
from checker.films.svg import NOTHING
from checker.phrases import count, short
from checker.puzzle import Allowance
from checker.simulator.trace import Event
from checker.view.code import body_start, highlight
from checker.view.formats import number, size

Key = tuple[str, str]
STATE_ROWS = 8
"""Rows for variables that the puzzle does not name."""
ROOM = ((2, 2, 12_000), (1, 2, 12_000), (0, 2, 16_000), (0, 1, 26_000), (-1, 1, 26_000), (-1, 0, 0))
"""What is kept of variables, most first: the highest rank of unnamed and of named ones (2 for tiles, 1 for vectors, 0 for numbers)
and the most characters they may take. A kernel whose values need more moves on to the next."""


# ---- the kernel's text -------------------------------------------------------------------------------------------------


def source_listing(film: FilmData) -> tuple[str, int, list[tuple[int, Markup]]]:
    """The file or cell, the first line worth showing, and from there the learner's own line numbers and highlighted lines."""
    source, first = film.source, body_start(film.source.source)
    lines = [(source.locate(i)[1], html) for i, html in enumerate(highlight(source.source), 1) if i >= first]
    return source.locate(first)[0], first, lines


# ---- variables ---------------------------------------------------------------------------------------------------------


def state_table(film: FilmData, scenes: Scenes) -> list[tuple[str, str, Key, Key]]:
    """Put every step's values into `scenes`. Returns each row's name, words, and the slots of its values before and after a step."""
    loops = dict.fromkeys(name for s in film.steps for name, _ in s.event.loops)
    for step in film.steps:
        values = {"program": film.who(step)} | {f"loop {name}": str(value) for name, value in step.event.loops}
        for key in ("program", *(f"loop {name}" for name in loops)):
            scenes.put(step.at, ("state", key), values.get(key, ""), own=True)
    named = {n: w for n, w in film.puzzle.film.state.items() if not film.state or n != film.state.name}
    rows = [("program", "program", "")] + [(f"loop {name}", name, "loop") for name in loops]
    rows += [(name, name, named.get(name, "")) for name in _variables(film, named, scenes)]
    return [(name, words, ("state", key), ("then", key)) for key, name, words in rows]


def _variables(film: FilmData, named: Mapping[str, str], scenes: Scenes) -> list[str]:
    """Put what each variable holds before each step, and what is new after it. Returns their names, counters such as offsets last."""
    drawn = {film.state.name} if film.state else set()  # already on the stage
    variables = Variables(film.source.source)
    moments = [(variables.before(s.event), variables.after(s)) for s in film.steps]
    whole = {n for s in film.steps for n in s.event.state if counts(s.event.state, n)} - set(named)
    loops = {name for s in film.steps for name, _ in s.event.loops}
    seen = dict.fromkeys(n for before, after in moments for n in (*before, *after))
    others = sorted((n for n in seen if n not in named and n not in loops | drawn), key=lambda n: n in whole)
    names = [n for n in named if n in seen] + others
    texts: dict[int, Markup] = {}
    for unnamed, most, room in ROOM:
        rank = {n: most if n in named else unnamed for n in names}

        def fitting(values: Mapping[str, Any], rank: Mapping[str, int] = rank) -> dict[str, Markup]:
            fits = (n for n in rank if n in values and _rank(values[n]) <= rank[n])
            return {n: texts.setdefault(id(values[n]), _shown(values[n])) for n in fits}

        shown = [(fitting(before), fitting(after)) for before, after in moments]
        if not room or sum(map(len, {text for pair in shown for v in pair for text in v.values()})) <= room:
            break
    listed = [n for n in names if any(n in values for pair in shown for values in pair)][: STATE_ROWS + len(named)]
    for step, (before, after) in zip(film.steps, shown, strict=True):
        for name in listed:
            scenes.put(step.at, ("state", name), before.get(name, NOTHING), own=True)
            # of a tile, only one moment is shown: two would fill the table
            if name in after and (name not in before or _rank((step.later or step.event).state[name]) < 2):
                scenes.flash(step.at, ("then", name), after[name])
    return listed


def _rank(value: Any) -> int:
    return 0 if not isinstance(value, list) else 2 if value and isinstance(value[0], list) else 1


def _shown(value: Any) -> Markup:
    """As HTML. Large tiles are cut, and say so. The player puts a box around each number of a vector."""
    if not isinstance(value, list):
        return Markup.escape(_number(value))
    if _rank(value) == 1:
        return Markup("<span class=vector>{}</span>").format(_line(value))
    rows = [_line(row if isinstance(row, list) else [row]) for row in value[:8]] + ["…"] * (len(value) > 8)
    return NOTHING.join(map(Markup('<span class="vector line">{}</span>').format, rows))


def _line(values: Sequence[Any]) -> str:
    return " ".join([*map(_number, values[:16])] + ["…"] * (len(values) > 16))


def _number(value: Any) -> str:
    if isinstance(value, (int, float, np.number, np.bool_)):
        return number(value.item() if isinstance(value, np.generic) else value)
    return str(value)[:40]


# ---- bytes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meter:
    """What the launch loads or stores of one tensor: the `total`, what is `allowed` (-1 without a budget), and the tensor's size.

    All three are in bytes. `updates` counts the numbers that are updated atomically.
    """

    tensor: str
    stored: bool
    total: int
    allowed: int
    whole: int
    updates: int

    def counts(self, event: Event) -> bool:
        return event.tensor == self.tensor and (event.kind == "atomic" or (event.kind == "store") == self.stored)

    @property
    def name(self) -> str:
        return short(self.tensor)

    @property
    def over(self) -> bool:
        return 0 <= self.allowed < self.total

    @property
    def total_words(self) -> str:
        return f"{self.total:,} B"

    @property
    def words(self) -> str:
        """`` of 112 B; in the end 112 B, 1 pass``, to be read after the bytes so far."""
        passes = f"{self.total / self.whole:.2f}".rstrip("0").rstrip(".") if self.whole else ""
        parts = [
            f"in the end {size(self.total)}",
            f"{passes} pass{'' if self.total == self.whole else 'es'}" if passes else "",
            f"{size(self.total - self.allowed)} too many" if self.over else "",
            count(self.updates, "atomic update") if self.updates else "",
        ]
        return (f" of {size(self.allowed)}" if self.allowed >= 0 else "") + "; " + ", ".join(filter(None, parts))

    def percent(self, amount: int) -> str:
        """Of the bar's length; out of sight if there is no such amount."""
        return f"{100 * amount / max(self.allowed, self.total, 1):.2f}%" if amount >= 0 else "-9px"


def meters(film: FilmData, budget: Mapping[str, Allowance]) -> list[Meter]:
    """One for the loads and one for the stores of each tensor, wherever something moved or may move."""
    out = []
    sizes = {"float16": 2, "bfloat16": 2, "int64": 8, "float64": 8, "int8": 1, "bool": 1, "uint8": 1, "int16": 2}
    for t in film.layout.tensors:
        moved, may = film.trace.traffic.get(t.name), budget.get(t.name)
        item = sizes.get(t.dtype, 4)
        updates = sum(e.bytes for e in film.trace.events if e.kind == "atomic" and e.tensor == t.name) // item
        loaded = moved.loaded if moved else 0, may.loaded if may else 0
        stored = moved.stored if moved else 0, may.stored if may else 0
        for is_store, (total, allowed) in ((False, loaded), (True, stored)):
            if total or allowed:
                limit = allowed if budget else -1
                out.append(Meter(t.name, is_store, total, limit, math.prod(t.shape) * item, updates * is_store))
    return out


# ---- what went wrong ---------------------------------------------------------------------------------------------------


def listed_notes(film: FilmData) -> list[tuple[Note, str]]:
    """The findings below the film, each with a sentence about others like it."""
    silent = sum(not note.listed for note in film.notes)
    others = f" {count(silent, 'other program')} {'goes' if silent == 1 else 'go'} wrong too." if silent else ""
    return [(n, others if n.kind == "running value" else "") for n in film.notes if n.listed][:8]
