"""The record of what a learner has tried and solved: one JSON file in their folder.

It is replaced atomically and changed only under a lock, so two notebooks can work at once. A damaged file is renamed, never deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from checker import workspace
from checker.workspace import Workspace

if TYPE_CHECKING:  # reading the file needs no torch
    from checker.judge.verdict import Verdict

SCHEMA = "progress/v1"
NOT_AN_ATTEMPT = ("not_attempted", "infra_error", "skipped")


@dataclass(frozen=True)
class BestTraffic:
    """Bytes that a passing kernel moved, and its budget."""

    moved: int
    allowed: int

    @property
    def ratio(self) -> float:
        return self.moved / self.allowed if self.allowed else float("inf")


@dataclass(frozen=True)
class Record:
    """One puzzle's history. `status` is the last verdict's; `first_passed` stays once it is set. Times are ISO 8601."""

    attempts: int = 0
    status: str = ""
    hints: int = 0
    first_passed: str | None = None
    best_traffic: BestTraffic | None = None
    mistakes: dict[str, int] = field(default_factory=dict)
    """How often the checker recognised each misconception, by its name."""

    @property
    def passed(self) -> bool:
        return self.first_passed is not None


@dataclass(frozen=True)
class Prediction:
    """A learner's first guess, whether it was right, and if not, whether a try two notebooks later was."""

    text: str
    right: bool
    later: bool = False


@dataclass
class Progress:
    """Records by puzzle, first predictions by question, and messages for the learner about problems with the file."""

    puzzles: dict[str, Record] = field(default_factory=dict)
    predictions: dict[str, Prediction] = field(default_factory=dict)
    messages: tuple[str, ...] = ()

    def of(self, puzzle: str) -> Record:
        return self.puzzles.get(puzzle, Record())


class Document(msgspec.Struct):
    """The file."""

    schema: str
    puzzles: dict[str, Record]
    predictions: dict[str, Prediction] = {}


def load(space: Workspace) -> Progress:
    """The learner's progress. Problems with the file end up in `messages`; nothing is raised."""
    try:
        try:
            return _read(space.progress)
        except msgspec.DecodeError:
            with workspace.locked(space.progress):
                return _read_or_rescue(space.progress)
    except OSError as error:
        return Progress(messages=(f"{space.progress} cannot be read ({error.strerror or error}).",))


def update(space: Workspace, puzzle: str, change: Callable[[Record], Record]) -> Progress:
    """Change one puzzle's record on disk, keeping what other processes wrote. Never raises OSError: see `messages`."""

    def changed(progress: Progress) -> None:
        progress.puzzles[puzzle] = change(progress.of(puzzle))

    return _change(space, changed)


def keep_prediction(
    space: Workspace, question: str, prediction: Prediction, due: Callable[[Progress], Collection[str]]
) -> Progress:
    """Save the first prediction for a question: right afterwards, the learner knows the answer.

    Where the question is among those that are `due` again, remember that a later try was right.
    """

    def changed(progress: Progress) -> None:
        first = progress.predictions.setdefault(question, prediction)
        if prediction.right and not first.right and question in due(progress):
            progress.predictions[question] = replace(first, later=True)

    return _change(space, changed)


def _change(space: Workspace, change: Callable[[Progress], object]) -> Progress:
    path = space.progress
    try:
        with workspace.locked(path):
            progress = _read_or_rescue(path)
            change(progress)
            document = msgspec.json.encode(Document(SCHEMA, progress.puzzles, progress.predictions))
            workspace.write_atomically(path, msgspec.json.format(document) + b"\n")
    except OSError as error:  # TimeoutError is one
        progress = load(space)
        change(progress)
        progress.messages += (f"Progress was not saved in {space.ours} ({error.strerror or error}).",)
    return progress


def record(space: Workspace, verdict: Verdict, module: str) -> Progress:
    """Count a verdict, and save `module`, the kernel as a file, if it passed."""
    if verdict.status in NOT_AN_ATTEMPT:
        return load(space)
    moved = _traffic(verdict)
    mistake = verdict.diagnosis.misconception if verdict.diagnosis is not None else None

    def count(old: Record) -> Record:
        new = replace(old, attempts=old.attempts + 1, status=verdict.status)
        if mistake is not None:
            new = replace(new, mistakes={**old.mistakes, mistake: old.mistakes.get(mistake, 0) + 1})
        if not verdict.passed:
            return new
        best = min((t for t in (old.best_traffic, moved) if t is not None), key=lambda t: t.ratio, default=None)
        return replace(new, first_passed=old.first_passed or workspace.now(), best_traffic=best)

    progress = update(space, verdict.puzzle, count)
    try:
        if verdict.passed:
            workspace.keep_copy(space.ours / "passed", verdict.puzzle, module)
    except OSError as error:
        progress.messages += (f"This kernel was not saved in {space.ours / 'passed'} ({error.strerror or error}).",)
    return progress


def _traffic(verdict: Verdict) -> BestTraffic | None:
    """The bytes moved in the traffic gate's case, and its budget."""
    gate = next((g for g in verdict.gates if g.traffic), None)
    if gate is None:
        return None
    moved = sum(t.loaded + t.stored for t, _, _ in gate.traffic.values())
    allowed = sum(loaded + stored for _, loaded, stored in gate.traffic.values())
    return BestTraffic(moved, allowed)


def _read(path: Path) -> Progress:
    """The saved progress, or an empty one without a file. Raises OSError, and DecodeError if the file is damaged."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=Document)
    except FileNotFoundError:
        return Progress()
    if document.schema != SCHEMA:
        raise OSError(f"it was written by another version of the course, as {document.schema}, so it is left alone")
    return Progress(document.puzzles, document.predictions)


def _read_or_rescue(path: Path) -> Progress:
    """The saved progress; a damaged file is renamed, and nothing is in the progress. Needs the lock. Raises OSError."""
    try:
        return _read(path)
    except msgspec.DecodeError as error:
        aside = workspace.keep_copy(path.parent, "progress.damaged", path.read_bytes(), ".json")
        path.unlink()
        message = f"{path.name} was damaged ({error}), so it was renamed to {aside.name}."
        return Progress(messages=(f"{message} A new one was started; kernels that passed are still in `passed/`.",))
