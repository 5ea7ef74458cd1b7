"""The cells of a notebook as text, from a file, which is never run, or from the running session."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.submission.scope import Text, parse

RUN_AS_STRINGS = ("prun", "time", "timeit")
"""The ``%%`` magics whose cells have no file to read a function's source from."""
_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b|python3?\b|pypy\b)\w+")
_CELL_MAGIC = re.compile(r"\s*%%")
_HELP = re.compile(r"[\w.\[\]]+\?{1,2}")  # tl.load?
_NAMES = re.compile(r"[\w., ]+")


def cells(text: str, origin: str) -> list[Text]:
    """The code cells, each a Text of its own. `origin` of a cell is "NOTEBOOK, cell 12", counted from 1 among all cells.

    Raises ValueError, with a message for the learner, if `text` is not a notebook.
    """
    texts: list[Text] = []
    for number, cell in enumerate(_all_cells(text), start=1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        if isinstance(source, str):
            source = source.encode("utf-8", "replace").decode()  # JSON can contain lone surrogates
            texts.append(Text(without_magics(source), f"{origin}, cell {number}"))
    return texts


def _all_cells(text: str) -> list[Any]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not a notebook file: {str(error)[:100]}") from None
    if not isinstance(notebook, dict):
        raise ValueError("this is not a notebook file: its JSON is not an object")
    listed = notebook.get("cells")
    if listed is None and isinstance(notebook.get("worksheets"), list):  # nbformat 3 and older
        import nbformat

        try:
            listed = nbformat.reads(text, as_version=4)["cells"]
        except Exception as error:
            raise ValueError(f"this old notebook cannot be converted: {str(error)[:100]}") from None
    if not isinstance(listed, list):
        raise ValueError("this is not a notebook file: it has no list of cells")
    return listed


def without_magics(source: str) -> str:
    """The cell without IPython's own syntax (``%magic``, ``!shell``, ``name?``); lines keep their numbers."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if _OTHER_LANGUAGE.match(lines[first]):
        return "\n" * (len(lines) - 1)
    if _CELL_MAGIC.match(lines[first]):
        lines[first] = ""
    try:
        parse("\n".join(lines))
    except SyntaxError:
        _blank_magics(lines)
    return "\n".join(lines)


def _blank_magics(lines: list[str]) -> None:
    """Blank every line that begins a statement and that IPython would handle itself, in linear time."""
    depth, quote = 0, ""
    continued = False
    for at, line in enumerate(lines):
        if not (depth or quote or continued):
            plain = _without_magic(line)
            if plain is not None:
                lines[at] = plain
                continue
        depth, quote = _after(line, depth, quote)
        continued = line.endswith("\\")


def _without_magic(line: str) -> str | None:
    """The Python replacement for a line of IPython's (``%matplotlib inline``, ``!ls``, ``files = !ls``, ``tl.load?``); else None."""
    stripped = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    if stripped.startswith(("%", "!", "?")) or (stripped.endswith("?") and _HELP.fullmatch(stripped)):
        return f"{indent}pass"
    names, _, value = stripped.partition("=")
    if value.lstrip()[:1] not in ("%", "!") or not value.strip() or not _NAMES.fullmatch(names):
        return None
    return f"{indent}pass" if "," in names else f"{indent}{names.strip()} = None"


def _after(line: str, depth: int, quote: str) -> tuple[int, str]:
    """The number of open brackets and the open quotation mark at the end of a line."""
    at = 0
    while at < len(line):
        if quote:
            closed = line.find(quote, at)
            while closed > 0 and _escaped(line, closed, at):
                closed = line.find(quote, closed + 1)
            if closed < 0:
                return depth, quote if len(quote) == 3 else ""
            at, quote = closed + len(quote), ""
            continue
        character = line[at]
        if character == "#":
            break
        if character in "\"'":
            quote = character * 3 if line.startswith(character * 3, at) else character
            at += len(quote)
            continue
        depth = max(0, depth + (character in "([{") - (character in ")]}"))
        at += 1
    return depth, quote if len(quote) == 3 else ""


def _escaped(line: str, at: int, since: int) -> bool:
    """Whether an odd number of backslashes precedes `at`."""
    first = at
    while first > since and line[first - 1] == "\\":
        first -= 1
    return bool((at - first) % 2)


@dataclass(frozen=True)
class Unfinished:
    """The newest cell that should have defined `name` but did not get that far; `error` and `line` for a syntax error.

    `magic` is the ``%%`` word that makes IPython run the cell as a string, so that Triton finds no source.
    """

    name: str
    origin: str  # "In[7]"
    line: int | None = None
    error: str = ""
    magic: str = ""

    @property
    def message(self) -> str:
        """A clause: ``the cell that defines … (In[7]) has a syntax error on line 3: …``."""
        cell = f"the cell that defines `{self.name}` ({self.origin})"
        if self.line is not None:
            return f"{cell} has a syntax error on line {self.line}: {self.error}"
        if self.magic:
            return f"{cell} did not get there: below %%{self.magic} Triton cannot read a kernel's source, so that line has to go"
        return f"{cell} stopped with an error before it got there"


def shell() -> Any:
    """The running IPython, if any."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def cell_of(filename: str) -> int | None:
    """The number of the cell that IPython compiled under `filename`, by its newest run."""
    count = getattr(getattr(shell(), "compile", None), "_filename_map", {}).get(filename)
    if count:
        return int(count)
    old = re.match(r"<ipython-input-(\d+)-", filename)
    return int(old[1]) if old else None


def origin_of(filename: str) -> str:
    """The learner's name for a file or cell: "In[7]", or a path relative to the working directory."""
    count = cell_of(filename)
    if count is not None:
        return f"In[{count}]"
    path = Path(filename)
    if not path.is_file():
        return "a cell" if shell() is not None else filename
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.name


def cells_run() -> list[tuple[int, Text]]:
    """The session's cells by number, in the order they ran, whether they succeeded or not; the running one is the last."""
    ran = (getattr(shell(), "user_ns", None) or {}).get("In")
    return [
        (count, Text(without_magics(_below_magic(cell)[1]), f"In[{count}]"))
        for count, cell in enumerate(ran if isinstance(ran, list) else [])
        if isinstance(cell, str) and cell.strip()
    ]


def _below_magic(cell: str) -> tuple[str, str]:
    """The ``%%`` magic and the cell as typed, if IPython keeps the call that it made of it; else "", `cell`."""
    if "run_cell_magic" not in cell:
        return "", cell
    try:
        tree = parse(cell)
    except SyntaxError:
        return "", cell
    match tree.body:
        case [
            ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(attr="run_cell_magic"),
                    args=[ast.Constant(value=str(magic)), ast.Constant(value=str(line)), ast.Constant(value=str(body))],
                )
            )
        ]:
            return magic, f"%%{magic} {line}".rstrip() + "\n" + body
    return "", cell


def unfinished(name: str, filename: str | None = None) -> Unfinished | None:
    """The newest cell that defines `name`, if it failed before it did: the name then holds an older value, or none.

    `filename` is the one that the live function's code was compiled under; None without such a function.
    """
    cells = cells_run()
    running = cells[-1][0] if cells else 0
    written = re.compile(rf"^[ \t]*def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    held = cell_of(filename) if filename is not None else 0
    for count, text in reversed(cells):
        try:
            tree = parse(text.text)
        except SyntaxError as error:
            if written.search(text.text):
                line = text.first + (error.lineno or 1) - 1
                return Unfinished(name, text.origin, line, error.msg)
            continue
        ways = set(_ways_to_bind(tree, name))
        if not ways:
            continue
        if ways != {"def"} or held is None or held >= count:
            return None
        if count == running:  # it has not failed; its definition is still to come
            continue
        magic, _ = _below_magic(shell().user_ns["In"][count])
        return Unfinished(name, text.origin, magic=magic if magic in RUN_AS_STRINGS else "")
    return None


def _ways_to_bind(tree: ast.Module, name: str) -> Iterator[str]:
    """How a cell binds a name: ``def`` for certain, ``perhaps`` if it depends on a condition or on another module."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            if statement.name == name:
                yield "def"
            continue
        for node in ast.walk(statement):
            match node:
                case ast.FunctionDef(name=bound) | ast.ClassDef(name=bound):
                    binds = bound == name
                case ast.Name(id=bound, ctx=ast.Store() | ast.Del()):
                    binds = bound == name
                case ast.alias(name=bound, asname=other):
                    binds = name == (other or bound) or bound == "*"
                case _:
                    binds = False
            if binds:
                yield "perhaps"
