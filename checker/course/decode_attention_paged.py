"""decode_attention_paged: the same with keys and values in pages, which a block table leads to."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import torch

from checker.authoring import cdiv, puzzle
from checker.course import attention_heads as heads
from checker.course import attention_values as values
from checker.course import decode
from checker.course.attention import FILM_STATE, TOLERANCE, attention_table
from checker.course.attention_values import scale_of
from checker.course.tensors import anything, once_a_case
from checker.films.diagram import Band, Diagram, Drawn, Gather
from checker.puzzle import Case, FilmSpec, Part, Tensors

PAGES = (8, 16, 32, 64)
"""The keys that a page may have."""
SPARE = 3
"""Pages of the cache that belong to nobody."""
TABLE = "at most one entry for each key"
"""What all programs together may load of the block table."""
NOWHERE = (2**31 - 1, -1, 2**30, -(2**31))
"""Entries of the table past a text's last page."""


def max_pages(case: Case) -> int:
    """Entries of the table for each text: where the case does not say, two more than the longest needs."""
    return case.sizes.get("MAX_PAGES") or cdiv(case.sizes["N_KV"], case.sizes["PAGE"]) + 2


def pages_in_cache(case: Case, lengths: list[int]) -> int:
    return sum(cdiv(length, case.sizes["PAGE"]) for length in lengths) + SPARE


def pages_of(case: Case, lengths: list[int]) -> list[list[int]]:
    """The page of each part of each text: in random order, with the flag SHARED the first full one is the same for all."""
    page = case.sizes["PAGE"]
    needed = [cdiv(length, page) for length in lengths]
    free = list(range(pages_in_cache(case, lengths)))
    Random(case.seed).shuffle(free)
    texts = [[free.pop() for _ in range(count)] for count in needed]
    if case.flags["SHARED"]:
        first = next((text[0] for text, length in zip(texts, lengths, strict=True) if length >= page), None)
        texts = [[first, *t[1:]] if first is not None and n >= page else t for t, n in zip(texts, lengths, strict=True)]
    return texts


def make(case: Case) -> Tensors:
    """q [B, H_Q, D], the caches [N_PAGES, H_KV, PAGE, D] in the case's layout, the parts, the lengths [B] and the table [B, MAX_PAGES].

    Whatever belongs to no key is NaN or infinite. Raises ValueError for a page of another size than `PAGES`.
    """
    q, k, v = decode.queries_keys_values(case)
    if case.sizes["PAGE"] not in PAGES:
        raise ValueError(f"a page has 8, 16, 32 or 64 keys, not {case.sizes['PAGE']}")
    lengths = lengths_of(case)
    return {
        "q_ptr": q,
        **caches(case, k, v, lengths),
        **decode.parts_of(case),
        "key_lengths_ptr": torch.tensor(lengths, dtype=torch.int32),
    }


def caches(case: Case, k: torch.Tensor, v: torch.Tensor, lengths: list[int]) -> Tensors:
    """k and v [B, H_KV, N_KV, D] in pages, as the case lays them out, and the block table."""
    texts = pages_of(case, lengths)
    table = [[*text, *(NOWHERE[i % len(NOWHERE)] for i in range(max_pages(case) - len(text)))] for text in texts]
    return {
        "k_ptr": heads.laid_out(_in_pages(k, case, texts, lengths), case, "k_ptr"),
        "v_ptr": heads.laid_out(_in_pages(v, case, texts, lengths), case, "v_ptr"),
        "block_table_ptr": torch.tensor(table, dtype=torch.int32),
    }


def lengths_of(case: Case) -> list[int]:
    """`key_lengths` as numbers, which a launch without memory has, too."""
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return heads.key_lengths(case).tolist()


def _in_pages(x: torch.Tensor, case: Case, texts: list[list[int]], lengths: list[int]) -> torch.Tensor:
    """[N_PAGES, H_KV, PAGE, D] with the rows of x [B, H_KV, N_KV, D] in the pages of each text, and `anything` everywhere else."""
    page = case.sizes["PAGE"]
    cache = anything(x.new_empty(pages_in_cache(case, lengths), x.shape[1], page, x.shape[3])).clone()
    for of_text, text, length in zip(x, texts, lengths, strict=True):
        for i, at in enumerate(text):
            rows = of_text[:, i * page : min((i + 1) * page, length)]
            cache[at, :, : rows.shape[1]] = rows
    return cache


def gathered(case: Case, inputs: Tensors, name: str) -> torch.Tensor:
    """[B, H_KV, N_KV, D]: the keys or values of each text, one page after another; 0 past its length."""
    page, n_kv = case.sizes["PAGE"], case.sizes["N_KV"]
    lengths = inputs["key_lengths_ptr"]
    used = torch.arange(max_pages(case)) * page < lengths[:, None]
    pages = torch.where(used, inputs["block_table_ptr"], 0).long()
    rows = inputs[name][pages].transpose(1, 2).flatten(2, 3)[:, :, :n_kv]
    return torch.where((torch.arange(n_kv) < lengths[:, None])[:, None, :, None], rows, 0.0)


def reference(case: Case, inputs: Tensors) -> Tensors:
    k, v = (gathered(case, inputs, name) for name in ("k_ptr", "v_ptr"))
    return decode.attention_in_parts(case, inputs["q_ptr"], k, v, inputs["key_lengths_ptr"])


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    if output == "lse_part_ptr":
        return _lse(case, output)
    return decode.scale(case, output, expected, torch.empty(0), torch.empty(0))


@once_a_case
def _lse(case: Case, output: str) -> torch.Tensor:
    made = make(case)
    return decode.scale(case, output, torch.empty(0), made["q_ptr"], gathered(case, made, "k_ptr"))


def keys(case: Case) -> int:
    return decode.keys_loaded(case) * case.sizes["D"]


def in_pages(diagram: Diagram) -> Diagram:
    """With the block table and all pages above the one that is loaded."""
    return replace(
        diagram,
        tensors={**diagram.tensors, "block_table_ptr": Drawn(("text", "entry"), at=("text", "key"))},
        down=(Band("text", 60, 18), Band("page", 22), *diagram.down),
        gather=Gather("block_table_ptr", ("k_ptr", "v_ptr"), at=("page", "key")),
    )


FLAGS = {**decode.FLAGS, "SHARED": False}

PUZZLE = puzzle(
    __file__,
    notebook="10_merge_and_pages",
    points=4,
    grid=lambda n: (n["SPLITS"], n["B"] * n["H_KV"]),
    options=lambda n: {"num_warps": 4, "num_stages": 2},
    numbers={"scale": scale_of, "MAX_PAGES": max_pages},
    reads={
        "q": decode.queries_loaded,
        "k": keys,
        "v": keys,
        "key_lengths": decode.programs,
        "block_table": decode.keys_loaded,
    },
    writes={"o_part": 1, "lse_part": 1},
    because={**decode.BECAUSE, "block_table": TABLE},
    make=make,
    reference=reference,
    scale=scale,
    tolerance=TOLERANCE,
    output_tolerance=decode.OUTPUT_TOLERANCE,
    space=decode.space(
        ("transposed", "strided", "contiguous", "roomy"),
        {"PAGE": (16, 8, 32, 64), "shared": (False, True)},
        {"PAGE": (8, 16, 32, 64)},
    ),
    cases=decode.one_head({"SHARED": False}, {"PAGE": 16})[1::2]
    + attention_table(
        """
        B  H_Q  H_KV  N_KV    SPLITS  PAGE  D    BLOCK_G  BLOCK_N  values                dtype     layout    flags               on   why
        1  2    1     200     3       16    128  16       32       -                     float16   strided   RAGGED=1
        1  5    1     70      2       8     32   16       16       rare_keys             bfloat16  strided
        1  41   41    23      2       16    16   16       16       -                     float16   -         -                   -    more heads than a fixed limit would allow
        1  20   1     50      3       16    16   32       16       -                     -         strided   -                   -    a group larger than 16
        1  1    1     40_003  4       64    16   16       256      score_pairs_in_sight  -         -         -                   -    more keys than 16 bits can count
        1  2    1     5       300     16    16   16       16       -                     -         -         -                   -    more splits than keys
        1  1    1     41      2       16    16   16       16       overflowing_scores    float16   -         SCALE=0.000244140625
        3  2    1     131     2       16    16   16       64       -                     -         -         SHARED              -    a tile of four pages, the last of them behind the table
        3  2    1     77      2       64    16   16       16       -                     -         -         -                   -    a page of four tiles
        1  2    1     72      1       8     16   16       64       -                     -         -         -                   -    a tile that ends past the table
        1  2    1     48      2       16    16   16       16       -                     -         -         -                   -    a share of one and a half pages, so that tiles begin within a page
        2  16   4     16_384  16      16    128  16       64       -                     bfloat16  -         RAGGED=1            gpu
        1  16   2     4099    7       16    64   16       128      -                     float16   -         -                   gpu
        """,
        flags=FLAGS,
    ),
    domain=replace(
        decode.DOMAIN,
        sizes={**decode.DOMAIN.sizes, "PAGE": PAGES},
        related={
            **{words: holds for words, holds in decode.DOMAIN.related.items() if "N_KV" not in words},
            "N_KV, which is not passed, counts the keys of the longest text, and MAX_PAGES · PAGE + SPLITS stays below 2³¹": (
                lambda case: max_pages(case) * case.sizes["PAGE"] + case.sizes["SPLITS"] < 2**31
            ),
        },
        values=f"{decode.DOMAIN.values} Slots that hold no key of any text may hold anything, even NaN or inf. Entries of the block table past "
        "a text's last page may be any number.",
        memory="q, o_part, lse_part and block_table are contiguous. k and v may have any strides, and a page's number times a stride may pass "
        f"2³². A text's pages may be in any order, and texts may share pages. Programs load {TABLE} from the block table.",
        expanded=(),
        scratch=("k", "v"),
        indices=("block_table",),
    ),
    film=FilmSpec(
        case=Case(
            {"B": 1, "H_Q": 4, "H_KV": 1, "N_KV": 95, "SPLITS": 2, "PAGE": 16, "D": 16},
            {"BLOCK_G": 16, "BLOCK_N": 16},
            family=values.rising,
            flags=FLAGS,
        ),
        diagram=in_pages(decode.diagram()),
        state=FILM_STATE,
        choices={"N_KV": (40, 95), "SPLITS": (1, 2, 4), "PAGE": (8, 16, 32), "BLOCK_N": (16, 32)},
    ),
    parts=(
        Part("whole", "all keys in one split", lambda case: case.sizes["SPLITS"] == 1, ("o_part_ptr", "lse_part_ptr")),
        Part("splits", "keys in splits", lambda case: True, ("o_part_ptr", "lse_part_ptr")),
    ),
)
