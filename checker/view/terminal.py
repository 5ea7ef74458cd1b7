"""The verdict card in a terminal, with the same content as the page's."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from checker.judge.verdict import Mismatch, Verdict
from checker.view import card_content as content

_STYLES: dict[content.Tone, str] = {"good": "green", "bad": "red", "soft": "bright_black", "invite": "bright_black"}
_DETAIL_LINES = 6
WIDTH = 10
"""Of a column of numbers, so that those of the input, expected and got lie below one another."""


def print_card(verdict: Verdict, console: Console | None = None) -> None:
    """Print the card, without colours or control characters if this is not a terminal."""
    (console or Console(highlight=False, soft_wrap=False)).print(_rendered(content.card_of(verdict)))


def _rendered(card: content.Card) -> Group:
    head = Text.assemble(
        (f"{card.icon} ", f"bold {_STYLES[card.tone]}"), (card.headline, "bold"), (f"   {card.took}", "bright_black")
    )
    return Group(head, *(rendered for part in card.parts for rendered in _part(part)))


def _part(part: content.Part) -> Iterator[RenderableType]:
    match part:
        case content.Paragraph():
            yield _paragraph(
                part.text, f"{part.label}: " if part.label else "", "bold" if part.role == "message" else ""
            )
        case content.Gates():
            yield from _gates(part)
        case content.Excerpt():
            yield from map(_source_line, part.lines)
        case content.Listing():
            label = "• " if part.kind == "findings" else "Worth knowing: "
            yield from (_paragraph(item, label) for item in part.items)
        case content.Section():
            text = "\n".join(f"{label}: {sentence}" if label else sentence for label, sentence in part.sentences)
            yield _paragraph(text, part.heading + ("\n" if part.kind == "cause" else ": "))
        case Mismatch():
            yield from _comparison(part)
        case content.TrafficTable():
            yield _traffic(part)
        case content.Detail():
            last = [line for line in part.text.splitlines() if line.strip()][-_DETAIL_LINES:]
            yield _paragraph("\n".join(last), style="bright_black")


def _paragraph(text: str, label: str = "", style: str = "") -> RenderableType:
    return Padding(Text.assemble((label, "bold"), (text.strip(), style)), (0, 0, 0, 2))


def _gates(gates: content.Gates) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 1))
    for gate in gates.results:
        words = content.STATUS[gate.status]
        if gate.status != "skipped" or gates.proof:
            message = gate.message if gates.proof or gate.status in ("passed", "front_end") else ""
            text = Text(message.splitlines()[0] if message else words.gate, style="bright_black")
            table.add_row(Text(f"  {words.icon}", style=_STYLES[words.tone]), Text(gate.gate), text)
    yield table
    if not gates.proof:
        if gates.not_run:
            yield Text(f"  – not run: {', '.join(gates.not_run)}", style=_STYLES["soft"])
        yield Text("")


def _source_line(line: content.SourceLine) -> Text:
    text = f"  {'▸' if line.here else ' '} {line.number:>4}  {line.text}"
    return Text(text, style="bold" if line.here else "bright_black", no_wrap=True, overflow="ellipsis")


def _comparison(mismatch: Mismatch) -> Iterator[RenderableType]:
    view = content.window(mismatch, most=5)
    yield from map(_grid, content.input_tables(mismatch, view, most=5))
    expected, got = content.compared(mismatch, view)
    yield _grid(expected, view.first)
    yield _grid(got, view.first, view.wrong)


def _grid(grid: content.Grid, first: tuple[int, int] | None = None, wrong: list[list[bool]] | None = None) -> Padding:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    table.add_column(
        f"{grid.name}\n{grid.axes}", style="bright_black", justify="right", min_width=len("expected"), vertical="bottom"
    )
    for col in grid.cols:
        table.add_column(str(col), justify="right", min_width=WIDTH)
    for r, row in enumerate(grid.cells):
        texts = [
            Text(f"›{text}‹" if (r, c) == first else text, style="red" if wrong and wrong[r][c] else "")
            for c, text in enumerate(row)
        ]
        table.add_row(Text(str(grid.rows[r])), *texts)
    return Padding(table, (0, 0, 0, 2))


def _traffic(traffic: content.TrafficTable) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for row in traffic.rows:
        filled = round(20 * row.moved / max(row.moved, row.allowed, 1))
        style = "red" if row.over else ""
        table.add_row(
            Text(f"  {row.tensor} {row.verb}"),
            Text("█" * filled + "░" * (20 - filled), style=style),
            Text(row.words, style=style),
        )
    return table
