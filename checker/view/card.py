"""The verdict card of a notebook: what happened, why, and what to try next. Works without scripts."""

from __future__ import annotations

import re

from checker.judge.verdict import GateResult, Mismatch, Verdict
from checker.simulator.trace import Finding
from checker.view import wording
from checker.view.code import highlight
from checker.view.error_map import alt_text, error_map, numbered
from checker.view.theme import count, escape, style


def card_html(verdict: Verdict) -> str:
    """One self-contained HTML fragment for a verdict, in dark and light, with everything of the learner's escaped."""
    tone = "invite" if verdict.status == "not_attempted" else wording.colour(verdict.status)
    parts = [_head(verdict)]
    if lead := wording.lead(verdict):
        parts.append(f'<p class="message">{prose(lead)}</p>')
    if verdict.gates and verdict.status != "not_attempted":
        parts.append(_ladder(verdict))
    failure = verdict.failure
    if failure is not None and verdict.status != "not_attempted":
        parts.append(_failure(verdict, failure))
    if failure is not None and verdict.status == "not_attempted" and failure.advice:
        parts.append(_box("Next, try", failure.advice))
    if verdict.passed:
        parts.append(_proved(verdict))
    parts.append(_warnings(verdict))
    return f'<div class="tbt-card {tone}">{style("tbt-card", "card.css")}{"".join(parts)}</div>'


def prose(text: str) -> str:
    """Escaped text in which `code` between backquotes is set as code and line breaks are kept."""

    def code(match: re.Match[str]) -> str:
        whole = ' class="whole"' if len(match[1]) <= 40 else ""
        return f"<code{whole}>{match[1]}</code>"

    return re.sub(r"`([^`\n]+)`", code, escape(text)).replace("\n", "<br>")


def _head(verdict: Verdict) -> str:
    facts = [took] if (took := wording.took(verdict)) else []
    if verdict.max_score and wording.colour(verdict.status) != "soft":
        facts.insert(0, f"{verdict.score:g} of {count(int(verdict.max_score), 'point')}")
    return (
        f'<div class="head"><span class="mark" aria-hidden="true">{wording.icon(verdict.status)}</span>'
        f'<span class="title">{escape(wording.headline(verdict))}</span><span class="meta">{" · ".join(facts)}</span></div>'
    )


def _ladder(verdict: Verdict) -> str:
    ran, rest = wording.not_run(verdict)
    items = "".join(
        f'<li class="{wording.colour(g.status)}" title="{escape(wording.ASKS[g.gate])}"><i aria-hidden="true">{wording.icon(g.status)}</i>'
        f"{g.gate}{'' if g.status == 'passed' else f': {wording.WORDS[g.status]}'}</li>"
        for g in ran
    )
    if rest:
        items += f'<li class="soft"><i aria-hidden="true">–</i>not run: {", ".join(rest)}</li>'
    return f'<ol class="gates" aria-label="Gates, in order">{items}</ol>'


def _failure(verdict: Verdict, gate: GateResult) -> str:
    parts = [f'<p class="message">{prose(gate.message)}</p>'] if gate.message else []
    line = gate.line or (gate.mismatch.line if gate.mismatch else None)
    diagnosis = verdict.diagnosis
    cause = diagnosis.line if diagnosis is not None else None
    parts.append(_excerpt(verdict, line, also=cause))
    if gate.findings:
        parts.append(_findings(wording.untold(gate)))
    if diagnosis is not None:
        if diagnosis.misconception is not None:
            told = [f"<b>{label}:</b> {prose(text)}" for label, text in wording.diagnosis_parts(diagnosis)]
            parts.append(_framed(wording.diagnosis_tag(diagnosis), told, "looks"))
        else:
            parts.append(f'<p class="soft">{prose(diagnosis.note)}</p>')
        if cause is not None and cause not in [row.number for row in wording.excerpt(verdict, line)]:
            parts.append(_excerpt(verdict, cause, around=0))
    if advice := wording.advice(verdict, gate):
        parts.append(_box("Next, try", advice))
    if gate.mismatch is not None:
        parts.append(_mismatch(gate.mismatch, gate.message))
    elif seen := wording.seen_with(verdict, gate):
        parts.append(f'<p class="soft">{escape(seen)}</p>')
    if verdict.smallest is not None:
        parts.append(f"<p><b>Smallest failing shape:</b> {escape(wording.case_words(verdict.smallest))}.</p>")
    parts.append(_traffic(gate))
    if detail := wording.details(gate):
        name = "Triton’s own words" if gate.gate == "compile" else "The details"
        parts.append(f"<details><summary>{name}</summary><pre>{escape(detail)}</pre></details>")
    return "".join(parts)


def _box(tag: str, text: str) -> str:
    """A framed paragraph for each line."""
    return _framed(tag, [prose(line) for line in text.splitlines() if line.strip()])


def _framed(tag: str, lines: list[str], name: str = "") -> str:
    """`lines` are HTML."""
    body = "".join(f"<p>{line}</p>" for line in lines)
    return f'<div class="box {name}"><b class="tag">{tag}</b>{body}</div>'


def _excerpt(verdict: Verdict, line: int | None, around: int = 1, also: int | None = None) -> str:
    chosen = wording.excerpt(verdict, line, around, also)
    if not chosen:
        return ""
    painted = highlight(verdict.source)
    rows = "".join(
        f'<span class="ln{" here" if row.here else ""}"><i>{"▸ " if row.here else ""}{row.number}</i>'
        f"{painted[row.number - verdict.first_line]}\n</span>"
        for row in chosen
    )
    return f'<pre aria-label="Line {line}">{rows}</pre>'


def _findings(rows: list[Finding]) -> str:
    items = "".join(f"<li>{prose(f.message)}</li>" for f in rows[:4])
    if len(rows) > 4:
        items += f"<li>and {count(len(rows) - 4, 'more finding')}</li>"
    return f"<ul>{items}</ul>" if items else ""


def _mismatch(mismatch: Mismatch, said: str) -> str:
    view = wording.window(mismatch)

    def table(name: str, cells: list[list[str]], mark: bool) -> str:
        head = "".join(f'<th scope="col">{c}</th>' for c in view.cols)
        body = ""
        for r, row in enumerate(cells):
            body += f'<tr><th scope="row">{view.rows[r]}</th>'
            for c, text in enumerate(row):
                names = (["wrong"] if mark and view.wrong[r][c] else []) + (["first"] if (r, c) == view.first else [])
                body += f'<td class="{" ".join(names)}">{text}</td>' if names else f"<td>{text}</td>"
            body += "</tr>"
        return f'<div><table class="cells"><caption>{name}</caption><tr><th></th>{head}</tr>{body}</table></div>'

    index = "[" + ", ".join([*map(str, view.lead), "rows", "columns"]) + "]" if view.lead else ""
    place, note, picture = wording.where_wrong(mismatch, said), "", ""
    if place:
        note = f"Case: {wording.case_words(mismatch.case)}. "
    if mismatch.total > len(view.rows) * len(view.cols):  # otherwise the two tables show all there is
        picture = f'<figure role="img" aria-label="{escape(alt_text(mismatch))}">{error_map(mismatch)}</figure>'
        note += "Numbers in the picture are the programs that stored the tiles." if numbered(mismatch) else ""
    return (
        (f"<p>{escape(place)}</p>" if place else "")
        + f'<div class="pair">{table(f"expected {index}", view.expected, False)}{table(f"got {index}", view.got, True)}'
        + "</div>"
        + picture
        + (f'<p class="soft">{escape(note)}</p>' if note else "")
    )


def _traffic(gate: GateResult) -> str:
    rows = ""
    for row in wording.moved(gate.traffic):
        top = max(row.moved, row.allowed, 1)
        name = f"{row.verb}{' over' if row.over else ''}"
        rows += (
            f'<tr class="{name}"><th scope="row"><b>{escape(row.tensor)}</b> {row.verb}</th><td><span class="bar">'
            f'<span style="width:{100 * row.moved / top:.1f}%"></span><u style="left:{100 * row.allowed / top:.1f}%"></u></span></td>'
            f'<td class="words">{row.words}</td></tr>'
        )
    return f'<h4>Bytes moved, against the budget</h4><table class="traffic">{rows}</table>' if rows else ""


def _proved(verdict: Verdict) -> str:
    items = "".join(
        f'<li class="{wording.colour(g.status)}"><i aria-hidden="true">{wording.icon(g.status)}</i><span>{g.gate}</span><span>{prose(g.message)}</span></li>'
        for g in verdict.gates
        if g.message
    )
    parts = [f'<h4>What stands behind it</h4><ul class="proved">{items}</ul>'] if items else []
    parts += [_traffic(g) for g in verdict.gates if g.traffic]
    if note := wording.gpu_note(verdict):
        parts.append(f'<p class="soft">{note}</p>')
    if why := wording.explanation(verdict):
        parts.append(f"<h4>Why it works</h4><p>{prose(why)}</p>")
    if step := wording.next_step(verdict):
        parts.append(_box("What is next", step))
    return "".join(parts)


def _warnings(verdict: Verdict) -> str:
    rows = wording.targets(verdict.gates)
    if not rows:
        return ""
    items = "".join(f"<li>{prose(text)}</li>" for _, text in rows)
    return f"<details><summary>{count(len(rows), 'thing')} worth knowing</summary><ul>{items}</ul></details>"
