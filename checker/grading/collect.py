"""From paths to submissions. Files are read as data; a file that cannot be read is an entry that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.course.demonstrations import DEMONSTRATIONS
from checker.grading.layouts import layout_of
from checker.grading.reader import Reader
from checker.judge.verdict import GATES, GateResult, Status, Verdict
from checker.puzzle import Puzzle
from checker.submission.files import MAX_ARCHIVE, entries, skipped
from checker.submission.files import Entry as File
from checker.submission.from_path import Found
from checker.submission.kernel import KernelSource

PLATFORMS = ("canvas", "moodle", "gradescope")
"""Layouts that are recognised without a doubt; files of one person do not look like these."""
QUIET = ("left_out", "other_kind", "empty")
FAST = Path(__file__).resolve().parents[2] / "solutions" / "fast"
"""The course's own fast kernels. They belong to no puzzle, so this folder is no submission."""

_UNREADABLE: Mapping[str, Status] = {"syntax": "compile_error", "no_kernel": "not_attempted"}
"""The status of a file without a kernel, by the reason; everything else is ``forbidden``."""


@dataclass(frozen=True)
class Entry:
    """One kernel to grade, or (`source` None) why there is none. `puzzle` is None where nothing says which was meant."""

    puzzle: Puzzle | None
    source: KernelSource | None
    file: str
    error: str = ""
    line: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Submission:
    """What one learner handed in: a file, a zip or a folder. A puzzle may have several entries; the best one counts."""

    name: str
    path: Path
    entries: tuple[Entry, ...]

    def of(self, puzzle: Puzzle) -> tuple[Entry, ...]:
        return tuple(e for e in self.entries if e.puzzle is not None and e.puzzle.name == puzzle.name)


def submissions(paths: Sequence[Path], puzzles: Sequence[Puzzle]) -> list[Submission]:
    """A file is one submission, and so is each file and each folder that lies directly in a folder.

    What a learning platform exported, folder or zip, is a class: one submission a learner. Raises FileNotFoundError for a path
    that does not exist.
    """
    found: list[Submission] = []
    with Reader() as reader:
        for path in paths:
            found += _at(path, puzzles, reader)
    return _told_apart(found)


def _at(path: Path, puzzles: Sequence[Puzzle], reader: Reader) -> list[Submission]:
    files = list(entries(path))
    one = path.is_file()
    inside = [entry.name.removeprefix(f"{path.name}/") if one else entry.name for entry in files]
    layout = layout_of([name for name in inside if name and not skipped(name.split("/")[0])], path.resolve().name)
    platform = layout.name in PLATFORMS
    if one and not platform:
        return [read(path.name, path, [File(path.name, lambda most: _bytes(path, most))], puzzles, reader)]
    groups: dict[str, list[File]] = {}
    for file, name in zip(files, inside, strict=True):
        first = name.split("/")[0]
        if skipped(first) or path.resolve() / first == FAST:
            continue
        for place in layout.place(name) if platform else [None]:
            owner = place.names[0] if place else first
            own = place.file if place else name
            groups.setdefault(owner, []).append(File(own, file.read, file.problem, file.reason, file.modified))
    made = [read(name, path / name, group, puzzles, reader) for name, group in groups.items()]
    return [submission for submission in made if submission.entries]


def _bytes(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def read(name: str, path: Path, files: Sequence[File], puzzles: Sequence[Puzzle], reader: Reader) -> Submission:
    """One submission, without files that are no code, and without files that hold no kernel where another file does.

    It has no entries where nothing in it is code, or where it only holds demonstrations of the course.
    """
    kernels = {p.kernel: p.name for p in (*DEMONSTRATIONS.values(), *puzzles)}
    found: list[Found] = []
    for file in files:
        if file.problem:
            found.append(Found(file.name, error=file.problem, reason=file.reason))
            continue
        try:
            data = file.read(MAX_ARCHIVE + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            found.append(Found(file.name, error=f"this file cannot be read: {why}", reason="unreadable"))
            continue
        found += [one for inner in reader.read(file.name, data, kernels) for one in inner.found]
    shown = {p.name for p in DEMONSTRATIONS.values()}
    kept = [one for one in found if one.reason not in QUIET and one.puzzle not in shown]
    if any(one.source is not None for one in found):
        kept = [one for one in kept if one.reason != "no_kernel"]
    return Submission(name, path, tuple(_entry(one, puzzles) for one in kept))


def _entry(found: Found, puzzles: Sequence[Puzzle]) -> Entry:
    puzzle = next((p for p in puzzles if p.name == found.puzzle), None) or _puzzle_named_by_file(
        found.submission, puzzles
    )
    return Entry(puzzle, found.source, found.submission, found.error, found.line, found.reason)


def _puzzle_named_by_file(file: str, puzzles: Sequence[Puzzle]) -> Puzzle | None:
    """The puzzle that a file without a readable kernel is named after, or the only one there is."""
    stem = Path(file).stem
    by_name = next((p for p in puzzles if stem in (p.name, p.kernel)), None)
    return by_name or (puzzles[0] if len(puzzles) == 1 else None)


def _told_apart(found: list[Submission]) -> list[Submission]:
    """Two paths may hold files of one name: those are called by their whole path."""
    names = [submission.name for submission in found]
    return [Submission(s.path.as_posix(), s.path, s.entries) if names.count(s.name) > 1 else s for s in found]


def unreadable_verdict(entry: Entry, puzzle: Puzzle | None, submission: str, device: str) -> Verdict:
    """The verdict of an entry without a kernel: it stops at the gate `source`."""
    status = _UNREADABLE.get(entry.reason, "forbidden")
    message = f"{entry.file}: {entry.error}" if entry.file not in entry.error else entry.error
    gates = (
        GateResult(
            "source",
            status,
            message + ("" if message.endswith(".") else "."),
            line=entry.line,
        ),
        *(GateResult(gate, "skipped", "Not reached: `source` comes first.") for gate in GATES[1:]),
    )
    points = float(puzzle.points) if puzzle is not None else 0.0
    return Verdict(puzzle.name if puzzle else "unknown", submission, status, device, 0.0, 0.0, points, gates)


def missing_verdict(puzzle: Puzzle, submission: str, device: str) -> Verdict:
    """The verdict of a puzzle that was asked for and is nowhere in the submission."""
    entry = Entry(puzzle, None, submission, f"no kernel called {puzzle.kernel} is defined here", reason="no_kernel")
    return unreadable_verdict(entry, puzzle, submission, device)
