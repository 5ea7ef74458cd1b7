"""Where the running program stands: its line, its frame, and the loops around it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from checker.simulator.triton_internals import handle_of, is_tensor


@dataclass(slots=True)
class Location:
    """Where a program stands: line and function of the access, line and frame of the kernel itself, and the loops around."""

    line: int
    function: str
    kernel_line: int
    loops: tuple[tuple[str, int], ...]
    frame: FrameType | None


@dataclass
class Locator:
    """The learner's functions of one launch, the program that runs now and the loops it is in.

    The rewritten functions report their loops: `for_loop`, and for a `while` `enter_while`, `next_visit`, `leave_while`.
    """

    functions: dict[CodeType, str] = field(default_factory=dict)
    """The name of each function of the learner, by its code."""
    kernel: CodeType | None = None
    loops: list[list[Any]] = field(default_factory=list)
    """From the outside in, each [name, value]."""
    program: tuple[int, int, int] = (0, 0, 0)

    def start(self, program: tuple[int, int, int]) -> None:
        """From here on `program` runs, from its beginning."""
        self.program = program
        self.loops.clear()

    def locate(self) -> Location:
        """Where the learner's code stands that called us."""
        frame: FrameType | None = sys._getframe(1)
        found: Location | None = None
        while frame is not None:
            name = self.functions.get(frame.f_code)
            if name is not None:
                if found is None:
                    loops = tuple((loop[0], loop[1]) for loop in self.loops)
                    found = Location(frame.f_lineno, name, frame.f_lineno, loops, None)
                if frame.f_code is self.kernel:
                    found.kernel_line = frame.f_lineno
                    found.frame = frame
                    return found
            frame = frame.f_back
        return found or Location(0, "", 0, (), None)

    def line(self) -> int:
        """The learner's line alone, quickly."""
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

    def next_visit(self, entered: tuple[int, list[Any]]) -> None:
        depth, loop = entered
        del self.loops[depth:]
        loop[1] += 1

    def leave_while(self, entered: tuple[int, list[Any]]) -> None:
        del self.loops[entered[0] - 1 :]


def _whole(value: Any) -> int:
    data = handle_of(value).data if is_tensor(value) else value
    try:
        return int(np.asarray(data).reshape(-1)[0])
    except (TypeError, ValueError, IndexError):
        return 0
