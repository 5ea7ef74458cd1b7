"""Which lane hits which bank of shared memory, for a tile of 16-bit numbers in three layouts, read along a row or down a column.

Two groups of radio buttons select one of six drawings, by a style sheet alone, without a script.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from checker.view.theme import style_element, svg_text, variable

ROWS, PIECES = 8, 8
"""Rows of the tile, and pieces of 16 bytes (four banks) in a row of 64 numbers. Each of eight lanes reads one piece."""
READ = 2
"""The row or column to read."""

Place = Callable[[int, int], int]
LAYOUTS: Mapping[str, tuple[str, Place]] = {
    "row-major": ("one row after another", lambda r, c: PIECES * r + c),
    "padded": ("16 unused bytes after each row", lambda r, c: (PIECES + 1) * r + c),
    "swizzled": ("piece c moves to c XOR r", lambda r, c: PIECES * r + (c ^ r)),
}
"""For each layout, a description, and the place of a piece in units of 16 bytes."""
READS: Mapping[str, Callable[[int], tuple[int, int]]] = {
    "along a row": lambda lane: (READ, lane),
    "down a column": lambda lane: (lane, READ),
}
"""The row and the piece that each of eight lanes reads."""
_CELL, _LEFT, _TOP = 44, 74, 44


def turns(layout: str, read: str) -> int:
    """How many accesses the busiest bank serves in turn: 1 without a bank conflict. Raises KeyError."""
    place = LAYOUTS[layout][1]
    return max(Counter(place(*READS[read](lane)) % PIECES for lane in range(ROWS)).values())


def _turns(number: int) -> str:
    return f"{number} turn{'s' * (number > 1)}"


@dataclass(frozen=True)
class Banks:
    """The figure in a notebook; in a terminal, the turns that each layout takes."""

    def __repr__(self) -> str:
        return "\n".join(
            f"{layout}: {', '.join(f'{_turns(turns(layout, r))} {r}' for r in READS)}" for layout in LAYOUTS
        )

    def _repr_html_(self) -> str:
        group = secrets.token_hex(4)  # buttons with the same name exclude one another on the whole page
        drawn = [(f"l{i}r{j}", layout, read) for i, layout in enumerate(LAYOUTS) for j, read in enumerate(READS)]
        rules = "".join(
            f".tbt-banks:has(.l{name[1]}:checked):has(.r{name[3]}:checked) .{name}{{display:block}}"
            for name, _, _ in drawn
        )
        buttons = _buttons(group, "l", list(LAYOUTS), 0) + _buttons(group, "r", list(READS), 1)
        pictures = Markup("").join(
            Markup('<div class="picture {}">{}</div>').format(name, _picture(layout, read))
            for name, layout, read in drawn
        )
        style = style_element("tbt-banks", _SHEET + rules)
        return str(Markup('<div class="tbt-banks">{}{}{}</div>').format(style, buttons, pictures))


_SHEET = (
    ".tbt-banks{box-sizing:border-box;font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);"
    "border:1px solid var(--line);border-radius:8px;padding:10px 14px;max-width:640px}"
    ".tbt-banks label{margin-right:14px;cursor:pointer}.tbt-banks .choice{margin:0 0 4px}.tbt-banks .picture{display:none}"
)


def _buttons(group: str, letter: str, names: list[str], checked: int) -> Markup:
    button = Markup('<label><input type="radio" name="{}" class="{}"{}> {}</label>')
    buttons = Markup("").join(
        button.format(f"{group}{letter}", f"{letter}{i}", Markup(" checked") if i == checked else "", name)
        for i, name in enumerate(names)
    )
    return Markup('<div class="choice">{}</div>').format(buttons)


def _picture(layout: str, read: str) -> Markup:
    """Memory as lines of 32 banks. The pieces that lanes read are filled and have the lane's number."""
    about, place = LAYOUTS[layout]
    pieces = {place(r, c): (r, c) for r in range(ROWS) for c in range(PIECES)}
    lanes = {place(*READS[read](lane)): lane for lane in range(ROWS)}
    busy = Counter(at % PIECES for at in lanes)
    lines = max(pieces) // PIECES + 1
    out = []
    for g in range(PIECES):
        shared, x = busy[g] > 1, _LEFT + _CELL * g + _CELL / 2
        out.append(svg_text(x, 30, f"{4 * g}–{4 * g + 3}", "warn" if shared else "soft", "middle", shared))
    out.append(svg_text(0, 30, "banks", "soft"))
    for at in range(lines * PIECES):
        x, y = _LEFT + _CELL * (at % PIECES), _TOP + 24 * (at // PIECES)
        lane, piece = lanes.get(at), pieces.get(at)
        if lane is not None:
            fill, words, colour = "store" if busy[at % PIECES] > 1 else "load", f"lane {lane}", "bg"
        elif piece is not None:
            fill, words, colour = "panel", f"{piece[0]},{piece[1]}", "soft"
        else:
            fill, words, colour = "bg", "–", "soft"
        out += [_rect(x, y, fill), svg_text(x + _CELL / 2, y + 16, words, colour, "middle", lane is not None)]
    for line in range(lines):
        out.append(svg_text(0, _TOP + 24 * line + 16, f"byte {128 * line}", "soft"))
    number = turns(layout, read)
    caption = f"{layout}, {about}; read {read}: {_turns(number)}"
    high = _TOP + 24 * lines + 28
    sentence = f"{caption[:1].upper()}{caption[1:]}."
    out.append(svg_text(0, high - 8, sentence, "warn" if number > 1 else "good", bold=True))
    svg = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440 {:g}" width="100%" role="img" aria-label="{}" font-size="11" font-family="system-ui,sans-serif">{}</svg>'
    )
    return svg.format(high, caption, Markup("").join(out))


def _rect(x: float, y: float, colour: str) -> Markup:
    box = Markup('<rect x="{:g}" y="{:g}" width="{:g}" height="24" fill="{}" stroke="{}"/>')
    return box.format(x, y, _CELL, variable(colour), variable("faint"))
