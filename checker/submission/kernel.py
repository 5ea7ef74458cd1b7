"""A learner's kernel as data: source text, where each line came from, and what its decorators ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Scalar = int | float | bool
"""As in `checker.puzzle`, which needs torch; the grader reads in a process without it."""


@dataclass(frozen=True)
class Piece:
    """A run of lines of `KernelSource.source` and the place the learner knows them by."""

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

    `source` is a complete module (``import triton``, ``import triton.language as tl``, constants, jitted functions, no
    autotune decorator); `kernel` names the function that is launched. `configs` is empty without an autotune.
    """

    puzzle: str
    kernel: str
    source: str
    pieces: tuple[Piece, ...]
    configs: tuple[Config, ...] = ()
    problems: tuple[Violation, ...] = ()
    """Rules already found broken while reading, in lines that are not part of `source` (decorators, other definitions)."""

    def locate(self, line: int) -> tuple[str, int]:
        """The learner's own ``(origin, line)`` for a line of `source`."""
        for piece in self.pieces:
            if piece.start <= line <= piece.stop:
                return piece.origin, piece.origin_start + line - piece.start
        return self.pieces[0].origin, line

    def own_line(self, line: int | None) -> int | None:
        """The learner's own number of a line of `source`."""
        return None if line is None else self.locate(line)[1]

    def line_words(self, line: int | None) -> str:
        """``line 12``, and the file or cell where that is another one than the kernel's; empty without a line."""
        if line is None:
            return ""
        origin, own = self.locate(line)
        return f"line {own}" if origin == self.main_piece()[1] else f"line {own} of {origin}"

    def with_own_lines(self, text: str) -> str:
        """What the simulator, Python or Triton said of `source`, its ``line N`` as the learner counts lines."""
        return re.sub(r"\b([Ll]ine) (\d+)\b", lambda match: f"{match[1]} {self.own_line(int(match[2]))}", text)

    def main_piece(self) -> tuple[str, str, int]:
        """Text, origin and first line of the piece that holds the kernel itself."""
        lines = self.source.splitlines()
        head = f"def {self.kernel}("
        at = next((i for i, text in enumerate(lines, 1) if text.lstrip().startswith(head)), 1)
        for piece in self.pieces:
            if piece.start <= at <= piece.stop:
                return "\n".join(lines[piece.start - 1 : piece.stop]) + "\n", piece.origin, piece.origin_start
        return self.source, self.pieces[0].origin if self.pieces else "", 1


@dataclass(frozen=True)
class Violation:
    """A rule that the source breaks, at a line of the learner's own file; `rule` is a key of `rules.RULES`.

    `origin` is the place that `line` counts in, as in `Piece.origin`.
    """

    rule: str
    line: int
    message: str
    origin: str = ""
