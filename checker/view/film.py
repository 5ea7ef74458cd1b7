"""The film of a kernel: one HTML fragment that shows, moment by moment, which program touches which tile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from checker.puzzle import Allowance, Case, Puzzle
from checker.simulator.trace import Trace
from checker.submission.kernel import KernelSource
from checker.view import carried_svg, minify
from checker.view.code import body_start, highlight
from checker.view.film_data import DEPARTS, Film, Moment, build, program_name
from checker.view.film_svg import hatched, miniature, shared_ever, stage, swatch
from checker.view.packing import packed
from checker.view.theme import asset, count, escape, script_json, short, size, style

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
    summary = _summary(film, trace)
    low = (
        puzzle.film.scores is None and puzzle.film.carried is None
    )  # a low stage leaves room below it, the square of scores does not
    label = f"Film: {puzzle.title}. {summary} Space plays and pauses, the arrow keys step, Home and End jump."
    page = (
        f'<div class="head"><span class="title">{escape(title)}</span><span class="sub">{escape(summary)}</span></div>'
        + '<div class="cols"><div class="left">'
        + _caption(film.moments[0], film, trace)
        + stage(film, 0, _sentence(film.moments[0], film, trace))
        + _legend(film)
        + '<div class="controls"></div>'
        + (_traffic(film) if low else "")
        + _strip(film, trace)
        + _notes(film)
        + '</div><div class="right">'
        + _source(film, source)
        + _state(film)
        + ("" if low else _traffic(film))
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


def _summary(film: Film, trace: Trace) -> str:
    loads = sum(t.loads for t in trace.traffic.values())
    stores = sum(t.stores for t in trace.traffic.values())
    atomics = sum(e.kind == "atomic" for e in trace.events)  # each is counted as a load and as a store
    total = trace.grid[0] * trace.grid[1] * trace.grid[2]
    text = f"{count(total, 'program')}, {count(loads - atomics, 'load')}, {count(stores - atomics, 'store')}"
    text += f", {count(atomics, 'atomic operation')}." if atomics else "."
    if film.left_out:
        text += f" Shown: {len(film.programs)} programs (the first ones and the last)."
    if film.cut:
        text += f" Of a program, the first {film.cut} steps are shown."
    return text


def _sentence(moment: Moment, film: Film, trace: Trace) -> str:
    event, who = moment.event, program_name(moment.event.program, trace.grid)
    if event.kind == "dot":
        said = carried_svg.words_at(film.states, film.moments.index(moment)) if film.states else ""
        return f"Program {who}: {said}." if said else f"Program {who} multiplies two tiles."
    verb = {"load": "loads", "store": "stores", "atomic": "updates"}[event.kind]
    return f"Program {who} {verb} {short(event.tensor)}{moment.flat.label if moment.flat else ''}."


def _facts(moment: Moment, trace: Trace) -> str:
    event = moment.event
    facts = [f"program {program_name(event.program, trace.grid)}", size(event.bytes)]
    if event.kind == "atomic":
        facts.append("read and written back in one step")
    if event.masked:
        facts.append(f"{count(event.masked, 'lane')} masked" + (", no `other`" if event.undefined else ""))
    return " · ".join(facts)


def _caption(moment: Moment, film: Film, trace: Trace) -> str:
    event = moment.event
    what = escape(short(event.tensor) + (moment.flat.label if moment.flat else ""))
    alarms = [f[2] if f[1] == DEPARTS else f[1] for f in (film.data["findings"][i] for i in moment.findings)]
    if event.out_of_bounds:
        alarms.append(f"{count(event.out_of_bounds, 'lane')} outside the tensor")
    alarm = "⚠ " + ", ".join(alarms) if alarms else ""
    return (
        f'<div class="captions"><div class="caption"><span class="kind {event.kind}">{event.kind}</span> '
        f'<span class="what">{what}</span> <span class="facts">{escape(_facts(moment, trace))}</span></div>'
        f'<div class="alarm">{escape(alarm)}</div></div>'
    )


def _legend(film: Film) -> str:
    kinds = {m.event.kind for m in film.moments}
    words = [("load", "load")] if "load" in kinds else []
    words += [
        (k, w)
        for k, w in (("store", "store"), ("atomic", "atomic update: read, add, write back in one step"))
        if k in kinds
    ]
    words += [("shared", "numbers that several programs update")] if shared_ever(film) else []
    if hatched(film):
        words.append(("masked", "masked lanes: switched off"))
    if any(m.event.out_of_bounds for m in film.moments):
        words.append(("outside", "lanes outside the tensor"))
    if film.visits:
        words += [("scores", "weights of the tile on chip" if film.states else "scores of the tile on chip")]
        words += [("visited", "visited before, not kept")]
        words += [("hidden", "masked scores, -∞")] if any("-" in heat[2] for heat in film.visits.heats) else []
        words += [("skipped", "skipped tiles: never loaded")] if film.visits.skipped else []
    if film.states:
        deeds = {a[5] for a in film.states.at}
        words += [("adds", "added to the state")] if carried_svg.ADDS in deeds else []
        words += [("reads", "the state is read")] if carried_svg.READS in deeds else []
        words += [("told", "pairs that the state stands for")] if film.states.reads else []
    return '<div class="legend">' + "".join(f"<span>{swatch(k)} {w}</span> " for k, w in words) + "</div>"


def _strip(film: Film, trace: Trace) -> str:
    last = len(film.moments) - 1
    parts = (0.35, 0.7, 1.0) if film.states else (0.25, 0.5, 0.75, 1.0)
    picks = sorted({round(last * part) for part in parts} - {0})
    frames = []
    for k in picks:
        words = _sentence(film.moments[k], film, trace)
        frames.append(
            f"<figure>{miniature(film, k)}<figcaption>{k + 1} of {last + 1}. {escape(words)}</figcaption></figure>"
        )
    return f'<div class="strip">{"".join(frames)}</div>' if frames else ""


def _notes(film: Film) -> str:
    rows = []
    listed = [f for f in film.data["findings"] if f[3:] != [0]]
    for at, kind, message, *more in listed[:8]:
        text = f"<b>⚠ {escape(kind)}</b> {escape(' '.join([message, *more]))}"
        tag = f'button type="button" data-at="{at}"' if at >= 0 else "div"
        rows.append(f'<li><{tag} class="finding">{text}</{tag.split()[0]}></li>')
    return f'<ul class="findings">{"".join(rows)}</ul>' if rows else ""


def _source(film: Film, source: KernelSource) -> str:
    current, lines = film.moments[0].event.line, []
    first = body_start(source.source)
    for i, html in enumerate(highlight(source.source), 1):
        if i >= first:
            name = " class=current" if i == current else ""
            lines.append(f"<span{name}><i>{source.locate(i)[1]}</i>{html}\n</span>")
    origin = source.locate(first)[0]
    return (
        f'<div><h4>{escape(origin)}</h4><pre class="source" tabindex="0" data-first="{first}" aria-label="Source of the kernel">'
        + "".join(lines).rstrip("\n")
        + "</pre></div>"
    )


def _state(film: Film) -> str:
    data, first, event = film.data, film.data["events"][0], film.moments[0].event
    rows = [("program", "", escape(data["programs"][0]))]
    rows += [(name, "loop", str(value)) for name, value in event.loops]
    delta = _delta(first)
    later = next((_delta(e) for e in data["events"][1:] if e[0] == first[0]), {})
    for n in sorted({*delta, *(n for n in later if data["words"][n])}):
        value = _shown(data["vals"][delta[n]]) if n in delta else ""
        if n in later and data["words"][n] and not _is_matrix(data["vals"][later[n]]):
            value += f'<span class="then">→</span>{_shown(data["vals"][later[n]])}'
        rows.append((data["names"][n], data["words"][n], value))
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}{f"<small>{escape(word)}</small>" if word else ""}</th><td>{value}</td></tr>'
        for name, word, value in rows
    )
    return f'<div><h4>state before this step → after it</h4><div class="stateBox"><table class="state">{cells}</table></div></div>'


def _delta(event: list[Any]) -> dict[int, int]:
    changes = event[7] if len(event) > 7 else []
    return dict(zip(changes[::2], changes[1::2], strict=True))


def _is_matrix(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(v, list) for v in value)


def _shown(value: Any) -> str:
    if not isinstance(value, list):
        return escape(value)
    rows = value if any(isinstance(v, list) for v in value) else [value]
    return "".join(
        f'<span class="vector{" line" if _is_matrix(value) else ""}">'
        + " ".join(map(escape, r if isinstance(r, list) else [r]))
        + "</span>"
        for r in rows
    )


def _percent(part: float) -> str:
    return f"{100 * part:.2f}".rstrip("0").rstrip(".") + "%"


def _traffic(film: Film) -> str:
    rows = []
    for panel, stored, total, allowed, whole, *updates in film.data["traffic"]:
        limit = max(allowed, total, 1)
        over = 0 <= allowed < total
        passes = (
            f", {total / whole:.2f}".rstrip("0").rstrip(".") + (" pass" if total == whole else " passes")
            if whole
            else ""
        )
        words = size(total) + (f" of {size(allowed)}" if allowed >= 0 else "") + passes
        words += f": {size(total - allowed)} too many" if over else ""
        words += f", {count(updates[0], 'atomic update')}" if updates else ""
        shares = {"moved": total / limit, "budget": allowed / limit}  # 100% if nothing is said
        said = [f"--{name}:{_percent(share)}" for name, share in shares.items() if share not in (1, -1 / limit)]
        said += ["--budget:-9px"] if allowed < 0 else []
        style_ = f' style="{";".join(said)}"' if said else ""
        name = "row" + (" stored" if stored else "") + (" over" if over else "")
        rows.append(
            f'<div class="{name}"><span class="what2"><b>{escape(film.data["panels"][panel][0])}</b> '
            f"<small>{'stored' if stored else 'loaded'}</small></span>"
            f'<span class="bar"{style_}></span> <span class="words">{words}</span></div>'
        )
    return f'<div class="traffic"><h4 class="measure">bytes so far, against the budget</h4>{"".join(rows)}</div>'
