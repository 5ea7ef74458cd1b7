"""Kernels in a .py, an .ipynb, a .zip or a folder of them. Files are data: nothing in them is run, hostile archives are refused."""

from __future__ import annotations

import ast
import io
import re
import stat
import tokenize
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from checker.puzzle import Puzzle
from checker.submission.extract import extract
from checker.submission.kernel import KernelSource
from checker.submission.notebook import cells
from checker.submission.scope import StaticScope, Text, parse

MAX_FILE = 2 * 1024 * 1024
MAX_ARCHIVE = 64 * 1024 * 1024
MAX_MEMBERS = 2000
SKIPPED = ("__MACOSX", "__pycache__", "node_modules")
KINDS = (".py", ".ipynb")


@dataclass(frozen=True)
class Found:
    """One kernel found in a file, or why a file or a part of it has none.

    `submission` is the file's name relative to the path that was asked for. Either `puzzle` and `source` are set, or
    `error` says in a sentence what was wrong, at `line` of `origin` where it has one. `reason` is empty or one of
    ``no_kernel``, ``syntax``, ``undecodable``, ``too_large``, ``unsafe``, ``unreadable``, ``not_a_function``.
    """

    submission: str
    puzzle: str | None = None
    source: KernelSource | None = None
    error: str = ""
    line: int | None = None
    origin: str = ""
    reason: str = ""


def from_path(path: Path | str, puzzles: Iterable[Puzzle] | Mapping[str, Puzzle]) -> list[Found]:
    """Every kernel of `puzzles` in a .py, an .ipynb, a .zip or a folder of them, in the order of file names.

    What cannot be read is in the list too, as a Found with an `error`: one bad file never stops the others. Raises
    FileNotFoundError if `path` does not exist.
    """
    kernels = {p.kernel: p for p in (puzzles.values() if isinstance(puzzles, Mapping) else puzzles)}
    found: list[Found] = []
    for item in _documents(Path(path)):
        if isinstance(item, Found):
            found.append(item)
            continue
        try:
            found += _in_document(item, kernels)
        except RecursionError:
            found.append(_unread(item.name, "the code in this file is nested too deeply to be read", "syntax"))
    return found


def _in_document(document: _Document, kernels: Mapping[str, Puzzle]) -> list[Found]:
    scope = StaticScope()
    broken: dict[str, Found] = {}  # kernels in text that does not parse
    unparsed: Found | None = None
    try:
        texts = [Text(document.text, document.name)] if document.kind == "py" else cells(document.text, document.name)
    except ValueError as error:
        return [_unread(document.name, str(error), "unreadable")]
    for text in texts:
        try:
            tree = parse(text.text)
        except SyntaxError as error:
            where = text.first + (error.lineno or 1) - 1
            message = f"Python cannot read this: {error.msg} (line {where} of {text.origin})"
            unparsed = unparsed or Found(document.name, None, None, message, where, text.origin, "syntax")
            for name in re.findall(r"^[ \t]*def[ \t]+(\w+)", text.text, re.MULTILINE):
                if name in kernels:
                    broken[name] = Found(document.name, kernels[name].name, None, message, where, text.origin, "syntax")
            continue
        before = dict(scope.names)
        scope.add(text, tree)
        for name in list(broken):
            if scope.names.get(name) is not before.get(name):
                del broken[name]  # written again further down, and that one counts
    found: list[Found] = []
    for name, puzzle in kernels.items():
        definition = scope.find(name)
        if name in broken:
            found.append(broken[name])
        elif definition is None or definition.kind == "import":
            continue
        elif definition.kind != "function":
            assert definition.text is not None
            message = f"`{name}` is defined last in a way the checker cannot follow ({definition.what or 'an assignment'}): write it as @triton.jit and def"
            found.append(
                Found(
                    document.name, puzzle.name, None, message, definition.line, definition.text.origin, "not_a_function"
                )
            )
        else:
            found.append(Found(document.name, puzzle.name, extract(definition, puzzle.name, scope)))
    if not found:
        found.append(unparsed or _unread(document.name, _nothing(scope, kernels), "no_kernel"))
    return found


def _nothing(scope: StaticScope, kernels: Mapping[str, Puzzle]) -> str:
    others = [
        d.name
        for d in scope.names.values()
        if isinstance(d.node, ast.FunctionDef) and any("jit" in ast.unparse(x) for x in d.node.decorator_list)
    ]
    if not others:
        return "no kernel of this course is defined here"
    shown, asked = ", ".join(others[:5]), ", ".join(list(kernels)[:5]) + (", …" if len(kernels) > 5 else "")
    return f"no kernel of this course is defined here: found {shown}; the course asks for {asked}"


@dataclass(frozen=True)
class _Document:
    """One readable file: `name` as submissions are called, its kind, its text."""

    name: str
    kind: Literal["py", "ipynb"]
    text: str


def _unread(name: str, message: str, reason: str) -> Found:
    return Found(name, error=message, reason=reason)


def _documents(path: Path) -> Iterator[_Document | Found]:
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
        yield _unread(path.name, "this is not a .py, an .ipynb or a .zip file", "unreadable")


def _skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED


def _folder(folder: Path, root: Path) -> Iterator[_Document | Found]:
    try:
        entries = sorted(folder.iterdir(), key=lambda p: p.name)
    except OSError as error:
        yield _unread(
            folder.relative_to(root).as_posix(), f"this folder cannot be read: {error.strerror}", "unreadable"
        )
        return
    for entry in entries:
        name = entry.relative_to(root).as_posix()
        if _skipped(entry.name):
            continue
        if entry.is_symlink():
            if entry.is_dir() or entry.suffix.lower() in (*KINDS, ".zip"):
                yield _unread(
                    name, "this is a link to somewhere else and was not followed: put the file itself here", "unsafe"
                )
        elif entry.is_dir():
            yield from _folder(entry, root)
        elif entry.suffix.lower() == ".zip":
            yield from _zip(entry, name)
        elif entry.suffix.lower() in KINDS:
            yield _file(entry, name)


def _file(path: Path, name: str) -> _Document | Found:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return _unread(name, "this is not an ordinary file", "unsafe")
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        return _unread(name, f"this file cannot be read: {error.strerror}", "unreadable")
    return _decoded(name, data)


def _decoded(name: str, data: bytes) -> _Document | Found:
    if len(data) > MAX_FILE:
        return _unread(
            name,
            f"this file is larger than {MAX_FILE // 2**20} MiB; clear the notebook's outputs and try again",
            "too_large",
        )
    notebook = name.lower().endswith(".ipynb")
    try:
        encoding = "utf-8-sig" if notebook else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        text = data.decode(encoding)
    except (UnicodeError, SyntaxError, LookupError):
        return _unread(name, "this file is not text in UTF-8; save it as UTF-8", "undecodable")
    if "\0" in text:
        return _unread(name, "this file holds null bytes and is not text", "undecodable")
    return _Document(name, "ipynb" if notebook else "py", text)


def _zip(path: Path, name: str) -> Iterator[_Document | Found]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield from _members(archive, name)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, UnicodeError) as error:
        yield _unread(name, f"this zip cannot be opened: {str(error)[:100]}", "unreadable")


def _members(archive: zipfile.ZipFile, name: str) -> Iterator[_Document | Found]:
    members = sorted((m for m in archive.infolist() if not m.is_dir()), key=lambda m: m.filename)
    if len(members) > MAX_MEMBERS:
        yield _unread(name, f"this zip holds more than {MAX_MEMBERS} files and was not opened", "too_large")
        return
    unpacked = 0
    for member in members:
        inside = PurePosixPath(member.filename.replace("\\", "/"))
        inner = f"{name}/{inside}"
        if inside.is_absolute() or ".." in inside.parts or (inside.parts and ":" in inside.parts[0]):
            yield _unread(inner, "this name points outside the zip and was not opened", "unsafe")
            continue
        if any(_skipped(part) for part in inside.parts) or inside.suffix.lower() not in (*KINDS, ".zip"):
            continue
        if stat.S_ISLNK(member.external_attr >> 16):
            yield _unread(
                inner, "this is a link to somewhere else and was not followed: put the file itself here", "unsafe"
            )
        elif inside.suffix.lower() == ".zip":
            yield _unread(inner, "a zip inside a zip is not opened: put its files in one zip", "unsafe")
        elif member.flag_bits & 0x1:
            yield _unread(inner, "this file is encrypted", "unreadable")
        elif unpacked > MAX_ARCHIVE:
            yield _unread(
                inner, f"the files in this zip are larger than {MAX_ARCHIVE // 2**20} MiB together", "too_large"
            )
            return
        else:
            item, size = _member(archive, member, inner)
            unpacked += size
            yield item


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> tuple[_Document | Found, int]:
    """Reads at most MAX_FILE bytes, whatever size the zip claims."""
    try:
        with archive.open(member) as file:
            data = file.read(MAX_FILE + 1)
    except Exception as error:  # zipfile and zlib raise many kinds for a damaged member
        return _unread(name, f"this file in the zip is damaged: {str(error)[:100]}", "unreadable"), 0
    return _decoded(name, data), len(data)
