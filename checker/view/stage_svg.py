"""The film's picture without a script: the stage with one moment on it, and small ones of later moments.

`film.js` draws the same for every other moment.
"""

from __future__ import annotations

import re

from checker.view import carried_svg, scores_svg
from checker.view.film_model import Film
from checker.view.panel_svg import NAME, axis, bodies, grid, label, side_columns, values
from checker.view.shapes import coarse, frame, ground, merged, tenths
from checker.view.theme import LIGHT, escape
from checker.view.tiles_svg import layers


def stage(film: Film, k: int, alt: str) -> str:
    """The whole picture at moment `k`."""
    out = []
    for panel in film.panels:
        under, over = layers(film, panel, k) if film.moments else ("", "")
        lead = "" if panel.slices == 1 or not panel.axes else "[" + ", ".join("0" for _ in panel.shape[:-2]) + "]"
        name = escape(panel.title + lead)
        away = 'dx="7"' if len(panel.shape) < 3 else f'x="{tenths(panel.edge)}" dy="14"'
        title = (
            f'<text x="{tenths(panel.edge)}" y="{tenths(panel.top - panel.head + 17)}" font-size="13"><tspan {NAME}>{name}</tspan>'
            f'<tspan {away} font-size="11" fill="{LIGHT["soft"]}" class="about">{escape(panel.about)}</tspan></text>'
        )
        out.append(
            '<g class="panel">'
            + (label(panel, name) if panel.label else title)
            + ground(*bodies(panel))
            + f'<g class="under">{under}</g>{grid(panel, film)}{values(film, panel, k)}<g class="over">{over}</g>'
            + axis(panel)
            + side_columns(film, panel, k)
            + "</g>"
        )
    out[:0] = _squares(film, k, heat=True)
    if film.visits:
        out.append(scores_svg.above(film, k))
    if film.states:
        out.append(carried_svg.above(film, k))
    w, h = round(film.width), round(film.height)
    return (
        f'<svg class="stage" xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" fill="none" role="img" '
        f'aria-label="{escape(alt)}">' + "".join(out) + "</svg>"
    )


def _squares(film: Film, k: int, heat: bool) -> list[str]:
    """What lies under everything else: the square of scores, and what came out of a carried state."""
    out = [scores_svg.ground(film, k, heat)] if film.visits else []
    return [*out, carried_svg.ground(film, k)] if film.states else out


def miniature(film: Film, k: int) -> str:
    """Moment `k` small: tensors as plain areas, tiles, trail."""
    drawn = [layers(film, panel, k) for panel in film.panels]
    fields = [q for panel in film.panels for q in bodies(panel)]
    under, over = (merged(layer) for layer in zip(*drawn, strict=True))
    out = [frame(*fields), under, over]
    if not (film.visits or film.states):
        titles = (
            f'<text x="{tenths(panel.edge)}" y="{tenths(panel.top - 8)}">{escape(panel.title)}</text>'
            for panel in film.panels
        )
        out.append(f'<g font-size="30" fill="{LIGHT["soft"]}">{"".join(titles)}</g>')
    w, h = round(film.width), round(film.height)
    out.insert(0, re.sub(r"</?g\b[^>]*>", "", "".join(_squares(film, k, heat=False))))
    if film.states:
        out.append(carried_svg.small(film.states, k))
    elif film.visits:
        h = round(film.visits.square.lens.tile[1] - 24)
    return f'<svg width="210" viewBox="0 0 {w} {h}" fill="none" aria-hidden="true">{coarse("".join(out))}</svg>'
