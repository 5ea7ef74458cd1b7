"""A result as other systems read it: Gradescope, JUnit, Classroom 50. Pure functions of `result/v2`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from classroom.grading.records import LearnerResult, PuzzleResult, Result

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def said(puzzle: PuzzleResult) -> str:
    """What the learner should read: the message of the gate that failed, its line, the belief behind it, what to try."""
    failed = next((gate for gate in puzzle.gates if gate.status not in ("passed", "skipped")), None)
    if failed is None:
        return puzzle.message or "Passed: every case is right."
    where = f" (line {failed.line})" if failed.line else ""
    lines = [f"{failed.gate}{where}: {failed.message}"]
    known = puzzle.diagnosis
    if known is not None and known.misconception:
        for label, text in (("Believed", known.believed), ("Instead", known.instead), ("Try", known.try_)):
            lines += [f"{label}: {text}"] if text else []
    elif failed.advice:
        lines.append(f"Next, try: {failed.advice}")
    if puzzle.late is not None:
        lines.append(f"Late: {puzzle.late.factor:.0%} of the points count.")
    return "\n\n".join(lines)


def gradescope(learner: LearnerResult, result: Result) -> dict[str, Any]:
    """``results.json`` of Gradescope's autograder, for a learner whose kernels were all judged."""
    tests = [
        {
            "name": puzzle.puzzle,
            "number": str(number),
            "score": puzzle.score,
            "max_score": puzzle.max_score,
            "status": "passed" if puzzle.status == "passed" else "failed",
            "output": said(puzzle),
            "output_format": "text",
            "name_format": "text",
            "visibility": "visible",
        }
        for number, puzzle in enumerate(learner.puzzles, start=1)
        if not puzzle.dropped
    ]
    told = "\n".join(f"{told.file}: {told.message}" for told in learner.told)
    seconds = sum(result.seconds.get(p.verdict or "", 0.0) for p in learner.puzzles)
    return {
        "output": told,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "execution_time": round(seconds),
        "tests": tests,
        "extra_data": {"schema": result.schema, "verdicts": [p.verdict for p in learner.puzzles if p.verdict]},
    }


def junit(result: Result) -> str:
    """A test suite a learner, a test case a puzzle. ``failure`` is the learner's, ``error`` is ours, ``skipped`` was not tried."""
    root = ElementTree.Element("testsuites", name="tile-by-tile")
    for learner in result.learners:
        cases = [puzzle for puzzle in learner.puzzles if not puzzle.dropped]
        counts = {kind: sum(_outcome(p) == kind for p in cases) for kind in ("failure", "error", "skipped")}
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(learner.person.id),
            tests=str(len(cases)),
            failures=str(counts["failure"]),
            errors=str(counts["error"]),
            skipped=str(counts["skipped"]),
        )
        for puzzle in cases:
            seconds = result.seconds.get(puzzle.verdict or "", 0.0)
            case = ElementTree.SubElement(
                suite, "testcase", classname=_xml(learner.person.id), name=puzzle.puzzle, time=f"{seconds:.3f}"
            )
            if kind := _outcome(puzzle):
                text = _xml(said(puzzle))
                ElementTree.SubElement(case, kind, message=text.split("\n")[0][:300], type=puzzle.status).text = text
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _outcome(puzzle: PuzzleResult) -> str:
    return {"passed": "", "ungraded": "error", "not_attempted": "skipped"}.get(puzzle.status, "failure")


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


SCALE = 100
"""Classroom 50 takes whole numbers only: a point of ours is so many of theirs."""


def classroom50(learner: LearnerResult, given: Mapping[str, str], now: str) -> dict[str, Any]:
    """``classroom50/result/v1``. `given` are the runner's variables; who it is, is stamped by the runner. Raises KeyError."""
    tests = [
        {
            "test-name": puzzle.puzzle,
            "passed": puzzle.status == "passed",
            "score": round(puzzle.score * SCALE),
            "max-score": round(puzzle.max_score * SCALE),
        }
        for puzzle in learner.puzzles
        if not puzzle.dropped
    ]
    return {
        "schema": "classroom50/result/v1",
        "classroom": given["CLASSROOM"],
        "assignment": given["ASSIGNMENT"],
        "submission": given["SUBMISSION_TAG"],
        "commit": given["COMMIT_URL"],
        "release": given["RELEASE_URL"],
        "review": given.get("REVIEW_URL") or given["COMMIT_URL"],
        "datetime": now,
        "score": sum(int(str(test["score"])) for test in tests),
        "max-score": sum(int(str(test["max-score"])) for test in tests),
        "tests": tests,
    }


def release_body(learner: LearnerResult) -> str:
    """What a learner reads on GitHub: a table, and below it what is wrong with each kernel."""
    lines = ["| puzzle | result | points |", "|---|---|--:|"]
    lines += [
        f"| {p.puzzle} | {p.status.replace('_', ' ')} | {p.score:g} of {p.max_score:g} |"
        for p in learner.puzzles
        if not p.dropped
    ]
    for puzzle in learner.puzzles:
        if puzzle.status != "passed":
            lines += ["", f"**{puzzle.puzzle}**", "", *_fenced(said(puzzle))]
    return "\n".join(lines) + "\n"


def _fenced(text: str) -> Sequence[str]:
    """Text that GitHub shows as it stands."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", text, fence]
