"""Read submissions from paths. Files are read as data; an unreadable one becomes an entry that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checker.course.demonstrations import DEMONSTRATIONS
from checker.judge.verdict import GateResult, Status, Verdict
from checker.puzzle import GATES, Puzzle
from checker.submission.files import MAX_ARCHIVE, Entry, entries, skipped
from checker.submission.from_path import QUIET, SubmittedKernel
from checker.submission.reader import Reader
from checker.workspace import COURSE

FAST = COURSE / "solutions" / "fast"
"""The course's fast kernels. They belong to no puzzle, so this folder is not a submission."""

_UNREADABLE: Mapping[str, Status] = {"syntax": "compile_error", "no_kernel": "not_attempted"}
"""The status of a file without a kernel, by reason; any other reason means ``forbidden``."""


@dataclass(frozen=True)
class Files:
    """One learner's file, zip or folder. A puzzle may have several entries, and the best one counts.

    An entry's `puzzle` is None if nothing shows which was meant.
    """

    name: str
    path: Path
    entries: tuple[SubmittedKernel, ...]

    def of(self, puzzle: Puzzle) -> tuple[SubmittedKernel, ...]:
        return tuple(entry for entry in self.entries if entry.puzzle == puzzle.name)


def submissions(paths: Sequence[Path], puzzles: Sequence[Puzzle]) -> list[Files]:
    """A file is one submission; in a folder, each file and each subfolder is one. Raises FileNotFoundError."""
    with Reader() as reader:
        return _with_distinct_names([files for path in paths for files in _at(path, puzzles, reader)])


def _at(path: Path, puzzles: Sequence[Puzzle], reader: Reader) -> list[Files]:
    if path.is_file():
        return [_read(path.name, path, [Entry(path.name, lambda most: _bytes(path, most))], puzzles, reader)]
    groups: dict[str, list[Entry]] = {}
    for file in entries(path):
        first = file.name.split("/")[0]
        if not skipped(first) and path.resolve() / first != FAST:
            groups.setdefault(first, []).append(file)
    made = [_read(name, path / name, group, puzzles, reader) for name, group in groups.items()]
    return [submission for submission in made if submission.entries]


def _bytes(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _read(name: str, path: Path, files: Sequence[Entry], puzzles: Sequence[Puzzle], reader: Reader) -> Files:
    """One submission. Files that are not code are left out, and so are files without a kernel if another file has one.

    It has no entries if nothing in it is code, or if it only has the course's demonstrations.
    """
    kernels = {p.kernel: p.name for p in (*DEMONSTRATIONS.values(), *puzzles)}
    entries: list[SubmittedKernel] = []
    for file in files:
        if file.problem:
            entries.append(SubmittedKernel(file.name, error=file.problem, reason=file.reason))
            continue
        try:
            data = file.read(MAX_ARCHIVE + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            entries.append(SubmittedKernel(file.name, error=f"this file cannot be read: {why}", reason="unreadable"))
            continue
        entries += [one for inner in reader.read(file.name, data, kernels) for one in inner.found]
    demonstrations = {p.name for p in DEMONSTRATIONS.values()}
    kept = [one for one in entries if one.reason not in QUIET and one.puzzle not in demonstrations]
    if any(one.source is not None for one in entries):
        kept = [one for one in kept if one.reason != "no_kernel"]
    return Files(name, path, tuple(_with_puzzle(one, puzzles) for one in kept))


def _with_puzzle(entry: SubmittedKernel, puzzles: Sequence[Puzzle]) -> SubmittedKernel:
    """If the kernel is unreadable, guess the puzzle from the file's name, or take the only one there is."""
    if entry.puzzle:
        return entry
    stem, only = Path(entry.submission).stem, puzzles[0].name if len(puzzles) == 1 else None
    return replace(entry, puzzle=next((p.name for p in puzzles if stem in (p.name, p.kernel)), only))


def _with_distinct_names(submissions: list[Files]) -> list[Files]:
    """Submissions that share a name are called by their whole path."""
    names = [files.name for files in submissions]
    return [replace(s, name=s.path.as_posix()) if names.count(s.name) > 1 else s for s in submissions]


def unreadable_verdict(entry: SubmittedKernel, puzzle: Puzzle | None, submission: str, device: str) -> Verdict:
    """The verdict on an entry without a kernel, which fails at the gate `source`."""
    status = _UNREADABLE.get(entry.reason, "forbidden")
    message = f"{entry.submission}: {entry.error}" if entry.submission not in entry.error else entry.error
    gates = (
        GateResult("source", status, message + ("" if message.endswith(".") else "."), line=entry.line),
        *(GateResult(gate, "skipped", "Not reached: `source` comes first.") for gate in GATES[1:]),
    )
    points = float(puzzle.points) if puzzle is not None else 0.0
    return Verdict(puzzle.name if puzzle else "unknown", submission, status, device, 0.0, 0.0, points, gates)


def missing_verdict(puzzle: Puzzle, submission: str, device: str) -> Verdict:
    """The verdict on a requested puzzle that the submission lacks."""
    none = SubmittedKernel(submission, error=f"no kernel called {puzzle.kernel} is defined here", reason="no_kernel")
    return unreadable_verdict(none, puzzle, submission, device)
