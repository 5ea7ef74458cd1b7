"""From paths to submissions. Every file is read as data; one that cannot be read is an entry too, never a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.course.demonstrations import DEMONSTRATIONS
from checker.judge.verdict import GATES, GateResult, Status, Verdict
from checker.puzzle import Puzzle
from checker.submission.from_path import Found, from_path
from checker.submission.kernel import KernelSource

READABLE = (".py", ".ipynb", ".zip")
SKIPPED = ("__pycache__", "__MACOSX", "node_modules")

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

    Raises FileNotFoundError for a path that does not exist, PermissionError for a folder that cannot be listed.
    """
    found: list[Submission] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no file or folder called {path}")
        for one in _members(path) if path.is_dir() else [path]:
            name = one.name if one.is_dir() or path == one else one.relative_to(path).as_posix()
            submission = read(name, one, puzzles)
            if path == one or not _holds_only_demonstrations(submission):
                found.append(submission)
    return _told_apart(found)


def read(name: str, path: Path, puzzles: Sequence[Puzzle]) -> Submission:
    """One submission. Notes that a folder's other files hold no kernel are left out where some file has one."""
    try:
        entries = [_entry(found, puzzles) for found in from_path(path, puzzles)]
    except OSError:  # among the members of a folder: a link that leads nowhere
        broken = Found(
            path.name, error="this file cannot be read: it is a link that leads nowhere", reason="unreadable"
        )
        entries = [_entry(broken, puzzles)]
    if any(entry.source is not None for entry in entries):
        entries = [entry for entry in entries if entry.reason != "no_kernel"]
    return Submission(name, path, tuple(entries))


def _holds_only_demonstrations(submission: Submission) -> bool:
    """They lie beside the course's solutions, and nobody hands them in."""
    if any(entry.reason != "no_kernel" for entry in submission.entries):
        return False
    found = from_path(submission.path, DEMONSTRATIONS)
    return bool(found) and all(one.source is not None for one in found)


def _members(folder: Path) -> list[Path]:
    names = sorted(folder.iterdir(), key=lambda path: path.name)
    names = [path for path in names if not path.name.startswith((".", "_")) and path.name not in SKIPPED]
    return [path for path in names if (path.is_dir() and _holds_readable(path)) or path.suffix.lower() in READABLE]


def _holds_readable(folder: Path) -> bool:
    return any(path.suffix.lower() in READABLE for path in folder.rglob("*"))


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
