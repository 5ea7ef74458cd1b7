"""The verdict card in a notebook: self-contained HTML that needs no scripts and has a dark and a light theme."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from checker.judge.inputs import WIDE
from checker.judge.verdict import Mismatch, Verdict
from checker.view import card_content as content
from checker.view.code import highlight
from checker.view.error_map import alt_text, error_map, numbered
from checker.view.theme import asset, prose, render, style_element


def card_html(verdict: Verdict) -> str:
    card = content.card_of(verdict)
    page = render(
        "checker.view/card.html",
        card=card,
        parts=[(type(part).__name__, part) for part in card.parts],
        style=style_element("tbt-card", asset("checker.view", "card.css")),
        status=content.STATUS,
        asks=content.ASKS,
        prose=prose,
        highlighted=_highlighted,
        window=partial(content.window, most=7),
        input_tables=partial(content.input_tables, most=WIDE),
        compared=content.compared,
        error_map=_error_map,
    )
    return str(page)


def _highlighted(excerpt: content.Excerpt) -> list[tuple[content.SourceLine, Markup]]:
    html = highlight(excerpt.source)
    return [(line, html[line.number - excerpt.first_line]) for line in excerpt.lines]


def _error_map(mismatch: Mismatch, view: content.Window) -> dict[str, object]:
    """The map of wrong elements; empty if the two tables already show every element."""
    if mismatch.total <= len(view.rows) * len(view.cols):
        return {}
    return {"svg": error_map(mismatch), "alt": alt_text(mismatch), "numbered": numbered(mismatch)}
