"""From a course file to a `Puzzle`: what it says, and what follows from the solution's signature and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from checker.authoring.page import page
from checker.authoring.signature import Signature
from checker.authoring.space import Space
from checker.puzzle import (
    Allowance,
    Case,
    Domain,
    FilmSpec,
    Launch,
    Part,
    Puzzle,
    Scalar,
    Tensors,
    Tolerance,
)
from checker.workspace import COURSE

PUZZLES, SOLUTIONS = Path(__file__).resolve().parents[1] / "course", COURSE / "solutions"
Numbers = Mapping[str, Any]
"""Sizes, flags and tiles of a launch by name, and the puzzle's own numbers."""
Times = int | Callable[[Case], int]
"""How often each element of a tensor may be moved, or a function that gives how many elements a case may move."""
ONCE = "each element is needed once"
WRITTEN = "each element is written once and never read"


NOTHING: Mapping[str, Any] = {}


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


class Cases(Sequence[Case]):
    """The cases that cover the pairs of a space, then those listed. They are computed when first needed."""

    def __init__(self, space: Space | None, listed: Sequence[Case]) -> None:
        self._space, self._listed = space, listed

    @cached_property
    def _all(self) -> tuple[Case, ...]:
        return tuple(dict.fromkeys([*(self._space.pairs() if self._space else ()), *self._listed]))

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, index: Any) -> Any:
        return self._all[index]


@dataclass(frozen=True)
class Contract:
    """What a launch and its budget of bytes follow from, apart from the case."""

    signature: Signature
    grid: Callable[[Numbers], tuple[int, ...]]
    reads: Mapping[str, Times]
    writes: Mapping[str, Times]
    because: Mapping[str, str]
    numbers: Mapping[str, Callable[[Case], Scalar]]
    strides: Mapping[str, str]
    options: Callable[[Numbers], Mapping[str, int]]

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name in self.signature.parameters if name.removesuffix("_ptr") in self.writes)

    def all_numbers(self, case: Case, meta: Mapping[str, Scalar]) -> dict[str, Any]:
        return {**case.sizes, **case.flags, **meta, **{name: number(case) for name, number in self.numbers.items()}}

    def launch(self, case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
        numbers = self.all_numbers(case, meta)
        values = self.signature.values(tensors, numbers, self.strides)
        constexpr: dict[str, Any] = {name: values[name] for name in values if name in self.signature.constexpr}
        arguments = {name: value for name, value in values.items() if name not in constexpr}
        return Launch(self.grid(numbers), arguments, {**meta, **constexpr}, self.outputs, self.options(numbers))

    def budget(self, case: Case) -> dict[str, Allowance]:
        return {f"{name}_ptr": self._allowance(case, name) for name in {**self.reads, **self.writes}}

    def _allowance(self, case: Case, name: str) -> Allowance:
        pointer = self.signature.pointers[f"{name}_ptr"]

        def moved(times: Times) -> int:
            if times == 0:
                return 0
            elements = times * pointer.elements(sizes) if isinstance(times, int) else times(case)
            return elements * pointer.itemsize(case.dtype)

        sizes = self.all_numbers(case, case.meta)
        usual = WRITTEN if name in self.writes else ONCE
        loaded, stored = moved(self.reads.get(name, 0)), moved(self.writes.get(name, 0))
        return Allowance(loaded, stored, self.because.get(name, usual))


def puzzle(
    file: str,
    *,
    notebook: str,
    make: Callable[[Case], Tensors],
    reference: Callable[[Case, Tensors], Tensors],
    scale: Callable[[Case, str, torch.Tensor], torch.Tensor],
    tolerance: Mapping[str, Tolerance],
    film: FilmSpec,
    domain: Domain,
    cases: Sequence[Case],
    grid: Callable[[Numbers], tuple[int, ...]],
    reads: Mapping[str, Times],
    writes: Mapping[str, Times],
    space: Space | None = None,
    points: int = 0,
    because: Mapping[str, str] = NOTHING,
    numbers: Mapping[str, Callable[[Case], Scalar]] = NOTHING,
    strides: Mapping[str, str] = NOTHING,
    options: Callable[[Numbers], Mapping[str, int]] = lambda n: {},
    output_tolerance: Mapping[str, Mapping[str, Tolerance]] = NOTHING,
    parts: tuple[Part, ...] = (),
) -> Puzzle:
    """The puzzle of a course file. Its name is the file's; its page lies beside it, and its solution in `solutions/`.

    - `grid` and `options` follow from the numbers of a launch: sizes, flags, tiles, and the puzzle's own `numbers`, which each case
      has in addition (``{"scale": scale_of}``).
    - `reads` and `writes` give for each tensor, without ``_ptr``, how often each element may be loaded or stored: the budget of bytes.
      `because` says why, where it is not once.
    - `strides` names the tensor of a stride that several share (``{"p": "m_part"}`` for ``stride_pm``).
    - `domain` says what a kernel may assume, in words and as data (`checker.authoring.assumptions`).
    - `cases` are tried in addition to those that cover the pairs of `space`.
    """
    path = Path(file).resolve()
    signature = Signature.read(SOLUTIONS / path.parent.relative_to(PUZZLES) / f"{path.stem}.py")
    unknown = [name for name in (*reads, *writes, *because) if f"{name}_ptr" not in signature.pointers]
    if unknown:
        known = ", ".join(name.removesuffix("_ptr") for name in signature.pointers)
        raise ValueError(
            f"{path.name} counts bytes of {', '.join(unknown)}; the kernel's tensors with a shape are {known}"
        )
    contract = Contract(signature, grid, reads, writes, because, numbers, strides, options)
    return Puzzle(
        name=path.stem,
        kernel=signature.kernel,
        parameters=signature.parameters,
        notebook=notebook,
        points=points,
        outputs=contract.outputs,
        text=page(path.with_suffix(".md"), domain),
        cases=Cases(space, cases),
        make=make,
        reference=reference,
        launch=contract.launch,
        budget=contract.budget,
        scale=scale,
        tolerance=tolerance,
        film=film,
        domain=domain,
        output_tolerance=output_tolerance,
        drawn=space.draw if space else lambda random: (),
        parts=parts,
    )
