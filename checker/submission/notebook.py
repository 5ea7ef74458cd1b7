"""The code cells of a notebook file, as text. Nothing is run, outputs and metadata are not looked at."""

from __future__ import annotations

import json
import re
from typing import Any

from checker.submission.scope import Text, parse

_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b|python3?\b|pypy\b)\w+")
_CELL_MAGIC = re.compile(r"\s*%%")
_MAGIC_LINE = re.compile(
    r"""^(?P<indent>\s*)(?:
        [%!?].*            # %matplotlib inline, !ls, ?tl.load
      | [\w.\[\]]+\?{1,2}  # tl.load?
      | (?P<name>[\w., ]+?)\s*=\s*[%!].*  # files = !ls
    )\s*$""",
    re.VERBOSE,
)


def cells(text: str, origin: str) -> list[Text]:
    """The code cells, each a Text of its own. `origin` of a cell is "NOTEBOOK, cell 12", counted from 1 among all cells.

    Raises ValueError, with a message for the learner, if `text` is not a notebook.
    """
    found: list[Text] = []
    for number, cell in enumerate(_all_cells(text), start=1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        if isinstance(source, str):
            found.append(Text(without_magics(source), f"{origin}, cell {number}"))
    return found


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
    """The cell with IPython's own syntax (``%magic``, ``!shell``, ``name?``) blanked out; every line keeps its number."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if _OTHER_LANGUAGE.match(lines[first]):
        return "\n" * (len(lines) - 1)
    if _CELL_MAGIC.match(lines[first]):
        lines[first] = ""
    for _ in range(len(lines)):
        try:
            parse("\n".join(lines))
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            if not 0 <= at < len(lines) or not _blank_magic(lines, at):
                break
        else:
            return "\n".join(lines)
    repaired = list(lines)  # the error is reported on another line than the magic: take them all
    for at in range(len(repaired)):
        _blank_magic(repaired, at)
    try:
        parse("\n".join(repaired))
    except SyntaxError:
        return "\n".join(lines)
    return "\n".join(repaired)


def _blank_magic(lines: list[str], at: int) -> bool:
    found = _MAGIC_LINE.match(lines[at])
    if found is None:
        return False
    name = found["name"]
    lines[at] = f"{found['indent']}{name} = None" if name and "," not in name else f"{found['indent']}pass"
    return True
