"""A panel of text, tables and lists, as HTML for a notebook and with rich for a terminal. It needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from checker.view.theme import asset, prose, render, style_element

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLES: dict[str, str] = {"good": "green", "warn": "yellow", "bad": "bold red", "soft": "dim", "": ""}


@dataclass(frozen=True)
class Cell:
    """A cell of a table: `tone` is good, warn, bad, soft or empty, and `code` a command to copy."""

    text: str
    tone: str = ""
    number: bool = False
    code: str = ""

    @property
    def short(self) -> bool:
        """Whether it is a name or number, which should stay on one line."""
        return len(self.text) <= 24 and not self.code


@dataclass(frozen=True)
class Panel:
    """A title, paragraphs, a table, lists with headings, code and a footer, each of which may be empty."""

    title: str
    prose: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    code: str = ""
    footer: Sequence[str] = ()
    lists: Sequence[tuple[str, Sequence[str]]] = ()

    def html(self) -> str:
        style = style_element("tbt-panel", asset("checker.view", "panel.css"))
        brief = [all(cell.short for cell in column) for column in zip(*self.rows, strict=True)]
        return str(render("checker.view/panel.html", panel=self, brief=brief, prose=prose, style=style))

    def print(self, console: Console) -> None:
        from rich.padding import Padding
        from rich.syntax import Syntax
        from rich.text import Text

        console.print(Text(self.title, style="bold"))
        for text in self.prose:
            console.print(Text(_plain(text)))
        if self.rows:
            console.print(_rich_table(self.heads, self.rows, console.width))
        for heading, items in self.lists:
            console.print(Text(heading, style="bold"))
            for item in items:
                console.print(Padding(Text(f"• {_plain(item)}"), (0, 0, 0, 2)))
            console.print()
        if self.code:
            code = Syntax(self.code.rstrip("\n"), "python", theme="ansi_dark", background_color="default")
            console.print(Padding(code, (1, 2)))
        for text in self.footer:
            console.print(Text(_plain(text), style="dim"))

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def show(self) -> None:
        from checker.view.display import show

        show(self)


def _rich_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_header=bool(heads), pad_edge=False, padding=(0, 1, 0, 0))
    heads = heads or [""] * len(rows[0])
    columns = list(zip(heads, zip(*rows, strict=True), strict=True))
    # never break a word: columns of sentences can be narrower instead
    longest = [
        max(len(word) for text in (head, *(_plain(cell.text) for cell in column)) for word in text.split() or [""])
        for head, column in columns
    ]
    room = width - 2 * len(heads)  # the gaps between columns
    for i, (head, column) in enumerate(columns):
        # keep names and numbers on one line, unless that leaves too little room for a word of each later column
        line = max(len(head), *(len(cell.text) for cell in column))
        whole = all(cell.short for cell in column) and room - line >= sum(longest[i + 1 :])
        room -= line if whole else longest[i]
        justify: Literal["left", "right"] = "right" if column[0].number else "left"
        table.add_column(head, justify=justify, overflow="fold", no_wrap=whole, min_width=min(longest[i], width // 2))
    for row in rows:
        cells = []
        for cell in row:
            text = Text(_plain(cell.text), style=_STYLES[cell.tone])
            if cell.code:
                text.append(f"\n  {cell.code}", style="bold cyan")
            cells.append(text)
        table.add_row(*cells)
    return table


def _plain(text: str) -> str:
    """Remove the backquotes around code."""
    return text.replace("`", "")
