"""How launches are simulated, and what becomes of what is seen in them."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from checker.lens.larger import notes_on
from checker.lens.launch import KernelStopped, LaunchError, launch_of
from checker.lens.pretend import pretending
from checker.lens.report import Report
from checker.lens.words import allow_stores, problem_of, problems_panel, source_of_launch, stopped_words
from checker.phrases import count, program
from checker.puzzle import Launch
from checker.simulator import SimulateOptions, SimulationError, Trace, simulate, simulate_together
from checker.simulator.errors import Enough
from checker.simulator.launch import line_of
from checker.simulator.location import Locator
from checker.simulator.recorder import Observer
from checker.simulator.trace import ProgramId
from checker.simulator.triton_internals import const_parameters
from checker.view import display
from checker.view.panel import Panel

PLAIN = SimulateOptions(traffic=False, races=False)
FILMED = SimulateOptions(events=True, state=True)
THOROUGH = SimulateOptions(explain_nan=True, explain_inf=True)
AT_ONCE = 10.0
"""Seconds of processor time that all programs of a launch get to run side by side."""
AHEAD = 2.0
"""Seconds for a look at a larger launch."""
MOST_LANES = 1 << 25
PRINTING = 2
"""So many programs at each end of a launch print."""


class Clock:
    """Ends a launch that takes more than so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.deadline = seconds, time.monotonic() + seconds

    def look(self) -> None:
        """Raises Enough if the time is over; the last program gets a little more."""
        if time.monotonic() > self.deadline:
            self.deadline = time.monotonic() + self.seconds / 4
            raise Enough


@dataclass
class TimedLocator(Locator):
    """Also looks at the clock at each turn of a `while` loop."""

    clock: Clock = field(default_factory=lambda: Clock(math.inf))

    def next_visit(self, entered: tuple[int, list[Any]], condition: Any) -> bool:
        self.clock.look()
        return super().next_visit(entered, condition)


@dataclass
class Watch(Observer):
    """Prints what some programs print, and looks at the clock."""

    locator: TimedLocator
    grid: Sequence[int]
    only: ProgramId | None
    program: int = 0

    def start(self, program: int) -> None:
        self.program = program
        self.locator.clock.look()

    def access(self, *_: Any) -> None:
        self.locator.clock.look()

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
    film_each: Path | None = None
    """A folder for a film of the first launch of each kernel."""
    looks_ahead: bool = False
    """Whether the report notes what would go wrong in larger launches."""
    _trying: int = 0
    _shown: set[Any] = field(default_factory=set)

    def takes(self, tensors: Sequence[torch.Tensor]) -> bool:
        """A launch on CUDA tensors is Triton's own, and so is one without tensors where there is a GPU."""
        if self.pretends:
            return True
        on_gpu = [tensor.is_cuda for tensor in tensors]
        return not any(on_gpu) if on_gpu else not torch.cuda.is_available()

    def _side_by_side(self, kernel: Any, launch: Launch, locator: Locator) -> Trace | None:
        """The trace of a launch in which there is nothing to find; None for any other, which is left as it was."""
        if self.outputs or self.films is not None or self.options.most_programs or const_parameters(kernel):
            return None
        if not _can_run_side_by_side(launch):
            return None
        (trace,) = simulate_together(kernel, [launch], min(self.seconds, AT_ONCE), declared=False, locator=locator)
        return trace

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
        locator = TimedLocator(clock=Clock(self.seconds))
        if self.film_each is not None and self.report.is_new(kernel):
            from checker.lens.filming import save_film

            save_film(kernel, launch, self.film_each, Watch(locator, sizes, (-1, 0, 0)), locator)
        if self.looks_ahead and self.report.is_new(kernel):
            locator.clock = Clock(min(self.seconds, AHEAD))
            self.report.note(notes_on(kernel, launch, Watch(locator, sizes, (-1, 0, 0))))
        if self.films is not None:
            from checker.lens.filming import copies_for_film, film_of_launch

            before = copies_for_film(launch)
        locator.clock, started = Clock(self.seconds), time.monotonic()
        try:
            trace = self._side_by_side(kernel, launch, locator) or simulate(
                kernel, launch, self.options, [Watch(locator, sizes, self.only)], locator
            )
        except SimulationError as error:
            words = stopped_words(source_of_launch(kernel, locator), locator, error.line, sizes, error.message)
            raise KernelStopped(words, error.detail.startswith("Unsupported")) from None
        except KeyboardInterrupt as error:
            line = line_of(error, locator)
            words = stopped_words(source_of_launch(kernel, locator), locator, line, sizes, "You interrupted it.")
            raise KeyboardInterrupt(words) from None
        source = source_of_launch(kernel, locator)
        allow_stores(kernel, trace, launch)
        problems = [problem_of(finding, source, trace) for finding in trace.findings]
        self.report.add(source, trace, problems, time.monotonic() - started)
        new = [p for p in problems if (id(kernel), _cell(), p.key) not in self._shown]
        self._shown |= {(id(kernel), _cell(), p.key) for p in new}
        if new and not self.quiet:
            show(problems_panel(source, launch.grid, new))
        if self.films is not None:
            self.films.append(film_of_launch(source, launch, trace, before))


def _can_run_side_by_side(launch: Launch) -> bool:
    """Whether all programs fit in memory at once: no tile has more lanes than all constants of the launch multiplied."""
    constants = launch.meta.values()
    sizes = (value for value in constants if isinstance(value, int) and value > 1)
    simple = all(value is None or isinstance(value, int | float | str) for value in constants)
    return simple and 1 < math.prod(launch.grid) <= MOST_LANES // math.prod(sizes)


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


class Filming:
    """Films every launch inside ``with film() as films:``.

    A notebook shows the films; a script saves them, ``films[0].save("launch.html")``. A launch that is too large to watch raises
    LaunchError.
    """

    def __init__(self, *kernel: Any) -> None:
        if kernel:
            raise LaunchError("This film takes launches, and no kernel: write `with film():`, and the launch below it.")

    def __enter__(self) -> Films:
        self._films, self._stack = Films(), contextlib.ExitStack()
        self._stack.enter_context(using(replace(current(), options=FILMED, films=self._films)))
        return self._films

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        if display.in_notebook():
            from checker.verbs.film import film_output

            for made in self._films:
                display.show(film_output(made))

    def __repr__(self) -> str:
        return "film needs a kernel, film(vector_add_kernel), or launches inside `with film():`."


@contextlib.contextmanager
def lens(
    *,
    only: int | tuple[int, ...] | None = None,
    all_configs: bool = False,
    outputs: Sequence[str] = (),
    max_programs: int = 0,
    seconds: float = math.inf,
    pretend: bool = True,
    quiet: bool = False,
    patient: bool = False,
    film_each: Path | None = None,
) -> Iterator[Report]:
    """Look closely at every launch inside: races, NaN, undefined lanes and bytes too, and not only bounds.

    - `only`: the program whose prints are shown, ``only=(0, 0)``; otherwise those of the first and the last ones.
    - `all_configs`: run every configuration of `@triton.autotune`, not only the first that runs.
    - `outputs`: parameters that a kernel may store to; without any, it may store to all. Their elements must all be stored.
      Raises UsageError at the end if no kernel has a tensor of such a name.
    - `max_programs`, `seconds`: the most programs of a launch that run, and the most time that it takes.
    - `quiet`: show no findings but those in the report. `patient`: go on after a kernel that cannot be simulated.
    - `film_each`: a folder for a film of the first launch of each kernel.
    - `pretend`: let ``device="cuda"`` and the like mean this machine's memory.
    """
    looking = Lens(
        options=replace(THOROUGH, most_programs=max_programs),
        only=None if only is None else _program(only),
        all_configs=all_configs,
        outputs=tuple(outputs),
        seconds=seconds,
        pretends=pretend or current().pretends,
        quiet=quiet,
        patient=patient,
        film_each=film_each,
        looks_ahead=True,
    )
    with pretending() if pretend else contextlib.nullcontext(), using(looking):
        yield looking.report
    if not patient:
        looking.report.check_outputs(outputs)


def _program(only: int | tuple[int, ...]) -> ProgramId:
    ids = (only,) if isinstance(only, int) else only
    if not 1 <= len(ids) <= 3:
        raise ValueError(f"only is the id of one program, such as (0, 0), not {only!r}.")
    x, y, z = (*ids, 0, 0)[:3]
    return x, y, z
