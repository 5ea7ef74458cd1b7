"""The legend: a small sample of each sign in this film, with its meaning."""

from __future__ import annotations

from markupsafe import Markup

from checker.films.film_data import FilmData
from checker.films.stage import masked
from checker.films.svg import NOTHING, cells, hatch, path, plus_sign, rect

Q = (2.0, 2.0, 22.0, 12.0)


def legend(film: FilmData, shared: bool) -> list[tuple[Markup, str]]:
    """Each sample that this film needs, with its meaning. `shared`: several programs update the same numbers."""
    return [(_swatch(kind), words) for kind, words in _needed(film, shared)]


def _needed(film: FilmData, shared: bool) -> list[tuple[str, str]]:
    kinds = {s.event.kind for s in film.steps}
    tensors = {t.name: t for t in film.layout.tensors}
    actions = {at.action for at in film.state.at} if film.state else set()
    square, visits = film.diagram.square, film.visits
    tile, hidden = square.legend if square else ("", "")
    samples = [
        ("load" in kinds, "load", "load"),
        ("store" in kinds, "store", "store"),
        ("atomic" in kinds, "atomic", "atomic update: read, add, write back in one step"),
        (shared, "shared", "numbers that several programs update"),
        (
            any(s.event.masked and masked(tensors[s.event.tensor], s) for s in film.steps),
            "masked",
            "masked lanes: switched off",
        ),
        (any(s.event.out_of_bounds for s in film.steps), "outside", "lanes outside the tensor"),
        (film.flaws and film.flaws.outputs, "wrong", "wrong in the end; the first one is framed"),
        (visits, "tile", tile),
        (visits, "visited", "visited before, not kept"),
        (visits and any("-" in heat[2] for k in range(len(film.steps)) if (heat := visits.heat(k))), "hidden", hidden),
        (visits and visits.skipped, "skipped", "skipped tiles: never loaded"),
        (film.layout.gather, "leads", "the page that an entry of the table leads to"),
        ("adds" in actions, "adds", "added to the state"),
        ("reads" in actions, "reads", "the state is read"),
        (film.state and any(at.reads for at in film.state.at), "told", "pairs that went through the state"),
    ]
    return [(kind, words) for needed, kind, words in samples if needed]


def _swatch(kind: str) -> Markup:
    match kind:
        case "masked":
            return path("masked", hatch(Q, 5)) + rect(Q, "box load")
        case "outside":
            return rect(Q, "outside") + path("outside-lines", hatch(Q, 7) + hatch(Q, 7, back=True))
        case "wrong":
            return rect(Q, "wrong") + path("wrong-lines", hatch(Q, 6)) + rect((2, 2, 11, 12), "first-wrong")
        case "tile":
            return cells(Q, (1, 6, "cMsVjC"), signed=False) + rect(Q, "edge dot")
        case "visited" | "told":
            return rect(Q, f"{kind}|grid")
        case "hidden":
            return rect(Q, "visited") + path("masked thin", hatch(Q, 4))
        case "adds" | "reads":
            return rect(Q, f"pulse {kind}")
        case "shared":
            return rect(Q, "seen atomic") + path("shared", hatch(Q, 5))
        case "leads":
            return path("leading", "M2 2L24 14l-5-.2M24 14l-2.6-4.2")
        case "skipped":
            return rect(Q, "grid") + path("skipped", "M2 2L24 14M24 2L2 14")
    inner = "" if kind == "load" else "|inner"
    return rect(Q, f"fill {kind}|edge {kind}{inner}") + (plus_sign(Q) if kind == "atomic" else NOTHING)
