"""The film of a kernel: one HTML fragment that shows, moment by moment, which program touches which tile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from checker.puzzle import Allowance, Case, Puzzle
from checker.simulator.trace import Trace
from checker.submission.kernel import KernelSource
from checker.view import minify
from checker.view.film_build import build
from checker.view.film_model import Film
from checker.view.film_tables import source_listing, state_table, traffic_bars
from checker.view.film_words import caption, notes, sentence, summary_of
from checker.view.legend import legend
from checker.view.packing import packed
from checker.view.stage_svg import miniature, stage
from checker.view.theme import asset, escape, script_json, style

PARTS = {
    "writeCells": "film_cells.js",
    "alarms": "film_alarms.js",
    "atomics": "film_atomic.js",
    "drawSides": "film_sides.js",
    "drawScores": "film_scores.js",
    "drawStates": "film_carried.js",
}


def film_html(
    trace: Trace,
    puzzle: Puzzle,
    source: KernelSource,
    *,
    case: Case | None = None,
    budget: Mapping[str, Allowance] | None = None,
    title: str = "",
    values: Mapping[str, Any] | None = None,
) -> str:
    """One self-contained HTML fragment: static SVG, style, data and player. Needs no server and survives saving.

    `trace` must hold events (``SimulateOptions(events=True, state=True)``). `case` is what was run, the film's
    own if not given. `budget` is the rung's allowance for it, ``puzzle.budget(case)``; without it the bars only count. `values` are tensors or arrays by parameter,
    inputs as they were and outputs as the kernel left them; small ones are written into the cells. Output values appear
    at the moment of their last store.
    """
    film = build(
        trace, puzzle.film, case or puzzle.film.case, values or {}, budget or {}, puzzle.outputs, source.source
    )
    title = title or f"{puzzle.title}: the film of {source.kernel}"
    if not film.moments:
        text = "There is nothing to show: the kernel neither loads nor stores anything."
        page = f'<div class="head"><span class="title">{escape(title)}</span></div><p>{text}</p>'
        return f'<div class="tbt-film">{style("tbt-film", "film.css", page=page)}{page}</div>'
    summary = summary_of(film, trace)
    low = (
        puzzle.film.scores is None and puzzle.film.carried is None
    )  # a low stage leaves room below it, the square of scores does not
    label = f"Film: {puzzle.title}. {summary} Space plays and pauses, the arrow keys step, Home and End jump."
    page = (
        f'<div class="head"><span class="title">{escape(title)}</span><span class="sub">{escape(summary)}</span></div>'
        + '<div class="cols"><div class="left">'
        + caption(film.moments[0], film, trace)
        + stage(film, 0, sentence(film.moments[0], film, trace))
        + legend(film)
        + '<div class="controls"></div>'
        + (traffic_bars(film) if low else "")
        + _strip(film, trace)
        + notes(film)
        + '</div><div class="right">'
        + source_listing(film, source)
        + state_table(film)
        + ("" if low else traffic_bars(film))
        + "</div></div>"
        + f'<script type="application/json">{script_json(packed(film.data))}</script>'
        + f"<script>{_player(film)}</script></div>"
    )
    return (
        f'<div class="tbt-film tf" tabindex="0" role="group" data-lm-suppress-shortcuts="true" aria-label="{escape(label)}">'
        + style("tbt-film", "film.css", page=page, alias="tf")
        + page
    )


def film_document(html: str, title: str) -> str:
    """A whole page around a film (or a card), for opening in a browser."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>:root{{color-scheme:light dark}}body{{max-width:1260px;margin:24px auto;padding:0 12px;"
        "background:#f0f2f4}@media(prefers-color-scheme:dark){body{background:#0d0f12}}</style></head>"
        f"<body>{html}</body></html>\n"
    )


def _player(film: Film) -> str:
    """The script, with the parts that this film needs."""
    atomics = any(m.event.kind == "atomic" for m in film.moments)
    parts = {
        "alarms": film.data["findings"] or any(m.event.out_of_bounds for m in film.moments),
        "writeCells": any(film.data["cells"]),
        "atomics": atomics,
        "drawSides": film.sides,
        "drawScores": film.visits,
        "drawStates": film.states,
    }
    return _script(tuple(name for name, needed in parts.items() if needed))


@cache
def _script(parts: tuple[str, ...]) -> str:
    script = asset("film.js")
    for name in parts:
        script = script.replace(f"const {name} = null;", asset(PARTS[name]))
    return minify.script(script)


def side_by_side(*films: str) -> str:
    """Films (or cards) next to one another where there is room, below one another where there is not."""
    columns = "repeat(auto-fit,minmax(min(520px,100%),1fr))"
    return (
        f'<div style="display:grid;grid-template-columns:{columns};gap:12px;align-items:start">{"".join(films)}</div>'
    )


def _strip(film: Film, trace: Trace) -> str:
    last = len(film.moments) - 1
    parts = (0.35, 0.7, 1.0) if film.states else (0.25, 0.5, 0.75, 1.0)
    picks = sorted({round(last * part) for part in parts} - {0})
    frames = []
    for k in picks:
        words = sentence(film.moments[k], film, trace)
        frames.append(
            f"<figure>{miniature(film, k)}<figcaption>{k + 1} of {last + 1}. {escape(words)}</figcaption></figure>"
        )
    return f'<div class="strip">{"".join(frames)}</div>' if frames else ""
