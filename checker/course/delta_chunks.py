"""What the puzzles of the chunked delta rule share: its matrices, computed one row after another, and the space of their cases.

In a chunk that starts from the state S, the tokens write U - W S with U = T (β V) and W = T (β exp(b) K). T = (I - A)⁻¹, and A holds
how much of a token's write each later token of the chunk takes back (Yang, Wang, Zhang, Shen and Kim 2024, section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from checker.authoring import Row, Space, cdiv
from checker.course import forgetting as values
from checker.course.linear import chunks, of_chunks
from checker.puzzle import DTYPES, NORMAL, Case, Domain, Family


def cut(x: torch.Tensor, chunk: int) -> torch.Tensor:
    """[B, H, N, C] as [B, H, N_CHUNKS, CHUNK, C], zeros past the end."""
    return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[-2] % chunk)).unflatten(-2, (-1, chunk))


def joined(x: torch.Tensor, n: int) -> torch.Tensor:
    """The n tokens of chunks that were `cut`."""
    return x.flatten(2, 3)[:, :, :n]


def decay_between(g: torch.Tensor) -> torch.Tensor:
    """[..., i, j]: the product of the decays of tokens j + 1 to i, 0 for later tokens j, from logarithms [..., CHUNK]."""
    alpha = g.exp()
    rows = [torch.eye(g.shape[-1], dtype=g.dtype)[0].expand(g.shape)]
    for i in range(1, g.shape[-1]):
        row = alpha[..., i, None] * rows[-1]
        row[..., i] = 1.0
        rows.append(row)
    return torch.stack(rows, dim=-2)


def matrix(k: torch.Tensor, g: torch.Tensor, beta: torch.Tensor, chunk: int) -> torch.Tensor:
    """A of every chunk [B, H, N_CHUNKS, CHUNK, CHUNK]; `k` [B, H, N, D], `g` and `beta` [B, H, N]."""
    keys, logs, strength = cut(k, chunk), cut(g[..., None], chunk)[..., 0], cut(beta[..., None], chunk)
    return (-strength * (keys @ keys.mT) * decay_between(logs)).tril(-1)


def inverse(a: torch.Tensor) -> torch.Tensor:
    """T = (I - A)⁻¹ from T = I + A T, row by row."""
    t = torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape).clone()
    for i in range(1, a.shape[-1]):
        t[..., i, :] += (a[..., i, None, :i] @ t[..., :i, :])[..., 0, :]
    return t


def written(
    t: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """U [B, H, N, D_V] and W [B, H, N, D]."""
    n, chunk = k.shape[2], t.shape[-1]
    strength, since = cut(beta[..., None], chunk), cut(g[..., None], chunk).cumsum(dim=-2).exp()
    return joined(t @ (strength * cut(v, chunk)), n), joined(t @ (strength * since * cut(k, chunk)), n)


# ---------------------------------------------------------------------------------------------------------------- cases


def from_row(row: Row) -> Case:
    (b, h), meta = row["heads"], {"CHUNK": row["chunk"]}
    sizes = {"B": b, "H": h, "N": values.tokens(row["family"], row["chunk"], row["remainder"])}
    sizes |= {name: row[name.lower()] for name in ("D", "D_V") if name.lower() in row}
    return Case(sizes, meta, row["dtype"], row["family"], row["layout"])


def allowed(row: Row) -> bool:
    """Few programs, and enough tokens and bits for what a family is for."""
    (b, h), family, chunk = row["heads"], row["family"], row["chunk"]
    if not values.fits(row, values.alike, values.strengths):
        return False
    return cdiv(values.tokens(family, chunk, row["remainder"]), chunk) * b * h <= (16 if chunk < 64 else 4)


def space(families: Sequence[Family], **widths: Sequence[int]) -> Space:
    """Cases in chunks that combine family, length, chunk, heads, dtype, layout and the `widths` that the kernel has."""
    return Space(
        {
            "family": (values.alike, values.strengths, values.mixed),
            "remainder": ("one", "none", "all but one", "short"),
            "chunk": (16, 32),
            **widths,
            "heads": ((1, 2), (1, 1), (2, 2)),
            "dtype": tuple(DTYPES),
            "layout": ("padded", "transposed", "repeated token"),
        },
        from_row,
        allowed,
        once={
            "family": (
                NORMAL,
                values.repeated,
                values.resets,
                values.lengths,
                values.weak,
                values.sudden,
                values.uneven,
                *families,
            ),
            "remainder": (48, 1, 2, 5, 11, 23),
            "chunk": (64,),
            "heads": ((1, 5), (3, 1)),
            "layout": ("contiguous", "repeated head"),
        },
        wider={"remainder": tuple(i / 64 for i in range(64))},
        largest=({"chunk": 32, "remainder": 517, "heads": (1, 1), "family": values.alike},),
    )


STRENGTHS = "beta is 0 to 2, and beta · (k · k) is at most 2, up to rounding."
SMALL = "With float16 inputs, too, numbers below 6e-5 must keep their bits."
"""T, U and W are float32, and a kernel that rounds them or their factors to float16 loses what weak tokens after strong ones write."""
MADE_FROM_KEYS = "keys and strengths with beta · (k · k) of at most 2, up to rounding."


def domain(
    accuracy: str, values: str, rows: str, repeat: Sequence[str], slices: bool = False, **widths: tuple[int, ...]
) -> Domain:
    """What a kernel may assume. `values` are about all inputs but g, and `rows` name the tensors with strides.

    Rows that `repeat` may have a stride of 0. A kernel with `slices` owns BLOCK_V columns of the values in each program, and one with
    a `D`, for keys, has decays.
    """
    logs = "g is 0 or less; -inf is a decay of 0, and a decay below e⁻⁸⁰ may count as 0."
    finite = f"all inputs but g are finite. {logs}" if "D" in widths else "all inputs are finite."
    return Domain(
        sizes={"B": (), "H": (), "N": (), **widths},
        tiles={"CHUNK": 16, **({"BLOCK_V": 16} if slices else {})},
        values=f"{finite} {values}",
        memory=f"the elements of a row of {rows} are adjacent. Rows, heads and batches may be any distance apart, even so far that offsets pass 2³²; "
        f"those of {' and '.join(repeat)} may repeat, with a stride of 0. All other tensors are contiguous and float32.",
        accuracy=accuracy,
        masked=("g",) if "D" in widths else (),
        expanded=tuple(repeat),
    )


ONCE_A_CHUNK = "each program reads its chunk once"
in_chunks = partial(
    of_chunks,
    notebook="19_in_chunks_with_an_inverse",
    grid=lambda n: (n["N_CHUNKS"], n["B"] * n["H"]),
    options=lambda n: {"num_warps": 4},
)
"""A puzzle with one program for each chunk of a head."""


def matrices(case: Case) -> torch.Tensor:
    """An empty float32 matrix for each chunk [B, H, N_CHUNKS, CHUNK, CHUNK]."""
    return torch.zeros(case.sizes["B"], case.sizes["H"], chunks(case), case.meta["CHUNK"], case.meta["CHUNK"])
