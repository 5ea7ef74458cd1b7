"""The families of rows that kernels are tried on: each exists because a wrong idea survives the others.

Normal rows hide almost everything. A row of only negative numbers shows a maximum that starts at 0 and masked lanes that
hold 0; an ascending row, whose maximum comes last, shows a missing rescale; a large shift shows a missing subtraction.
"""

from __future__ import annotations

import torch

from checker.puzzle import DTYPES, Case


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
        case other:
            raise ValueError(f"no family of rows is called {other!r}")


def stored(x: torch.Tensor, case: Case) -> torch.Tensor:
    """`x` in the case's dtype, laid out in memory as the case says; gaps of a padded layout hold NaN."""
    x = x.to(DTYPES[case.dtype])
    match case.layout:
        case "contiguous":
            return x.contiguous()
        case "padded":  # rows are further apart than they are long
            wide = torch.full((*x.shape[:-1], x.shape[-1] + 13), torch.nan, dtype=x.dtype)
            wide[..., : x.shape[-1]] = x
            return wide[..., : x.shape[-1]]
        case other:
            raise ValueError(f"no layout is called {other!r}")


def row_magnitude(case: Case, expected: torch.Tensor) -> torch.Tensor:
    """The largest magnitude of each row: what an absolute error in that row is measured against."""
    return expected.abs().nan_to_num(posinf=0.0).amax(dim=-1, keepdim=True)
