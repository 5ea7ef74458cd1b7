"""Panels of the small verbs, on a page and in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from checker.view.panel import Cell, Panel
from tests.view.pages import HOSTILE, Page, printed

PANEL = Panel(
    "What works",
    ("Run `make lab`.\nThen look.",),
    ("what", "time", ""),
    (
        (Cell("triton"), Cell("1.5", number=True), Cell("a long sentence about what is missing here", "warn")),
        (Cell("gcc"), Cell("22", number=True), Cell("none", "bad", code="sudo apt install gcc")),
    ),
    "tl.load(x_ptr)\n",
    ("The end.",),
    (("More", ("one `x`", "two")),),
)


def strings(value: object) -> Iterator[str]:
    """Every text in a panel."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Cell):
        yield from (value.text, value.code)
    elif isinstance(value, tuple):
        for part in value:
            yield from strings(part)


def test_page_and_terminal_say_everything() -> None:
    page, terminal = Page(PANEL.html()), " ".join(printed(PANEL, 100).split())
    for field in fields(Panel):
        for text in strings(getattr(PANEL, field.name)):
            words = " ".join(text.replace("`", "").split())
            assert words in page.words
            assert words in terminal
    assert ("code", {"class": "whole"}) in page.tags


def test_hostile_text_stays_text() -> None:
    hostile: dict[str, object] = {
        "heads": (HOSTILE,) * 3,
        "rows": ((Cell(HOSTILE, code=HOSTILE),) * 3,),
        "lists": ((HOSTILE, (HOSTILE,)),),
        "title": HOSTILE,
        "code": HOSTILE,
    }
    for field in fields(Panel):
        page = Page(replace(PANEL, **{field.name: hostile.get(field.name, (HOSTILE,))}).html())  # type: ignore[arg-type]
        assert HOSTILE in page.text, field.name
        assert page.harmless
