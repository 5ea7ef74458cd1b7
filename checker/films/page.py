"""The page of a film: a first frame that needs no script, and the data that plays it."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from checker.films.charts import charts
from checker.films.film_data import WRONG, FilmData, Filmed, array, film_data
from checker.films.flaws import Flaws
from checker.films.layout import PlacedTensor
from checker.films.legend import legend
from checker.films.scene import Scenes
from checker.films.stage import stage
from checker.films.tables import Meter, listed_notes, meters, source_listing, state_table
from checker.phrases import program_number, short
from checker.puzzle import Allowance, Case
from checker.simulator.trace import Trace
from checker.submission.kernel import KernelSource
from checker.view.formats import number
from checker.view.theme import asset, prose, render, style_element

KINDS = {"load": 0.5, "store": 1, "atomic": 1, "dot": 0.25}
"""Height of a step's bar on the time line."""
MOST_VALUES = 1024
"""Of a tensor whose elements tell their value when they are clicked."""
SHORT, TALLEST, LEGIBLE = 260, 525, 0.82
"""Pixels. Beside a state panel, a stage up to `SHORT` has its source below it; a taller one has it beside it, and is
shrunk towards `TALLEST`, but never below `LEGIBLE` of its size: letters of 11 pixels become 9."""


def film_html(
    trace: Trace,
    puzzle: Filmed,
    source: KernelSource,
    *,
    case: Case | None = None,
    budget: Mapping[str, Allowance] | None = None,
    title: str = "",
    values: Mapping[str, Any] | None = None,
    flaws: Flaws | None = None,
) -> str:
    """One self-contained HTML fragment with static SVG, style, data and player. It needs no server and survives saving.

    `trace` must hold events (``SimulateOptions(events=True, state=True)``). `case` is the case that ran, by default the film's own.
    `budget` is what the puzzle allows for it, ``puzzle.budget(case)``; without it the bars only count. `values` are tensors or
    arrays by parameter, inputs as they were and outputs as the kernel left them. Small ones are written into the cells, outputs at
    the step that stores them last. With `flaws` the film says above its stage that the kernel does not pass, and marks the wrong
    elements.
    """
    title = title or f"{puzzle.title}: the film of {source.kernel}"
    if not trace.events:
        words = "There is nothing to show: the kernel neither loads nor stores anything."
        page = Markup('<div class="tbt-film"><div class="title">{}</div><p>{}</p>{}</div>')
        return str(page.format(title, words, _style()))
    film = film_data(trace, puzzle, source, case or puzzle.film.case, values or {}, flaws)
    scenes = Scenes([s.program for s in film.steps])
    _captions(film, scenes)
    picture, state, bytes_ = stage(film, scenes), state_table(film, scenes), meters(film, budget or {})
    width, height = film.layout.width, film.layout.height
    panels, (place, first_line, lines) = charts(film, scenes), source_listing(film)
    names = [program_number(p, trace.grid) for p in film.programs]
    page = render(
        "checker.films/film.html",
        film=film,
        title=title,
        style=_style(),
        width=round(width),
        height=round(height),
        fit=round(width * min(1.0, max(TALLEST / height, LEGIBLE))),
        short=height <= SHORT,
        charts_below=height > SHORT and not film.diagram.down,
        verdict=prose(flaws.verdict) if flaws else "",
        wrong=next((note for note in film.notes if note.kind == WRONG), None),
        alarms=any(map(film.alarm, film.steps)),
        silent=not any(map(film.change, film.steps)),
        scenes=scenes,
        stage=picture,
        charts=panels,
        names=names,
        programs=[("-1", "all programs"), *((i, f"program {name}") for i, name in enumerate(names))],
        legend=legend(film, any(scenes.together)),
        meters=bytes_,
        budgeted=bool(budget),
        notes=listed_notes(film),
        place=place,
        first_line=first_line,
        lines=lines,
        state=state,
        data=_packed(_data(film, scenes, bytes_, names, values or {})),
        player=Markup(asset("checker.films", "player.js")),  # noqa: S704 (ours)
    )
    return scenes.filled(page)


def film_document(html: str, title: str) -> str:
    """A whole page around a film (or a card), for a browser. Its keys work without a click."""
    page = Markup(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<title>{}</title><style>:root{{color-scheme:light dark}}body{{max-width:1880px;margin:24px auto;padding:0 12px;"
        "background:#f0f2f4}}@media(prefers-color-scheme:dark){{body{{background:#0d0f12}}}}</style></head>"
        "<body>{}<script>document.querySelector('.tbt-film')?.focus({{ preventScroll: true }})</script></body></html>\n"
    )
    return str(page.format(title, Markup(html)))  # noqa: S704 (made by `film_html`)


def linked(*films: str) -> str:
    """Films of the same data beside each other if there is room for their stages, else below each other, with one play button and one time line for all of them."""
    controls = asset("checker.films", "controls.css")
    page = render(
        "checker.films/linked.html",
        number=len(films),
        style=style_element("tbt-linked", f"{asset('checker.films', 'linked.css')}.tbt-linked{{{controls}}}"),
        films=Markup("").join(map(Markup, films)),
        player=Markup(asset("checker.films", "linked.js")),  # noqa: S704 (ours)
    )
    return str(page)


def card_film(words: str, film: str) -> Markup:
    """A film below a card, behind a button that opens it."""
    page = Markup('<details class="tbt-fold">{}<summary>▶ {}</summary>{}</details>')
    return page.format(style_element("tbt-fold", asset("checker.films", "fold.css")), words, Markup(film))  # noqa: S704 (made by `film_html`)


def _style() -> Markup:
    film, *inside = (asset("checker.films", f"{name}.css") for name in ("film", "controls", "shapes"))
    return style_element("tbt-film", f"{film}.tbt-film{{{''.join(inside)}}}")


def _captions(film: FilmData, scenes: Scenes) -> None:
    """The lines above the stage, at every step."""
    badge = Markup('<span class="kind {}">{}</span>')
    for step in film.steps:
        kind, what = step.event.kind, short(step.event.tensor) + (step.tile.label if step.tile else "")
        if kind == "dot":
            what = film.product(step) or "multiplies two tiles on chip"
        scenes.put(step.at, "kind", badge.format(kind, "tl.dot" if kind == "dot" else kind), own=True)
        scenes.put(step.at, "what", what, own=True)
        scenes.put(step.at, "facts", film.facts(step), own=True)
        scenes.put(step.at, "sentence", film.sentence(step), own=True)
        scenes.put(step.at, "change", film.change(step), own=True)
        scenes.flash(step.at, "alarm", film.alarm(step))


# ---- for the player ----------------------------------------------------------------------------------------------------


def _packed(data: Any) -> str:
    """The data as JSON, compressed, in letters that need no escape: most of it is pictures that resemble each other."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _data(
    film: FilmData, scenes: Scenes, bytes_: Sequence[Meter], names: Sequence[str], values: Mapping[str, Any]
) -> dict[str, Any]:
    """``steps``: ``[program, kind, line, [meter, bytes, …], changes, changes while all programs are shown, tile]``, as in `Scenes.data`.

    A tile is ``[tensor, slice, box, active boxes, what masked lanes hold]``, or None.
    """
    kinds, (changed, changes), steps = list(KINDS), scenes.data(), []
    numbers = {t.name: i for i, t in enumerate(film.layout.tensors)}
    for step, (own, together) in zip(film.steps, changes, strict=True):
        event, tile = step.event, step.tile
        counts = [i for i, meter in enumerate(bytes_) if event.bytes and meter.counts(event)]
        moved = [n for i in counts for n in (i, event.bytes)]
        holds = "" if event.filler is None else number(event.filler)
        lanes = [numbers[event.tensor], tile.slice, tile.box, tile.touched, holds] if tile else None
        steps.append([step.program, kinds.index(event.kind), event.line, moved, own, together, lanes])
    return {
        "steps": steps,
        "values": changed,
        "own": sorted(scenes.own),
        "kinds": list(KINDS.items()),
        "programs": names,
        "notes": [[n.at, f"{n.kind}, step {n.at + 1}", n.message] for n in film.notes if n.at is not None],
        "tensors": [_lanes(film, t, values.get(t.name)) for t in film.layout.tensors],
    }


def _lanes(film: FilmData, t: PlacedTensor, values: Any) -> dict[str, Any]:
    """Where the elements of a tensor are on the stage and in memory, for clicks; `values` if there are few."""
    held = array(values).reshape(-1) if values is not None else ()
    return {
        "name": t.name,
        "short": short(t.name),
        "at": [t.x, t.y, t.ux, t.uy],
        "turned": t.transposed,
        "drawn": [t.r0, t.r1, t.c0, t.c1],
        "plane": [t.rows, t.cols],
        "shape": [] if t.plane.blocks[0] else t.shape,
        "strides": film.trace.tensors[t.name].strides,
        "values": [number(v.item(), 5) for v in held] if len(held) <= MOST_VALUES else [],
        "written": t.name in film.written,
    }
