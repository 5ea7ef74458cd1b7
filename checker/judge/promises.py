"""What a launch promises: the contract of its kernel, held against the grid, the numbers and the tensors that it passes.

A kernel may assume its puzzle's domain, and tensors as its signature describes them. A function around kernels has to keep both for
whatever it is given, not only where its cases happen to.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from checker.authoring.assumptions import size_in_words
from checker.authoring.build import SOLUTIONS
from checker.authoring.signature import DIMENSIONS, Signature
from checker.judge.runner import Launched, Noticed, Passed
from checker.phrases import join, shape, short
from checker.puzzle import LARGEST_SIZE, Case, Puzzle, Used

NO_LUCK = "Compute one from the other, or bound both: it has to hold for every input."
NO_GAPS = "`.contiguous()` copies a view with gaps, or in another order, and returns any other tensor as it is."
OWN_STRIDES = "Pass `x.stride()` of each tensor, its own."
_NAME = re.compile(r"\b[A-Z][A-Z_]*\b")


@functools.cache
def signature_of(puzzle: str) -> Signature:
    return Signature.read(SOLUTIONS / f"{puzzle}.py")


@dataclass(frozen=True)
class Promises:
    """The promises of one launch, made in a `case` of the function around it. Memory in `scratch` begins at these addresses.

    Kernels leave numbers for each other in scratch, so it only has to be large enough.
    """

    used: Used
    case: Case
    launched: Launched
    scratch: frozenset[int]

    @property
    def puzzle(self) -> Puzzle:
        return self.used.puzzle

    @property
    def sizes(self) -> Mapping[str, int]:
        """Of the kernel: what the launch passes counts before what the function was given."""
        own = {name: size(self.case.sizes) for name, size in self.used.sizes.items()}
        return {**self.case.sizes, **own, **self.launched.numbers}

    def broken(self) -> Iterator[Noticed]:
        """What the launch does not keep, the most telling first. A kernel with parameters of its own has a contract of its own."""
        if {*self.launched.parameters} != {*self.puzzle.parameters}:
            return
        if odd := [name for name in self.whole_numbers() if name not in self.launched.numbers]:
            what = f"{odd[0]} is no whole number in {self.launched.kernel}."
            yield self.noticed(what, "Divide sizes with // or triton.cdiv.")
            return
        yield from self.of_numbers()
        yield from self.of_the_grid()
        for name, passed in self.launched.tensors.items():
            yield from self.of_tensor(name, passed)

    def whole_numbers(self) -> list[str]:
        """The parameters that are sizes, tiles or strides."""
        shapes = (name for pointer in signature_of(self.puzzle.name).pointers.values() for name in pointer.shape)
        sizes = {*self.puzzle.domain.sizes, *self.puzzle.domain.tiles, *shapes}
        return [name for name in self.puzzle.parameters if name in sizes or name.startswith("stride_")]

    def noticed(self, what: str, advice: str, names: tuple[str, ...] = ()) -> Noticed:
        return Noticed(what, advice, self.launched.line, names)

    # ------------------------------------------------------------------------------------------------------- numbers

    @property
    def kernel_case(self) -> Case:
        tiles = {name: self.sizes[name] for name in self.puzzle.domain.tiles if name in self.sizes}
        return replace(self.case, sizes=self.sizes, meta=tiles)

    def of_numbers(self) -> Iterator[Noticed]:
        domain, numbers = self.puzzle.domain, self.launched.numbers
        for name, choices in domain.sizes.items():
            if name in numbers and not (numbers[name] in choices if choices else 1 <= numbers[name] <= LARGEST_SIZE):
                yield self.promise(f"{name} may be {size_in_words(choices)}", name)
        for name, least in domain.tiles.items():
            if numbers[name] < least or numbers[name] & (numbers[name] - 1):
                yield self.promise(f"{name} is a power of two of at least {least}", name)
        for words, holds in domain.related.items():
            if not holds(self.kernel_case):
                yield self.promise(words, *(name for name in _NAME.findall(words) if name in self.sizes))

    def promise(self, words: str, *names: str) -> Noticed:
        names = tuple(dict.fromkeys(names))
        here = join(f"{name} is {self.sizes[name]}" for name in names)
        return self.noticed(f"{here} in {self.launched.kernel}, which may assume: {words}.", NO_LUCK, names)

    def of_the_grid(self) -> Iterator[Noticed]:
        pointers = signature_of(self.puzzle.name).pointers
        anything = {name: torch.empty([1] * len(one.shape), device="meta") for name, one in pointers.items()}
        try:
            wanted = self.puzzle.launch(self.kernel_case, anything, {}).grid
        except ValueError:  # of sizes that no launch has, which was said already
            return
        grid = self.launched.grid
        if (*grid, 1, 1)[:3] != (*wanted, 1, 1)[:3]:
            what = f"The grid of {self.launched.kernel} is {grid}, and has to be {wanted} here."
            yield self.noticed(what, "Its docstring says which program owns what. What nobody owns is never written.")

    # ------------------------------------------------------------------------------------------------------- tensors

    def of_tensor(self, name: str, passed: Passed) -> Iterator[Noticed]:
        pointer = signature_of(self.puzzle.name).pointers.get(name)
        if pointer is None:
            return
        sizes = [self.sizes.get(one) for one in pointer.shape]
        if pointer.dtype not in (None, passed.type):
            what = f"{short(name)} is {passed.type} in {self.launched.kernel}, which wants {pointer.dtype}."
            yield self.noticed(what, "The comments of its parameters give the types.")
        elif strides := self.strides(name, len(sizes)):
            if not _lies(passed, sizes, strides):
                yield self.misread(name, passed, pointer.shape, strides, OWN_STRIDES)
        else:
            yield from self.without_gaps(name, passed, pointer.shape)

    def strides(self, name: str, dimensions: int) -> list[int]:
        """Those of a tensor that the launch passes; none for a tensor that has to be contiguous."""
        start, passed = f"stride_{short(name)}", self.launched.numbers
        own = {DIMENSIONS[one[-1]]: passed[one] for one in passed if one[:-1] == start}
        return [own[dimension] for dimension in range(-dimensions, 0)] if own else []

    def without_gaps(self, name: str, passed: Passed, names: Sequence[str]) -> Iterator[Noticed]:
        sizes = [self.sizes[one] for one in names]
        if passed.start in self.scratch:
            room = 1 + sum((n - 1) * stride for n, stride in zip(passed.shape, passed.strides, strict=True))
            if room < math.prod(sizes):
                needed = f"{' × '.join(names)} = {math.prod(sizes):,}"
                what = f"{short(name)} has room for {room:,} numbers, and {self.launched.kernel} needs {needed}."
                yield self.noticed(what, "Allocate it for the sizes of this call.")
        elif not _is_contiguous_as(passed, sizes):
            yield self.misread(name, passed, names, _contiguous(sizes), NO_GAPS)

    def misread(self, name: str, passed: Passed, names: Sequence[str], strides: Sequence[int], advice: str) -> Noticed:
        taken = " × ".join(str(self.sizes.get(one, one)) for one in names)
        return self.noticed(
            f"{short(name)} is {shape(passed.shape)} with strides {_listed(passed.strides)}, and {self.launched.kernel} takes it for "
            f"{' × '.join(names)} = {taken} with strides {_listed(strides)}.",
            advice,
        )


def _listed(numbers: Sequence[int]) -> str:
    return f"({', '.join(map(str, numbers))})"


def _contiguous(sizes: Sequence[int]) -> list[int]:
    """The strides of a tensor without gaps."""
    return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]


def _lies(passed: Passed, sizes: Sequence[int | None], strides: Sequence[int]) -> bool:
    """Whether a kernel finds the tensor's elements with these strides, whatever the order of its dimensions. None is any size."""
    if len(passed.shape) != len(sizes):
        count = math.prod(passed.shape) // math.prod(size or 1 for size in sizes)
        return _merged(passed.shape, passed.strides) == _merged([size or count for size in sizes], strides)
    return any(
        all(
            size in (None, passed.shape[i]) and (passed.shape[i] == 1 or passed.strides[i] == stride)
            for i, size, stride in zip(order, sizes, strides, strict=True)
        )
        for order in itertools.permutations(range(len(sizes)))
    )


def _is_contiguous_as(passed: Passed, sizes: Sequence[int]) -> bool:
    """Whether a kernel that takes the memory for a contiguous tensor of these sizes finds the elements where they are."""
    strides = _contiguous(sizes)
    if _merged(passed.shape, passed.strides) == _merged(sizes, strides):
        return True
    # rows may be shorter than the kernel believes where they are as far apart
    return len(passed.shape) == len(sizes) and all(
        (n == 1 or own == stride) and (i == 0 or n <= size)
        for i, (n, own, size, stride) in enumerate(zip(passed.shape, passed.strides, sizes, strides, strict=True))
    )


def _merged(sizes: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """The geometry in as few dimensions as possible."""
    dimensions: list[tuple[int, int]] = []
    for size, stride in zip(sizes, strides, strict=True):
        if size == 1:
            continue
        if dimensions and dimensions[-1][1] == size * stride:
            dimensions[-1] = (dimensions[-1][0] * size, stride)
        else:
            dimensions.append((size, stride))
    return dimensions
