"""The film of any launch: its tensors laid out by shape, its tiles, its source and its variables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from checker.films.diagram import Diagram
from checker.films.page import film_html
from checker.lens.launch import LaunchError, tensors_of
from checker.lens.words import allow_stores, source_of_launch
from checker.puzzle import Case, FilmSpec, Launch
from checker.simulator import SimulateOptions, SimulationError, Trace, simulate
from checker.simulator.location import Locator
from checker.simulator.recorder import Observer
from checker.simulator.triton_internals import function_of
from checker.submission.kernel import KernelSource
from checker.verbs.film import LARGEST, MOST_EVENTS, Film

SMALLER = "Launch the kernel at small sizes: a few dozen elements show every step."

PROGRAMS = 8
"""Programs in the film of a launch that may be large."""


@dataclass(frozen=True)
class AnyKernel:
    """What a film says of a kernel that is no puzzle."""

    title: str
    outputs: tuple[str, ...]
    film: FilmSpec


def copies_for_film(launch: Launch) -> dict[str, torch.Tensor]:
    """The tensors before the launch. Raises LaunchError if they are too large to watch."""
    copies = {name: value.detach().clone() for name, one in launch.arguments.items() for value in tensors_of([one])}
    if any(tensor.numel() > LARGEST for tensor in copies.values()):
        raise LaunchError(f"A tensor of this launch is too large for a film. {SMALLER}")
    return copies


def save_film(kernel: Any, launch: Launch, folder: Path, watch: Observer, locator: Locator) -> None:
    """Film the first and the last programs of a launch, and leave its tensors as they were. Says so if there is no film."""
    name = function_of(kernel).__name__
    tensors, before = tensors_of(launch.arguments.values()), dict[str, torch.Tensor]()
    try:
        before = copies_for_film(launch)
        options = SimulateOptions(events=True, state=True, most_programs=PROGRAMS)
        trace = simulate(kernel, launch, options, [watch], locator)
        allow_stores(kernel, trace, launch)
        made = film_of_launch(source_of_launch(kernel, locator), launch, trace, before)
        folder.mkdir(parents=True, exist_ok=True)
        made.save(folder / f"{name}.html")
    except (LaunchError, SimulationError, OSError) as error:
        print(f"There is no film of {name}: {error}", file=sys.stderr)
    for tensor, values in zip(tensors, before.values(), strict=False):
        tensor.detach().copy_(values)


def film_of_launch(source: KernelSource, launch: Launch, trace: Trace, before: Mapping[str, torch.Tensor]) -> Film:
    """`before` are the tensors as they were before the launch. Raises LaunchError for a film that is too long."""
    if len(trace.events) > MOST_EVENTS:
        raise LaunchError(
            f"The film of {source.kernel} would have {len(trace.events):,} steps, but the limit is {MOST_EVENTS:,}. {SMALLER}"
        )
    stored = tuple(name for name, moved in trace.traffic.items() if moved.stored)
    after = {name: tensor for name, one in launch.arguments.items() for tensor in tensors_of([one])}
    values = {name: after[name] if name in stored else before[name] for name in after}
    sizes = " × ".join(map(str, launch.grid))
    title = f"{source.kernel}, grid {sizes}"
    case = Case({}, {})
    filmed = AnyKernel(title, stored, FilmSpec(case, Diagram({})))
    html = film_html(trace, filmed, source, case=case, title=title, values=values)
    return Film(source.kernel, title, html)
