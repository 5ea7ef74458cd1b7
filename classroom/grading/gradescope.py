"""A result as Gradescope's autograder returns it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checker.api.grading import PuzzleResult, Result, Submission, write_atomically


def feedback(puzzle: PuzzleResult) -> str:
    """What the learner should read: the gate that failed, its line, the belief behind it, what to try."""
    failure = puzzle.failure
    if failure is None:
        return "Passed: every case is right."
    where = f" (line {failure.line})" if failure.line else ""
    lines = [f"{failure.gate}{where}: {failure.message}"]
    if puzzle.diagnosis is not None and puzzle.diagnosis.misconception:
        lines.append(puzzle.diagnosis.message)
    elif failure.advice:
        lines.append(f"Next, try: {failure.advice}")
    if puzzle.left_out:
        lines.append(without_lines(puzzle))
    if puzzle.late is not None:
        lines.append(f"Late: {puzzle.late.factor:.0%} of the points count.")
    return "\n\n".join(lines)


def without_lines(puzzle: PuzzleResult) -> str:
    """What a kernel that breaks a rule got its points for."""
    return f"Breaks a rule: these are a share of the points that it earns without {' and '.join(puzzle.left_out)}."


def gradescope(submission: Submission, result: Result) -> dict[str, Any]:
    """``results.json``, for a learner whose kernels were all judged."""
    tests = [
        {
            "name": puzzle.puzzle,
            "number": str(number),
            "score": puzzle.score,
            "max_score": puzzle.max_score,
            "status": "passed" if puzzle.status == "passed" else "failed",
            "output": feedback(puzzle),
            "output_format": "text",
            "name_format": "text",
            "visibility": "visible",
        }
        for number, puzzle in enumerate(submission.puzzles, start=1)
        if not puzzle.dropped
    ]
    verdicts = [puzzle.verdict for puzzle in submission.puzzles if puzzle.verdict]
    return {
        "output": "\n".join(f"{unread.file}: {unread.message}" for unread in submission.unread),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "execution_time": round(sum(puzzle.seconds for puzzle in submission.puzzles)),
        "tests": tests,
        "extra_data": {"schema": result.schema, "verdicts": verdicts},
    }


def write_results(target: Path, submission: Submission, result: Result, metadata: Mapping[str, object]) -> None:
    """``results.json``; `metadata` is the platform's ``submission_metadata.json``. Raises OSError."""
    document = gradescope(submission, result)
    document["extra_data"]["submission"] = metadata.get("id")
    write_atomically(target, json.dumps(document, indent=1) + "\n")
