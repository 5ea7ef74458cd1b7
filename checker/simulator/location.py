"""The line, the frame and the loops that the running program is in."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from checker.simulator.triton_internals import handle_of, is_tensor

FILE = 1_000_000
"""No file has more lines, so that one number tells file and line."""


@dataclass(slots=True)
class Location:
    """Line and function of an access, line and frame of the kernel itself, and the loops around it."""

    line: int
    function: str
    kernel_line: int
    loops: tuple[tuple[str, int], ...]
    frame: FrameType | None


@dataclass
class Locator:
    """Knows the learner's functions of one launch, the running program, and the loops that it is in.

    The rewritten functions report `for` loops with `for_loop`, and `while` loops with `enter_while`, `next_visit` and
    `leave_while`.
    """

    functions: dict[CodeType, str] = field(default_factory=dict)
    """The name of each function of the learner, by its code."""
    kernel: CodeType | None = None
    loops: list[list[Any]] = field(default_factory=list)
    """[name, value] of each loop, the outermost first."""
    program: tuple[int, int, int] = (0, 0, 0)
    files: list[str] = field(default_factory=list)
    """The files of these functions, the kernel's first. Lines of file number i are numbered from i · FILE on."""

    def first_line_of(self, file: str) -> int:
        """What to add to the numbers of this file's lines."""
        if file not in self.files:
            self.files.append(file)
        return self.files.index(file) * FILE

    def start(self, program: tuple[int, int, int]) -> None:
        """`program` begins to run."""
        self.program = program
        self.loops.clear()

    def locate(self) -> Location:
        """Where in the learner's code the caller was called from."""
        frame: FrameType | None = sys._getframe(1)
        location: Location | None = None
        while frame is not None:
            name = self.functions.get(frame.f_code)
            if name is not None:
                if location is None:
                    loops = tuple((loop[0], loop[1]) for loop in self.loops)
                    location = Location(frame.f_lineno, name, frame.f_lineno, loops, None)
                if frame.f_code is self.kernel:
                    location.kernel_line = frame.f_lineno
                    location.frame = frame
                    return location
            frame = frame.f_back
        return location or Location(0, "", 0, (), None)

    def line(self) -> int:
        """The line of `locate`, faster."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code in self.functions:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def for_loop(self, name: str, values: Iterable[Any]) -> Iterator[Any]:
        depth = len(self.loops)
        loop: list[Any] = [name, 0]
        self.loops.append(loop)
        for value in values:
            del self.loops[depth + 1 :]
            loop[1] = _whole(value)
            yield value
        del self.loops[depth:]

    def enter_while(self) -> tuple[int, list[Any]]:
        loop: list[Any] = ["while", 0]
        self.loops.append(loop)
        return len(self.loops), loop

    def next_visit(self, entered: tuple[int, list[Any]], condition: Any) -> bool:
        depth, loop = entered
        if not condition:
            return False
        del self.loops[depth:]
        loop[1] += 1
        return True

    def leave_while(self, entered: tuple[int, list[Any]]) -> None:
        del self.loops[entered[0] - 1 :]


def _whole(value: Any) -> int:
    data = handle_of(value).data if is_tensor(value) else value
    try:
        return int(np.asarray(data).reshape(-1)[0])
    except (TypeError, ValueError, IndexError):
        return 0
