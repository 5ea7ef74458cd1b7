"""The legend: a small sample of everything that this film draws, and what it means."""

from __future__ import annotations

from checker.view import carried_svg
from checker.view.film_model import Film
from checker.view.shapes import block, hatch, path, rect
from checker.view.theme import LIGHT
from checker.view.tiles_svg import hatched, plus_sign, shared_ever


def legend(film: Film) -> str:
    """The samples that this film needs, in one line."""
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


def swatch(kind: str) -> str:
    """A small sample for the legend."""
    q = (2.0, 2.0, 22.0, 12.0)
    match kind:
        case "masked":
            inside = path("masked", hatch(q, 5), f'stroke="{LIGHT["mask"]}"') + rect(
                q, "box load", f'stroke="{LIGHT["mask"]}" stroke-dasharray="4 3"'
            )
        case "outside":
            lines = hatch(q, 7) + hatch(q, 7, back=True)
            inside = (
                rect(q, "outside", f'fill="{LIGHT["warn"]}" fill-opacity=".16"')
                + f'<path class="outside-lines" stroke="{LIGHT["warn"]}" d="{lines}"/>'
            )
        case "scores":
            levels = (0.2, 0.75, 0.45, 0.9, 0.3, 0.6)
            parts = [
                f'<g class="heat" fill="{LIGHT["dot"]}">',
                *(f'<path d="{block((2 + 3.7 * i, 2, 3.7, 12))}" fill-opacity="{p}"/>' for i, p in enumerate(levels)),
                "</g>",
            ]
            inside = "".join(parts) + rect(q, "edge dot", f'stroke="{LIGHT["dot"]}" stroke-width="2"')
        case "visited":
            inside = rect(q, "visited", f'fill="{LIGHT["dot"]}" fill-opacity=".14"') + rect(
                q, "grid", f'stroke="{LIGHT["faint"]}"'
            )
        case "hidden":
            inside = rect(q, "visited", f'fill="{LIGHT["dot"]}" fill-opacity=".14"')
            inside += f'<path class="masked thin" stroke="{LIGHT["mask"]}" d="{hatch(q, 4)}"/>'
        case "adds" | "reads":
            more = 'stroke-dasharray="5 3"' if kind == "reads" else ""
            inside = rect(q, f"pulse {kind}", f'stroke="{LIGHT["dot"]}" stroke-width="3" {more}')
        case "shared":
            inside = rect(q, "fill atomic", f'fill="{LIGHT["atomic"]}" fill-opacity=".14"')
            inside += f'<path class="shared" stroke="{LIGHT["atomic"]}" d="{hatch(q, 5)}"/>'
        case "told":
            inside = rect(q, "told", f'fill="{LIGHT["mask"]}" fill-opacity=".3"')
        case "skipped":
            inside = rect(q, "grid", f'stroke="{LIGHT["faint"]}"')
            inside += (
                f'<path class="skipped" stroke="{LIGHT["mask"]}" stroke-dasharray="2 3" d="M2 2L24 14M24 2L2 14"/>'
            )
        case _:
            colour = LIGHT[kind]
            inside = rect(q, f"fill {kind}", f'fill="{colour}" fill-opacity=".28"')
            inside += rect(q, f"edge {kind}", f'stroke="{colour}" stroke-width="{2.4 if kind == "load" else 5}"')
            if kind != "load":
                inside += rect(q, "inner", 'stroke="#fff" stroke-width="1.6"')
            inside += plus_sign(q) if kind == "atomic" else ""
    return f'<svg width="26" height="16" fill="none" aria-hidden="true">{inside}</svg>'
