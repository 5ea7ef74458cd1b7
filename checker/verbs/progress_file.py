"""What a learner has tried and solved, kept in their folder so that it cannot be lost.

One JSON file, written atomically with the last good one beside it as `.bak`. Every change is read, merged and written
under a lock, so two notebooks at work at once both count. A file that cannot be read is kept aside, never deleted.
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

if TYPE_CHECKING:  # what is saved can be read where torch is slow to import, or missing
    from checker.judge.verdict import Verdict

T = TypeVar("T")
SCHEMA = "progress/v1"
NOT_AN_ATTEMPT = ("not_attempted", "infra_error", "skipped")


@dataclass(frozen=True)
class BestTraffic:
    """Bytes a passing kernel moved in `case`, and the bytes the puzzle allows."""

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
    """What a learner said before a cell ran, and whether it was right."""

    said: str
    right: bool


@dataclass
class Progress:
    """Records by puzzle, first predictions by question, and what went wrong with reading or writing them, for the learner to know."""

    puzzles: dict[str, Record] = field(default_factory=dict)
    predictions: dict[str, Prediction] = field(default_factory=dict)
    messages: tuple[str, ...] = ()

    def of(self, puzzle: str) -> Record:
        return self.puzzles.get(puzzle, Record())


def load(space: Workspace) -> Progress:
    """What is saved in `space`; never raises for what is in the file or on the disk (see `messages`)."""
    try:
        try:
            return _read(space.progress)
        except ValueError:
            with workspace.locked(space.progress):
                return _read_or_rescue(space.progress)
    except OSError as error:
        return Progress(messages=(f"{space.progress} cannot be read ({error.strerror or error}).",))


def update(space: Workspace, puzzle: str, change: Callable[[Record], Record]) -> Progress:
    """Apply `change` to one puzzle's record on disk, merged with what other processes wrote meanwhile.

    A folder that cannot be written does not stop anything: the message says that nothing was saved.
    """

    def changed(progress: Progress) -> None:
        progress.puzzles[puzzle] = change(progress.of(puzzle))

    return _change(space, changed)


def keep_prediction(space: Workspace, question: str, prediction: Prediction) -> Progress:
    """Keep a prediction, unless the question was answered before: after the first time the answer is known."""
    return _change(space, lambda progress: progress.predictions.setdefault(question, prediction))


def _change(space: Workspace, change: Callable[[Progress], object]) -> Progress:
    path = space.progress
    try:
        with workspace.locked(path):
            progress = _read_or_rescue(path)
            change(progress)
            if path.exists():  # what was just read is good, and becomes the backup
                workspace.write_atomically(_backup(path), path.read_text(encoding="utf-8"))
            workspace.write_atomically(path, _dumped(progress))
    except OSError as error:  # TimeoutError is one
        progress = load(space)
        change(progress)
        progress.messages += (f"Progress was not saved in {space.ours} ({error.strerror or error}).",)
    return progress


def record(space: Workspace, verdict: Verdict, module: str) -> Progress:
    """Count a verdict, and keep `module` (the kernel as a file that can be checked again) where it passed."""
    if verdict.status in NOT_AN_ATTEMPT:
        return load(space)
    moment, moved = workspace.now(), _traffic(verdict)
    mistake = verdict.diagnosis.misconception if verdict.diagnosis is not None else None

    def counted(old: Record) -> Record:
        new = replace(old, attempts=old.attempts + 1, status=verdict.status, last_attempt=moment)
        if mistake is not None:
            new = replace(new, mistakes={**old.mistakes, mistake: old.mistakes.get(mistake, 0) + 1})
        if not verdict.passed:
            return new
        best = min((t for t in (old.best_traffic, moved) if t is not None), key=lambda t: t.ratio, default=None)
        return replace(new, first_passed=old.first_passed or moment, best_traffic=best)

    progress = update(space, verdict.puzzle, counted)
    try:
        if verdict.passed:
            workspace.keep_copy(space.ours / "passed", verdict.puzzle, module)
    except OSError as error:
        progress.messages += (f"This kernel was not kept in {space.ours / 'passed'} ({error.strerror or error}).",)
    return progress


def _traffic(verdict: Verdict) -> BestTraffic | None:
    """All bytes moved in the case that the traffic gate shows, against all that are allowed there."""
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
    """The saved progress, an empty one where there is no file. Raises OSError, and ValueError where it is damaged."""
    try:
        return _parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Progress()


def _parse(text: str) -> Progress:
    document = json.loads(text)
    schema = document.get("schema") if isinstance(document, dict) and isinstance(document.get("puzzles"), dict) else ""
    if schema != SCHEMA and str(schema).startswith("progress/"):
        raise OSError(f"it was written by another version of the course, as {schema}, and is left as it is")
    if schema != SCHEMA:
        raise ValueError("it is not a progress document")
    puzzles = _entries(document["puzzles"], Record, "a puzzle's entry")
    return Progress(puzzles, _entries(document.get("predictions", {}), Prediction, "a prediction"))


def _entries(found: Any, kind: type[T], what: str) -> dict[str, T]:
    try:
        return msgspec.convert(found, dict[str, kind], strict=False)  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise ValueError(f"{what} is damaged") from error


def _read_or_rescue(path: Path) -> Progress:
    """The saved progress; a damaged file is kept aside and replaced by its backup, or by an empty one. Needs the lock."""
    try:
        return _read(path)
    except ValueError as error:
        aside = _kept_aside(path)
        message = f"{path.name} was damaged ({error}); it is kept as {aside.name}."
    try:
        progress = _parse(_backup(path).read_text(encoding="utf-8"))
        message += " Your progress was restored from the backup, where the last attempt may be missing."
    except (OSError, ValueError):
        progress = Progress()
        message += " A new one was started; kernels that passed are still in `passed/`."
    workspace.write_atomically(path, _dumped(progress))
    progress.messages = (message,)
    return progress


def _kept_aside(path: Path) -> Path:
    """Rename a damaged file to a name that is free. Raises OSError where that cannot be done: then nothing is lost."""
    name = f"progress.damaged-{datetime.now():%Y%m%d-%H%M%S}"
    names = (f"{name}.json" if n == 1 else f"{name}-{n}.json" for n in itertools.count(1))
    aside = next(free for free in map(path.with_name, names) if not free.exists())
    path.rename(aside)
    return aside
