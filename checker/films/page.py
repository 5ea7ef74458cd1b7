"""The page of a film: its first frame without a script, a strip of small later ones, and the data that it is played from."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from checker.films.charts import Chart, charts
from checker.films.film_data import WRONG, FilmData, film_data
from checker.films.flaws import Flaws
from checker.films.legend import legend
from checker.films.scene import Change, Part, Scenes, Stage, Values
from checker.films.stage import stage
from checker.films.steps import program_name
from checker.films.svg import NOTHING, Text, small, text
from checker.films.tables import Meter, meters, meters_html, notes_html, source_listing, state_html, state_table
from checker.puzzle import Allowance, Case, Puzzle
from checker.simulator.trace import Trace
from checker.submission.kernel import KernelSource
from checker.view.formats import short
from checker.view.theme import asset, prose, style_element

KINDS = {"load": 0.5, "store": 1, "atomic": 1, "dot": 0.25}
"""How high the bar of a step is on the time line."""
SPEEDS = {"0.5": "½×", "1": "1×", "2": "2×", "4": "4×"}


def film_html(
    trace: Trace,
    puzzle: Puzzle,
    source: KernelSource,
    *,
    case: Case | None = None,
    budget: Mapping[str, Allowance] | None = None,
    title: str = "",
    values: Mapping[str, Any] | None = None,
    flaws: Flaws | None = None,
) -> str:
    """One self-contained HTML fragment: static SVG, style, data and player. Needs no server and survives saving.

    `trace` must hold events (``SimulateOptions(events=True, state=True)``). `case` is what was run, the film's
    own if not given. `budget` is what the puzzle allows for it, ``puzzle.budget(case)``; without it the bars only count.
    `values` are tensors or arrays by parameter, inputs as they were and outputs as the kernel left them; small ones are
    written into the cells. Output values appear at the moment of their last store. `flaws`: the kernel does not pass, which the
    film says above its stage, and these elements are wrong.
    """
    title = title or f"{puzzle.title}: the film of {source.kernel}"
    if not trace.events:
        text = "There is nothing to show: the kernel neither loads nor stores anything."
        page = Markup('<div class="tbt-film"><div class="head"><span class="title">{}</span></div><p>{}</p>{}</div>')
        return str(page.format(title, text, _style()))
    film = film_data(trace, puzzle, source, case or puzzle.film.case, values or {}, flaws)
    scenes = Scenes([s.program for s in film.steps])
    _captions(film, scenes)
    parts, rows, bytes_ = stage(film, scenes), state_table(film, scenes), meters(film, budget or {})
    panels = charts(film, scenes)
    first = Stage(scenes, 0)
    # a low stage leaves room below it, the square of scores does not
    low = not film.diagram.down
    drawn, bars = _charts(panels, first), meters_html(bytes_)
    label = f"Film: {puzzle.title}. {film.summary()} Space plays and pauses, the arrow keys step, Home and End jump."
    page = Markup(
        '<div class="tbt-film" tabindex="0" role="group" data-lm-suppress-shortcuts="true" aria-label="{}" style="--stage:{}px">{}'
        '<div class="head"><span class="title">{}</span><span class="sub">{}</span></div>{}'
        '<div class="cols"><div class="left">{}</div><div class="right code">{}</div><div class="right">{}</div></div>'
        '<script type="application/json">{}</script><script>{}</script></div>'
    )
    left = [_caption(first, any(map(film.alarm, film.steps))), _stage(film, parts, first), drawn if low else "", _controls(film), legend(film, any(scenes.together))]  # fmt: skip
    left += [bars if low else "", _strip(film, parts, scenes), notes_html(film)]
    right = ["" if low else drawn, state_html(rows, first), "" if low else bars]
    data = Markup(_json(_data(film, scenes, bytes_)))  # noqa: S704 (no "<" is left in it)
    player = Markup(asset("checker.films", "player.js"))  # noqa: S704 (ours)
    return str(
        page.format(
            label, round(film.layout.width), _style(), title, film.summary(), _verdict(film),
            NOTHING.join(left), source_listing(film), NOTHING.join(right), data, player,
        )
    )  # fmt: skip


FRAMES, PACE = 60, 0.9
"""Of a moving picture: how many at most, and seconds for each."""


def film_svg(
    trace: Trace,
    puzzle: Puzzle,
    source: KernelSource,
    *,
    case: Case | None = None,
    title: str = "",
    values: Mapping[str, Any] | None = None,
    flaws: Flaws | None = None,
) -> str:
    """The stage as one animated SVG, for a message or a page; what it takes is as in `film_html`.

    Of more than FRAMES steps it shows every second one, or third. Where nothing moves, it shows its first frame.
    """
    film = film_data(trace, puzzle, source, case or puzzle.film.case, values or {}, flaws)
    scenes = Scenes([s.program for s in film.steps])
    parts, every = stage(film, scenes), -(-len(film.steps) // FRAMES)
    frames = NOTHING
    for i, step in enumerate(film.steps[::every]):
        lines = [film.sentence(step), *textwrap.wrap(film.change(step), 88)]
        words = NOTHING.join(text(Text(8, 44 + 18 * line, words, "side", 12)) for line, words in enumerate(lines))
        hidden = Markup(' visibility="hidden"') if i else NOTHING
        frame = Markup('<g class="frame-of-film" style="animation-delay:{:.1f}s"{}>{}<g transform="translate(0 88)">{}</g></g>')  # fmt: skip
        frames += frame.format(i * PACE, hidden, words, Stage(scenes, step.at).pictures(parts))
    shown, w = len(film.steps[::every]), max(round(film.layout.width), 480)
    h = round(film.layout.height) + 92
    style = (
        f".frame-of-film{{animation:film {shown * PACE:.1f}s step-end infinite}}"
        f"@keyframes film{{0%{{visibility:visible}}{100 / shown:.3f}%,100%{{visibility:hidden}}}}"
        "@media(prefers-reduced-motion:reduce){.frame-of-film{animation:none}}"
    )
    page = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}" fill="none" font-family="system-ui,sans-serif" role="img">'
        '<title>{}</title><style>{}</style><rect width="{}" height="{}" fill="#fff"/>{}{}</svg>\n'
    )
    name = title or f"{puzzle.title}: the film of {source.kernel}"
    verdict = f" · {film.flaws.verdict}" if film.flaws else ""
    head = text(Text(8, 22, name + verdict, "name", 13))
    return re.sub(r' data-(?:s|fade|choose)="\d+"', "", str(page.format(w, h, w, h, name, style, w, h, head, frames)))


def film_document(html: str, title: str) -> str:
    """A whole page around a film (or a card), for opening in a browser. Its keys work without a click."""
    page = Markup(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<title>{}</title><style>:root{{color-scheme:light dark}}body{{max-width:1880px;margin:24px auto;padding:0 12px;"
        "background:#f0f2f4}}@media(prefers-color-scheme:dark){{body{{background:#0d0f12}}}}</style></head>"
        "<body>{}<script>document.querySelector('.tbt-film')?.focus({{ preventScroll: true }})</script></body></html>\n"
    )
    return str(page.format(title, Markup(html)))  # noqa: S704 (made by `film_html`)


def side_by_side(*films: str) -> str:
    """Films (or cards) next to one another where there is room for their stages, below one another where there is not."""
    page = Markup('<div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start">{}</div>')
    return str(page.format(NOTHING.join(map(Markup, films))))


def linked(*films: str) -> str:
    """Films of the same data side by side, with one play button and one time line for all of them."""
    buttons = [_button("back", "One step back"), _button("play", "Play"), _button("next", "One step on")]
    page = Markup(
        '<div class="tbt-linked" role="group" aria-label="{} films that play together" data-lm-suppress-shortcuts="true">{}'
        '<div class="together"><div class="lanes"></div><input class="scrub" type="range" min="0" value="0" aria-label="Moment of all films">'
        '<div class="buttons">{}<span class="clock"></span>{}</div></div>{}<script>{}</script></div>'
    )
    style = style_element("tbt-linked", asset("checker.films", "linked.css"))
    script = Markup(asset("checker.films", "linked.js"))  # noqa: S704 (ours)
    beside = Markup(side_by_side(*films))  # noqa: S704 (made by `film_html`)
    return str(
        page.format(len(films), style, NOTHING.join(buttons), _listed("speed", "Speed", SPEEDS, "1"), beside, script)
    )


def card_film(words: str, film: str) -> Markup:
    """A film behind a button below a card, which opens it."""
    page = Markup('<details class="tbt-fold">{}<summary>{}</summary>{}</details>')
    return page.format(style_element("tbt-fold", asset("checker.films", "fold.css")), f"▶ {words}", Markup(film))  # noqa: S704 (made by `film_html`)


def _style() -> Markup:
    return style_element("tbt-film", asset("checker.films", "film.css"))


# ---- above and below the stage -----------------------------------------------------------------------------------------


def _captions(film: FilmData, scenes: Scenes) -> None:
    """The line above the stage, at every step."""
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


def _caption(stage_: Stage, alarms: bool) -> Markup:
    """What the step does and changes. With `alarms` there is always room for one, so that the stage below stays where it is."""
    slot = Markup('<{} class="{}" data-s="{}">{}</{}>')
    names = {
        "kind": "badge",
        "what": "what",
        "facts": "facts",
        "updaters": "facts",
        "sentence": "unseen",
        "change": "change",
    }
    slots = [
        slot.format("span", name, stage_.scenes.number(key), stage_.html(key), "span") for key, name in names.items()
    ]
    alarm = slot.format("div", "alarm", stage_.scenes.number("alarm"), stage_.html("alarm"), "div")
    page = Markup(
        '<div class="captions{}"><div class="caption">{} {} {}{}</div><div class="says" aria-live="polite">{} {}</div>{}</div>'
    )
    return page.format(" alarms" if alarms else "", *slots, alarm)


def _verdict(film: FilmData) -> Markup:
    """That the kernel does not pass, and the first wrong element, with a way to the step that stores it."""
    if film.flaws is None:
        return NOTHING
    note = next((n for n in film.notes if n.kind == WRONG), None)
    more = NOTHING
    if note is not None:
        more = Markup("<b>{}</b> ").format(note.message)
        if note.at is not None:
            more += Markup('<button type="button" data-at="{}">Go to step {}</button>').format(note.at, note.at + 1)
    page = Markup('<p class="verdict"><i aria-hidden="true">✗</i> {} {}</p>')
    return page.format(prose(film.flaws.verdict), more)


def _charts(panels: Sequence[Chart], stage_: Stage) -> Markup:
    picture = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="{}" viewBox="0 0 300 {}" fill="none" role="img" aria-label="{}">{}</svg>'
    )
    drawn = [picture.format(round(p.height), round(p.height), p.about, stage_.pictures(p.parts)) for p in panels]
    return Markup('<div class="charts">{}</div>').format(NOTHING.join(drawn)) if drawn else NOTHING


def _stage(film: FilmData, parts: Sequence[Part], stage_: Stage) -> Markup:
    w, h = round(film.layout.width), round(film.layout.height)
    picture = Markup(
        '<svg class="stage" xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}" fill="none" role="img" '
        'aria-label="{}">{}</svg>'
    )
    return picture.format(w, h, w, h, film.sentence(film.steps[0]), stage_.pictures(parts))


def _strip(film: FilmData, parts: Sequence[Part], scenes: Scenes) -> Markup:
    """Small pictures of later steps, for who reads without scripts."""
    last = len(film.steps) - 1
    shares = (0.35, 0.7, 1.0) if film.state else (0.25, 0.5, 0.75, 1.0)
    w, h = round(film.layout.width), round(film.layout.height)
    if film.layout.lens and film.layout.lens[0][1] > h / 2:
        h = round(film.layout.lens[0][1] - 44)
    figure = Markup(
        '<figure><svg width="210" viewBox="0 0 {} {}" fill="none" aria-hidden="true">{}</svg>'
        "<figcaption>{} of {}. {}</figcaption></figure>"
    )
    frames = [
        figure.format(w, h, small(Stage(scenes, k).shapes(parts)), k + 1, last + 1, film.sentence(film.steps[k]))
        for k in sorted({round(last * share) for share in shares} - {0})
    ]
    return Markup('<div class="strip">{}</div>').format(NOTHING.join(frames)) if frames else NOTHING


ICONS = {
    "back": (("", "M3 2h2v12H3zM14 2v12L6 8z"),),
    "play": (("play-icon", "M4 2l10 6-10 6z"), ("pause-icon", "M3 2h4v12H3zM9 2h4v12H9z")),
    "next": (("", "M11 2h2v12h-2zM2 2l8 6-8 6z"),),
    "save": (("", "M7 1h2v7h3l-4 4-4-4h3zM2 13h12v2H2z"),),
}


def _button(name: str, label: str) -> Markup:
    icon = Markup('<svg class="{}" viewBox="0 0 16 16" aria-hidden="true"><path d="{}"/></svg>')
    icons = NOTHING.join(icon.format(*drawn) for drawn in ICONS[name])
    return Markup('<button type="button" class="{}" aria-label="{}" title="{}">{}</button>').format(name, label, label, icons)  # fmt: skip


def _listed(name: str, label: str, options: Mapping[str, str], chosen: str) -> Markup:
    option = Markup('<option value="{}"{}>{}</option>')
    inside = (option.format(v, Markup(" selected") if v == chosen else NOTHING, text) for v, text in options.items())
    return Markup('<select class="{}" aria-label="{}">{}</select>').format(name, label, NOTHING.join(inside))


def _controls(film: FilmData) -> Markup:
    """Buttons, lists and time line; they are seen once the player is alive."""
    names = [program_name(p, film.trace.grid) for p in film.programs]
    programs = {"-1": "all programs"} | {str(i): f"program {name}" for i, name in enumerate(names)}
    buttons = [
        _button("back", "One step back"),
        _button("play", "Play"),
        _button("next", "One step on"),
        Markup('<span class="clock"></span>'),
        _listed("speed", "Speed", SPEEDS, "1"),
        _listed("who", "Which programs", programs, "-1"),
        _listed("order", "Order of programs", {"one": "one at a time", "wave": "all in a wave"}, "one"),
        _button("save", "Save this film as a page"),
    ]
    row = NOTHING
    if 1 < len(names) <= 32:
        each = (Markup('<button type="button" aria-label="Only program {}">{}</button>').format(n, n) for n in names)
        row = Markup('<div class="programs"><span>programs</span>{}</div>').format(NOTHING.join(each))
    page = Markup(
        '<div class="controls"><div class="time"><div class="marks"></div><svg class="bars" preserveAspectRatio="none" aria-hidden="true"></svg></div>'
        '<input class="scrub" type="range" min="0" value="0" aria-label="Moment"><div class="buttons">{}</div>{}'
        '<p class="note">A GPU runs programs side by side, and their order is not fixed. This film shows one possible order.</p></div>'
    )
    return page.format(NOTHING.join(buttons), row)


# ---- for the player ----------------------------------------------------------------------------------------------------


def _json(data: Any) -> str:
    """JSON in which nothing can end the script element around it, or open a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!--", "\\u003c!--")


def _data(film: FilmData, scenes: Scenes, bytes_: Sequence[Meter]) -> dict[str, Any]:
    """``steps``: ``[program, kind, line, [meter, bytes, …], changes, those where all programs are shown]``.

    Changes are ``[[slot, value, …] that stay, [slot, value, …] that go, [slot, now, after, …]]``, without the empty ones at the end.
    """
    values, kinds = Values(), list(KINDS)
    values.number("")
    steps = []
    for step in film.steps:
        event = step.event
        moved = [n for i, m in enumerate(bytes_) if event.bytes and m.counts(event.tensor, event.kind) for n in (i, event.bytes)]  # fmt: skip
        changes, together = (_numbered(group[step.at], values) for group in (scenes.changes, scenes.together))
        steps.append(
            [step.program, kinds.index(event.kind), event.line, moved, changes, *([together] if together else [])]
        )
    return {
        "steps": steps,
        "values": values.items,
        "strings": list(values.strings),
        "own": sorted(scenes.own),
        "kinds": list(KINDS.items()),
        "programs": [program_name(p, film.trace.grid) for p in film.programs],
        "notes": [[n.at, f"{n.kind}, moment {n.at + 1}", n.message] for n in film.notes if n.at is not None],
    }


def _numbered(changes: Sequence[Change], values: Values) -> list[list[int]]:
    stay, go, both = list[int](), list[int](), list[int]()
    for change in changes:
        now, after = values.number(change.now), values.number(change.after)
        if now == after:
            stay += (change.slot, now)
        elif after == 0:
            go += (change.slot, now)
        else:
            both += (change.slot, now, after)
    out = [stay, go, both]
    while out and not out[-1]:
        out.pop()
    return out
