"""Kernels on a page of Markdown. Each has a heading, labels, and a diff against another kernel or the whole kernel.

    ## name_of_the_kernel

    - **Believed:** one line for each label, as many labels as the page knows
    - **Gate:** `values`

    ```diff
     a line that stays and says where
    -a line that goes
    +a line that comes
    @@
    -another place, further up or down
    ```

A diff applies to the solution, or to the kernel that the label `Against` names. Its unchanged and removed lines have to occur there
exactly once, indentation included. A kernel that is clearer as a whole is in a ``python`` fence, without imports;
``def name_kernel(...):`` is replaced by the solution's signature.

Lines with the mistake end in ``# wrong``, which is not part of the kernel. In a diff without that mark, every added line counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.submission.marked_region import END, START

AGAINST = "Against"
SOLUTION = "solution"
_LABEL = re.compile(r"- \*\*([^*]+):\*\* +(.+)")
_MARK = re.compile(r"\s*# wrong$")


class PageError(ValueError):
    """A page does not follow the format, or does not fit the solution; the message names page and heading."""


@dataclass(frozen=True)
class _Headed:
    """The part of a page below one heading."""

    page: str
    name: str
    labels: dict[str, str]

    def error(self, problem: str) -> PageError:
        return PageError(f"{self.page}, {self.name}: {problem}")


@dataclass(frozen=True)
class Entry(_Headed):
    """One kernel of a page. `wrong_lines` are the lines of `source` with the mistake, counted from 1."""

    source: str
    wrong_lines: tuple[int, ...]


@dataclass(frozen=True)
class _Section(_Headed):
    """A kernel as it is written on the page: a diff, or the whole."""

    language: str
    code: list[str]


def bare(text: str) -> str:
    """A kernel's file without docstrings and without the marks around the learner's region: the base of diffs."""
    lines = text.splitlines()
    gone = {i for i, line in enumerate(lines) if line.strip().startswith((START, END))}
    module = ast.parse(text)
    owners: list[ast.Module | ast.FunctionDef] = [module, *(n for n in module.body if isinstance(n, ast.FunctionDef))]
    for owner in owners:
        if ast.get_docstring(owner) is not None:
            gone |= set(range(owner.body[0].lineno - 1, owner.body[0].end_lineno or 0))
    return "\n".join(line for i, line in enumerate(lines) if i not in gone).strip("\n") + "\n"


def read(path: Path, kernel: str, labels: Collection[str], bases: Mapping[str, str]) -> tuple[Entry, ...]:
    """The kernels of a page, in its order. `kernel` is the function that each defines, `labels` are the allowed labels.

    Diffs apply to ``bases[SOLUTION]``, or to the base or earlier kernel of the page that `AGAINST` names. Raises PageError.
    """
    known = dict(bases)
    entries = []
    for section in _sections(path, {*labels, AGAINST}):
        against = section.labels.get(AGAINST, SOLUTION).strip("`")
        if against not in known:
            raise section.error(f"there is no kernel `{against}` to lay it on")
        if section.language == "diff":
            lines, wrong = _applied(known[against].splitlines(), section, against)
        else:
            lines, wrong = _whole(known[SOLUTION].splitlines(), section, kernel)
        source = "\n".join(lines) + "\n"
        _check(source, kernel, section)
        known[section.name] = source
        entries.append(Entry(section.page, section.name, section.labels, source, tuple(wrong)))
    return tuple(entries)


def _check(source: str, kernel: str, section: _Section) -> None:
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        raise section.error(f"not valid Python: {error}") from error
    if not any(isinstance(node, ast.FunctionDef) and node.name == kernel for node in module.body):
        raise section.error(f"no function {kernel}")


# ----------------------------------------------------------------------------------------------------------------- page


def _sections(path: Path, labels: Collection[str]) -> list[_Section]:
    page = f"{path.parent.name}/{path.name}"
    found: dict[str, _Section] = {}
    for part in re.split(r"^## ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        section = _section(page, name.strip(), body, labels)
        if section.name in found:
            raise section.error("two kernels have this name")
        found[section.name] = section
    return list(found.values())


def _section(page: str, name: str, body: str, labels: Collection[str]) -> _Section:
    words, *fences = re.split(r"^```", body, flags=re.MULTILINE)
    language, _, code = (fences or [""])[0].partition("\n")
    section = _Section(page, name, {}, language.strip(), code.splitlines())
    if len(fences) != 2 or section.language not in ("diff", "python"):
        raise section.error("it needs one kernel, between ```diff or ```python and ```")
    for line in words.splitlines():
        label = _LABEL.fullmatch(line.rstrip())
        if not label:
            if line.startswith("  ") and line.strip():
                raise section.error(f"the words of a label take one line, and this goes on: {line.strip()}")
            continue
        if label[1] not in labels:
            raise section.error(f"**{label[1]}:** is none of {', '.join(sorted(labels))}")
        if label[1] in section.labels:
            raise section.error(f"**{label[1]}:** stands there twice")
        section.labels[label[1]] = label[2].strip()
    return section


# --------------------------------------------------------------------------------------------------------------- kernel


def _whole(solution: Sequence[str], section: _Section, kernel: str) -> tuple[list[str], list[int]]:
    """The kernel with the solution's imports, and with its signature in place of ``(...)``; and the lines with the mistake."""
    imports = [line for line in solution if line.startswith(("import ", "from "))]
    start = next(i for i, line in enumerate(solution) if line.startswith(f"def {kernel}("))
    stop = next(i for i in range(start, len(solution)) if solution[i].endswith("):"))
    lines = [*imports, "", ""]
    for line in section.code:
        lines += solution[start : stop + 1] if line == f"def {kernel}(...):" else [line]
    wrong = [number for number, line in enumerate(lines, 1) if _MARK.search(line)]
    return [_MARK.sub("", line) for line in lines], wrong


def _applied(base: Sequence[str], section: _Section, against: str) -> tuple[list[str], list[int]]:
    """The base with the diff applied, and the numbers of the lines with the mistake."""
    lines: list[str] = []
    marked, new = [], []
    position = 0
    for start, hunk in sorted(((_place(base, hunk, section, against), hunk) for hunk in _hunks(section)), key=_first):
        if start < position:
            raise section.error(f"two hunks want the same line: {base[start].strip()}")
        lines += base[position:start]
        position = start + sum(sign != "+" for sign, _ in hunk)
        for sign, line in hunk:
            if sign == "-":
                continue
            lines.append(_MARK.sub("", line))
            if _MARK.search(line):
                marked.append(len(lines))
            if sign == "+" and line:
                new.append(len(lines))
    return [*lines, *base[position:]], marked or new


_Hunk = list[tuple[str, str]]


def _first(placed: tuple[int, _Hunk]) -> int:
    return placed[0]


def _hunks(section: _Section) -> list[_Hunk]:
    hunks: list[_Hunk] = [[]]
    for line in section.code:
        if line.startswith("@@"):
            hunks.append([])
        elif line[:1] in ("", " ", "-", "+"):
            hunks[-1].append((line[:1] or " ", line[1:].rstrip()))
        else:
            raise section.error(f"a line of a diff begins with -, + or a space, not so: {line}")
    return hunks


def _place(base: Sequence[str], hunk: _Hunk, section: _Section, against: str) -> int:
    """The index in the base at which the hunk's unchanged and removed lines begin."""
    old = [_MARK.sub("", line) for sign, line in hunk if sign != "+"]
    missing = next((line for line in old if line not in base), None)
    if not old:
        raise section.error("a hunk needs a line that stays or goes, to say where it belongs")
    if missing is not None:
        raise section.error(f"the {_called(against)} has no such line: {missing.strip()}")
    places = [i for i in range(len(base) - len(old) + 1) if list(base[i : i + len(old)]) == old]
    if len(places) != 1:
        raise section.error(
            f"the {_called(against)} has {len(places) or 'no'} places for the hunk that begins: {old[0].strip()}"
        )
    return places[0]


def _called(against: str) -> str:
    return "solution" if against == SOLUTION else f"kernel `{against}`"
