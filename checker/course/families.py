"""The families of rows that kernels are tried on. Each exposes a mistake that the others do not.

Normal rows hide almost every mistake. Negative rows expose a maximum that starts at 0 and masked lanes that hold 0. Ascending
rows, whose maximum comes last, expose a missing rescale, and a large shift exposes a missing subtraction. Softmax gives the same
result whichever number is subtracted, as long as nothing overflows or vanishes. So a wrong maximum shows only where rows ("deep")
or tiles ("late_max", "early_max", "uneven") are more than 88 apart, the range of exp in float32.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps

import msgspec
import torch

from checker.course.chunk_kinds import IN_SIGHT, PAIRS, TRIPLES, Kind, Plan, extremes, rows_of_kinds
from checker.puzzle import DTYPES, Case

CONSTRUCTED = {"chunk_pairs": PAIRS, "chunk_pairs_in_sight": IN_SIGHT, "chunk_triples": TRIPLES}
"""Families whose rows are not random but built from kinds of chunks."""
REACH = {"float32": 3000.0, "float16": 60_000.0, "bfloat16": 1e5}
"""The largest magnitude in rows of the family "extreme"."""
FURTHER = {"vast": 1e30, "utmost": 1e38}
"""The same for families that go further in float32."""


def counted(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def case_name(*words: str) -> str:
    """A case's name: the words that are not empty. The contiguous layout is left out."""
    return ", ".join(word for word in words if word not in ("", "contiguous"))


def generator(case: Case) -> torch.Generator:
    """A generator seeded by the case: the same numbers every time, on every machine."""
    return torch.Generator().manual_seed(case.seed * 1_000_003 + sum(case.sizes.values()))


MOST_REMEMBERED = 2**27
"""Bytes that a function with `once_a_case` keeps."""


def once_a_case(compute: Callable[[Case, str], torch.Tensor]) -> Callable[[Case, str], torch.Tensor]:
    """`compute` with a cache of the last results, because a diagnosis needs each dozens of times."""
    known: OrderedDict[tuple[bytes, str], torch.Tensor] = OrderedDict()
    size, lock = 0, threading.Lock()

    @wraps(compute)
    def remembering(case: Case, output: str) -> torch.Tensor:
        nonlocal size
        key = (msgspec.json.encode(case, order="deterministic"), output)
        found = known.get(key)
        if found is None:
            found = compute(case, output)
            with lock:
                size += found.nbytes if key not in known else 0
                known[key] = found
                while size > MOST_REMEMBERED:
                    size -= known.popitem(last=False)[1].nbytes
        return found

    return remembering


def rows(case: Case, m: int, n: int, *, empty: bool = False) -> torch.Tensor:
    """[m, n] float64 rows of the case's family. Rows built from chunks may be -inf throughout only with `empty`.

    Raises ValueError for an unknown family.
    """
    plan = _plan(case)
    if plan is not None:
        seed = generator(case).initial_seed()
        return rows_of_kinds(m, n, chunk_width(case, n), plan, DTYPES[case.dtype], seed, empty_rows=empty)
    x = torch.randn(m, n, generator=generator(case), dtype=torch.float64)
    match case.family:
        case "normal":
            return x
        case "large":  # the sum of two does not overflow
            return x * torch.finfo(DTYPES[case.dtype]).max / 32
        case "zeros":  # about half of the numbers are 0.0 or -0.0, at other places in each row
            x = torch.where(torch.rand(m, n, generator=generator(case), dtype=torch.float64) < 0.5, 0.0 * x, x)
            x[:, 0] = 0.0
            return x
        case "negative":  # every element below -50
            return 3 * x - 50 - 20 * torch.rand(m, 1, generator=generator(case), dtype=torch.float64)
        case "positive":  # exp overflows without the maximum
            return 3 * x + 200
        case "ascending":  # the maximum comes last
            return torch.sort(4 * x, dim=-1).values
        case "descending":
            return torch.sort(4 * x, dim=-1, descending=True).values
        case "creeping":  # a tiny rise in every chunk: the error of skipped rescales adds up
            return (5e-5 * torch.arange(n, dtype=torch.float64)).repeat(m, 1)
        case "climbing":  # each rise is small, but their sum exceeds the range of exp
            return 6.0 * (torch.arange(n) // chunk_width(case, n)).double() + x.clamp(-1, 1)
        case "overflowing_sum":  # beside a maximum of 0 one exponential fits in float32, and the sum of three does not; in odd rows the sum of 230
            x = 88.0 - (torch.arange(n) % 3 / 4).double().repeat(m, 1)
            x[1::2] = 83.3
            x[:, : chunk_width(case, n)] = 0.0
            return x
        case "one_hot":  # the last element has all the weight
            x = torch.full((m, n), -30.0, dtype=torch.float64)
            x[:, -1] = 20.0
            return x
        case "constant":
            return torch.full((m, n), -7.25, dtype=torch.float64)
        case "nearly_constant":
            return (-7.25 + (7 * torch.arange(n) % 23) / 2**15).double().repeat(m, 1)
        case (
            "equal_terms"
        ):  # after the first, each adds 0.7, which a sum of more than 64 in 16 bits rounds the same way every time
            x = torch.full((m, n), math.log(0.7), dtype=torch.float64)
            x[:, 0] = 0.0
            return x
        case "masked":  # some elements are -inf, never a whole row
            x = torch.where(torch.rand(m, n, generator=generator(case), dtype=torch.float64) < 0.4, -torch.inf, x)
            x[:, n // 2] = 1.0
            return x
        case "deep":  # exp(x) is 0 in float32 without the maximum
            return 3 * x - 300
        case "abyss":  # below any number used for -inf; for mutants only: right kernels that fold l into exp fail, too
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
        case "masked_then_deep":  # the same, and all later elements are far from any number used for that -inf
            x = 3 * x - 300
            x[:, : min(case.meta.get("BLOCK_N", n // 2), n - 1)] = -torch.inf
            return x
        case "spike":  # after the first element, a chunk adds less than half a step to a sum kept in the case's dtype
            step = torch.finfo(DTYPES[case.dtype]).eps
            x = torch.full((m, n), math.log(0.45 * step / chunk_width(case, n)), dtype=torch.float64)
            x[:, 0] = 0.0
            return x
        case (
            "outnumbered"
        ):  # a chunk of one element, 17 above all others, whose chunks are full: together they weigh something
            chunk = chunk_width(case, n)
            x = torch.zeros_like(x)
            x[:, :chunk] = -torch.inf
            x[:, 0] = 17.0
            return x
        case "uneven":  # neighbouring rows are so far apart that no one number can serve as the maximum of both
            return x - 150.0 * (torch.arange(m, dtype=torch.float64) % 2)[:, None]
        case "empty":  # every other row is -inf throughout, the first one included
            x[::2] = -torch.inf
            return x
        case other:
            raise ValueError(f"no family of rows is called {other!r}")


WITHOUT = " without "
"""Separates a family of CONSTRUCTED from the name of a kind that its rows leave out."""
KINDS_IN_WORDS: dict[Kind, str] = {
    Kind.EMPTY: "that are -inf throughout",
    Kind.TIE: "whose maximum is the one so far",
    Kind.BELOW: "just below the maximum so far",
    Kind.FAR_BELOW: "far below the maximum so far",
    Kind.ABOVE: "just above the maximum so far",
    Kind.FAR_ABOVE: "far above the maximum so far",
    Kind.SPIKE: "of one large element among small ones",
    Kind.SMALL: "of many small terms",
    Kind.ZEROS: "of zeros",
}
"""A kind of chunk, to follow "parts of a row"."""


def with_a_kind_left_out(family: str) -> dict[str, str]:
    """The variants of a family that lack one kind of chunk, with that kind in words; empty for families not built from chunks."""
    plan = CONSTRUCTED.get(family)
    return {f"{family}{WITHOUT}{kind.name}": KINDS_IN_WORDS[kind] for kind in (plan.kinds if plan else ())}


def _plan(case: Case) -> Plan | None:
    """The plan of a family that is built from chunks, None for the others."""
    if case.family == "extreme" or case.family in FURTHER:
        return extremes(FURTHER.get(case.family, REACH[case.dtype]))
    family, _, left_out = case.family.partition(WITHOUT)
    plan = CONSTRUCTED.get(family)
    return plan.without(Kind[left_out]) if plan and left_out else plan


def chunk_width(case: Case, n: int) -> int:
    """How many of n columns make a chunk: a tile or a part, or several of them so that there are at most 64 chunks.

    If the row fits in one tile, a chunk is an eighth of it.
    """
    tile = -(-n // case.sizes["SPLITS"]) if "SPLITS" in case.sizes else case.meta.get("BLOCK_N", n)
    return tile * -(-n // (64 * tile)) if tile < n else -(-n // 8)


def stored(x: torch.Tensor, case: Case, gap: int = 13) -> torch.Tensor:
    """`x` in the case's dtype and layout. Raises ValueError for an unknown layout.

    The gaps of a padded layout hold NaN. They are `gap` elements wide, or a few more depending on the seed.
    """
    x = x.to(DTYPES[case.dtype])
    match case.layout:
        case "contiguous":
            return x.contiguous()
        case "padded":  # rows are further apart than they are long
            wide = torch.full((*x.shape[:-1], x.shape[-1] + gap + case.seed % 5), torch.nan, dtype=x.dtype)
            wide[..., : x.shape[-1]] = x
            return wide[..., : x.shape[-1]]
        case other:
            raise ValueError(f"no layout is called {other!r}")


def row_magnitude(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """A scale of errors: the largest magnitude of each row, [..., 1].

    At least twice the smallest normal number of the dtype: numbers below that are multiples of a step, however small they are.
    """
    return largest_of_row(expected).clamp(min=2 * torch.finfo(DTYPES[case.dtype]).tiny)


def largest_of_row(expected: torch.Tensor) -> torch.Tensor:
    """The largest finite magnitude of each row, [..., 1]."""
    return expected.abs().nan_to_num(posinf=0.0).amax(dim=-1, keepdim=True)
