"""What a kernel may assume: a puzzle's domain in words, and whether a case keeps to it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from checker.phrases import join, short
from checker.puzzle import LARGEST_SIZE, Case, Domain, Tensors


def assumptions(domain: Domain) -> tuple[str, ...]:
    """The domain in five lines, each with its topic: sizes, tiles, values, memory, accuracy."""
    free = join(name for name, choices in domain.sizes.items() if not choices)
    sizes = [f"{free} may be {size_in_words(())}"] if free else []
    sizes += [f"{name} is {size_in_words(choices)}" for name, choices in domain.sizes.items() if choices]
    tiles = join(f"{name} ≥ {least}" for name, least in domain.tiles.items())
    return (
        f"Sizes: {'; '.join([*sizes, *domain.related])}.",
        f"Tiles: powers of two, {tiles}. They need not divide the sizes. Within a tile, offsets from its first element stay below 2³⁰.",
        f"Values: {domain.values}",
        f"Memory: {domain.memory}",
        f"Accuracy: {domain.accuracy}",
    )


def size_in_words(choices: tuple[int, ...]) -> str:
    """The values that a size may have."""
    if not choices:
        return "any number from 1 to 2³¹ - 2²⁰"
    *others, last = map(str, sorted(choices))
    return f"{', '.join(others)} or {last}" if others else last


def violations(domain: Domain, case: Case, inputs: Tensors) -> Iterator[str]:
    """A sentence for each way in which a case, with these inputs, leaves the domain."""
    for name, choices in domain.sizes.items():
        size = case.sizes[name]
        if not (size in choices if choices else 1 <= size <= LARGEST_SIZE):
            yield f"{name} is {size}"
    yield from (f"it is not true that {words}" for words, holds in domain.related.items() if not holds(case))
    for name, tile in case.meta.items():
        if tile < domain.tiles.get(name, math.inf) or tile & (tile - 1):
            yield f"{name} is {tile}"
    for pointer, x in inputs.items():
        name = short(pointer)
        if name not in domain.scratch and (bool(x.isnan().any()) or bool((x == torch.inf).any())):
            yield f"{name} holds NaN or +inf"
        if name not in (*domain.masked, *domain.scratch) and bool((x == -torch.inf).any()):
            yield f"{name} holds -inf"
        if name not in domain.expanded and 0 in (s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1):
            yield f"{name} is expanded"
