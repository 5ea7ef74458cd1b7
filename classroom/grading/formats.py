"""A result as Gradescope reads it."""

from __future__ import annotations

from typing import Any

from classroom.grading.records import LearnerResult, PuzzleResult, Result


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
