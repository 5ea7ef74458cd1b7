"""Where the running program stands: its line, its frame, and the loops around it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from checker.simulator import seam


@dataclass(slots=True)
class Place:
    """Where a program stands: line and function of the access, line of the kernel itself, its frame, and the loops around."""

    line: int
    function: str
    kernel_line: int
    loops: tuple[tuple[str, int], ...]
    frame: FrameType | None


@dataclass
class Frames:
    """The learner's functions of one launch, the program that runs now and the loops it is in."""

    codes: dict[CodeType, str] = field(default_factory=dict)
    kernel: CodeType | None = None
    stack: list[list[Any]] = field(default_factory=list)
    program: tuple[int, int, int] = (0, 0, 0)

    def start(self, program: tuple[int, int, int]) -> None:
        """From here on `program` runs, from its beginning."""
        self.program = program
        self.stack.clear()

    def place(self) -> Place:
        """Where the learner's code stands that called us."""
        frame: FrameType | None = sys._getframe(1)
        found: Place | None = None
        while frame is not None:
            name = self.codes.get(frame.f_code)
            if name is not None:
                if found is None:
                    loops = tuple((entry[0], entry[1]) for entry in self.stack)
                    found = Place(frame.f_lineno, name, frame.f_lineno, loops, None)
                if frame.f_code is self.kernel:
                    found.kernel_line = frame.f_lineno
                    found.frame = frame
                    return found
            frame = frame.f_back
        return found or Place(0, "", 0, (), None)

    def line(self) -> int:
        """The learner's line alone, quickly."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code in self.codes:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    # what rewritten functions call ------------------------------------------------------------------------------------

    def loop(self, name: str, values: Iterable[Any]) -> Iterator[Any]:
        depth = len(self.stack)
        entry: list[Any] = [name, 0]
        self.stack.append(entry)
        for value in values:
            del self.stack[depth + 1 :]
            entry[1] = _whole(value)
            yield value
        del self.stack[depth:]

    def enter(self) -> tuple[int, list[Any]]:
        entry: list[Any] = ["while", 0]
        self.stack.append(entry)
        return len(self.stack), entry

    def turn(self, token: tuple[int, list[Any]]) -> None:
        del self.stack[token[0] :]
        token[1][1] += 1

    def leave(self, token: tuple[int, list[Any]]) -> None:
        del self.stack[token[0] - 1 :]


def _whole(value: Any) -> int:
    data = seam.handle_of(value).data if seam.is_tensor(value) else value
    try:
        return int(np.asarray(data).reshape(-1)[0])
    except (TypeError, ValueError, IndexError):
        return 0
