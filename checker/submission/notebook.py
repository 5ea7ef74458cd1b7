"""The cells of a notebook as text, from a file, which is never run, or from the running session."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.submission.scope import Text, parse

MOST_MAGICS = 100
"""In one cell that does not parse without them: each takes another attempt."""
RUN_AS_STRINGS = ("prun", "time", "timeit")
"""The ``%%`` magics whose cells have no file to read a function's source from."""
_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b|python3?\b|pypy\b)\w+")
_WRITES_PYTHON = re.compile(r"\A(\s*)%%(?:write)?file\b[^\n]*\.py\b[^\n]*")
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
            source = _WRITES_PYTHON.sub(r"\1", source)  # a kernel that the notebook writes to a file was handed in, too
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
    for _ in range(MOST_MAGICS):
        try:
            parse("\n".join(lines))
        except SyntaxError as error:
            at = min(error.lineno or 1, len(lines)) - 1
            plain = _without_magic(lines[at])
            if plain is None:
                break
            lines[at] = plain
        else:
            break
    return "\n".join(lines)


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
    written = re.compile(rf"^def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    assigned = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=|\bimport\b.*\b{re.escape(name)}\b", re.MULTILINE)
    held = cell_of(filename) if filename is not None else 0
    for count, text in reversed(cells):
        if not written.search(text.text):
            if assigned.search(text.text):
                return None  # an older version that was put back on purpose
            continue
        try:
            parse(text.text)
        except SyntaxError as error:
            return Unfinished(name, text.origin, text.first + (error.lineno or 1) - 1, error.msg)
        if held is None or held >= count:
            return None
        if count != running:  # the running one has not failed; its definition is still to come
            magic, _ = _below_magic(shell().user_ns["In"][count])
            return Unfinished(name, text.origin, magic=magic if magic in RUN_AS_STRINGS else "")
    return None
