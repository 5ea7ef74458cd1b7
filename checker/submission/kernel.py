"""A learner's kernel as data: source text, where each line came from, and what its decorators ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Scalar = int | float | bool
"""As in `checker.puzzle`, which needs torch; the grader reads in a process without it."""


@dataclass(frozen=True)
class Piece:
    """A run of lines of `KernelSource.source`, and where the learner wrote them."""

    start: int  # first line in KernelSource.source, from 1
    stop: int  # last line
    origin: str  # "puzzles/row_softmax.py", "01_row_softmax.ipynb, cell 12", "In[7]"
    origin_start: int  # the learner's own line number of `start`


@dataclass(frozen=True)
class Config:
    """One literal `triton.Config` of a learner's autotune, or the course's defaults."""

    meta: Mapping[str, Scalar]
    options: Mapping[str, int]


@dataclass(frozen=True)
class KernelSource:
    """One kernel with its helpers and constants, re-emitted so that nothing else of the learner's module is left.

    `source` is a complete module: imports of Triton, constants, jitted functions, no autotune decorator. What the learner
    wrote in the kernel's own file or cell keeps its line numbers; what comes from other cells follows below. `pieces` maps
    lines to their places, the kernel's first. `kernel` names the function that is launched. `configs` is empty without an
    autotune.
    """

    puzzle: str
    kernel: str
    source: str
    pieces: tuple[Piece, ...]
    configs: tuple[Config, ...] = ()
    problems: tuple[Violation, ...] = ()
    """Broken rules in lines that are not part of `source` (decorators, other definitions)."""

    @property
    def origin(self) -> str:
        """The file or cell of the kernel itself."""
        return self.pieces[0].origin if self.pieces else ""

    @property
    def first_line(self) -> int:
        """The learner's own number of the kernel's first line."""
        return self.pieces[0].origin_start if self.pieces else 1

    @property
    def text(self) -> str:
        """The kernel alone, without helpers and constants."""
        if not self.pieces:
            return self.source
        return "\n".join(self.source.split("\n")[self.pieces[0].start - 1 : self.pieces[0].stop]) + "\n"

    def locate(self, line: int) -> tuple[str, int]:
        """The learner's own ``(origin, line)`` for a line of `source`."""
        for piece in self.pieces:
            if piece.start <= line <= piece.stop:
                return piece.origin, piece.origin_start + line - piece.start
        return self.origin, line

    def line_words(self, line: int | None) -> str:
        """``line 12``, or ``line 3 of In[7]`` outside the kernel's own file or cell; empty without a line."""
        if line is None:
            return ""
        origin, own = self.locate(line)
        return f"line {own}" if origin == self.origin else f"line {own} of {origin}"


@dataclass(frozen=True)
class Violation:
    """A rule that the source breaks, at a line of the learner's own file; `rule` is a key of `allowed_names.RULES`.

    `origin` is the file or cell of that line, as in `Piece.origin`.
    """

    rule: str
    line: int
    message: str
    origin: str = ""
