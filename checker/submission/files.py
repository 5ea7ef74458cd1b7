"""Lists the files at or below a path and in zips, within bounds. It opens only ordinary files and follows no link."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO

MAX_FILE = 2 * 1024 * 1024
MAX_ARCHIVE = 64 * 1024 * 1024
MAX_MEMBERS = 2000
MAX_ZIPS = 3
"""How deeply zips may be nested."""
MAX_DEPTH = 40
MAX_LISTED = 100_000
SKIPPED = ("__MACOSX", "__pycache__", "node_modules")
LINK = "this is a link to somewhere else and was not followed: put the file itself here"
NOT_ORDINARY = "this is not an ordinary file, so it was not opened"


@dataclass(frozen=True)
class Entry:
    """One file, named relative to the start of the search; or the `problem` with an entry that is no file.

    ``read(most)`` returns its first `most` bytes. It raises OSError, and ValueError for a damaged member of a zip. `reason` is
    empty or one of ``unsafe``, ``unreadable``, ``too_large``, ``empty``. `modified` is in seconds since 1970.
    """

    name: str
    read: Callable[[int], bytes] = lambda most: b""
    problem: str = ""
    reason: str = ""
    modified: float | None = None

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()


def printable(name: str) -> str:
    """A file's name as text, with invalid UTF-8 and control characters replaced."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def skipped(name: str) -> bool:
    """Whether a file or folder of this name is hidden or belongs to some program."""
    return name.startswith(".") or name in SKIPPED


def entries(path: Path) -> Iterator[Entry]:
    """Every file at or below `path`, sorted by name; the members of a zip. `path` itself may be a link. Raises OSError."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder called {path}")
    if path.is_dir():
        yield from _folder(path.resolve(), "", 0)
    elif path.suffix.lower() == ".zip":
        yield from zip_on_disk(path)
    else:
        yield _on_disk(path.resolve(), path.name)


def _folder(folder: Path, prefix: str, depth: int) -> Iterator[Entry]:
    if depth > MAX_DEPTH:
        deep = f"folders are nested more than {MAX_DEPTH} deep here and were not opened"
        yield Entry(prefix, problem=deep, reason="too_large")
        return
    try:
        with os.scandir(folder) as listed:
            listing = sorted(islice(listed, MAX_LISTED), key=lambda entry: entry.name)
    except OSError as error:
        if not prefix:
            raise
        yield Entry(prefix, problem=f"this folder cannot be read: {error.strerror}", reason="unreadable")
        return
    if not listing and prefix:
        yield Entry(prefix, problem="this folder is empty", reason="empty")
    for entry in listing:
        name = f"{prefix}/{printable(entry.name)}" if prefix else printable(entry.name)
        if entry.is_symlink():
            yield Entry(name, problem=LINK, reason="unsafe")
        elif entry.is_dir(follow_symlinks=False):
            inside = [Entry(name)] if skipped(entry.name) else _folder(folder / entry.name, name, depth + 1)
            yield from inside if depth else _bounded(inside, name)  # a class has a folder for each learner
        else:
            yield _on_disk(folder / entry.name, name)


def _bounded(listed: Iterable[Entry], name: str) -> Iterator[Entry]:
    for n, entry in enumerate(listed):
        if n == MAX_LISTED:
            yield Entry(
                name, problem=f"more than {MAX_LISTED} files are here: the rest was not read", reason="too_large"
            )
            return
        yield entry


def _on_disk(path: Path, name: str) -> Entry:
    try:
        about = path.lstat()
    except OSError as error:
        return Entry(name, problem=f"this file cannot be read: {error.strerror}", reason="unreadable")
    if not stat.S_ISREG(about.st_mode):
        return Entry(name, problem=NOT_ORDINARY, reason="unsafe")
    return Entry(name, lambda most: _opened(path, most), modified=about.st_mtime)


# not every system has each of them
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


def _opened(path: Path, most: int) -> bytes:
    """Never blocks: refuses a file that has become a FIFO or a device since it was listed."""
    handle = os.open(path, _FLAGS)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(None, NOT_ORDINARY)
        return file.read(most)


def zip_on_disk(path: Path) -> list[Entry]:
    """The members of a zip; their names begin with the zip's own."""
    if not stat.S_ISREG(path.stat().st_mode):
        return [Entry(path.name, problem=NOT_ORDINARY, reason="unsafe")]
    try:
        return _members(path.open("rb"), path.name, MAX_LISTED)
    except OSError as error:
        return [Entry(path.name, problem=f"this zip cannot be opened: {error.strerror}", reason="unreadable")]


@dataclass
class _Budget:
    """How much of one submission may still be unpacked, including zips in zips."""

    files: int = MAX_MEMBERS
    size: int = MAX_ARCHIVE

    def read(self, entry: Entry, most: int) -> bytes:
        data = entry.read(max(0, min(most, self.size + 1)))
        self.size -= len(data)
        return data


def unzipped(data: bytes, name: str) -> Iterator[Entry]:
    """The members of a zip with the bytes `data`, including those of zips inside, bounded in number and total size.

    Call ``read`` of each member before taking the next: sizes are counted as members are read.
    """
    yield from _unzipped(data, name, _Budget(), 1)


def _unzipped(data: bytes, name: str, budget: _Budget, zips: int) -> Iterator[Entry]:
    for entry in _members(io.BytesIO(data), name, MAX_MEMBERS):
        budget.files -= 1
        if budget.files < 0 or budget.size < 0:
            most = f"more than {MAX_MEMBERS} files, or {MAX_ARCHIVE // 2**20} MiB"
            problem = f"this zip holds {most}, together with the zips in it: the rest was not opened"
            yield Entry(entry.name, problem=problem, reason="too_large")
            return
        if entry.problem or entry.suffix != ".zip":
            yield replace(entry, read=partial(budget.read, entry))
        elif zips >= MAX_ZIPS:
            deep = f"zips are nested more than {MAX_ZIPS} deep here and were not opened"
            yield Entry(entry.name, problem=deep, reason="too_large")
        else:
            try:
                inner = budget.read(entry, MAX_ARCHIVE)
            except (OSError, ValueError) as error:
                yield Entry(entry.name, problem=str(error), reason="unreadable")
            else:
                yield from _unzipped(inner, entry.name, budget, zips + 1)


def _members(file: IO[bytes], name: str, most: int) -> list[Entry]:
    try:
        archive = zipfile.ZipFile(file)
        members = sorted((m for m in archive.infolist() if not m.is_dir()), key=lambda m: m.filename)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, UnicodeError) as error:
        why = printable(str(error))[:100]
        return [Entry(name, problem=f"this zip cannot be opened: {why}", reason="unreadable")]
    if len(members) > most:
        return [Entry(name, problem=f"this zip holds more than {most} files and was not opened", reason="too_large")]
    return [_member(archive, member, name) for member in members]


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Entry:
    inside = PurePosixPath(member.filename.replace("\\", "/"))
    inner = f"{name}/{printable(str(inside))}"
    if inside.is_absolute() or ".." in inside.parts or (inside.parts and ":" in inside.parts[0]):
        return Entry(inner, problem="this name points outside the zip and was not opened", reason="unsafe")
    if stat.S_ISLNK(member.external_attr >> 16):
        return Entry(inner, problem=LINK, reason="unsafe")
    if member.flag_bits & 0x1:
        return Entry(inner, problem="this file is encrypted", reason="unreadable")
    return Entry(inner, lambda most: _unpacked(archive, member, most), modified=_zip_time(member))


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """At most `most` bytes, whatever size the zip claims."""
    try:
        with archive.open(member) as file:
            return file.read(most)
    except Exception as error:  # zipfile and zlib raise many kinds for a damaged member
        raise ValueError(f"this file in the zip is damaged: {printable(str(error))[:100]}") from None


def _zip_time(member: zipfile.ZipInfo) -> float | None:
    """Zips have local times to two seconds, and 1980 for unknown."""
    try:
        return datetime(*member.date_time).timestamp() if member.date_time[0] > 1980 else None
    except (ValueError, OverflowError):
        return None
