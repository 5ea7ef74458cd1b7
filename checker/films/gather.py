"""Pages as they lie in memory, and arrows to them from the entries of the table that a kernel reads."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from checker.films.diagram import Gather
from checker.films.film_data import FilmData, elements
from checker.films.scene import Scenes
from checker.films.steps import Step
from checker.films.svg import NOTHING, Rect, line, path, rect, rects, text
from checker.phrases import join, short

HEAD = 4.0  # length of an arrow's head


def gather(film: FilmData, drawn: Gather, whole: Rect, scenes: Scenes) -> Markup:
    """The pages side by side, the numbers in the table, and what each step reads of both."""
    shape = film.trace.tensors[drawn.pages[0]].shape
    x, y, w, h = whole
    wide = w / shape[0]
    pages = [(x + page * wide, y, wide, h) for page in range(shape[0])]
    each = math.ceil(18 / wide)  # as many numbers as there is room for
    numbered = (
        text(x + (page + 0.5) * wide, y + h / 2 + 4, str(page), "side", 11, "middle")
        for page in range(0, len(pages), each)
    )
    of = f"pages of {join([short(name) for name in drawn.pages])}, in memory"
    arrows, entries = _arrows(film, drawn, pages, scenes), _numbers(film, drawn)
    slots = _slots(film, drawn, pages, scenes)
    out = rect(whole, "body") + slots + rects(pages, "frame") + NOTHING.join(numbered)
    return entries + arrows + out + text(x + w, y + h + 12, of, "about", 11, "end")


def _numbers(film: FilmData, drawn: Gather) -> Markup:
    """The number in each entry of the table, or dots where it is too long."""
    table, out = film.layout.tensor(drawn.table), NOTHING
    for i, value in enumerate([] if film.entries is None else film.entries.reshape(-1).tolist()):
        x, y, w, h = table.place((i // table.cols, i // table.cols + 1, i % table.cols, i % table.cols + 1))
        words = str(value) if 6.6 * len(str(value)) < w - 2 else "…"
        out += text(x + w / 2, y + h / 2 + 4, words, "side", 11, "middle")
    return out


def _arrows(film: FilmData, drawn: Gather, pages: Sequence[Rect], scenes: Scenes) -> Markup:
    """Thin arrows from all entries that some step reads, and thick ones from those that this step reads."""
    table, read = film.layout.tensor(drawn.table), dict[int, str]()
    numbers = [] if film.entries is None else film.entries.reshape(-1).tolist()
    for step in (s for s in film.steps if s.loads(drawn.table)):
        now = {}
        for i in elements(table, step):
            if i < len(numbers) and 0 <= numbers[i] < len(pages):
                x, y, w, h = table.place((i // table.cols, i // table.cols + 1, i % table.cols, i % table.cols + 1))
                now[i] = _arrow(x + w / 2, y + h + 2, pages[numbers[i]])
        read |= now
        scenes.flash(step.at, "leading", path("leading", "".join(now.values())))
    return path("leads", "".join(read.values())) + scenes.slot("leading")


def _arrow(x: float, y: float, page: Rect) -> str:
    """Path data of an arrow down to the middle of a page's upper edge."""
    dx, dy = page[0] + page[2] / 2 - x, page[1] - 2 - y
    angle = math.atan2(dy, dx)
    sides = ((HEAD * math.cos(angle + turn), HEAD * math.sin(angle + turn)) for turn in (2.6, -2.6))
    return line(x, y, dx, dy) + "".join(line(x + dx, y + dy, *side) for side in sides)


def _slots(film: FilmData, drawn: Gather, pages: Sequence[Rect], scenes: Scenes) -> Markup:
    """The slots of pages that a step loads, and those that were loaded before."""
    slots = film.trace.tensors[drawn.pages[0]].shape[-2]
    used = dict[tuple[object, ...], None]()
    for step in (s for s in film.steps if s.event.tensor in drawn.pages):
        boxes = []
        for page, (first, last) in _touched(film, step).items():
            x, y, w, h = pages[page]
            boxes.append((x + w * first / slots, y, w * (last + 1 - first) / slots, h))
            key = ("slots", page, first, last)
            used[key] = None
            scenes.put(step.at, key, rect(boxes[-1], "seen load"))
        scenes.flash(step.at, "pages", rects(boxes, "fill load|edge load"))
    return NOTHING.join(map(scenes.slot, used)) + scenes.slot("pages")


def _touched(film: FilmData, step: Step) -> dict[int, tuple[int, int]]:
    """The first and the last slot that a step touches, by page."""
    tile, shape = step.event.tile, film.trace.tensors[step.event.tensor].shape
    if tile is None or tile.active is None:
        return {}
    if tile.elements is None:
        first, last = tile.active[-2]
        return dict.fromkeys(range(*tile.active[0]), (first, last - 1))
    at = np.unravel_index(np.array(tile.elements, dtype=np.int64), shape)
    slots: dict[int, list[int]] = defaultdict(list)
    for page, slot in zip(at[0].tolist(), at[-2].tolist(), strict=True):
        slots[page].append(slot)
    return {page: (min(of), max(of)) for page, of in slots.items()}
