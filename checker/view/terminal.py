"""The verdict card of a terminal: the same content as the page's, in plain characters where there is no colour."""

from __future__ import annotations

import io

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from checker.judge.verdict import GateResult, Mismatch, Verdict
from checker.view import wording

STYLES = {"good": "green", "bad": "red", "soft": "bright_black"}


def print_card(verdict: Verdict, console: Console | None = None) -> None:
    """Print the card; without a terminal, no colours and no control characters."""
    (console or Console(highlight=False, soft_wrap=False)).print(_card(verdict))


def card_text(verdict: Verdict, width: int = 80) -> str:
    """The card as plain text, no line longer than `width` characters."""
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None, force_terminal=False)
    console.print(_card(verdict))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _card(verdict: Verdict) -> Group:
    style = STYLES[wording.colour(verdict.status)]
    head = Text.assemble(
        (f"{wording.icon(verdict.status)} ", f"bold {style}"),
        (wording.headline(verdict), "bold"),
        (f"   {wording.took(verdict)}", "bright_black"),
    )
    parts: list[RenderableType] = [head]
    if lead := wording.lead(verdict):
        parts.append(_para(lead))
    failure = verdict.failure
    if verdict.status != "not_attempted":
        parts.append(_ladder(verdict))
        if failure is not None:
            parts += _failure(verdict, failure)
    elif failure is not None and failure.advice:
        parts.append(_para(failure.advice, "Next, try: "))
    if verdict.passed:
        parts += [_traffic(g) for g in verdict.gates if g.traffic]
        if note := wording.gpu_note(verdict):
            parts.append(_para(note))
        if why := wording.explanation(verdict):
            parts.append(_para(why, "Why it works: "))
        if step := wording.next_step(verdict):
            parts.append(_para(step, "What is next: "))
    for _, message in wording.targets(verdict.gates):
        parts.append(_para(message, "Worth knowing: "))
    return Group(*parts)


def _para(text: str, tag: str = "", style: str = "") -> RenderableType:
    return Padding(Text.assemble((tag, "bold"), (text.strip(), style)), (0, 0, 0, 2))


def _ladder(verdict: Verdict) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    ran, rest = wording.not_run(verdict)
    for gate in verdict.gates if verdict.passed else ran:
        style = STYLES[wording.colour(gate.status)]
        told = gate.status == "passed" or (gate.status == "skipped" and verdict.passed)
        said = gate.message.splitlines()[0] if gate.message and told else wording.WORDS[gate.status]
        table.add_row(
            Text(f"  {wording.icon(gate.status)}", style=style), Text(gate.gate), Text(said, style="bright_black")
        )
    if rest and not verdict.passed:
        return Group(table, Text(f"  – not run: {', '.join(rest)}", style=STYLES["soft"]))
    return table


def _failure(verdict: Verdict, gate: GateResult) -> list[RenderableType]:
    parts: list[RenderableType] = [Text("")]
    if gate.message:
        parts.append(_para(gate.message, style="bold"))
    line = gate.line or (gate.mismatch.line if gate.mismatch else None)
    cause = verdict.diagnosis.line if verdict.diagnosis is not None else None
    shown = wording.excerpt(verdict, line, also=cause)
    parts += _source(shown)
    parts += [_para(f.message, "• ") for f in wording.untold(gate)[:4]]
    if verdict.diagnosis is not None:
        if verdict.diagnosis.misconception is not None:
            lines = [f"{label}: {text}" for label, text in wording.diagnosis_parts(verdict.diagnosis)]
            parts.append(_para("\n".join(lines), f"{wording.diagnosis_tag(verdict.diagnosis)}\n"))
        else:
            parts.append(_para(verdict.diagnosis.note))
        if cause not in [row.number for row in shown]:
            parts += _source(wording.excerpt(verdict, cause, around=0))
    if advice := wording.advice(verdict, gate):
        parts.append(_para(advice, "Next, try: "))
    if gate.mismatch is not None:
        parts += _mismatch(gate.mismatch, gate.message)
    if verdict.smallest is not None:
        parts.append(_para(wording.case_words(verdict.smallest), "Smallest failing shape: "))
    if gate.traffic:
        parts.append(_traffic(gate))
    if detail := wording.details(gate):
        last = [part for part in detail.splitlines() if part.strip()][-6:]
        parts.append(_para("\n".join(last), style="bright_black"))
    return parts


def _source(rows: list[wording.Line]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for row in rows:
        mark = "▸" if row.here else " "
        text = Text(f"  {mark} {row.number:>4}  {row.text}", style="bold" if row.here else "bright_black")
        text.no_wrap, text.overflow = True, "ellipsis"
        parts.append(text)
    return parts


def _mismatch(mismatch: Mismatch, said: str) -> list[RenderableType]:
    view = wording.window(mismatch, most=5)
    place = wording.where_wrong(mismatch, said)
    parts: list[RenderableType] = [_para(place)] if place else []
    for name, cells, mark in (("expected", view.expected, False), ("got", view.got, True)):
        table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
        table.add_column(name, style="bright_black", justify="right")
        for col in view.cols:
            table.add_column(str(col), justify="right")
        for r, row in enumerate(cells):
            texts = [
                Text(f"›{text}‹" if (r, c) == view.first else text, style="red" if mark and view.wrong[r][c] else "")
                for c, text in enumerate(row)
            ]
            table.add_row(Text(str(view.rows[r])), *texts)
        parts.append(Padding(table, (0, 0, 0, 2)))
    if place:
        parts.append(_para(wording.case_words(mismatch.case), "Case: "))
    return parts


def _traffic(gate: GateResult) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for row in wording.moved(gate.traffic):
        top = max(row.moved, row.allowed, 1)
        filled = round(20 * row.moved / top)
        bar = "█" * filled + "░" * (20 - filled)
        style = "red" if row.over else ""
        table.add_row(Text(f"  {row.tensor} {row.verb}"), Text(bar, style=style), Text(row.words, style=style))
    return table
