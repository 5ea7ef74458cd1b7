"""What the lens has seen of a program: its launches by kernel, and what is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from checker.lens.launch import KernelStopped
from checker.lens.words import Problem
from checker.phrases import count, join, short
from checker.simulator.trace import Trace
from checker.simulator.triton_internals import function_of
from checker.submission.kernel import KernelSource
from checker.submission.notebook import origin_of
from checker.verbs.arguments import UsageError
from checker.view.formats import size
from checker.view.panel import Cell, Panel


@dataclass
class Bytes:
    """What the launches of a kernel moved of one tensor, and the tensor's own size in all of them."""

    loaded: int = 0
    stored: int = 0
    whole: int = 0

    @property
    def words(self) -> str:
        """``read 3×, written 1×``: how often all of it was moved."""
        pairs = (("read", self.loaded), ("written", self.stored))
        return ", ".join(f"{verb} {moved / self.whole:.3g}×" for verb, moved in pairs if moved and self.whole)


@dataclass
class KernelLaunches:
    """All launches of one kernel."""

    kernel: str
    file: str
    launches: int = 0
    programs: int = 0
    ran: int = 0
    seconds: float = 0.0
    bytes: dict[str, Bytes] = field(default_factory=dict)

    @property
    def moved(self) -> str:
        """``x (512 B) read 2×; y (512 B) written 1×``."""
        return "; ".join(f"{name} ({size(b.whole)}) {b.words}" for name, b in self.bytes.items() if b.words)


@dataclass
class Report:
    """Everything that the lens has seen so far."""

    kernels: dict[tuple[str, str], KernelLaunches] = field(default_factory=dict)
    problems: dict[tuple[Any, ...], Problem] = field(default_factory=dict)
    """The first of each kind, by what makes them the same."""
    notes: dict[tuple[Any, ...], Problem] = field(default_factory=dict)
    """What would go wrong in larger launches."""
    stopped: list[KernelStopped] = field(default_factory=list)

    def is_new(self, kernel: Any) -> bool:
        """Whether no launch of this kernel has been seen."""
        function = function_of(kernel)
        return (function.__name__, origin_of(function.__code__.co_filename)) not in self.kernels

    def note(self, problems: Sequence[Problem]) -> None:
        """Something that is wrong, though not in the launches of this program."""
        for problem in problems:
            self.notes.setdefault(problem.key, problem)

    def add(self, source: KernelSource, trace: Trace, problems: Sequence[Problem], seconds: float) -> None:
        """One launch."""
        key = source.kernel, source.origin
        of = self.kernels.setdefault(key, KernelLaunches(*key))
        programs = math.prod(trace.grid)
        of.launches, of.seconds = of.launches + 1, of.seconds + seconds
        of.programs, of.ran = of.programs + programs, of.ran + (programs if trace.ran is None else trace.ran)
        for name, traffic in trace.traffic.items():
            moved, info = of.bytes.setdefault(short(name), Bytes()), trace.tensors[name]
            moved.loaded, moved.stored = moved.loaded + traffic.loaded, moved.stored + traffic.stored
            moved.whole += math.prod(info.shape) * getattr(torch, info.dtype).itemsize
        for problem in problems:
            self.problems.setdefault(problem.key, problem)

    def check_outputs(self, outputs: Sequence[str]) -> None:
        """Raises UsageError if no kernel that was launched has a tensor of such a name."""
        names = dict.fromkeys(name for of in self.kernels.values() for name in of.bytes)
        unknown = [name for name in outputs if short(name) not in names]
        if unknown and names:
            raise UsageError(f"No kernel here stores to {join(unknown)}. Their tensors are {join(list(names))}")

    @property
    def findings(self) -> list[Problem]:
        return list(self.problems.values())

    @property
    def launches(self) -> int:
        return sum(of.launches for of in self.kernels.values()) + len(self.stopped)

    @property
    def complete(self) -> bool:
        """Whether every program of every launch ran."""
        return not self.stopped and all(of.ran == of.programs for of in self.kernels.values())

    def panel(self) -> Panel:
        heads = ("kernel", "launches", "programs", "seconds")
        rows = [
            [
                Cell(f"{of.kernel} in {of.file}"),
                Cell(f"{of.launches:,}", number=True),
                Cell(_share(of.ran, of.programs), "" if of.ran == of.programs else "warn", number=True),
                Cell(f"{of.seconds:.1f}", number=True),
            ]
            for of in self.kernels.values()
        ]
        places: dict[str, list[str]] = {}
        for p in self.findings:
            place = f"{p.kernel}, {p.file}" + (f":{p.line}" if p.line else "")
            places.setdefault(f"{p.heading}: {place}", []).append(" ".join(filter(None, (f"{p.what}.", p.advice))))
        if self.notes:
            notes = [f"{p.kernel}, {p.file}:{p.line}: {p.what}. {p.advice}" for p in self.notes.values()]
            places["Only in larger launches"] = notes
        if self.stopped:
            places["Not simulated to the end"] = list(dict.fromkeys(map(str, self.stopped)))
        if moved := [f"{of.kernel}: {of.moved}" for of in self.kernels.values() if of.moved]:
            places["Bytes moved"] = moved
        words = f"{count(self.launches, 'launch', 'launches')}, {count(len(self.findings), 'finding')}"
        if not self.complete:
            words += ". Not every program ran: what the others do is unknown"
        return Panel(f"Through the lens: {words}", heads=heads if rows else (), rows=rows, lists=list(places.items()))

    def data(self) -> dict[str, Any]:
        """The report as JSON, ``lens/v1``."""
        return {
            "schema": "lens/v1",
            "launches": self.launches,
            "complete": self.complete,
            "findings": [asdict(problem) for problem in self.findings],
            "notes": [asdict(problem) for problem in self.notes.values()],
            "stopped": [{"message": str(e), "unsupported": e.unsupported} for e in self.stopped],
            "kernels": [asdict(of) for of in self.kernels.values()],
        }

    def html(self) -> str:
        return self.panel().html()

    _repr_html_ = html

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=100, no_color=True)
        with console.capture() as capture:
            self.panel().print(console)
        return capture.get()

    __repr__ = __str__


def _share(ran: int, programs: int) -> str:
    return f"{ran:,}" if ran == programs else f"{ran:,} of {programs:,} ({ran / programs:.0%})"
