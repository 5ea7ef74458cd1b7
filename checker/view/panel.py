"""A titled panel of tables and texts, as HTML for a notebook and as rich renderables for a terminal. It needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from checker.view.theme import style

if TYPE_CHECKING:
    from rich.console import Console

ROOT = "tbt-panel"
# outweighs what JupyterLab does to every table (columns of one width, set to the right) and to code (wrapped)
OURS = f".{ROOT}" * 3
CSS = f"""<style>
.{ROOT}{{box-sizing:border-box;font:14px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);background:var(--bg);
border:1px solid var(--line);border-radius:8px;padding:12px 16px;max-width:860px;margin:4px 0;overflow-x:auto}}
{OURS} h4{{margin:0 0 8px;font-size:15px;font-weight:600;color:var(--ink)}}
{OURS} h5{{margin:12px 0 2px;font-size:13px;font-weight:600;color:var(--soft)}}
{OURS} p{{margin:6px 0;max-width:68ch}}
{OURS} ul{{margin:2px 0;padding-left:20px;max-width:92ch}} {OURS} li{{margin:2px 0}}
{OURS} table{{table-layout:auto;border-collapse:collapse;width:100%;margin:4px 0;color:var(--ink);font-size:13.5px}}
{OURS} tr{{background:none}}
{OURS} th{{text-align:left;vertical-align:bottom;font-weight:600;color:var(--soft);border-bottom:1px solid var(--faint);padding:4px 12px 4px 0}}
{OURS} td{{text-align:left;vertical-align:top;white-space:normal;border-bottom:1px solid var(--line);padding:5px 12px 5px 0}}
{OURS} tr:last-child td{{border-bottom:0}} {OURS} .brief{{white-space:nowrap}}
{OURS} .n{{text-align:right;font-variant-numeric:tabular-nums}}
{OURS} .soft{{color:var(--soft)}} {OURS} .good{{color:var(--good)}} {OURS} .warn{{color:var(--store)}} {OURS} .bad{{color:var(--bad)}}
{OURS} code,{OURS} pre{{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--panel);color:var(--ink);border-radius:4px}}
{OURS} code{{padding:1px 5px}} {OURS} pre code{{padding:0}} {OURS} pre{{padding:10px 12px;margin:8px 0;overflow-x:auto;white-space:pre}}
</style>"""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: `tone` is good, warn, bad, soft or nothing, `code` a command to copy below the text."""

    text: str
    tone: str = ""
    number: bool = False
    code: str = ""


@dataclass(frozen=True)
class Panel:
    """A titled piece of output: paragraphs, a table, lists under headings, code, a closing line; every part may be missing."""

    title: str
    prose: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    code: str = ""
    footer: Sequence[str] = field(default=())
    lists: Sequence[tuple[str, Sequence[str]]] = ()

    def html(self) -> str:
        parts = [f"<h4>{escape(self.title)}</h4>", *(_paragraph(text) for text in self.prose)]
        if self.rows:
            parts.append(_table(self.heads, self.rows))
        for heading, items in self.lists:
            parts.append(f"<h5>{escape(heading)}</h5><ul>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</ul>")
        if self.code:
            parts.append(f"<pre><code>{escape(self.code)}</code></pre>")
        parts += [_paragraph(text, "soft") for text in self.footer]
        return f'{style(ROOT)}{CSS}<div class="{ROOT}">{"".join(parts)}</div>'

    def print(self, console: Console) -> None:
        from rich.padding import Padding
        from rich.syntax import Syntax
        from rich.text import Text

        console.print(Text(self.title, style="bold"))
        for text in self.prose:
            console.print(Text(_unticked(text)))
        if self.rows:
            console.print(_rich_table(self.heads, self.rows, console.width))
        for heading, items in self.lists:
            console.print(Text(heading, style="bold"))
            for item in items:
                console.print(Padding(Text(f"• {_unticked(item)}"), (0, 0, 0, 2)))
            console.print()
        if self.code:
            console.print(
                Padding(Syntax(self.code.rstrip("\n"), "python", theme="ansi_dark", background_color="default"), (1, 2))
            )
        for text in self.footer:
            console.print(Text(_unticked(text), style="dim"))

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def show(self) -> None:
        from checker.view.display import show

        show(self)


_TONES = {"good": "green", "warn": "yellow", "bad": "bold red", "soft": "dim", "": ""}


def _paragraph(text: str, tone: str = "") -> str:
    """A paragraph; what stands between backticks is code."""
    return f'<p class="{tone}">{_inline(text)}</p>' if tone else f"<p>{_inline(text)}</p>"


def _inline(text: str) -> str:
    pieces = [f"<code>{escape(p)}</code>" if i % 2 else escape(p) for i, p in enumerate(text.split("`"))]
    return "".join(pieces).replace("\n", "<br>")


def _table(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    head = ""
    if any(heads):
        cells = (
            f"<th{' class=n' if cell.number else ''}>{escape(text)}</th>"
            for text, cell in zip(heads, rows[0], strict=True)
        )
        head = f"<thead><tr>{''.join(cells)}</tr></thead>"
    brief = [all(_is_short(row[column]) for row in rows) for column in range(len(rows[0]))]
    body = "".join(
        "<tr>" + "".join(_td(cell, short) for cell, short in zip(row, brief, strict=True)) + "</tr>" for row in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _td(cell: Cell, brief: bool) -> str:
    classes = " ".join(filter(None, [cell.tone, "n" if cell.number else "", "brief" if brief else ""]))
    code = f"<pre><code>{escape(cell.code)}</code></pre>" if cell.code else ""
    return f"<td{f' class={classes!r}' if classes else ''}>{_inline(cell.text)}{code}</td>"


def _rich_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> object:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_header=bool(heads), pad_edge=False, padding=(0, 1, 0, 0))
    whole = _unbroken(heads, rows, width)
    for i, cell in enumerate(rows[0]):
        table.add_column(
            heads[i] if heads else "",
            justify="right" if cell.number else "left",
            overflow="fold",
            no_wrap=i in whole,
        )
    for row in rows:
        cells = []
        for cell in row:
            text = Text(_unticked(cell.text), style=_TONES[cell.tone])
            if cell.code:
                text.append(f"\n  {cell.code}", style="bold cyan")
            cells.append(text)
        table.add_row(*cells)
    return table


def _unbroken(heads: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> set[int]:
    """The columns of names and numbers whose lines are not broken: all of them, or, where they do not fit, the first that do."""
    found: set[int] = set()
    room = width - 2 * len(rows[0])  # what stands between columns
    for i in range(len(rows[0])):
        longest = max(len(text) for text in [heads[i] if heads else "", *(row[i].text for row in rows)])
        if all(_is_short(row[i]) for row in rows) and (room := room - longest) >= 4 * (len(rows[0]) - i):
            found.add(i)
    return found


def _is_short(cell: Cell) -> bool:
    """A name or a number, which must not be broken over lines."""
    return len(cell.text) <= 24 and not cell.code


def _unticked(text: str) -> str:
    return text.replace("`", "")
