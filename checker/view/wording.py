"""What a verdict says, in words: shared by the card on a page and the card in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checker.course import LADDER, PUZZLES
from checker.judge.verdict import Diagnosis, Gate, GateResult, Mismatch, Status, Verdict
from checker.puzzle import Case
from checker.simulator.trace import Finding, Traffic
from checker.view.theme import count, number, short, size

ICONS: dict[str, str] = {"passed": "✓", "skipped": "–", "not_attempted": "○", "infra_error": "!", "protocol_error": "!"}
WORDS: dict[str, str] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "not run",
    "not_attempted": "not tried yet",
    "forbidden": "not allowed",
    "compile_error": "does not compile",
    "runtime_error": "stopped with an error",
    "timeout": "took too long",
    "resource_limit": "needs too much",
    "protocol_error": "not checked",
    "infra_error": "not checked",
}
ASKS: dict[Gate, str] = {
    "source": "Does it keep the rules?",
    "compile": "Does it compile for real GPUs?",
    "values": "Are the numbers right?",
    "memory": "Does it touch only what it may?",
    "traffic": "Does it move no more bytes than needed?",
    "gpu": "Does it hold on a GPU?",
    "speed": "How fast is it?",
}
_FAILED: dict[Gate, str] = {
    "source": "breaks a rule",
    "compile": "does not compile",
    "values": "gives wrong numbers",
    "memory": "touches memory it should not",
    "traffic": "is right, but moves too many bytes",
    "gpu": "fails on the GPU",
    "speed": "could not be timed",
}
_STATUS: dict[Status, str] = {
    "passed": "passed",
    "skipped": "was not checked",
    "not_attempted": "is waiting for you",
    "forbidden": "uses something the course does not allow",
    "compile_error": "does not compile",
    "runtime_error": "stopped with an error",
    "timeout": "did not come to an end",
    "resource_limit": "asked for more memory than it may have",
    "protocol_error": "could not be checked",
    "infra_error": "could not be checked",
}
Colour = str  # "good", "bad", "soft"


def icon(status: Status) -> str:
    return ICONS.get(status, "✗")


def colour(status: Status) -> Colour:
    if status == "passed":
        return "good"
    return "soft" if status in ("skipped", "not_attempted", "infra_error", "protocol_error") else "bad"


def headline(verdict: Verdict) -> str:
    """The card's one line, e.g. ``Row softmax gives wrong numbers``."""
    puzzle = PUZZLES.get(verdict.puzzle)
    name, failure = puzzle.title if puzzle else verdict.puzzle, verdict.failure
    if verdict.status == "failed" and failure is not None:
        return f"{name} {_FAILED[failure.gate]}"
    return f"{name} {_STATUS.get(verdict.status, verdict.status.replace('_', ' '))}"


def lead(verdict: Verdict) -> str:
    """A sentence below the headline where no gate has one to say."""
    puzzle = PUZZLES.get(verdict.puzzle)
    if verdict.failure is not None and verdict.failure.message and verdict.status != "not_attempted":
        return ""
    match verdict.status:
        case "not_attempted":
            task = puzzle.statement if puzzle else ""
            return (
                f"{task} Nothing stands between the two marker comments yet. Write a first line there, even a guess, "
                "and check again: the card will tell you what happened."
            ).strip()
        case "infra_error" | "protocol_error":
            return "The checker itself failed. This says nothing about your kernel, and it does not count against you."
        case _:
            return ""


def gpu_note(verdict: Verdict) -> str:
    """What a green card must not hide."""
    gate = next((g for g in verdict.gates if g.gate == "gpu"), None)
    if verdict.passed and (gate is None or (gate.status == "skipped" and not gate.message)):
        return "It was not run on a GPU: the simulator and the compiler for the GPUs above are what stands behind this card."
    return ""


def explanation(verdict: Verdict) -> str:
    """Why the right kernel is right: told after passing, when it spoils nothing."""
    puzzle = PUZZLES.get(verdict.puzzle)
    return puzzle.explanation if verdict.passed and puzzle else ""


def diagnosis_tag(diagnosis: Diagnosis) -> str:
    return f"This behaves exactly like a known mistake: {(diagnosis.misconception or '').replace('_', ' ')}"


def diagnosis_parts(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """What a named misconception has to say, each part with its label."""
    parts = (("Believed", diagnosis.believed), ("Instead", diagnosis.instead), ("Try", diagnosis.try_))
    return [(label, text) for label, text in parts if text]


def advice(verdict: Verdict, gate: GateResult) -> str:
    """The next thing to try, unless the diagnosis says something closer to the point."""
    return "" if verdict.diagnosis is not None and verdict.diagnosis.try_ else gate.advice


def not_run(verdict: Verdict) -> tuple[list[GateResult], list[str]]:
    """The gates that ran, and the names of those that did not."""
    ran = [g for g in verdict.gates if g.status != "skipped"]
    return ran, [g.gate for g in verdict.gates if g.status == "skipped"]


def next_step(verdict: Verdict) -> str:
    """Where a green card sends the learner."""
    names = [p.name for p in LADDER]
    if not verdict.passed or verdict.puzzle not in names:
        return ""
    later = LADDER[names.index(verdict.puzzle) + 1 :]
    if not later:
        return "That was the last rung of this ladder."
    return f"{later[0].title} ({later[0].kernel}, notebook {later[0].notebook})"


def case_words(case: Case) -> str:
    """``M = 1, N = 3, BLOCK_N = 4, float32, negative rows``."""
    pairs = [f"{k} = {v}" for part in (case.sizes, case.meta, case.flags) for k, v in part.items()]
    extra = [case.dtype] + ([f"{case.family.replace('_', ' ')} rows"] if case.family != "normal" else [])
    extra += [f"{case.layout} layout"] if case.layout != "contiguous" else []
    return ", ".join(pairs + extra)


def untold(gate: GateResult) -> list[Finding]:
    """The gate's findings that its message does not tell already; two that say the same in words (of two lines) once."""
    told = {gate.message, gate.findings[0].message if gate.gate == "memory" and gate.findings else ""}
    return list({f.message: f for f in gate.findings if f.message not in told}.values())


def details(gate: GateResult) -> str:
    """The gate's detail, without what its findings say already."""
    told = {f.message for f in gate.findings}
    return "\n".join(line for line in gate.detail.splitlines() if line not in told).strip()


def seen_with(verdict: Verdict, gate: GateResult) -> str:
    """The case that failed, unless the smallest that fails is the same in words, or the gate shows its numbers."""
    if gate.case is None or gate.mismatch is not None:
        return ""
    words = case_words(gate.case)
    return "" if verdict.smallest is not None and case_words(verdict.smallest) == words else f"Seen with {words}."


def took(verdict: Verdict) -> str:
    """``0.8 s``; nothing where nothing was run."""
    return f"{verdict.seconds:.1f} s" if verdict.seconds >= 0.05 else ""


@dataclass(frozen=True)
class Line:
    """One line of a source excerpt."""

    number: int
    text: str
    here: bool


def excerpt(verdict: Verdict, line: int | None, around: int = 1, also: int | None = None) -> list[Line]:
    """The learner's line with its neighbours; empty where the verdict has no such line. `also` is marked too, if it is there."""
    lines = verdict.source.splitlines()
    if line is None or not 0 <= line - verdict.first_line < len(lines):
        return []
    at = line - verdict.first_line
    chosen = range(max(at - around, 0), min(at + around + 1, len(lines)))
    return [Line(i + verdict.first_line, lines[i].rstrip(), i + verdict.first_line in (line, also)) for i in chosen]


@dataclass(frozen=True)
class Window:
    """Expected and got around the first wrong element, in the plane of the last two dimensions."""

    lead: tuple[int, ...]
    rows: list[int]
    cols: list[int]
    expected: list[list[str]]
    got: list[list[str]]
    wrong: list[list[bool]]
    first: tuple[int, int]
    """Row and column of the first wrong element, as positions in the window."""


def window(mismatch: Mismatch, most: int = 7) -> Window:
    """The window as text, cut to `most` rows and columns that hold the first wrong element."""
    rank = len(mismatch.shape)
    ranges = mismatch.window if rank > 1 else ((0, 1), *mismatch.window)
    first = mismatch.first if rank > 1 else (0, *(mismatch.first or (0,)))
    ranges = ranges if len(ranges) > 1 else ((0, 1), (0, 1))
    (r0, r1), (c0, c1) = ranges[-2], ranges[-1]
    expected = np.asarray(mismatch.expected, dtype=np.float64).reshape(-1, r1 - r0, c1 - c0)[0]
    got = np.asarray(mismatch.got, dtype=np.float64).reshape(-1, r1 - r0, c1 - c0)[0]
    plane = np.asarray(mismatch.error, dtype=np.float64).reshape(mismatch.shape if rank > 1 else (1, -1))
    if rank > 2:
        plane = plane[tuple(mismatch.first[:-2])]
    error = plane[r0:r1, c0:c1]
    rows, cols = _around(first[-2] - r0, r1 - r0, most), _around(first[-1] - c0, c1 - c0, most)
    return Window(
        tuple(mismatch.first[:-2]) if rank > 2 else (),
        [r0 + r for r in rows],
        [c0 + c for c in cols],
        [[number(float(expected[r, c]), 8) for c in cols] for r in rows],
        [[number(float(got[r, c]), 8) for c in cols] for r in rows],
        [[not error[r, c] <= 1 for c in cols] for r in rows],
        (rows.index(first[-2] - r0), cols.index(first[-1] - c0)),
    )


def _around(at: int, extent: int, most: int) -> list[int]:
    start = max(0, min(at - most // 2, extent - most))
    return list(range(start, min(start + most, extent)))


def where_wrong(mismatch: Mismatch, said: str = "") -> str:
    """How much is wrong, where it starts, and who wrote it; nothing where `said` names that element already."""
    index = ", ".join(map(str, mismatch.first))
    if f"{short(mismatch.output)}[{index}]" in said:
        return ""
    share = f"{mismatch.wrong:,} of {count(mismatch.total, 'element')} {'is' if mismatch.wrong == 1 else 'are'} wrong"
    who = "No program stored it."
    if mismatch.writer is not None:
        program = mismatch.writer[0] if not any(mismatch.writer[1:]) else mismatch.writer
        who = f"Program {program} stored it" + (f" on line {mismatch.line}." if mismatch.line else ".")
    return f"{share}; the first is {short(mismatch.output)}[{index}]. {who}"


@dataclass(frozen=True)
class Moved:
    """One row of the traffic table."""

    tensor: str
    verb: str
    moved: int
    allowed: int
    passes: float | None

    @property
    def over(self) -> bool:
        return self.moved > self.allowed

    @property
    def words(self) -> str:
        text = f"{size(self.moved)} of {size(self.allowed)}"
        return text + (f": {size(self.moved - self.allowed)} too many" if self.over else "")


def moved(traffic: Mapping[str, tuple[Traffic, int, int]]) -> list[Moved]:
    rows = []
    for name, (used, may_load, may_store) in traffic.items():
        for verb, amount, allowed in (("loaded", used.loaded, may_load), ("stored", used.stored, may_store)):
            if amount or allowed:
                rows.append(Moved(short(name), verb, amount, allowed, amount / allowed if allowed else None))
    return rows


def targets(gates: tuple[GateResult, ...]) -> list[tuple[str, str]]:
    """Warnings with the gate they come from."""
    return [(g.gate, w.message + (f" (line {w.line})" if w.line else "")) for g in gates for w in g.warnings]
