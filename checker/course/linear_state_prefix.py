"""linear_state_prefix: the state that each chunk starts from, as a prefix sum of what each chunk adds."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from checker.authoring import Row, Space, cdiv, family, puzzle, table
from checker.course.contributions import NUMBERS
from checker.course.contributions import contributions as added_by_chunk
from checker.course.diagrams import PREFIX
from checker.course.linear import ANY_COLUMNS, columns, magnitude
from checker.course.linear_values import power
from checker.course.tensors import generator, once_a_case
from checker.puzzle import NORMAL, Case, Domain, FilmSpec, Tensors, Tolerance


@dataclass
class Sums:
    """x [G, N_CHUNKS, SIZE], what each chunk adds, and x0 [G, SIZE], what was there before, in float32."""

    x: torch.Tensor
    x0: torch.Tensor
    generator: torch.Generator


@family(
    "chunks that add nothing, a trace, as much or a thousand times as much, in all orders", "all pairs of contributions"
)
def contributions(sums: Sums, case: Case) -> Sums:
    """Each number goes through all pairs of kinds, in another order. Half of the numbers start from 0."""
    (g, n_chunks, size), draw = sums.x.shape, sums.generator
    i = torch.arange(g * size)
    before = sums.x0.flatten().masked_fill(i % 2 == 0, 0.0)
    start = torch.where(i % 4 < 2, 1.0, -1.0) * (1 + torch.rand(g * size, generator=draw))
    added = added_by_chunk(NUMBERS, [1] * n_chunks, before, start, 1e30, draw.initial_seed())
    return Sums(added.unflatten(0, (g, size)).mT.contiguous().float(), before.unflatten(0, (g, size)), draw)


@family("chunks that count", "counting values")
def counting(sums: Sums, case: Case) -> Sums:
    """Chunk c of every group adds c + 1, and group g starts from 10 (g + 1), which is easy to check by eye."""
    g, n_chunks, size = sums.x.shape
    sums.x = (torch.arange(n_chunks) + 1.0)[None, :, None].repeat(g, 1, size)
    sums.x0 = ((torch.arange(g) + 1.0) * 10)[:, None].repeat(1, size)
    return sums


@family("chunks of zeros, and chunks whose numbers add up to 0", "blank tiles")
def blanks(sums: Sums, case: Case) -> Sums:
    sums.x[:, 1::4], sums.x[:, 2::4] = 0.0, 1.0 - 2.0 * (torch.arange(sums.x.shape[-1]) % 2)
    return sums


@family("one number that dwarfs all others", "one number that dwarfs all others")
def dwarfing(sums: Sums, case: Case) -> Sums:
    """Every eighth number dwarfs what is added to the others. Another starts small, and one chunk adds as much to it."""
    sums.x0[:, ::8], sums.x[:, sums.x.shape[1] // 2, 4::8] = 1e9, 1e9
    return sums


@family("sums that float16 cannot hold", "huge values")
def huge(sums: Sums, case: Case) -> Sums:
    sums.x, sums.x0 = 1e5 * sums.x, 1e5 * sums.x0
    return sums


FAMILIES = (contributions, counting, blanks, dwarfing, huge)


def make(case: Case) -> Tensors:
    g, n_chunks, size = (case.sizes[name] for name in ("G", "N_CHUNKS", "SIZE"))
    draw = generator(case)
    x, x0 = torch.randn(g, n_chunks, size, generator=draw) + 1.0, torch.randn(g, size, generator=draw) + 2.0
    sums = case.family.make(Sums(x, x0, draw), case)
    sums.x, sums.x0 = sums.x * power(case), sums.x0 * power(case)
    return {
        "x_ptr": sums.x,
        "x0_ptr": sums.x0,
        "start_ptr": torch.zeros_like(sums.x),
        "end_ptr": torch.zeros_like(sums.x0),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    after = inputs["x0_ptr"][:, None] + inputs["x_ptr"].cumsum(dim=1)
    return {"start_ptr": torch.cat([inputs["x0_ptr"][:, None], after[:, :-1]], dim=1), "end_ptr": after[:, -1]}


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The magnitude of a row, or the largest sum of each number so far in families where neighbours differ by orders of magnitude."""
    return (
        largest_so_far(case, output) if case.family in (contributions, dwarfing) else magnitude(case, output, expected)
    )


@once_a_case
def largest_so_far(case: Case, output: str) -> torch.Tensor:
    """The largest magnitude among a sum and those before it: a sum that happens to come near 0 keeps the rounding errors of all."""
    exact = reference(case, {name: x.double() for name, x in make(case).items()})
    largest = exact["start_ptr"].abs().cummax(dim=1).values
    return largest if output == "start_ptr" else torch.maximum(largest[:, -1], exact["end_ptr"].abs())


def from_row(row: Row) -> Case:
    size = columns(row["numbers"], row["block"])
    return Case(
        {"G": row["groups"], "N_CHUNKS": row["chunks"], "SIZE": size},
        {"BLOCK_SIZE": row["block"]},
        family=row["family"],
        flags={"POWER": 90 * row["power"]} if row["power"] else {},
    )


PUZZLE = puzzle(
    __file__,
    notebook="16_few_heads",
    points=2,
    grid=lambda n: (cdiv(n["SIZE"], n["BLOCK_SIZE"]), n["G"]),
    options=lambda n: {"num_warps": 4},
    reads={"x": 1, "x0": 1},
    writes={"start": 1, "end": 1},
    because={
        "x": "what a chunk adds is needed once",
        "x0": "where the text starts from is read once",
        "start": "each start is written once: the running sum stays on chip",
        "end": "the end is written once",
    },
    make=make,
    reference=reference,
    scale=scale,
    # A float32 sum of n numbers is off by at most n half steps and typically by about √n: 1024 chunks stay below 2e-6
    tolerance={"float32": Tolerance(rtol=2e-5, c=64.0)},
    space=Space(
        {
            "family": (contributions, NORMAL, counting, blanks),
            "chunks": (12, 6, 1, 2, 5),
            "numbers": ("one more", "full", "all but one", "all", "one"),
            "block": (16, 8, 64),
            "groups": (2, 1, 5),
            "power": (0, 1, -1),
        },
        from_row,
        lambda row: row["family"] != contributions or (row["chunks"] >= 6 and not row["power"]),
        once={
            "family": (dwarfing, huge),
            "chunks": (70, 17, 3, 4, 7, 8, 9, 13),
            "numbers": tuple(i / 16 for i in (5, 9, 11, 18, 21, 27, 43, 50)),
            "groups": (37,),
            "block": (32, 128),
        },
        wider={
            "family": (contributions, NORMAL, huge),
            "chunks": range(1, 15),
            "numbers": ANY_COLUMNS,
            "block": (8, 16, 32, 64, 128),
            "groups": range(1, 5),
        },
        largest=({"family": NORMAL, "chunks": 563, "numbers": 1.5, "block": 128, "groups": 1},),
    ),
    cases=table(
        """
        G     N_CHUNKS  SIZE    BLOCK_SIZE  values         on   why
        2     531       7       8           -              -    more chunks than a fixed limit would allow
        2     3         48      32          -              -    16 divides SIZE, a tile does not
        1     4         13      8           dwarfing       -    a start that its own chunk dwarfs (start_by_subtraction)
        1     1         65_536  256         -              gpu
        4     1024      4096    128         -              gpu  the states of 65,536 tokens of four heads, in chunks of 64
        4     1024      64      64          -              gpu  and their z
        3     12        12_289  1024        contributions  gpu
        1000  7         333     64          counting       gpu
        """,
        families=FAMILIES,
    ),
    domain=Domain(
        sizes={"G": (), "N_CHUNKS": (), "SIZE": ()},
        tiles={"BLOCK_SIZE": 8},
        values="x and x0 are finite, and so are their sums.",
        memory="all tensors are contiguous and float32. Offsets may pass 2³².",
        accuracy="a sum may be off by 0.002 % of itself plus 64 roundings of the largest magnitude summed so far.",
    ),
    film=FilmSpec(
        case=Case({"G": 2, "N_CHUNKS": 5, "SIZE": 24}, {"BLOCK_SIZE": 16}, family=counting),
        diagram=PREFIX,
        state={"state": "running sum"},
        choices={"N_CHUNKS": (3, 5, 8), "SIZE": (16, 24), "BLOCK_SIZE": (8, 16)},
    ),
)
