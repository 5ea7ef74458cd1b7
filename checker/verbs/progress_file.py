"""The record of what a learner has tried and solved: one JSON file in their folder.

It is written atomically, with the last good version beside it as `.bak`. Every change happens under a lock, so two notebooks
can work at once. A damaged file is set aside, never deleted.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from checker import workspace
from checker.workspace import Workspace

if TYPE_CHECKING:  # reading the file needs no torch
    from checker.judge.verdict import Verdict

T = TypeVar("T")
SCHEMA = "progress/v1"
NOT_AN_ATTEMPT = ("not_attempted", "infra_error", "skipped")


@dataclass(frozen=True)
class BestTraffic:
    """Bytes that a passing kernel moved in `case`, and its budget."""

    moved: int
    allowed: int
    case: str

    @property
    def ratio(self) -> float:
        return self.moved / self.allowed if self.allowed else float("inf")


@dataclass(frozen=True)
class Record:
    """One puzzle's history. `status` is the last verdict's; `first_passed` stays once it is set. Times are ISO 8601."""

    attempts: int = 0
    status: str = ""
    hints: int = 0
    last_attempt: str | None = None
    first_passed: str | None = None
    best_traffic: BestTraffic | None = None
    mistakes: dict[str, int] = field(default_factory=dict)
    """How often the checker recognised each misconception, by its name."""

    @property
    def passed(self) -> bool:
        return self.first_passed is not None


@dataclass(frozen=True)
class Prediction:
    """A learner's guess, and whether it was right."""

    text: str
    right: bool


@dataclass
class Progress:
    """Records by puzzle, first predictions by question, and messages for the learner about problems with the file."""

    puzzles: dict[str, Record] = field(default_factory=dict)
    predictions: dict[str, Prediction] = field(default_factory=dict)
    messages: tuple[str, ...] = ()

    def of(self, puzzle: str) -> Record:
        return self.puzzles.get(puzzle, Record())


def load(space: Workspace) -> Progress:
    """The learner's progress. Problems with the file end up in `messages`; nothing is raised."""
    try:
        try:
            return _read(space.progress)
        except ValueError:
            with workspace.locked(space.progress):
                return _read_or_rescue(space.progress)
    except OSError as error:
        return Progress(messages=(f"{space.progress} cannot be read ({error.strerror or error}).",))


def update(space: Workspace, puzzle: str, change: Callable[[Record], Record]) -> Progress:
    """Change one puzzle's record on disk, keeping what other processes wrote. Never raises OSError: see `messages`."""

    def changed(progress: Progress) -> None:
        progress.puzzles[puzzle] = change(progress.of(puzzle))

    return _change(space, changed)


def keep_prediction(space: Workspace, question: str, prediction: Prediction) -> Progress:
    """Save a prediction, but only the first for a question: afterwards, the learner knows the answer."""
    return _change(space, lambda progress: progress.predictions.setdefault(question, prediction))


def _change(space: Workspace, change: Callable[[Progress], object]) -> Progress:
    path = space.progress
    try:
        with workspace.locked(path):
            progress = _read_or_rescue(path)
            change(progress)
            if path.exists():  # it was just read, so it is a good backup
                workspace.write_atomically(_backup(path), path.read_text(encoding="utf-8"))
            workspace.write_atomically(path, _dumped(progress))
    except OSError as error:  # TimeoutError is one
        progress = load(space)
        change(progress)
        progress.messages += (f"Progress was not saved in {space.ours} ({error.strerror or error}).",)
    return progress


def record(space: Workspace, verdict: Verdict, module: str) -> Progress:
    """Count a verdict, and save `module`, the kernel as a file, if it passed."""
    if verdict.status in NOT_AN_ATTEMPT:
        return load(space)
    moment, moved = workspace.now(), _traffic(verdict)
    mistake = verdict.diagnosis.misconception if verdict.diagnosis is not None else None

    def count(old: Record) -> Record:
        new = replace(old, attempts=old.attempts + 1, status=verdict.status, last_attempt=moment)
        if mistake is not None:
            new = replace(new, mistakes={**old.mistakes, mistake: old.mistakes.get(mistake, 0) + 1})
        if not verdict.passed:
            return new
        best = min((t for t in (old.best_traffic, moved) if t is not None), key=lambda t: t.ratio, default=None)
        return replace(new, first_passed=old.first_passed or moment, best_traffic=best)

    progress = update(space, verdict.puzzle, count)
    try:
        if verdict.passed:
            workspace.keep_copy(space.ours / "passed", verdict.puzzle, module)
    except OSError as error:
        progress.messages += (f"This kernel was not saved in {space.ours / 'passed'} ({error.strerror or error}).",)
    return progress


def _traffic(verdict: Verdict) -> BestTraffic | None:
    """The bytes moved in the traffic gate's case, and its budget."""
    gate = next((g for g in verdict.gates if g.gate == "traffic" and g.traffic), None)
    if gate is None:
        return None
    moved = sum(t.loaded + t.stored for t, _, _ in gate.traffic.values())
    allowed = sum(loaded + stored for _, loaded, stored in gate.traffic.values())
    return BestTraffic(moved, allowed, gate.case.name if gate.case else "")


def _backup(path: Path) -> Path:
    return path.with_name(path.name + ".bak")


def _dumped(progress: Progress) -> str:
    puzzles = {name: asdict(entry) for name, entry in sorted(progress.puzzles.items())}
    predictions = {question: asdict(prediction) for question, prediction in sorted(progress.predictions.items())}
    return json.dumps({"schema": SCHEMA, "puzzles": puzzles, "predictions": predictions}, indent=2) + "\n"


def _read(path: Path) -> Progress:
    """The saved progress, or an empty one without a file. Raises OSError, and ValueError if the file is damaged."""
    try:
        return _parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Progress()


def _parse(text: str) -> Progress:
    document = json.loads(text)
    schema = document.get("schema") if isinstance(document, dict) and isinstance(document.get("puzzles"), dict) else ""
    if schema != SCHEMA and str(schema).startswith("progress/"):
        raise OSError(f"it was written by another version of the course, as {schema}, so it is left alone")
    if schema != SCHEMA:
        raise ValueError("it is not a progress document")
    puzzles = _entries(document["puzzles"], Record, "a puzzle's entry")
    return Progress(puzzles, _entries(document.get("predictions", {}), Prediction, "a prediction"))


def _entries(document: Any, kind: type[T], what: str) -> dict[str, T]:
    try:
        return msgspec.convert(document, dict[str, kind], strict=False)  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise ValueError(f"{what} is damaged") from error


def _read_or_rescue(path: Path) -> Progress:
    """The saved progress; sets a damaged file aside and replaces it by its backup or an empty one. Needs the lock."""
    try:
        return _read(path)
    except ValueError as error:
        aside = _set_aside(path)
        message = f"{path.name} was damaged ({error}), so it was renamed to {aside.name}."
    try:
        progress = _parse(_backup(path).read_text(encoding="utf-8"))
        message += " Your progress was restored from the backup, which may lack the last attempt."
    except (OSError, ValueError):
        progress = Progress()
        message += " A new one was started; kernels that passed are still in `passed/`."
    workspace.write_atomically(path, _dumped(progress))
    progress.messages = (message,)
    return progress


def _set_aside(path: Path) -> Path:
    """Rename a damaged file to a free name. Raises OSError, and then the file stays where it is."""
    name = f"progress.damaged-{datetime.now():%Y%m%d-%H%M%S}"
    names = (f"{name}.json" if n == 1 else f"{name}-{n}.json" for n in itertools.count(1))
    aside = next(free for free in map(path.with_name, names) if not free.exists())
    path.rename(aside)
    return aside
