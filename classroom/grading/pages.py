"""The pages of a report, for a learner and for the class: self-contained HTML, light and dark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from checker.api.grading import JUDGED, STATUS, PuzzleResult, Result, Submission, asset, count, prose, style_element
from classroom.grading.gradebook import name_of
from classroom.grading.gradescope import feedback, without_lines
from classroom.grading.policy import moment

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def learner_page(
    submission: Submission, result: Result, cards: Mapping[str, str], films: Mapping[str, str] | None = None
) -> str:
    """What one learner reads: points, a card for each puzzle, what could not be read.

    `cards` by the key of the verdict and `films` by puzzle are HTML of our own.
    """
    return _page(
        "learner.html",
        name_of(submission.learner),
        result,
        submission=submission,
        cards={key: Markup(card) for key, card in cards.items()},  # noqa: S704 (a card escapes what learners wrote)
        films={puzzle: Markup(film) for puzzle, film in (films or {}).items()},  # noqa: S704
    )


def class_page(result: Result) -> str:
    """What the instructor reads: how far everyone is, which beliefs are common, the hardest cases, when files came in."""
    passed = sum(p.status == "passed" for one in result.submissions for p in one.puzzles)
    unread = [(name_of(one.learner), file) for one in result.submissions for file in one.unread]
    return _page(
        "class.html",
        "The class",
        result,
        passed=passed,
        beliefs=_beliefs(result),
        puzzles=[_puzzle_row(result, at) for at in range(len(result.puzzles))],
        titles=[task.title for task in result.puzzles],
        has_roster=any(one.on_roster for one in result.submissions),
        hours=_hours(result),
        doubts=_doubts(result),
        unread=[*unread, *(("", file) for file in result.unread)],
    )


def _page(template: str, title: str, result: Result, **values: Any) -> str:
    """A whole HTML document, without control characters that learners may have written."""
    style = style_element("tbt-report", asset("classroom.grading", "report.css"))
    page = _templates().get_template(template)
    text = page.render(title=title, style=style, result=result, environment=result.environment, **values)
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _templates() -> Environment:
    made = Environment(loader=PackageLoader("classroom.grading"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {
        "count": count,
        "feedback": feedback,
        "name_of": name_of,
        "notes": _notes,
        "prose": prose,
        "title_of": lambda name: JUDGED[name].title if name in JUDGED else name,
        "words": lambda puzzle: STATUS[puzzle.status],
    }
    return made


def _notes(puzzle: PuzzleResult) -> list[str]:
    """What stands above a card, a few words each."""
    notes = []
    if puzzle.source is not None:
        counts = f", the one of {puzzle.attempts} tries that counts" if puzzle.attempts > 1 else ""
        notes.append(f"{puzzle.source.place}{counts}")
    if puzzle.cases is not None:
        notes.append(f"values right in {puzzle.cases.right} of {puzzle.cases.run} cases")
    if puzzle.status != "passed" and any(puzzle.points.values()):
        notes.append("points: " + ", ".join(f"{gate} {points:.3g}" for gate, points in puzzle.points.items() if points))
    if puzzle.left_out:
        notes.append(without_lines(puzzle).rstrip("."))
    if puzzle.late is not None:
        notes.append(f"late: {puzzle.late.factor:.0%} of the points count")
    if puzzle.dropped:
        notes.append("left out of the sum")
    return notes


@dataclass(frozen=True)
class _Belief:
    """A misconception and how many learners have it; `width` is its bar's, in rem."""

    puzzle: str
    misconception: str
    believed: str
    learners: int
    width: float


def _beliefs(result: Result) -> list[_Belief]:
    """The most common misconceptions first: what to teach again."""
    held = Counter(
        (p.puzzle, p.diagnosis.misconception, p.diagnosis.believed)
        for one in result.submissions
        for p in one.puzzles
        if p.diagnosis is not None and p.diagnosis.misconception
    )
    most = max(held.values(), default=1)
    ordered = sorted(held.items(), key=lambda item: (-item[1], item[0]))
    return [_Belief(*belief, n, round(5 * n / most, 2)) for belief, n in ordered]


def _puzzle_row(result: Result, at: int) -> dict[str, object]:
    """How a puzzle went: tried, passed, the gates that stopped kernels, the case that failed most."""
    results = [one.puzzles[at] for one in result.submissions]
    tried = [one for one in results if one.status != "not_attempted"]
    failures = [one.failure for one in tried if one.failure is not None]
    cases = Counter(failure.case for failure in failures if failure.case is not None)
    stopped = Counter(failure.gate for failure in failures)
    return {
        "title": result.puzzles[at].title,
        "tried": len(tried),
        "passed": sum(one.status == "passed" for one in results),
        "stopped": ", ".join(f"{gate} {n}" for gate, n in stopped.most_common()),
        "hardest": ", ".join(f"{case} ({n})" for case, n in cases.most_common(1)),
    }


def _doubts(result: Result) -> list[tuple[str, str, str]]:
    """What to read before you return the grades: work that got nothing without having run, and times that nobody could read."""
    doubts = []
    for one in result.submissions:
        refused = [p for p in one.puzzles if p.failure and p.failure.gate == "source" and p.status != "not_attempted"]
        why = [(p.puzzle, p.failure.message) for p in refused if p.failure and not p.score]
        left = any(p.status == "not_attempted" for p in one.puzzles)
        listed = ("time", "no_kernel") if left else ("time",)
        why += [("", f"{file.file}: {file.message}") for file in one.unread if file.reason in listed]
        doubts += [(name_of(one.learner), puzzle, text) for puzzle, text in why]
    return doubts


def _hours(result: Result) -> dict[str, object] | None:
    """How many files came in, in forty parts of the time between the first and the last one."""
    times = sorted(moment(file.time) for one in result.submissions for file in one.files if file.time)
    if len(times) < 2 or (times[-1] - times[0]).total_seconds() < 60:  # that is when the zip was made
        return None
    first, last = times[0], times[-1]
    span = (last - first).total_seconds()
    counts = Counter(min(int(39.999 * (time - first).total_seconds() / span), 39) for time in times)
    ends = {"first": f"{first:%d %b %Y %H:%M}", "last": f"{last:%d %b %Y %H:%M}"}
    return {"counts": counts, "most": max(counts.values()), **ends}
