"""The verdict card of a notebook: one self-contained piece of HTML that works without scripts, in dark and light."""

from __future__ import annotations

from markupsafe import Markup

from checker.judge.verdict import Verdict
from checker.view import card_content as content
from checker.view.code import highlight
from checker.view.error_map import alt_text, error_map, numbered
from checker.view.formats import count
from checker.view.theme import asset, prose, style_element


def card_html(verdict: Verdict) -> str:
    card = content.card_of(verdict)
    page = Markup('<div class="tbt-card {}">{}{}{}</div>').format(
        card.tone,
        style_element("tbt-card", asset("checker.view", "card.css")),
        _head(card),
        Markup().join(map(_part, card.parts)),
    )
    return str(page)  # whoever adds to it may do so as to any text


def _head(card: content.Card) -> Markup:
    return Markup(
        '<div class="head"><span class="mark" aria-hidden="true">{}</span><span class="title">{}</span>'
        '<span class="meta">{}</span></div>'
    ).format(card.icon, card.headline, " · ".join(filter(None, [card.cell, card.points, card.took])))


def _part(part: content.Part) -> Markup:
    match part:
        case content.Paragraph():
            name = {"lead": "message", "message": "message", "aside": "soft", "plain": ""}[part.role]
            return _paragraph(part.text, name, part.label)
        case content.Gates():
            return _gates(part) + (_proof(part) if part.proof else "")
        case content.Excerpt():
            return _excerpt(part)
        case content.Listing():
            items = Markup("<ul>{}</ul>").format(
                Markup().join(map(Markup("<li>{}</li>").format, map(prose, part.items)))
            )
            folded = Markup("<details><summary>{} worth knowing</summary>{}</details>")
            return items if part.kind == "findings" else folded.format(count(len(part.items), "thing"), items)
        case content.Section():
            text = Markup().join(_paragraph(text, label=label) for label, text in part.sentences)
            if part.kind == "why":
                return Markup("<h4>{}</h4>{}").format(part.heading, text)
            if part.notebook:
                text += Markup('<p><a href="{0}.ipynb">Open {0}</a></p>').format(part.notebook)
            name = " looks" if part.kind == "cause" else ""
            return Markup('<div class="box{}"><b class="tag">{}</b>{}</div>').format(name, part.heading, text)
        case content.FirstWrong():
            return _comparison(part)
        case content.TrafficTable():
            return _traffic(part)
        case content.Detail():
            return Markup("<details><summary>{}</summary><pre>{}</pre></details>").format(part.heading, part.text)


def _paragraph(text: str, name: str = "", label: str = "") -> Markup:
    opening = Markup('<p class="{}">').format(name) if name else Markup("<p>")
    return opening + (Markup("<b>{}:</b> ").format(label) if label else "") + prose(text) + Markup("</p>")


def _gates(gates: content.Gates) -> Markup:
    item = Markup('<li class="{}" title="{}"><i aria-hidden="true">{}</i>{}{}</li>')
    items = []
    for gate in gates.results:
        words = content.STATUS[gate.status]
        if gate.status != "skipped":
            status = "" if gate.status == "passed" else f": {words.gate}"
            items.append(item.format(words.tone, content.ASKS[gate.gate], words.icon, gate.gate, status))
    if gates.not_run:
        rest = ", ".join(gates.not_run)
        items.append(Markup('<li class="soft"><i aria-hidden="true">–</i>not run: {}</li>').format(rest))
    return Markup('<ol class="gates" aria-label="Gates, in order">{}</ol>').format(Markup().join(items))


def _proof(gates: content.Gates) -> Markup:
    item = Markup('<li class="{}"><i aria-hidden="true">{}</i><span>{}</span><span>{}</span></li>')
    proved = [(content.STATUS[gate.status], gate) for gate in gates.results if gate.message]
    items = [item.format(words.tone, words.icon, gate.gate, prose(gate.message)) for words, gate in proved]
    return Markup('<h4>What was checked</h4><ul class="proved">{}</ul>').format(Markup().join(items))


def _excerpt(excerpt: content.Excerpt) -> Markup:
    highlighted = highlight(excerpt.source)
    row = Markup('<span class="ln{}"><i>{}{}</i>{}\n</span>')
    rows = [
        row.format(
            " here" if line.here else "",
            "▸ " if line.here else "",
            line.number,
            highlighted[line.number - excerpt.first_line],
        )
        for line in excerpt.lines
    ]
    return Markup('<pre aria-label="Line {}">{}</pre>').format(excerpt.line, Markup().join(rows))


def _comparison(part: content.FirstWrong) -> Markup:
    mismatch, view = part.mismatch, content.window(part.mismatch, most=7)
    picture, note = Markup(), f"Case: {part.case}" if part.case else ""
    if mismatch.total > len(view.rows) * len(view.cols):  # otherwise the two tables show all there is
        picture = Markup('<figure role="img" aria-label="{}">{}</figure>').format(
            alt_text(mismatch), error_map(mismatch)
        )
        note += " Numbers in the picture are the programs that stored the tiles." if numbered(mismatch) else ""
    return Markup('{}<div class="pair">{}{}</div>{}{}').format(
        _paragraph(part.place) if part.place else "",
        _cells("expected", view.expected, view, mark=False),
        _cells("got", view.got, view, mark=True),
        picture,
        _paragraph(note.strip(), "soft") if note else "",
    )


def _cells(name: str, cells: list[list[str]], view: content.Window, mark: bool) -> Markup:
    """One of the two tables of numbers; `mark` where the wrong ones are marked as such."""
    index = f"[{', '.join([*map(str, view.lead), 'rows', 'columns'])}]" if view.lead else ""
    rows = [Markup("<th></th>") + Markup().join(Markup('<th scope="col">{}</th>').format(col) for col in view.cols)]
    for r, row in enumerate(cells):
        rows.append(Markup('<th scope="row">{}</th>').format(view.rows[r]))
        for c, text in enumerate(row):
            names = ["wrong"] * (mark and view.wrong[r][c]) + ["first"] * ((r, c) == view.first)
            rows[-1] += Markup("<td{}>{}</td>").format(
                Markup(' class="{}"').format(" ".join(names)) if names else "", text
            )
    return Markup('<div><table class="cells"><caption>{} {}</caption>{}</table></div>').format(
        name, index, Markup().join(map(Markup("<tr>{}</tr>").format, rows))
    )


def _traffic(traffic: content.TrafficTable) -> Markup:
    row = Markup(
        '<tr class="{}{}"><th scope="row"><b>{}</b> {}</th><td><span class="bar"><span style="width:{:.1f}%"></span>'
        '<u style="left:{:.1f}%"></u></span></td><td class="words">{}</td></tr>'
    )
    rows = []
    for r in traffic.rows:
        percent = 100 / max(r.moved, r.allowed, 1)
        over = " over" if r.over else ""
        rows.append(row.format(r.verb, over, r.tensor, r.verb, percent * r.moved, percent * r.allowed, r.words))
    return Markup('<h4>Bytes moved, against the budget</h4><table class="traffic">{}</table>').format(
        Markup().join(rows)
    )
