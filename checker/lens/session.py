"""How launches are simulated, and what becomes of what is seen in them."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from checker.lens.launch import KernelStopped, launch_of
from checker.lens.report import Report
from checker.lens.words import problem_of, problems_panel, source_of_launch, stopped_words
from checker.phrases import count, program
from checker.simulator import SimulateOptions, SimulationError, simulate
from checker.simulator.errors import Enough
from checker.simulator.launch import line_of
from checker.simulator.location import Locator
from checker.simulator.recorder import Observer
from checker.simulator.trace import ProgramId
from checker.view import display
from checker.view.panel import Panel

PLAIN = SimulateOptions(traffic=False, races=False)
FILMED = SimulateOptions(events=True, state=True)
THOROUGH = SimulateOptions(explain_nan=True)
PRINTING = 2
"""So many programs at each end of a launch print."""


@dataclass
class Watch(Observer):
    """Prints what some programs print, and ends a launch that takes too long."""

    locator: Locator
    grid: Sequence[int]
    only: ProgramId | None
    deadline: float
    program: int = 0

    def start(self, program: int) -> None:
        self.program = program
        self._look_at_clock()

    def access(self, *_: Any) -> None:
        self._look_at_clock()

    def _look_at_clock(self) -> None:
        if time.monotonic() > self.deadline:
            raise Enough

    def printed(self, text: str) -> None:
        at_an_end = self.program < PRINTING or self.program >= math.prod(self.grid) - PRINTING
        if at_an_end if self.only is None else self.locator.program == self.only:
            print(f"{program(self.locator.program, self.grid)}{text}")


@dataclass
class Lens:
    """Simulates launches, and keeps a report of them. One that is `patient` goes on where a kernel cannot be simulated."""

    options: SimulateOptions = PLAIN
    only: ProgramId | None = None
    all_configs: bool = False
    outputs: tuple[str, ...] = ()
    seconds: float = math.inf
    pretends: bool = False
    patient: bool = False
    quiet: bool = False
    report: Report = field(default_factory=Report)
    films: list[Any] | None = None
    _trying: int = 0
    _shown: set[Any] = field(default_factory=set)

    def takes(self, tensors: Sequence[torch.Tensor]) -> bool:
        """A launch on CUDA tensors is Triton's own, and so is one without tensors where there is a GPU."""
        if self.pretends:
            return True
        on_gpu = [tensor.is_cuda for tensor in tensors]
        return not any(on_gpu) if on_gpu else not torch.cuda.is_available()

    @contextlib.contextmanager
    def trying(self) -> Iterator[None]:
        self._trying += 1
        try:
            yield
        finally:
            self._trying -= 1

    def stopped(self, error: KernelStopped) -> None:
        if self._trying or not self.patient:
            raise error
        self.report.stopped.append(error)

    def launch(self, kernel: Any, grid: Any, given: Sequence[Any], named: Mapping[str, Any]) -> None:
        launch = launch_of(kernel, grid, given, named, self.outputs)
        sizes = (*launch.grid, 1, 1)[:3]
        locator, started = Locator(), time.monotonic()
        watch = Watch(locator, sizes, self.only, started + self.seconds)
        if self.films is not None:
            from checker.lens.filming import copies_for_film, film_of_launch

            before = copies_for_film(launch)
        try:
            trace = simulate(kernel, launch, self.options, [watch], locator)
        except SimulationError as error:
            words = stopped_words(source_of_launch(kernel, locator), locator, error.line, sizes, error.message)
            raise KernelStopped(words, error.detail.startswith("Unsupported")) from None
        except KeyboardInterrupt as error:
            line = line_of(error, locator)
            words = stopped_words(source_of_launch(kernel, locator), locator, line, sizes, "You interrupted it.")
            raise KeyboardInterrupt(words) from None
        source = source_of_launch(kernel, locator)
        if not self.outputs:  # then every tensor that is stored to is one
            trace.findings = [f for f in trace.findings if f.kind != "modified_input"]
        problems = [problem_of(finding, source, trace) for finding in trace.findings]
        self.report.add(source, trace, problems, time.monotonic() - started)
        new = [p for p in problems if (id(kernel), _cell(), p.key) not in self._shown]
        self._shown |= {(id(kernel), _cell(), p.key) for p in new}
        if new and not self.quiet:
            show(problems_panel(source, launch.grid, new))
        if self.films is not None:
            self.films.append(film_of_launch(source, launch, trace, before))


def _cell() -> int:
    """The number of the running cell, so that another run of the same launch shows its findings again."""
    return getattr(display.shell(), "execution_count", 0)


def show(panel: Panel) -> None:
    """In a notebook below the cell; in a shell as text beside the program's own output."""
    if display.in_notebook():
        panel.show()
        return
    sys.stdout.flush()
    panel.print(display.console(stderr=True))


_LENSES = [Lens()]
"""The lenses in use, the innermost last."""


def current() -> Lens:
    return _LENSES[-1]


@contextlib.contextmanager
def using(lens: Lens) -> Iterator[Lens]:
    """Inside, launches go through `lens`."""
    _LENSES.append(lens)
    try:
        yield lens
    finally:
        _LENSES.remove(lens)


class Films(list[Any]):
    """The films of the launches inside ``with film():``, one for each."""

    def __repr__(self) -> str:
        return f"<{count(len(self), 'film')}: save one with films[0].save('launch.html')>"


@contextlib.contextmanager
def film() -> Iterator[Films]:
    """Film every launch inside: ``with film() as films: kernel[grid](x, y, N, BLOCK_N=8)``.

    A notebook shows the films; a script saves them, ``films[0].save("launch.html")``. A launch that is too large to watch raises
    LaunchError.
    """
    films = Films()
    with using(replace(current(), options=FILMED, films=films)):
        yield films
    if display.in_notebook():
        from checker.verbs.film import film_output

        for made in films:
            display.show(film_output(made))
