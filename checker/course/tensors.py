"""What the puzzles' tensors have in common: random generators, layouts, chunks, and the scale of errors.

A puzzle's `make(case)` takes its values from the case's family (`rows` in `families.py`) or draws them with `generator(case)`, and
lays out each tensor with `stored`. Linear attention's tensors have more layouts, and `linear_values.py` has a `stored` for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec

import torch
from cachetools import LRUCache, cached

from checker.puzzle import DTYPES, Case

_Of = ParamSpec("_Of")
MOST_REMEMBERED = 2**27
"""Bytes that a function with `once_a_case` keeps."""


AWKWARD = range(41, 50, 2)
"""Lengths one after another, among them 41 and 47, which times their reciprocal are less than 1 in float32."""


def generator(case: Case) -> torch.Generator:
    """A generator seeded by the case: the same numbers every time, on every machine."""
    return torch.Generator().manual_seed(case.seed * 1_000_003 + sum(case.sizes.values()))


def once_a_case(compute: Callable[_Of, torch.Tensor]) -> Callable[_Of, torch.Tensor]:
    """Caches the last results of `compute` for a case, or for a case and an output: a diagnosis needs each dozens of times.

    A large case is also computed on a GPU, where new tensors lie there.
    """
    results: LRUCache = LRUCache(MOST_REMEMBERED, getsizeof=lambda result: result.nbytes)
    return cached(results, key=lambda *of: (torch.empty(0).device, *of), lock=threading.Lock())(compute)


def chunk_width(case: Case, n: int) -> int:
    """How many of n columns make a chunk: a tile or a part, or several of them so that there are at most 64 chunks.

    If the row fits in one tile, a chunk is an eighth of it.
    """
    tile = -(-n // case.sizes["SPLITS"]) if "SPLITS" in case.sizes else case.meta.get("BLOCK_N", n)
    return tile * -(-n // (64 * tile)) if tile < n else -(-n // 8)


def stored(x: torch.Tensor, case: Case, gap: int = 13, *, output: bool = False) -> torch.Tensor:
    """`x` in the case's dtype and layout. Raises ValueError for an unknown layout.

    The gaps of a padded layout hold NaN. They are `gap` elements wide, or a few more depending on the seed. In a repeated layout all
    rows of an input are its first one, with a stride of 0, and an `output` is padded.
    """
    x = x.to(DTYPES[case.dtype])
    match case.layout:
        case "contiguous":
            return x.contiguous()
        case "repeated" if not output:
            return x[..., :1, :].contiguous().expand(x.shape)
        case "padded" | "repeated":  # rows are further apart than they are long
            wide = torch.full((*x.shape[:-1], x.shape[-1] + gap + case.seed % 5), torch.nan, dtype=x.dtype)
            wide[..., : x.shape[-1]] = x
            return wide[..., : x.shape[-1]]
        case other:
            raise ValueError(f"no layout is called {other!r}")


def anything(x: torch.Tensor) -> torch.Tensor:
    """A tensor like x of what no result may depend on: NaN, inf and -inf in turn along the last axis, as a kernel may filter only one."""
    turn = torch.arange(x.shape[-1]) % 3
    poison = torch.where(turn == 0, torch.nan, torch.where(turn == 1, torch.inf, -torch.inf))
    return poison.to(x.dtype).expand(x.shape)


def row_magnitude(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """A scale of errors: the largest magnitude of each row, [..., 1].

    At least twice the smallest normal number of the dtype: numbers below that are multiples of a step, however small they are.
    """
    return largest_of_row(expected).clamp(min=2 * torch.finfo(DTYPES[case.dtype]).tiny)


def largest_of_row(expected: torch.Tensor) -> torch.Tensor:
    """The largest finite magnitude of each row, [..., 1]."""
    return expected.abs().nan_to_num(posinf=0.0).amax(dim=-1, keepdim=True)
