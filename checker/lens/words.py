"""What a launch shows: where its lines are, and its findings as one short message."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker.judge.finding_words import in_words
from checker.phrases import count, program, short
from checker.puzzle import Launch
from checker.simulator.location import FILE, Locator
from checker.simulator.trace import Finding, ProgramId, Trace
from checker.simulator.triton_internals import const_parameters, function_of, source_of
from checker.submission.kernel import KernelSource, Piece
from checker.submission.notebook import origin_of
from checker.view.panel import Panel

WHAT = {
    "out_of_bounds_load": "load out of bounds",
    "out_of_bounds_store": "store out of bounds",
    "nan_born": "NaN",
    "inf_born": "inf",
    "race_in_store": "race in one store",
    "unwritten": "elements never stored",
    "wrap": "an index too large for its type",
}
"""Kinds of finding, where their own name does not read well."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a kernel, in words: `what` without its full stop, and `advice` in whole sentences.

    `file` and `line` are the user's own. `program` and `element` are the first ones concerned.
    """

    kernel: str
    file: str
    line: int | None
    kind: str
    what: str
    advice: str = ""
    tensor: str | None = None
    program: ProgramId | None = None
    element: tuple[int, ...] | None = None

    @property
    def title(self) -> str:
        return WHAT.get(self.kind, self.kind.replace("_", " "))

    @property
    def heading(self) -> str:
        return self.title[0].upper() + self.title[1:]

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for the same mistake, in whichever launch."""
        return self.kernel, self.file, self.line, self.kind, self.tensor


def source_of_launch(kernel: Any, locator: Locator) -> KernelSource:
    """Where each line of a launch lies, and the text of the kernel and of those helpers that share its file."""
    function = function_of(kernel)
    file = function.__code__.co_filename
    files = locator.files or [file]
    pieces = [Piece(i * FILE + 1, (i + 1) * FILE - 1, origin_of(name), 1) for i, name in enumerate(files)]
    firsts = [code.co_firstlineno for code in locator.functions if code.co_firstlineno < FILE]
    first = min([function.__code__.co_firstlineno, *firsts])
    lines, start = source_of(kernel)
    kept = range(first, start + len(lines))
    text = "".join(line if i in kept else "\n" for i, line in enumerate(linecache.getlines(file)[: kept.stop - 1], 1))
    return KernelSource("", function.__name__, text, tuple(pieces))


def problem_of(finding: Finding, source: KernelSource, trace: Trace) -> Problem:
    words = in_words(finding, source, trace)
    file, line = (source.origin, None) if finding.line is None else source.locate(finding.line)
    where = (file, line, finding.kind, words.what, words.advice)
    element = finding.elements[0] if finding.elements and finding.tensor else None
    tensor = short(finding.tensor) if finding.tensor else None
    return Problem(source.kernel, *where, tensor, finding.program, element)


def allow_stores(kernel: Any, trace: Trace, launch: Launch) -> None:
    """Where a launch names no outputs, every tensor that it stores to is one, unless it is `tl.const`: drop what was found against that."""
    if not launch.outputs:
        const = const_parameters(kernel)
        trace.findings = [f for f in trace.findings if f.kind != "modified_input" or f.tensor in const]


def problems_panel(source: KernelSource, grid: Sequence[int], problems: Sequence[Problem]) -> Panel:
    """The findings of one launch."""
    sizes = " × ".join(map(str, grid))
    title = f"{source.kernel} in {source.origin}, grid {sizes}: {count(len(problems), 'finding')}"
    return Panel(title, lists=[(p.heading, [f"{p.what}.", *([p.advice] if p.advice else [])]) for p in problems])


def stopped_words(source: KernelSource, locator: Locator, line: int | None, grid: Sequence[int], message: str) -> str:
    """``add_kernel stopped at line 12 of script.py, in program 3: …``."""
    where = "" if line is None else f" at line {source.locate(line)[1]} of {source.locate(line)[0]},"
    return f"{source.kernel} stopped{where} in {program(locator.program, grid)}: {message}"
