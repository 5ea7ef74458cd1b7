"""The square of scores and the enlarged tile, without a script. `film_scores.js` draws the same for every other moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.view.heat import heat_map
from checker.view.layout import joined
from checker.view.shapes import Rect, border, frame, path, pixels, rect, rects, text
from checker.view.shapes import ground as field
from checker.view.theme import LIGHT

if TYPE_CHECKING:
    from checker.view.film_model import Film


def place(film: Film, r0: float, r1: float, c0: float, c1: float) -> Rect:
    """Queries r0 to r1 and keys c0 to c1 in the square, in pixels."""
    assert film.visits is not None
    s = film.visits.square
    return s.x + c0 * s.u, s.y + r0 * s.u, (c1 - c0) * s.u, (r1 - r0) * s.u


def ground(film: Film, k: int, heat: bool = True) -> str:
    """The square: its frame, the borders of tiles, and what was visited up to moment `k`."""
    assert film.visits is not None
    v = film.visits
    whole = place(film, 0, v.square.rows, 0, v.square.cols)
    rows = sorted({t[1] for t in v.tiles} - {0})
    cols = sorted({t[3] for t in v.tiles} - {0})
    s = v.square
    lines = "".join(f"M{pixels(s.x)} {pixels(s.y + r * s.u)}H{pixels(s.right)}" for r in rows)
    lines += "".join(f"M{pixels(s.x + c * s.u)} {pixels(s.y)}V{pixels(s.bottom)}" for c in cols)
    return (
        '<g class="square">'
        + field(whole)
        + f'<g class="been">{been(film, k)}</g>'
        + path("tiles", lines, f'stroke="{LIGHT["faint"]}"')
        + border(whole)
        + f'<g class="here">{here(film, k, heat)}</g></g>'
    )


def been(film: Film, k: int) -> str:
    """Tiles visited before: a light tint. Nothing of them is kept."""
    assert film.visits is not None
    v = film.visits
    seen = dict.fromkeys(a[0] for a in v.at[: k + 1] if a[0] >= 0 and a[0] != v.at[k][0])
    boxes = (place(film, *box) for box in joined([v.tiles[visit][1:] for visit in seen]))
    return rects(boxes, "visited", f'fill="{LIGHT["dot"]}" fill-opacity=".14"')


def here(film: Film, k: int, heat: bool = True) -> str:
    """The tile of the moment with what it holds."""
    assert film.visits is not None
    v = film.visits
    visit, held = v.at[k][:2]
    if visit < 0:
        return ""
    q = place(film, *v.tiles[visit][1:])
    out = rect(q, "ground", 'fill="#fff"')
    if held >= 0 and heat:
        _, r0, r1, c0, c1 = v.tiles[visit]
        tall, wide = v.sizes[visit]
        whole = place(film, r0, r0 + tall, c0, c0 + wide)
        out += heat_map(whole, v.heats[held], False, (r1 - r0) / tall, (c1 - c0) / wide)
    elif held >= 0:
        out += rect(q, "heat", f'fill="{LIGHT["dot"]}" fill-opacity=".55"')
    return out + rect(q, "edge dot", f'stroke="{LIGHT["dot"]}" stroke-width="2.4"')


def _doing(film: Film, k: int) -> str:
    """Which tile is on chip, in words."""
    assert film.visits is not None
    visit = film.visits.at[k][0]
    if visit < 0:
        return f"no {'weights are' if film.states else 'tile of scores is'} on chip now"
    _, r0, r1, c0, c1 = film.visits.tiles[visit]
    return f"queries {r0}:{r1}, keys {c0}:{c1}"


def above(film: Film, k: int) -> str:
    """The enlarged tile's frames and words, which never change; the player fills them."""
    assert film.visits is not None
    v = film.visits
    s, lens = v.square, v.square.lens
    said = (
        ""
        if film.states
        else "".join(
            text(s.said[0], s.said[1] + 14 * i, line)
            for i, line in enumerate(("scores: one tile at a time,", "on chip, never in memory"))
        )
    )
    name, alpha, old, new = v.names
    out = [said, '<g class="lens">']
    for q, title, note in (
        (lens.tile, name, v.ranges[0] if v.heats else "not captured"),
        (lens.alpha, alpha, "0 … 1" if v.alphas else ""),
        (lens.before, old, "before"),
        (lens.after, new, "after: " + v.ranges[1] if v.accs else "after"),
    ):
        x, y, w, h = q
        if not w:
            continue
        out.append(text(x + w / 2, y - 6, title, "mono", 11, "middle"))
        out.append(frame(q))
        out.append(text(x + w / 2, y + h + 14, note, "", 10.5, "middle"))
    middle = lens.tile[1] + lens.tile[3] / 2 + 4
    for x0, x1, sign in (
        (lens.tile[0] + lens.tile[2], lens.alpha[0], "→"),
        (lens.alpha[0] + lens.alpha[2], lens.before[0], "×"),
        (lens.before[0] + lens.before[2], lens.after[0], "+ p·v →"),
    ):
        out.append(text((x0 + x1) / 2, middle, sign, "", 13, "middle") if lens.alpha[2] else "")
    top = lens.tile[1] - 24
    out.append(text(lens.tile[0], top, _doing(film, k), "doing", 12))
    return "".join(out) + '<g class="in"></g></g>'
