"""The carried state without a script. `film_carried.js` draws the same for every other moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.view.carried import States, read_boxes
from checker.view.carried_deeds import ADDS, READS, STARTS
from checker.view.heat import bars, heat_map
from checker.view.layout import joined
from checker.view.shapes import Rect, frame, rect, rects, text
from checker.view.shapes import ground as field
from checker.view.theme import LIGHT

if TYPE_CHECKING:
    from checker.view.film_model import Film

DEEDS = {STARTS: "starts", ADDS: "adds", READS: "reads"}


def ground(film: Film, k: int, heat: bool = True) -> str:
    """The square of weights where no other part draws it, and in it what came out of the state up to moment `k`."""
    assert film.states is not None
    s = film.states.stage.square
    if s is None:
        return ""
    whole = (s.x, s.y, s.cols * s.u, s.rows * s.u)
    return ("" if film.visits else frame(whole)) + f'<g class="out">{_read(film.states, k, _slice(film, k))}</g>'


def _slice(film: Film, k: int) -> int:
    """The slice that the program of the moment reads for."""
    assert film.states is not None
    program = film.moments[k].event.program
    mine = [r for r in film.states.reads if film.moments[r[0]].event.program == program]
    return next((r[1] for r in mine if r[0] >= k), mine[-1][1] if mine else 0)


def _read(states: States, k: int, slice_: int) -> str:
    s = states.stage.square
    assert s is not None
    boxes = joined(read_boxes(states, k, slice_))
    parts = ((s.x + c0 * s.u, s.y + r0 * s.u, (c1 - c0) * s.u, (r1 - r0) * s.u) for r0, r1, c0, c1 in boxes)
    return rects(parts, "told", f'fill="{LIGHT["mask"]}" fill-opacity=".3"')


def above(film: Film, k: int) -> str:
    """Frames, names and words, which never change, and the state of the moment."""
    assert film.states is not None
    states = film.states
    stage = states.stage
    name, total = states.names
    out = ['<g class="carried">']
    for q in (stage.state, stage.before, *((stage.sums, stage.sums_before) if states.sums else ())):
        out.append(frame(q))
    x, y, *_ = stage.state
    title = f"{name}, on chip, after this step" if stage.rows == 1 else f"{name or 'state'}: φ(K)ᵀV"
    out.append(text(x, y - 8, title, "mono"))
    if states.sums:
        middle = max(stage.sums[0] + stage.sums[2] / 2, x + 6.7 * len(title) + 10)
        out.append(text(middle, y - 8, total, "mono", 11, "middle"))
    x, y, *_ = stage.before
    out.append(text(x, y - 8, "before this step"))
    said = list(states.ranges[0]) if states.heats else ["too large to be captured" if name else "no variable holds one"]
    said += [f"{total}: {states.ranges[1]}"] if states.sums else []
    if stage.rows == 1:
        out.append(text(x + stage.before[2], y - 8, ", ".join(said), "", 10.5, "end"))
    lines = [_about(film)] if stage.square else []
    lines += [f"{name or 'state'}: {', '.join(said)}"] if stage.rows > 1 else []
    out += [text(stage.words[0], stage.words[1] + 14 * i, line) for i, line in enumerate(lines)]
    out.append(text(*stage.doing, words_at(states, k), "doing", 12))
    return "".join(out) + f'<g class="in">{_state(states, k)}</g></g>'


def small(states: States, k: int) -> str:
    """For the strip: a frame, filled where the program of the moment holds its part."""
    stage, (_, after, _, _, place, deed, _) = states.stage, states.at[k]
    out = field(stage.state)
    if after >= 0 and place >= 0:
        r0, c0, rows, cols = states.places[place]
        down, across = fit(stage.rows, stage.cols, r0, c0, rows, cols)
        x, y, w, h = part(stage.rows, stage.cols, stage.state, r0, c0, rows, cols)
        out += rect((x, y, w * across, h * down), "heat", f'fill="{LIGHT["dot"]}" fill-opacity=".4"')
    wide = 6 if deed > 0 else 1
    return out + rect(stage.state, "frame", f'stroke="{LIGHT["dot"]}" stroke-width="{wide}"')


def _about(film: Film) -> str:
    if not film.states or not film.states.reads:
        return "No pair of query and key was seen to go through a state."
    grey = "the pairs in grey went through the state, as a sum."
    if film.visits:
        return f"Weights: only tiles on the diagonal are ever on chip; {grey}"
    return f"Weights are never formed: {grey}"


def words_at(states: States, k: int) -> str:
    """What the step of a moment does with the state."""
    at = states.at[k][6]
    return states.words[at] if at >= 0 else ""


def _state(states: States, k: int) -> str:
    stage, (before, after, old, new, place, deed, _) = states.stage, states.at[k]
    out = ""
    if place >= 0:
        r0, c0, rows, cols = states.places[place]
        for q, heat in ((stage.state, after), (stage.before, before)):
            if heat >= 0:
                out += heat_map(
                    part(stage.rows, stage.cols, q, r0, c0, rows, cols),
                    states.heats[heat],
                    True,
                    *fit(stage.rows, stage.cols, r0, c0, rows, cols),
                )
        for q, levels in ((stage.sums, new), (stage.sums_before, old)):
            if levels >= 0:
                out += bars(
                    part(stage.rows, 1, q, r0, 0, rows, 1), states.sums[levels], fit(stage.rows, 1, r0, 0, rows, 1)[0]
                )
        if deed > 0:
            down, across = fit(stage.rows, stage.cols, r0, c0, rows, cols)
            x, y, w, h = part(stage.rows, stage.cols, stage.state, r0, c0, rows, cols)
            out += rect(
                (x, y, w * across, h * down),
                f"pulse {DEEDS[deed]}",
                f'stroke="{LIGHT["dot"]}" stroke-width="3"',
            )
    return out


def part(rows: int, cols: int, q: Rect, r0: int, c0: int, tall: int, wide: int) -> Rect:
    """Where a part of the state lies in a box that holds all of it, overhang included."""
    x, y, w, h = q
    return x + w * c0 / cols, y + h * r0 / rows, w * wide / cols, h * tall / rows


def fit(rows: int, cols: int, r0: int, c0: int, tall: int, wide: int) -> tuple[float, float]:
    """How much of a part's height and width lies inside."""
    return min(1.0, max(0.0, (rows - r0) / tall)), min(1.0, max(0.0, (cols - c0) / wide))
