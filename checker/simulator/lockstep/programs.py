"""The programs of one or more launches, side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np


class GiveUp(Exception):
    """Nothing can be said here of the launches that are left."""


class OutOfTime(GiveUp):
    """The programs did not end within their time."""


class Programs:
    """All programs of the launches with these `grids`, launch after launch, x fastest.

    `running` are those that take part in what is computed now; None: every one. A launch is doubted where something was
    found in it, or could not be followed: then it has to run by itself.
    """

    def __init__(self, grids: Sequence[tuple[int, int, int]], seconds: float) -> None:
        """`seconds` of processor time from now on. Every grid has a program."""
        counts = [x * y * z for x, y, z in grids]
        self.first = np.cumsum([0, *counts[:-1]])
        self.count = sum(counts)
        self.launch = np.repeat(np.arange(len(grids)), counts)
        self.grid = [np.array(sizes, np.int32)[self.launch] for sizes in zip(*grids, strict=True)]
        number = np.arange(self.count) - self.first[self.launch]
        wide, high, _ = (np.array(sizes)[self.launch] for sizes in zip(*grids, strict=True))
        places = (number % wide, number // wide % high, number // (wide * high))
        self.ids = [place.astype(np.int32) for place in places]
        self.linear = number
        self.running: np.ndarray | None = None
        self.doubted = np.zeros(len(grids), bool)
        self._deadline = time.process_time() + seconds

    def check_time(self) -> None:
        """Called at every turn of a loop. Raises OutOfTime."""
        if time.process_time() > self._deadline:
            raise OutOfTime("out of time")

    def doubt(self, lanes: np.ndarray) -> None:
        """Doubt the launches of the running programs that have such a lane: [programs, or 1 for all of them, ...]."""
        if not np.count_nonzero(lanes):  # faster than `any`
            return
        of_programs = lanes.reshape(len(lanes), -1).any(1)
        if self.running is not None:
            of_programs = of_programs & self.running
        self.doubted[self.launch[np.broadcast_to(of_programs, self.count)]] = True
        if self.doubted.all():
            raise GiveUp("something was found in every launch")

    def one_running(self) -> tuple[int, int, int]:
        """The first program that runs."""
        i = 0 if self.running is None else int(self.running.argmax())
        x, y, z = (int(axis[i]) for axis in self.ids)
        return x, y, z

    def narrowed(self, lanes: np.ndarray) -> np.ndarray | None:
        """The running programs that `lanes` says, as `running` has it."""
        lanes = np.broadcast_to(lanes, self.count)
        left = lanes if self.running is None else lanes & self.running
        return None if left.all() else left

    def among(self, data: np.ndarray) -> np.ndarray:
        """The entries of a number for each program, or of one for all, that belong to running programs; one at least."""
        data = np.asarray(data).reshape(-1)
        return data if self.running is None or data.size == 1 else data[self.running]

    def common(self, data: np.ndarray) -> np.generic:
        """The number that all running programs have. Raises GiveUp where they differ."""
        numbers = self.among(data)
        if (numbers != numbers[0]).any():
            raise GiveUp("programs differ where Python needs one value")
        common: np.generic = numbers[0]
        return common

    def running_column(self, rank: int) -> np.ndarray | None:
        """`running` beside tiles of `rank` dimensions."""
        return None if self.running is None else column(self.running, rank)


def column(data: np.ndarray, rank: int) -> np.ndarray:
    """A number for each program, beside tiles of `rank` dimensions."""
    return data.reshape(-1, *(1,) * rank)
