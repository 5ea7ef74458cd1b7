"""The families of rows that kernels are tried on: each exists because a wrong idea survives the others.

Normal rows hide almost everything. A row of only negative numbers shows a maximum that starts at 0 and masked lanes that
hold 0; an ascending row, whose maximum comes last, shows a missing rescale; a large shift shows a missing subtraction.
Softmax does not care which number is subtracted as long as nothing overflows or vanishes, so a wrong maximum shows only
where rows ("deep") or tiles ("late_max", "early_max", "uneven") lie more than exp's range of about 88 apart.
"""

from __future__ import annotations

import math

import torch

from checker.puzzle import DTYPES, Case

IN_WORDS: dict[str, str] = {
    "negative": "rows in which every number is far below zero",
    "positive": "rows of large positive numbers, whose exponentials overflow",
    "ascending": "ascending rows, whose maximum comes last",
    "descending": "descending rows, whose maximum comes first",
    "one_hot": "rows in which the last element takes nearly everything",
    "constant": "rows in which all numbers are equal",
    "masked": "rows in which some elements are -inf",
    "deep": "rows of numbers so far below zero that their exponentials vanish",
    "late_max": "rows whose last element dwarfs all before it",
    "early_max": "rows whose first element dwarfs all after it",
    "first_chunk_masked": "rows whose first tile is -inf throughout",
    "masked_then_deep": "rows whose first tile is -inf throughout, and all others far below zero",
    "spike": "rows of one large element and many tiny ones",
    "uneven": "neighbouring rows of very different magnitude",
    "empty": "rows that are -inf throughout",
}
"""What a family's rows are, as part of a sentence that begins with "It fails with"."""


def generator(case: Case) -> torch.Generator:
    """The case's own random numbers: the same every time, on every machine."""
    return torch.Generator().manual_seed(case.seed * 1_000_003 + sum(case.sizes.values()))


def rows(case: Case, m: int, n: int) -> torch.Tensor:
    """[m, n] float64 rows of the case's family."""
    x = torch.randn(m, n, generator=generator(case), dtype=torch.float64)
    match case.family:
        case "normal":
            return x
        case "negative":  # every element below -50
            return 3 * x - 50 - 20 * torch.rand(m, 1, generator=generator(case), dtype=torch.float64)
        case "positive":  # exp overflows without the maximum
            return 3 * x + 200
        case "ascending":  # the maximum comes last
            return torch.sort(4 * x, dim=-1).values
        case "descending":
            return torch.sort(4 * x, dim=-1, descending=True).values
        case "one_hot":  # one lane takes all, the last one
            x = torch.full((m, n), -30.0, dtype=torch.float64)
            x[:, -1] = 20.0
            return x
        case "constant":
            return torch.full((m, n), -7.25, dtype=torch.float64)
        case "masked":  # some elements are -inf, never a whole row
            x = torch.where(torch.rand(m, n, generator=generator(case), dtype=torch.float64) < 0.4, -torch.inf, x)
            x[:, n // 2] = 1.0
            return x
        case "deep":  # exp(x) is 0 in float32 without the maximum
            return 3 * x - 300
        case (
            "abyss"
        ):  # below any stand-in for -inf; not for cases: a kernel that folds l into the exponent fails it too
            return -1e38 - 1e38 * torch.rand(m, n, generator=generator(case), dtype=torch.float64)
        case "late_max":  # the maximum comes last and dwarfs what came before
            x[:, -1] += 120
            return x
        case "early_max":  # the maximum comes first: a later tile's maximum must not replace it
            x[:, 0] += 120
            return x
        case "first_chunk_masked":  # the first tile of every row is -inf throughout; the last element never is
            x[:, : min(case.meta.get("BLOCK_N", n // 2), n - 1)] = -torch.inf
            return x
        case "masked_then_deep":  # the same, and what stood in for that -inf is far from all that follows
            x = 3 * x - 300
            x[:, : min(case.meta.get("BLOCK_N", n // 2), n - 1)] = -torch.inf
            return x
        case "spike":  # after the first element, 16 more add less than half a step to a sum kept in the case's dtype
            x = torch.full((m, n), math.log(0.45 * torch.finfo(DTYPES[case.dtype]).eps / 16), dtype=torch.float64)
            x[:, 0] = 0.0
            return x
        case "uneven":  # neighbouring rows lie so far apart that no number can stand for both of their maxima
            return x - 150.0 * (torch.arange(m, dtype=torch.float64) % 2)[:, None]
        case "empty":  # every other row is -inf throughout, the first one included
            x[::2] = -torch.inf
            return x
        case other:
            raise ValueError(f"no family of rows is called {other!r}")


def stored(x: torch.Tensor, case: Case, gap: int = 13) -> torch.Tensor:
    """`x` in the case's dtype, laid out in memory as the case says; the gaps of a padded layout, `gap` wide, hold NaN."""
    x = x.to(DTYPES[case.dtype])
    match case.layout:
        case "contiguous":
            return x.contiguous()
        case "padded":  # rows are further apart than they are long
            wide = torch.full((*x.shape[:-1], x.shape[-1] + gap), torch.nan, dtype=x.dtype)
            wide[..., : x.shape[-1]] = x
            return wide[..., : x.shape[-1]]
        case other:
            raise ValueError(f"no layout is called {other!r}")


def row_magnitude(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The largest magnitude of each row: what an absolute error in that row is measured against."""
    return expected.abs().nan_to_num(posinf=0.0).amax(dim=-1, keepdim=True)
