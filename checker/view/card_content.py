"""The content of a verdict's card, in order. `card` renders it as a page and `terminal` as text; neither adds anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from checker.course import PUZZLES, after
from checker.course.launchers import JUDGED
from checker.judge.verdict import Diagnosis, GateResult, Mismatch, Status, Unreached, Verdict
from checker.phrases import count, short
from checker.puzzle import Case, Gate
from checker.submission.notebook import shell
from checker.view.formats import number, size

Tone = Literal["good", "bad", "soft", "invite"]


class StatusWords(NamedTuple):
    icon: str
    tone: Tone
    gate: str
    """The outcome of a gate."""
    puzzle: str
    """The outcome of a puzzle, after its title."""


STATUS: dict[Status, StatusWords] = {
    "passed": StatusWords("✓", "good", "passed", "passed"),
    "front_end": StatusWords("◐", "soft", "front end only", "passed"),
    "failed": StatusWords("✗", "bad", "failed", "failed"),
    "skipped": StatusWords("–", "soft", "not run", "was not checked"),
    "not_attempted": StatusWords("○", "soft", "not tried yet", "is waiting for you"),
    "forbidden": StatusWords("✗", "bad", "not allowed", "uses something the course does not allow"),
    "compile_error": StatusWords("✗", "bad", "does not compile", "does not compile"),
    "runtime_error": StatusWords("✗", "bad", "stopped with an error", "stopped with an error"),
    "timeout": StatusWords("✗", "bad", "took too long", "took too long"),
    "resource_limit": StatusWords("✗", "bad", "needs too much", "needs more memory than allowed"),
    "protocol_error": StatusWords("!", "soft", "not checked", "could not be checked"),
    "infra_error": StatusWords("!", "soft", "not checked", "could not be checked"),
}
ASKS: dict[Gate, str] = {
    "source": "Does it follow the rules?",
    "compile": "Does it compile for real GPUs?",
    "values": "Are the numbers right?",
    "memory": "Are its loads and stores safe?",
    "traffic": "Does it move no more bytes than needed?",
    "gpu": "Is it right on a GPU?",
    "speed": "How fast is it?",
}
_FAILED: dict[Gate, str] = {
    "source": "breaks a rule",
    "compile": "does not compile",
    "values": "gives wrong numbers",
    "memory": "uses memory unsafely",
    "traffic": "is right, but moves too many bytes",
    "gpu": "fails on the GPU",
    "speed": "could not be timed",
}


@dataclass(frozen=True)
class Paragraph:
    """`lead` goes below the headline, `message` is the failing gate's, and an `aside` matters less than the rest."""

    text: str
    role: Literal["lead", "message", "plain", "aside"] = "plain"
    label: str = ""


@dataclass(frozen=True)
class Gates:
    """All gates in order; those in `not_run` were skipped. With `proof`, the kernel passed, and the gates' messages say why."""

    results: tuple[GateResult, ...]
    not_run: tuple[Gate, ...]
    proof: bool


@dataclass(frozen=True)
class SourceLine:
    number: int
    """The learner's line number."""
    text: str
    here: bool


@dataclass(frozen=True)
class Excerpt:
    """Lines around `line` of the learner's `source`, which starts at line `first_line`."""

    line: int
    lines: tuple[SourceLine, ...]
    source: str
    first_line: int


@dataclass(frozen=True)
class Listing:
    """The failing gate's other `findings`, or the `warnings` of all gates."""

    kind: Literal["findings", "warnings"]
    items: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """Sentences under a heading, each with an optional label: the `cause`, what to do `next`, or `why` it is right."""

    kind: Literal["cause", "next", "why"]
    heading: str
    sentences: tuple[tuple[str, str], ...]
    notebook: str = ""
    """The name of the notebook to open next, if any."""


@dataclass(frozen=True)
class Moved:
    """Bytes loaded from or stored to a tensor, against the budget."""

    tensor: str
    verb: Literal["loaded", "stored"]
    moved: int
    allowed: int

    @property
    def over(self) -> bool:
        return self.moved > self.allowed

    def percent(self, amount: int) -> str:
        """The amount as a share of a bar that is long enough for `moved` and `allowed`."""
        return f"{100 * amount / max(self.moved, self.allowed, 1):.1f}%"

    @property
    def words(self) -> str:
        text = f"{size(self.moved)} of {size(self.allowed)}"
        return text + (f": {size(self.moved - self.allowed)} too many" if self.over else "")


@dataclass(frozen=True)
class TrafficTable:
    rows: tuple[Moved, ...]


@dataclass(frozen=True)
class Detail:
    """Long text, which the page folds and the terminal cuts."""

    heading: str
    text: str


Part = Paragraph | Gates | Excerpt | Listing | Section | Mismatch | TrafficTable | Detail


@dataclass(frozen=True)
class Card:
    tone: Tone
    icon: str
    headline: str
    """E.g. ``Row softmax gives wrong numbers``."""
    points: str
    """Empty if the kernel was not judged."""
    took: str
    """``0.8 s``; empty if nothing ran."""
    cell: str
    """``In [7]``, the kernel's cell; empty if the kernel comes from a file."""
    parts: tuple[Part, ...]


def card_of(verdict: Verdict) -> Card:
    words = STATUS[verdict.status]
    judged = verdict.max_score and words.tone != "soft"
    return Card(
        "invite" if verdict.status == "not_attempted" else words.tone,
        words.icon,
        headline(verdict),
        f"{verdict.score:g} of {count(int(verdict.max_score), 'point')}" if judged else "",
        f"{verdict.seconds:.1f} s" if verdict.seconds >= 0.05 else "",
        verdict.submission.replace("[", " [") if verdict.submission.startswith("In[") else "",
        tuple(_parts(verdict)),
    )


def headline(verdict: Verdict) -> str:
    puzzle, failure = JUDGED.get(verdict.puzzle), verdict.failure
    failed = verdict.status == "failed" and failure is not None
    does = _FAILED[failure.gate] if failed and failure is not None else STATUS[verdict.status].puzzle
    return f"{puzzle.title if puzzle else verdict.puzzle} {does}"


def _parts(verdict: Verdict) -> Iterator[Part]:
    failure = verdict.failure
    if lead := _lead(verdict):
        yield Paragraph(lead, "lead")
    if verdict.status == "not_attempted":
        if failure is not None and failure.advice:
            yield _next("Next, try", failure.advice)
    else:
        if verdict.gates:
            skipped = tuple(gate.gate for gate in verdict.gates if gate.status == "skipped")
            yield Gates(verdict.gates, skipped, proof=verdict.passed)
        if failure is not None:
            yield from _failure(verdict, failure)
    if verdict.passed:
        yield from _passed(verdict)
    if verdict.seed is not None:
        yield Paragraph(f"The cases are random; `check FILE --seed {verdict.seed}` draws the same ones again.", "aside")
    warnings = [w for gate in verdict.gates for w in gate.warnings]
    if warnings:
        yield Listing("warnings", tuple(w.message + (f" (line {w.line})" if w.line else "") for w in warnings))
    yield from _unreached(verdict)


def _next(heading: str, text: str) -> Section:
    return Section("next", heading, tuple(("", line) for line in text.splitlines() if line.strip()))


def _lead(verdict: Verdict) -> str:
    """The sentence below the headline if no gate has a message."""
    puzzle, failure = JUDGED.get(verdict.puzzle), verdict.failure
    if verdict.status == "not_attempted":
        task = f"{puzzle.statement} " if puzzle else ""
        return (
            f"{task}There is nothing between the two marker comments yet. Write a first line there, even if it is a guess, "
            "and check again: the card will tell you what happens."
        )
    if verdict.status in ("infra_error", "protocol_error") and not (failure is not None and failure.message):
        return "The checker itself failed. This says nothing about your kernel and does not count against you."
    return ""


def _failure(verdict: Verdict, gate: GateResult) -> Iterator[Part]:
    if gate.message:
        yield Paragraph(gate.message, "message")
    line = gate.line or (gate.mismatch.line if gate.mismatch else None)
    diagnosis = verdict.diagnosis
    cause = diagnosis.line if diagnosis is not None else None
    shown = excerpt(verdict, line, also=cause)
    if shown:
        yield shown
    if gate.findings and gate.detail:
        others = gate.detail.splitlines()
        more = [f"and {count(len(others) - 4, 'more finding')}"] if len(others) > 4 else []
        yield Listing("findings", (*others[:4], *more))
    if diagnosis is not None:
        if diagnosis.misconception is not None or diagnosis.note:
            yield _cause(diagnosis)
        if diagnosis.misconception is None and diagnosis.try_:
            yield _next("Next, try", diagnosis.try_)
        alone = excerpt(verdict, cause, around=0)
        if alone and not (shown and cause in [row.number for row in shown.lines]):
            yield alone
    if gate.advice and not (diagnosis is not None and diagnosis.try_):  # whose advice is more specific
        yield _next("Next, try", gate.advice)
    if gate.mismatch is not None and (gate.mismatch.total > 1 or gate.mismatch.inputs):
        yield gate.mismatch
    if failing_case(verdict) is not None and verdict.puzzle in PUZZLES:
        yield Paragraph(f"`{_film_call(verdict)}`", label="Film it")
    yield from _traffic(gate)
    if gate.detail.strip() and not gate.findings:
        yield Detail("Triton’s own words" if gate.gate == "compile" else "The details", gate.detail.strip())


def failing_case(verdict: Verdict) -> Case | None:
    """The case that the card shows, unless there is nothing to film: the kernel was stopped from outside, or fails only at a larger size."""
    stopped = verdict.status in ("timeout", "resource_limit", "protocol_error", "infra_error")
    if verdict.failure is None or stopped or any(finding.kind == "wrap" for finding in verdict.failure.findings):
        return None
    return verdict.failure.case


def _film_call(verdict: Verdict) -> str:
    """The call that films the failing case, in Python or in a shell."""
    if shell() is not None or not verdict.submission:
        return f'film({PUZZLES[verdict.puzzle].kernel}, case="failing")'
    return f"python -m checker film {verdict.submission} --case failing"


def _passed(verdict: Verdict) -> Iterator[Part]:
    for gate in verdict.gates:
        yield from _traffic(gate)
    gpu = next((gate for gate in verdict.gates if gate.gate == "gpu"), None)
    if gpu is None or (gpu.status == "skipped" and not gpu.message):  # a green card must admit this
        yield Paragraph("It was not run on a GPU, only simulated and compiled for the GPUs above.", "aside")
    puzzle = JUDGED.get(verdict.puzzle)
    if puzzle is None:
        return
    yield Section("why", "Why it works", (("", puzzle.explanation),))  # no spoiler after passing
    if puzzle.launcher is not None:
        return
    following = after(puzzle.name)
    if following is None:
        yield _next("What is next", "You have reached the end of the course.")
    elif following.notebook == puzzle.notebook:
        yield _next("What is next", f"{following.title}: `{following.kernel}`, further down in this notebook")
    else:
        step = f"{following.title}: `{following.kernel}`, in the notebook {following.notebook}"
        yield replace(_next("What is next", step), notebook=following.notebook)


MOST_UNREACHED = 3


def _unreached(verdict: Verdict) -> Iterator[Paragraph]:
    """What no case reached, which says nothing against the kernel."""
    shown = verdict.unreached[:MOST_UNREACHED]
    for one in shown:
        yield Paragraph(f"Line {one.line}: {_aimed(one, verdict.cases_run)}", "aside")
    more = len(verdict.unreached) - len(shown)
    if more:
        yield Paragraph(f"The same holds for {count(more, 'more condition')}.", "aside")


def _aimed(one: Unreached, cases: int) -> str:
    """What became of the cases that a thorough check aimed at the condition, if it did."""
    never = one.never.replace("was never", "was").replace("never changed", "changed")
    if one.reached:
        more = f"{one.reached} of {count(one.aimed, 'more case')} aimed at it"
        return f"`{one.condition}` {never} in {more}, and your kernel is right in all."
    also = f", {one.aimed} of them aimed at it" if one.aimed else ""
    return f"{one.words} in {count(cases, 'case')}{also}. What your kernel does then has not been tried."


def _cause(diagnosis: Diagnosis) -> Section | Paragraph:
    if diagnosis.misconception is None:
        return Paragraph(diagnosis.note)
    second, heading = diagnosis.second, "This behaves exactly like a known mistake"
    first = "1. " if second is not None else ""
    sentences = [
        (f"{first}You may have assumed", diagnosis.believed),
        ("In fact", diagnosis.instead),
        ("Try", diagnosis.try_),
    ]
    names = diagnosis.misconception
    if second is not None:
        heading, names = "This behaves exactly like two known mistakes in one", f"{names}; {second.misconception}"
        sentences += [("2. You may have assumed", second.believed), ("In fact", second.instead)]
    sentences.append(("", diagnosis.note))
    heading = f"{heading}: {names.replace('_', ' ')}"
    return Section("cause", heading, tuple(sentence for sentence in sentences if sentence[1]))


def _traffic(gate: GateResult) -> Iterator[TrafficTable]:
    rows: list[Moved] = []
    for name, (used, may_load, may_store) in gate.traffic.items():
        rows += [
            Moved(short(name), "loaded", used.loaded, may_load),
            Moved(short(name), "stored", used.stored, may_store),
        ]
    if rows := [row for row in rows if row.moved or row.allowed]:
        yield TrafficTable(tuple(rows))


def excerpt(verdict: Verdict, line: int | None, around: int = 1, also: int | None = None) -> Excerpt | None:
    """A line of the kernel and its neighbours; None if the kernel has no such line. Marks the line `also` too, if it is there."""
    lines, first = verdict.source.splitlines(), verdict.first_line
    if line is None or not first <= line < first + len(lines):
        return None
    numbers = range(max(line - around, first), min(line + around + 1, first + len(lines)))
    rows = tuple(SourceLine(n, lines[n - first].rstrip(), n in (line, also)) for n in numbers)
    return Excerpt(line, rows, verdict.source, first)


@dataclass(frozen=True)
class Window:
    """Expected and actual numbers around the first wrong element, in the last two dimensions."""

    lead: tuple[int, ...]
    """The element's indices in the dimensions before those."""
    rows: list[int]
    cols: list[int]
    expected: list[list[str]]
    got: list[list[str]]
    wrong: list[list[bool]]
    first: tuple[int, int]
    """Row and column of the first wrong element, as positions in the window."""


def window(mismatch: Mismatch, most: int) -> Window:
    """The window as text: at most `most` rows and columns, including the first wrong element."""
    missing = max(2 - len(mismatch.shape), 0)  # a vector is one row
    shape, first = (1,) * missing + mismatch.shape, (0,) * missing + mismatch.first
    (r0, r1), (c0, c1) = (((0, 1),) * 2 + mismatch.window)[-2:]
    lead, (row, col) = first[:-2], first[-2:]

    def plane(array: np.ndarray) -> np.ndarray:
        return np.asarray(array, dtype=np.float64).reshape(-1, r1 - r0, c1 - c0)[0]

    expected, got = plane(mismatch.expected), plane(mismatch.got)
    error = np.asarray(mismatch.error, dtype=np.float64).reshape(shape)[lead][r0:r1, c0:c1]
    rows, cols = _around(row - r0, r1 - r0, most), _around(col - c0, c1 - c0, most)
    return Window(
        lead,
        [r0 + r for r in rows],
        [c0 + c for c in cols],
        [[number(float(expected[r, c]), 8) for c in cols] for r in rows],
        [[number(float(got[r, c]), 8) for c in cols] for r in rows],
        [[not error[r, c] <= 1 for c in cols] for r in rows],
        (rows.index(row - r0), cols.index(col - c0)),
    )


def input_tables(mismatch: Mismatch, view: Window, most: int) -> Iterator[Grid]:
    """The inputs as text, in tables of at most `most` columns.

    A wider one is cut up if the element is to be worked out by hand. Otherwise it has the window's columns, or is left out.
    """
    for one in mismatch.inputs:
        columns = list(one.columns)
        if len(columns) > most and not mismatch.by_hand:
            columns = [c for c in columns if c in view.cols] if one.beside else []
        for start in range(0, len(columns), most):
            part = columns[start : start + most]
            values = one.values[:, [one.columns.index(c) for c in part]]
            width = 11 if np.array_equal(values, np.floor(values)) else 8  # whole numbers, such as indices, in full
            cells = [[number(float(v), width) for v in row] for row in values]
            axes = axis_names(one.axes, len(one.rows) > 1)
            yield Grid(short(one.tensor) + _at(one.lead), axes, list(one.rows), part, cells)


class Grid(NamedTuple):
    """A table of numbers, with the indices of its rows and columns; `axes` say what these count."""

    name: str
    axes: str
    rows: list[int]
    cols: list[int]
    cells: list[list[str]]


def axis_names(axes: tuple[str, ...], rows: bool) -> str:
    """``query ↓ value →``: what the rows and the columns of a table are. A vector has only columns."""
    if len(axes) == 1:
        return f"{axes[0]} →"
    if axes:
        return f"{axes[0]} ↓ {axes[1]} →"
    return "row ↓ column →" if rows else "column →"


def _at(lead: tuple[int, ...]) -> str:
    """Indices in the dimensions before the last two, which are colons as in PyTorch: `` [0, 1, :, :]``."""
    return f" [{', '.join(map(str, lead))}, :, :]" if lead else ""


def compared(mismatch: Mismatch, view: Window) -> tuple[Grid, Grid]:
    """The tables of what was expected and of what came out."""
    axes = axis_names(mismatch.axes, len(mismatch.shape) > 1)
    expected, got = (
        Grid(name + _at(view.lead), axes, view.rows, view.cols, cells)
        for name, cells in (("expected", view.expected), ("got", view.got))
    )
    return expected, got


def _around(at: int, extent: int, most: int) -> list[int]:
    start = max(0, min(at - most // 2, extent - most))
    return list(range(start, min(start + most, extent)))
