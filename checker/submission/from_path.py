"""Reads kernels from a .py, an .ipynb, a .zip or a folder of them. Files are data: nothing is run, hostile archives are refused."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checker.submission.extract import extract
from checker.submission.files import MAX_ARCHIVE, MAX_FILE, Entry, entries, printable, skipped, unzipped
from checker.submission.kernel import KernelSource
from checker.submission.launcher import extract_launcher
from checker.submission.notebook import cells
from checker.submission.scope import StaticScope, Text, parse, quoted

if TYPE_CHECKING:  # the grader reads in a process without torch
    from checker.puzzle import Puzzle

KINDS = (".py", ".ipynb")
QUIET = ("left_out", "other_kind", "empty")
"""Reasons that nobody needs to hear about a file in a folder or a zip."""


@dataclass(frozen=True)
class SubmittedKernel:
    """One kernel in a file, or the reason why a file or a part of it has none.

    `submission` is the file's name relative to the path that was read. Either `puzzle` and `source` are set, or `error` is a
    sentence about what is wrong, at `line` of `origin` if it has one. `reason` is empty or one of
    ``no_kernel``, ``syntax``, ``undecodable``, ``too_large``, ``unsafe``, ``unreadable``, ``not_a_function``, or one of `QUIET`.
    """

    submission: str
    puzzle: str | None = None
    source: KernelSource | None = None
    error: str = ""
    line: int | None = None
    origin: str = ""
    reason: str = ""


def from_path(path: Path | str, puzzles: Iterable[Puzzle] | Mapping[str, Puzzle]) -> list[SubmittedKernel]:
    """Every kernel of `puzzles` in a .py, an .ipynb, a .zip or a folder of them, in the order of file names.

    A file that cannot be read becomes an entry with an `error`, so one bad file never stops the others. Raises
    FileNotFoundError if `path` does not exist.
    """
    kernels = {p.kernel: p.name for p in (puzzles.values() if isinstance(puzzles, Mapping) else puzzles)}
    whole = Path(path)
    found: list[SubmittedKernel] = []
    try:
        for entry in (member for file in entries(whole) for member in members(file)):
            alone = entry.name == whole.name
            found += [one for one in read_entry(entry, kernels) if alone or one.reason not in QUIET]
    except PermissionError as error:
        found.append(_unread(whole.name, f"this folder cannot be read: {error.strerror}", "unreadable"))
    return found


def _in_text(whole: str, file: str, kernels: Mapping[str, str]) -> list[SubmittedKernel]:
    scope = StaticScope()
    broken: dict[str, SubmittedKernel] = {}  # kernels in text that does not parse
    unparsed: SubmittedKernel | None = None
    try:
        texts = cells(whole, file) if _is_notebook(file) else [Text(whole, file)]
    except ValueError as error:
        return [_unread(file, str(error), "unreadable")]
    for text in texts:
        try:
            tree = parse(text.text)
        except SyntaxError as error:
            where = text.first + (error.lineno or 1) - 1
            message = f"Python cannot read this: {error.msg} (line {where} of {text.origin})"
            unparsed = unparsed or SubmittedKernel(file, None, None, message, where, text.origin, "syntax")
            for name in re.findall(r"^[ \t]*def[ \t]+(\w+)", text.text, re.MULTILINE):
                if name in kernels:
                    broken[name] = SubmittedKernel(file, kernels[name], None, message, where, text.origin, "syntax")
            continue
        before = {name: scope.names.get(name) for name in broken}
        scope.add(text, tree)
        for name in list(broken):
            if scope.names.get(name) is not before[name]:
                del broken[name]  # it is defined again further down, and that counts
    result: list[SubmittedKernel] = []
    for name, puzzle in kernels.items():
        definition = scope.find(name)
        if name in broken:
            result.append(broken[name])
        elif definition is None or definition.kind == "import":
            continue
        elif definition.kind != "function":
            assert definition.text is not None
            message = f"`{name}` is defined last in a way the checker cannot follow ({definition.what or 'an assignment'}): write it as @triton.jit and def"
            place = definition.line, definition.text.origin
            result.append(SubmittedKernel(file, puzzle, None, message, *place, "not_a_function"))
        else:
            # only a launcher has the name of its puzzle
            extracted = (extract_launcher if name == puzzle else extract)(definition, puzzle, scope)
            result.append(SubmittedKernel(file, puzzle, extracted))
    return result or [unparsed or _unread(file, _nothing(scope, kernels), "no_kernel")]


def _nothing(scope: StaticScope, kernels: Mapping[str, str]) -> str:
    others = [
        d.name
        for d in scope.names.values()
        if isinstance(d.node, ast.FunctionDef) and any("jit" in quoted(x) for x in d.node.decorator_list)
    ]
    if not others:
        return "no kernel of this course is defined here"
    shown, wanted = ", ".join(others[:5]), ", ".join(list(kernels)[:5]) + (", …" if len(kernels) > 5 else "")
    return f"no kernel of this course is defined here: found {shown}; the course asks for {wanted}"


def _unread(name: str, message: str, reason: str) -> SubmittedKernel:
    return SubmittedKernel(name, error=message, reason=reason)


def members(entry: Entry) -> Iterator[Entry]:
    """The file itself, or the members of a zip."""
    if entry.suffix != ".zip" or entry.problem:
        yield entry
        return
    try:
        yield from unzipped(entry.read(MAX_ARCHIVE + 1), entry.name)
    except (OSError, ValueError) as error:
        yield Entry(entry.name, problem=f"this file cannot be read: {error}", reason="unreadable")


def _is_notebook(file: str) -> bool:
    return file.lower().endswith(".ipynb")


def _decoded(name: str, data: bytes) -> str | SubmittedKernel:
    """The text of a .py or an .ipynb."""
    if len(data) > MAX_FILE:
        message = f"this file is larger than {MAX_FILE // 2**20} MiB; clear the notebook's outputs and try again"
        return _unread(name, message, "too_large")
    try:
        encoding = "utf-8-sig" if _is_notebook(name) else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        text = data.decode(encoding)
        text.encode("utf-8")  # some encodings decode to invalid text
    except (UnicodeError, SyntaxError, LookupError):
        return _unread(name, "this file is not text in UTF-8; save it as UTF-8", "undecodable")
    if "\0" in text:
        return _unread(name, "this file holds null bytes and is not text", "undecodable")
    return text


def read_entry(entry: Entry, kernels: Mapping[str, str]) -> list[SubmittedKernel]:
    """The kernels in one file; `kernels` maps their names to puzzles."""
    if any(skipped(part) for part in entry.name.split("/") if part not in (".", "..")):
        return [_unread(entry.name, "a hidden or temporary file was left out", "left_out")]
    if entry.problem:
        return [_unread(entry.name, entry.problem, entry.reason)]
    if entry.suffix not in KINDS:
        kind = entry.suffix or "file without a suffix"
        message = f"a {kind} is not read: hand in a .py, an .ipynb or a .zip of them"
        return [_unread(entry.name, message, "other_kind")]
    try:
        text = _decoded(entry.name, entry.read(MAX_FILE + 1))
        return [text] if isinstance(text, SubmittedKernel) else _in_text(text, entry.name, kernels)
    except RecursionError:
        return [_unread(entry.name, "the code in this file is nested too deeply to be read", "syntax")]
    except MemoryError:
        return [_unread(entry.name, "this file cannot be read: it needs too much memory", "unreadable")]
    except Exception as error:  # one file must not take the others of its zip with it
        why = getattr(error, "strerror", None) or printable(str(error))[:100]
        return [_unread(entry.name, f"this file cannot be read: {why}", "unreadable")]
