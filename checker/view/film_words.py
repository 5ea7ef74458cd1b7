"""What a film says in words: its summary, the caption of a moment, and what went wrong."""

from __future__ import annotations

from checker.simulator.trace import Trace
from checker.view import carried_svg
from checker.view.film_build import DEPARTS
from checker.view.film_model import Film, Moment, program_name
from checker.view.theme import count, escape, short, size


def summary_of(film: Film, trace: Trace) -> str:
    """How many programs, loads and stores there were, and what of them is shown."""
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


def sentence(moment: Moment, film: Film, trace: Trace) -> str:
    """What happens at a moment."""
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


def caption(moment: Moment, film: Film, trace: Trace) -> str:
    """The line above the stage at a moment."""
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


def notes(film: Film) -> str:
    """The findings below the film; each that belongs to a moment is a button that leads there."""
    rows = []
    listed = [f for f in film.data["findings"] if f[3:] != [0]]
    for at, kind, message, *more in listed[:8]:
        text = f"<b>⚠ {escape(kind)}</b> {escape(' '.join([message, *more]))}"
        tag = f'button type="button" data-at="{at}"' if at >= 0 else "div"
        rows.append(f'<li><{tag} class="finding">{text}</{tag.split()[0]}></li>')
    return f'<ul class="findings">{"".join(rows)}</ul>' if rows else ""
