"""Walks a file, a folder or a zip and hands out the text of what may hold a kernel. Hostile archives are refused."""

from __future__ import annotations

import io
import stat
import tokenize
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

MAX_FILE = 2 * 1024 * 1024
MAX_ARCHIVE = 64 * 1024 * 1024
MAX_MEMBERS = 2000
SKIPPED = ("__MACOSX", "__pycache__", "node_modules")
KINDS = (".py", ".ipynb")


@dataclass(frozen=True)
class Document:
    """One readable file: `name` as submissions are called, its kind, its text."""

    name: str
    kind: Literal["py", "ipynb"]
    text: str


@dataclass(frozen=True)
class FileProblem:
    """A file that was not read, and why: `reason` as in `read.Found`."""

    submission: str
    message: str
    reason: str


def documents(path: Path) -> Iterator[Document | FileProblem]:
    """Every .py and .ipynb at or below `path`, sorted by name, zips opened. Raises FileNotFoundError."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder called {path}")
    if path.is_dir():
        yield from _folder(path, path)
    elif path.suffix.lower() == ".zip":
        yield from _zip(path, path.name)
    elif path.suffix.lower() in KINDS:
        yield _file(path, path.name)
    else:
        yield FileProblem(path.name, "this is not a .py, an .ipynb or a .zip file", "unreadable")


def _skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED


def _folder(folder: Path, root: Path) -> Iterator[Document | FileProblem]:
    try:
        entries = sorted(folder.iterdir(), key=lambda p: p.name)
    except OSError as error:
        yield FileProblem(
            folder.relative_to(root).as_posix(), f"this folder cannot be read: {error.strerror}", "unreadable"
        )
        return
    for entry in entries:
        name = entry.relative_to(root).as_posix()
        if _skipped(entry.name):
            continue
        if entry.is_symlink():
            if entry.is_dir() or entry.suffix.lower() in (*KINDS, ".zip"):
                yield FileProblem(
                    name, "this is a link to somewhere else and was not followed: put the file itself here", "unsafe"
                )
        elif entry.is_dir():
            yield from _folder(entry, root)
        elif entry.suffix.lower() == ".zip":
            yield from _zip(entry, name)
        elif entry.suffix.lower() in KINDS:
            yield _file(entry, name)


def _file(path: Path, name: str) -> Document | FileProblem:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return FileProblem(name, "this is not an ordinary file", "unsafe")
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        return FileProblem(name, f"this file cannot be read: {error.strerror}", "unreadable")
    return _decoded(name, data)


def _decoded(name: str, data: bytes) -> Document | FileProblem:
    if len(data) > MAX_FILE:
        return FileProblem(
            name,
            f"this file is larger than {MAX_FILE // 2**20} MiB; clear the notebook's outputs and try again",
            "too_large",
        )
    notebook = name.lower().endswith(".ipynb")
    try:
        encoding = "utf-8-sig" if notebook else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        text = data.decode(encoding)
    except (UnicodeError, SyntaxError, LookupError):
        return FileProblem(name, "this file is not text in UTF-8; save it as UTF-8", "undecodable")
    if "\0" in text:
        return FileProblem(name, "this file holds null bytes and is not text", "undecodable")
    return Document(name, "ipynb" if notebook else "py", text)


def _zip(path: Path, name: str) -> Iterator[Document | FileProblem]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield from _members(archive, name)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, UnicodeError) as error:
        yield FileProblem(name, f"this zip cannot be opened: {str(error)[:100]}", "unreadable")


def _members(archive: zipfile.ZipFile, name: str) -> Iterator[Document | FileProblem]:
    members = sorted((m for m in archive.infolist() if not m.is_dir()), key=lambda m: m.filename)
    if len(members) > MAX_MEMBERS:
        yield FileProblem(name, f"this zip holds more than {MAX_MEMBERS} files and was not opened", "too_large")
        return
    unpacked = 0
    for member in members:
        inside = PurePosixPath(member.filename.replace("\\", "/"))
        inner = f"{name}/{inside}"
        if inside.is_absolute() or ".." in inside.parts or (inside.parts and ":" in inside.parts[0]):
            yield FileProblem(inner, "this name points outside the zip and was not opened", "unsafe")
            continue
        if any(_skipped(part) for part in inside.parts) or inside.suffix.lower() not in (*KINDS, ".zip"):
            continue
        if stat.S_ISLNK(member.external_attr >> 16):
            yield FileProblem(
                inner, "this is a link to somewhere else and was not followed: put the file itself here", "unsafe"
            )
        elif inside.suffix.lower() == ".zip":
            yield FileProblem(inner, "a zip inside a zip is not opened: put its files in one zip", "unsafe")
        elif member.flag_bits & 0x1:
            yield FileProblem(inner, "this file is encrypted", "unreadable")
        elif unpacked > MAX_ARCHIVE:
            yield FileProblem(
                inner, f"the files in this zip are larger than {MAX_ARCHIVE // 2**20} MiB together", "too_large"
            )
            return
        else:
            item, size = _member(archive, member, inner)
            unpacked += size
            yield item


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> tuple[Document | FileProblem, int]:
    """Reads at most MAX_FILE bytes, whatever size the zip claims."""
    try:
        with archive.open(member) as file:
            data = file.read(MAX_FILE + 1)
    except Exception as error:  # zipfile and zlib raise many kinds for a damaged member
        return FileProblem(name, f"this file in the zip is damaged: {str(error)[:100]}", "unreadable"), 0
    return _decoded(name, data), len(data)
