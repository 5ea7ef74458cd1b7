"""The pages of a report, for a learner and for the class: self-contained HTML, light and dark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import convert
from msgspec.structs import replace

from checker.course import PUZZLES
from checker.judge.verdict import Diagnosis, GateResult, Status, Verdict
from checker.puzzle import Case
from checker.view.card import card_html
from checker.view.card_content import STATUS
from checker.view.formats import count
from checker.view.theme import asset, prose, style_element
from classroom.grading.gradebook import name_of
from classroom.grading.policy import moment
from classroom.grading.records import LearnerResult, MismatchRecord, PuzzleResult, Result

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NUMBERS = ("learners", "tried", "passed", "points")
_OURS = {"unreadable": ("?", "warn", "could not be read"), "ungraded": ("!", "warn", "not graded")}


def page(title: str, body: Markup) -> str:
    """A whole HTML document, without control characters that learners may have written."""
    style = style_element("tbt-report", asset("classroom.grading", "report.css"))
    return _CONTROL.sub(
        "\N{REPLACEMENT CHARACTER}",
        Markup(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            '<meta name="color-scheme" content="light dark"><title>{}</title>{}</head>'
            '<body><main class="tbt-report">{}</main></body></html>'
        ).format(title, style, body),
    )


# ------------------------------------------------------------------------------------------------------------- a learner


def learner_page(learner: LearnerResult, result: Result, films: Mapping[str, str]) -> str:
    """What one learner reads: points, a card for each puzzle, what could not be read. `films` by puzzle."""
    name = name_of(learner.person)
    parts = [Markup("<h1>{}</h1>").format(name), _total(learner)]
    if learner.told:
        rows = [Markup("<li><code>{}</code>: {}</li>").format(told.file, told.message) for told in learner.told]
        parts.append(Markup("<h2>Not read</h2><ul>{}</ul>").format(Markup().join(rows)))
    for puzzle in learner.puzzles:
        parts.append(_puzzle(puzzle, result, films.get(puzzle.puzzle)))
    parts.append(_foot(result))
    return page(f"{name}: Tile by Tile", Markup().join(parts))


def _total(learner: LearnerResult) -> Markup:
    points = Markup("<p><b>{:g}</b> of {:g} points</p>").format(learner.score, learner.max_score)
    if learner.status == "ungraded":
        points += Markup('<p class="warn">Not everything could be graded yet. This costs nothing.</p>')
    if learner.status == "missing":
        points += Markup('<p class="soft">Nothing was handed in.</p>')
    return points


def _puzzle(puzzle: PuzzleResult, result: Result, film: str | None) -> Markup:
    notes = []
    if puzzle.chosen is not None:
        tries = f", the one of {puzzle.chosen.tries} tries that counts" if puzzle.chosen.tries > 1 else ""
        notes.append(f"{puzzle.chosen.place}{tries}")
    if puzzle.cases is not None:
        notes.append(f"values right in {puzzle.cases.right} of {puzzle.cases.run} cases")
    if puzzle.status not in ("passed", "ungraded") and any(puzzle.points.values()):
        notes.append("points: " + ", ".join(f"{gate} {points:.3g}" for gate, points in puzzle.points.items() if points))
    if puzzle.late is not None:
        notes.append(f"late: {puzzle.late.factor:.0%} of the points count")
    if puzzle.dropped:
        notes.append("left out of the sum")
    body = Markup('<p class="soft">{}</p>').format(" · ".join(notes)) if notes else Markup()
    if puzzle.gates:
        body += Markup(card_html(_verdict(puzzle, result)))  # noqa: S704 (the card escapes what learners wrote)
        body += Markup().join(_cells(gate.mismatch) for gate in puzzle.gates if gate.mismatch is not None)
    else:
        _, tone, words = _words(puzzle)
        body += Markup('<p class="{}">{} {}. {}</p>').format(tone, _title(puzzle.puzzle), words, prose(puzzle.message))
    if film:
        body += Markup("<h3>The smallest case that fails</h3>") + Markup(film)  # noqa: S704 (a film of ours)
    head = Markup("<h2>{} <span class=soft>{:g} of {:g}</span></h2>").format(
        _title(puzzle.puzzle), puzzle.score, puzzle.max_score
    )
    return Markup('<section class="puzzle">{}{}</section>').format(head, body)


def _cells(mismatch: MismatchRecord) -> Markup:
    """Expected and got around the first wrong element."""
    (r0, r1), (c0, c1) = (((0, 1),) * 2 + tuple(mismatch.window))[-2:]
    width = max(c1 - c0, 1)

    def table(name: str, texts: Sequence[str]) -> Markup:
        rows = [texts[at : at + width] for at in range(0, min(len(texts), width * max(r1 - r0, 1)), width)]
        head = Markup("<th></th>") + Markup().join(Markup("<th>{}</th>").format(c) for c in range(c0, c1))
        lines = [
            Markup("<tr><th>{}</th>{}</tr>").format(r0 + n, Markup().join(map(Markup("<td>{}</td>").format, row)))
            for n, row in enumerate(rows)
        ]
        return Markup('<table class="cells"><caption class="soft">{}</caption><tr>{}</tr>{}</table>').format(
            name, head, Markup().join(lines)
        )

    return Markup('<div class="wide">{}{}</div>').format(
        table(f"{mismatch.output}: expected", mismatch.expected), table("got", mismatch.got)
    )


def _verdict(puzzle: PuzzleResult, result: Result) -> Verdict:
    """What the card is made of. Arrays are not kept, so the card has no picture of all elements."""
    source = puzzle.source
    status: Status = puzzle.status if puzzle.status in STATUS else "skipped"
    return Verdict(
        puzzle=puzzle.puzzle,
        submission="",
        status=status,
        device="cpu" if result.environment.device == "cpu" else "cuda",
        seconds=0.0,
        score=puzzle.score,
        max_score=puzzle.max_score,
        gates=tuple(convert(replace(gate, mismatch=None), GateResult, from_attributes=True) for gate in puzzle.gates),
        diagnosis=convert(puzzle.diagnosis, Diagnosis | None, from_attributes=True),
        smallest=convert(puzzle.smallest, Case | None, from_attributes=True),
        source=source.text if source is not None else "",
        first_line=source.first_line if source is not None else 1,
    )


# --------------------------------------------------------------------------------------------------------------- a class


def class_page(result: Result) -> str:
    """What the instructor reads: who is where, which belief how many hold, the hardest case, when tries came in."""
    learners = result.learners
    passed = sum(p.status == "passed" for x in learners for p in x.puzzles)
    asked = len(learners) * len(result.puzzles)
    parts = [
        Markup("<h1>The class</h1><p>{}, {}, {} of {} passed</p>").format(
            count(len(learners), "learner"), count(len(result.puzzles), "puzzle"), passed, asked
        ),
        _beliefs(result),
        _puzzles(result),
        _where(result),
        _times(result),
        _unread(result),
        _foot(result),
    ]
    return page("The class: Tile by Tile", Markup().join(parts))


def _beliefs(result: Result) -> Markup:
    """Which misconception how many hold: what to teach again tomorrow."""
    held = Counter(
        (p.puzzle, p.diagnosis.misconception, p.diagnosis.believed)
        for x in result.learners
        for p in x.puzzles
        if p.diagnosis is not None and p.diagnosis.misconception
    )
    if not held:
        return Markup()
    most = max(held.values())
    rows = [
        (
            n,
            Markup('<span class="bar" style="width:{}rem"></span>').format(round(5 * n / most, 2)),
            Markup("<b>{}</b><br>{}").format(_title(puzzle), name.replace("_", " ")),
            prose(believed),
        )
        for (puzzle, name, believed), n in sorted(held.items(), key=lambda item: (-item[1], item[0]))
    ]
    return _table("What to teach again", ("learners", "", "belief", "what they believe"), rows)


def _puzzles(result: Result) -> Markup:
    """How each puzzle went, and its hardest case."""
    rows = []
    for at, asked in enumerate(result.puzzles):
        mine = [x.puzzles[at] for x in result.learners]
        statuses = Counter(p.status for p in mine)
        hardest = Counter(g.case.name for p in mine for g in p.gates if g.case is not None and g.status != "passed")
        name, failed = next(iter(hardest.most_common(1)), ("", 0))
        stopped = Counter(
            next((g.gate for g in p.gates if g.status not in ("passed", "skipped")), "") for p in mine if p.gates
        )
        gates = ", ".join(f"{gate} {n}" for gate, n in stopped.most_common() if gate and gate != "source")
        case = f"{name} ({failed})" if name else ""
        tried = sum(n for status, n in statuses.items() if status != "not_attempted")
        passed = Markup('<td class="number good">{}</td>').format(statuses["passed"])
        rows.append((asked.title, tried, passed, gates, case))
    heads = ("puzzle", "tried", "passed", "stopped at", "the case that failed most")
    return _table("Puzzles", heads, rows)


def _where(result: Result) -> Markup:
    rows = []
    has_roster = any(learner.on_roster for learner in result.learners)
    for learner in result.learners:
        cells = []
        for p in learner.puzzles:
            sign, tone, words = _words(p)
            cells.append(Markup('<td class="{}" title="{}">{} {:g}</td>').format(tone, words, sign, p.score))
        stranger = " (not on the roster)" if has_roster and not learner.on_roster else ""
        name = Markup('<th scope="row">{}{}</th>').format(name_of(learner.person), stranger)
        rows.append((name, f"{learner.score:g}/{learner.max_score:g}", learner.status, *cells))
    return _table("Who is where", ("learner", "points", "", *(p.title for p in result.puzzles)), rows)


def _times(result: Result) -> Markup:
    """Tries by the hour they were handed in, as bars."""
    times = sorted(moment(f.time) for x in result.learners for f in x.files if f.time)
    if len(times) < 2 or (times[-1] - times[0]).total_seconds() < 60:  # it says when the zip was made
        return Markup()
    first, last = times[0], times[-1]
    span = max((last - first).total_seconds(), 1.0)
    counts = Counter(min(int(39.999 * (t - first).total_seconds() / span), 39) for t in times)
    most = max(counts.values())
    bars = [
        Markup('<rect x="{}" y="{}" width="18" height="{}" fill="var(--load)"><title>{}</title></rect>').format(
            20 * at, 80 - round(70 * n / most), round(70 * n / most), f"{n} files"
        )
        for at, n in counts.items()
    ]
    ends = Markup('<text x="0" y="96">{}</text><text x="800" y="96" text-anchor="end">{}</text>').format(
        first.strftime("%d %b %Y %H:%M"), last.strftime("%d %b %Y %H:%M")
    )
    return Markup(
        '<h2>When it was handed in</h2><svg viewBox="0 0 800 100" role="img" aria-label="Files by time">{}{}</svg>'
    ).format(Markup().join(bars), ends)


def _unread(result: Result) -> Markup:
    told = [(name_of(learner.person), told) for learner in result.learners for told in learner.told]
    told += [("", told) for told in result.told]
    rows = [(name, Markup("<code>{}</code>").format(told.file), told.message) for name, told in told]
    return _table("What was not read", ("learner", "file", "why"), rows) if rows else Markup()


def _foot(result: Result) -> Markup:
    e = result.environment
    drawn = f", cases drawn with the secret {e.secret}" if e.secret else ""
    return Markup('<p class="soft">Judged on {}, isolated by {}; triton {}, torch {}, checker {}{}.</p>').format(
        e.device, " and ".join(e.isolation) or "nothing yet", e.triton, e.torch, e.checker, drawn
    )


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    """Each row has a cell for each head; one that is a `td` or a `th` already stays as it is."""
    classes = [Markup(' class="number"') if head in _NUMBERS else "" for head in heads]

    def cells(row: Sequence[object]) -> Iterator[Markup]:
        for kind, content in zip(classes, row, strict=True):
            if isinstance(content, Markup) and content.startswith(("<td", "<th")):
                yield content
            else:
                yield Markup("<td{}>{}</td>").format(kind, content)

    head = Markup().join(map(Markup('<th scope="col"{}>{}</th>').format, classes, heads))
    body = Markup().join(Markup("<tr>{}</tr>").format(Markup().join(cells(row))) for row in rows)
    return Markup(
        '<h2>{}</h2><div class="wide"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(title, head, body)


def _words(puzzle: PuzzleResult) -> tuple[str, str, str]:
    """A sign, a tone and words for a status."""
    if puzzle.status in _OURS:
        return _OURS[puzzle.status]
    words = STATUS[puzzle.status]  # type: ignore[index]
    return words.icon, words.tone, words.gate


def _title(name: str) -> str:
    known = PUZZLES.get(name)
    return known.title if known is not None else name
