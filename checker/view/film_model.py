"""What a film is made of: moments, the tensors on the stage, and all that is shown beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checker.simulator.trace import Event
from checker.view.carried import States
from checker.view.layout import Flat, Panel
from checker.view.scores import Visits
from checker.view.sides import Sides


@dataclass
class Moment:
    """One event as the film tells it, ready to be drawn or written out."""

    event: Event
    program: int
    flat: Flat | None
    tile: int
    findings: list[int] = field(default_factory=list)


@dataclass
class Film:
    """All that the static frame and the player need."""

    panels: list[Panel]
    width: float
    height: float
    moments: list[Moment]
    programs: list[tuple[int, int, int]]
    left_out: int
    """Programs that are not shown."""
    cells: dict[str, list[str]]
    """Formatted values by tensor, row-major, all slices; tensors that the kernel writes hold what was there at the end."""
    written: frozenset[str]
    sides: Sides | None = None
    """The running state in columns beside one of the panels."""
    visits: Visits | None = None
    """Attention's tiles of scores."""
    states: States | None = None
    """Linear attention's state."""
    cut: int = 0
    """Steps of a program that are shown, where it has more."""
    data: dict[str, Any] = field(default_factory=dict)


def linear(program: tuple[int, int, int], grid: tuple[int, int, int]) -> int:
    """The linear id of a program, x fastest."""
    return program[0] + grid[0] * (program[1] + grid[1] * program[2])


def program_name(program: tuple[int, int, int], grid: tuple[int, int, int]) -> str:
    """``3`` on a one-dimensional grid, ``(3, 0)`` on a two-dimensional one."""
    rank = max((i + 1 for i in range(3) if grid[i] > 1), default=1)
    return str(program[0]) if rank == 1 else "(" + ", ".join(map(str, program[:rank])) + ")"
