"""Films mark wrong kernels at the right chunk, and never a right one, whatever its style."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from checker.course import PUZZLES
from checker.submission.kernel import KernelSource
from tests.films import films
from tests.films.test_state_divergence import PAST_THE_ENDS, V1
from tests.misconceptions import kernels

LADDER = ("chunked_softmax", "online_softmax", "tiled_softmax")
ATTENTION = ("flash_attention", "flash_attention_heads")
RIGHT: dict[str, tuple[str, KernelSource]] = {
    **{name: (name, films.solution(name)) for name in (*LADDER, *ATTENTION)},
    **{f"{n}: {style}": (n, kernel) for n in (*LADDER, *ATTENTION) for style, kernel in kernels.correct(n).items()},
}
FAMILIES = dict.fromkeys(ATTENTION, ("normal", "ramp", "negative"))
LADDER_FAMILIES = ("normal", "ascending", "deep", "positive", "masked", "first_chunk_masked", "early_max")


def test_right_kernels_are_never_marked(tmp_path: Path) -> None:
    for kind, (name, source) in RIGHT.items():
        for family in FAMILIES.get(name, LADDER_FAMILIES):
            assert films.shoot(name, source, tmp_path, family=family).film.divergences == [], (kind, family)


MARKED = [
    ("online_softmax", "sum_not_rescaled", "ascending", "l_i", 2, 1),
    ("online_softmax", "updated_before_rescaled", "ascending", "l_i", 2, 1),
    ("online_softmax", "max_starts_at_zero", "negative", "m_i", 1, 1),
    ("online_softmax", "max_overwritten", "early_max", "m_i", 2, 1),
    ("online_softmax", "no_max_subtraction", "ascending", "l_i", 1, 1),
    ("tiled_softmax", "sum_not_rescaled", "ascending", "l_i", 2, 1),
    ("tiled_softmax", "rescaled_with_the_wrong_sign", "ascending", "l_i", 1, 1),
    ("tiled_softmax", "one_max_for_the_whole_tile", "ascending", "m_i", 1, 1),
    ("chunked_softmax", "max_overwritten", "early_max", "m_i", 2, 1),
    ("chunked_softmax", "sum_overwritten", "normal", "l_i", 2, 2),
    ("chunked_softmax", "exp2_for_exp", "normal", "l_i", 1, 2),
    (V1, "exp2_for_exp", "ramp", "l_new", 1, 1),
    (V1, "first_visit_loads", "ramp", "l_new", 1, 1),
    (V1, "sum_not_rescaled", "ramp", "l_new", 2, 1),
    (V1, "sum_of_the_tile_stored", "constant", "l_new", 3, 1),
    (V1, "maximum_of_the_tile_stored", "sink", "m_new", 3, 1),
    ("flash_attention", "sum_not_rescaled", "ramp", "l_i", 2, 1),
    ("flash_attention", "scale_forgotten", "ramp", "m_i", 1, 1),
    ("flash_attention_heads", "causal_ignored", "ramp", "m_i", 1, 1),
]


def test_wrong_kernels_are_marked_at_the_right_chunk(tmp_path: Path) -> None:
    for name, misconception, family, variable, chunk, pass_ in MARKED:
        shot = films.shoot(name, films.wrong(name, misconception), tmp_path, family=family)
        first = shot.film.divergences[0]
        assert (first.name, first.chunk, first.walk) == (variable, chunk, pass_), (name, misconception)
        event = shot.trace.events[first.at]
        if name == V1:  # the visit begins where the second tile of the pair is loaded
            assert (event.kind, event.tensor, first.row) == ("load", "q_ptr", 0)
            assert dict(event.loops) == {"start_n": 16 * (chunk - 1), "start_m": 0}
        else:
            assert (event.kind, event.tensor) == ("load", "x_ptr" if name in LADDER else "k_ptr")
        if name in LADDER:
            assert event.tile is not None
            assert event.tile.box[1][0] == (chunk - 1) * shot.case.meta["BLOCK_N"]


def renamed(style: str, names: str) -> KernelSource:
    """A right kernel of flash_attention_v1 whose m, l or both are called m_new and l_new."""
    source = kernels.correct(V1)[style]
    return replace(source, source=re.sub(rf"\b([{names}])\b", r"\1_new", source.source))


V1_HONEST = {
    "the solution": films.solution(V1),
    "o divided at the last visit": renamed("divided_at_the_last_visit", "l"),
    "two tiles merged by weights": renamed("merged_with_weights", "ml"),
    "maxima in base 2": renamed("first_visit_apart", "ml"),
    "keys loaded for every tile of queries": films.wrong(V1, "keys_loaded_inside"),
    "sound sums, unsound output": films.wrong(V1, "output_not_rescaled"),
}


def test_right_numbers_in_memory_are_never_marked(tmp_path: Path) -> None:
    for style, source in V1_HONEST.items():
        for family in ("ramp", "negative", "sink"):
            sizes = PAST_THE_ENDS if family != "ramp" else PUZZLES[V1].film.case.sizes
            shot = films.shoot(V1, source, tmp_path, family=family, sizes=sizes)
            assert any("m_new" in e.state and "l_new" in e.state for e in shot.trace.events), "nothing to compare"
            assert shot.film.divergences == [], (style, family)
