"""`collect`: finds out who handed in what in the export of a learning platform.

Everyone on the roster has a row, and every file that was not read is listed with the reason.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from checker.api.grading import (
    MAX_ARCHIVE,
    RETRIES,
    Entry,
    HandedIn,
    Inner,
    KernelSource,
    Person,
    Puzzle,
    Reader,
    Unread,
    entries,
    skipped,
)
from classroom.grading.layouts import GRADESCOPE, TIMESTAMP, Layout, Place, layout_of
from classroom.grading.policy import moment
from classroom.grading.records import Collected, Kernel, Learner, described
from classroom.grading.roster import Roster


class SeveralAssignments(ValueError):
    """nbgrader's folder contains several assignments, called `names`."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = sorted(names)
        super().__init__(f"there are several assignments here: choose one of {', '.join(self.names)}")


@dataclass
class _Handed:
    """What one learner handed in, as far as it has been read."""

    returned_as: str = ""
    fault: str = ""
    time: str | None = None
    """When everything was handed in, where the platform has one time for all files (ISO 8601)."""
    files: list[HandedIn] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


def collect(
    path: Path,
    puzzles: Sequence[Puzzle],
    reader: Reader,
    *,
    roster: Roster | None = None,
    assignment: str | None = None,
    settled: Mapping[str, str] | None = None,
    aside: Path | None = None,
) -> tuple[Collected, dict[str, KernelSource]]:
    """What a folder or a zip of a class holds, and the kernels by their hashes; the folder `aside` in it is nobody's.

    Raises FileNotFoundError, SeveralAssignments.
    """
    found = [entry for entry in _below(path) if entry.name]
    if aside is not None and aside.resolve().is_relative_to(path.resolve()):
        own = f"{aside.resolve().relative_to(path.resolve())}/"
        found = [entry for entry in found if not entry.name.startswith(own)]
    names = [entry.name for entry in found if not entry.problem or entry.reason == "empty"]
    metadata = next((e for e in found if GRADESCOPE.fullmatch(e.name) and not e.problem), None)
    text = metadata.read(8 << 20).decode("utf-8", "replace") if metadata is not None else ""
    visible = [name for name in names if not skipped(name.split("/")[0])]
    layout = layout_of(visible, path.resolve().name, text, [p.name for p in puzzles])
    if len(layout.assignments) > 1 and assignment not in layout.assignments:
        raise SeveralAssignments(layout.assignments)
    collector = Collector(puzzles, reader, roster or Roster(()), layout, assignment, settled or {})
    for entry in found:
        if entry is not metadata:
            collector.add(entry)
    return collector.collection(path.name)


def _below(path: Path) -> Iterator[Entry]:
    """The files of a class, by names relative to it. A zip with a single folder counts as that folder."""
    if path.is_dir() or path.suffix.lower() != ".zip":
        yield from entries(path)
        return
    members = list(entries(path))
    inside = [e.name.removeprefix(path.name).removeprefix("/") for e in members]
    tops = {name.split("/")[0] for name in inside if not skipped(name.split("/")[0])}
    only = f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in inside) else ""
    learners = {name.removeprefix(only).split("/")[0] for name in inside}
    strip = only if only and len(learners) > 1 and layout_of([only + "x"]).name == "plain" else ""
    for entry, name in zip(members, inside, strict=True):
        yield Entry(name.removeprefix(strip), entry.read, entry.problem, entry.reason, entry.modified)


@dataclass
class Collector:
    """Takes files one after another; a layout and a roster say who submitted them."""

    puzzles: Sequence[Puzzle]
    reader: Reader
    roster: Roster
    layout: Layout
    assignment: str | None
    settled: Mapping[str, str] = field(default_factory=dict)
    sources: dict[str, KernelSource] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kernels = {p.kernel: p.name for p in self.puzzles}
        self.owners: dict[tuple[str, ...], _Handed] = {}

    def add(self, entry: Entry) -> None:
        """One file, for each learner who submitted it."""
        if skipped(entry.name.split("/")[0]):
            self.unread.append(_unread(entry.name, "left_out", "a hidden or temporary file was left out"))
            return
        places = self.layout.place(entry.name)
        if not places and not entry.name.endswith(".csv"):  # platforms put rosters and grades beside submissions
            self.unread.append(_unread(entry.name, "nobodys", "the layout does not say whose this is"))
        for place in places:
            other = self.layout.name == "nbgrader" and self.assignment and place.file.split("/")[0] != self.assignment
            if not other:
                handed = self.owners.setdefault(place.names, _Handed())
                handed.returned_as = handed.returned_as or place.returned_as
                self._keep(entry, place, handed)

    def _keep(self, entry: Entry, place: Place, handed: _Handed) -> None:
        """One file of a learner. It never ends the run: if the grader fails at it repeatedly, the learner stays ungraded."""
        for left in reversed(range(1 + RETRIES)):
            new = _Handed(time=handed.time)
            try:
                self._add(entry, place, new)
            except Exception as error:
                if not left:
                    handed.fault = f"{place.file} could not be read: {described(error)}"
            else:
                handed.time = new.time
                handed.files += new.files
                handed.kernels += new.kernels
                handed.unread += new.unread
                break

    def _add(self, entry: Entry, place: Place, handed: _Handed) -> None:
        stamp = place.file.count("/") == 1 and place.file.endswith(f"/{TIMESTAMP}")  # any deeper is the learner's
        if self.layout.name == "nbgrader" and stamp and not entry.problem:
            self._timestamp(entry, handed)
            return
        reason, message, data = entry.reason, entry.problem, b""
        if not message and place.kind != "file":
            what = "text typed into the platform" if place.kind == "text" else "a link"
            reason, message = "other_kind", f"{what} is not read: hand in a file"
        if not message:
            try:
                data = entry.read(MAX_ARCHIVE + 1)
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or str(error)
                reason, message = "unreadable", f"this file cannot be read: {why}"
        if len(data) > MAX_ARCHIVE:
            reason, message = "too_large", f"this file is larger than {MAX_ARCHIVE // 2**20} MiB"
        if message:
            handed.unread.append(_unread(place.file, reason, message))
            return
        for inner in self.reader.read(place.file, data, self.kernels, entry.modified):
            self._inner(inner, place, handed)

    def _inner(self, inner: Inner, place: Place, handed: _Handed) -> None:
        stated = self._stated(place, handed)
        time = stated or (iso(inner.modified) if inner.modified is not None else None)
        with_kernel = [found for found in inner.found if found.source is not None]
        for found in inner.found:
            if found.puzzle is None and found.source is None:
                handed.unread.append(_unread(inner.name, found.reason, found.error))
                continue
            handed.kernels.append(
                Kernel(
                    puzzle=found.puzzle or "",
                    file=inner.name,
                    line=found.source.first_line if found.source else found.line,
                    source=self._kept(found.source) if found.source else None,
                    attempt=place.attempt,
                    time=time,
                    file_time=stated is None,
                    late=place.late,
                    reason=found.reason,
                    message=found.error,
                )
            )
        if inner.sha256:
            handed.files.append(
                HandedIn(
                    file=inner.name,
                    sha256=inner.sha256,
                    bytes=inner.bytes,
                    kernels=len(with_kernel),
                    attempt=place.attempt,
                    time=time,
                    late=place.late,
                )
            )

    def _stated(self, place: Place, handed: _Handed) -> str | None:
        """The platform's time for a file, in UTC. One that cannot be read is listed: nobody knows whether the file is late."""
        try:
            return _utc(moment(place.time)) if place.time else None
        except ValueError:
            handed.unread.append(_unread(place.file, "time", f"when it was handed in cannot be read: {place.time}"))
            return None

    def _kept(self, source: KernelSource) -> str:
        key = hashlib.sha256(msgspec.json.encode(source)).hexdigest()[:32]
        self.sources[key] = source
        return key

    def _timestamp(self, entry: Entry, handed: _Handed) -> None:
        """nbgrader's: ``2026-11-20 15:58:23.948203 UTC``. It counts for all files of the learner."""
        text = ""
        try:
            text = entry.read(200).decode("utf-8", "replace").strip()
            handed.time = _utc(moment(text))
        except (OSError, ValueError):
            handed.unread.append(_unread(TIMESTAMP, "time", f"when it was handed in cannot be read: {text}"))

    def collection(self, source: str) -> tuple[Collected, dict[str, KernelSource]]:
        """Raises TableError for somebody who is settled and not on the roster."""
        learners = {person.id: Learner(person=person, on_roster=True, returned_as="") for person in self.roster.people}
        others = dict[str, Learner]()
        layout = self.layout.name
        matches = self.roster.match(self.owners, platform=layout, files=layout == "plain", settled=self.settled)
        for names, match in matches.items():
            handed = self.owners[names]
            if match.person is None:
                free = names[0] not in learners and names[0] not in others
                person = Person(id=names[0] if free else " ".join(names), name=names[-1])
                whose = Learner(person=person, on_roster=False, returned_as="", candidates=match.candidates)
                others[person.id] = _with(whose, handed)
                continue
            whose = _with(learners[match.person.id], handed)
            if match.by_likeness:
                whose = msgspec.structs.replace(whose, matched=names[-1])
            learners[match.person.id] = whose
        by_id = operator.attrgetter("person.id")
        in_order = (*sorted(learners.values(), key=by_id), *sorted(others.values(), key=by_id))
        record = Collected(
            source=source,
            layout=self.layout.name,
            puzzles=tuple(p.name for p in self.puzzles),
            learners=in_order,
            unread=tuple(self.unread),
        )
        return record, self.sources


def _with(learner: Learner, handed: _Handed) -> Learner:
    """The learner with what was handed in besides."""
    files = (msgspec.structs.replace(one, time=handed.time or one.time) for one in handed.files)
    return msgspec.structs.replace(
        learner,
        returned_as=learner.returned_as or handed.returned_as,
        files=(*learner.files, *files),
        kernels=(*learner.kernels, *(_at(handed.time, one) for one in handed.kernels)),
        unread=(*learner.unread, *handed.unread),
        fault=learner.fault or handed.fault,
    )


def _unread(file: str, reason: str, message: str) -> Unread:
    return Unread(file=file, reason=reason, message=message)


def _at(time: str | None, kernel: Kernel) -> Kernel:
    """The kernel with the platform's `time`, if there is one."""
    return kernel if time is None else msgspec.structs.replace(kernel, time=time, file_time=False)


def iso(seconds: float) -> str | None:
    """Seconds since 1970 as ISO 8601; None outside the calendar, since a file may claim any time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
