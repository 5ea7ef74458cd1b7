"""The families of attention and of linear attention, by name, until their files define them.

`case_of` makes a case with a family given by its name.
"""

from __future__ import annotations

from typing import Any

from checker.course.families import FAMILIES as ROWS
from checker.puzzle import NORMAL, Case, Family

WORDS = (
    Family(
        "contributions",
        "chunks that add nothing to the state, a trace, as much as it holds or a thousand times as much, in all orders",
        "all pairs of contributions",
    ),
    Family("many_small", "many small contributions beside a large one", "many small contributions"),
    Family("halfway", "numbers halfway between two that bfloat16 can hold", "numbers between those of bfloat16"),
    Family(
        "score_pairs",
        "scores whose tiles are zeros, level with the maximum so far, above or below it, one after another in all orders",
        "scores of all pairs of kinds",
    ),
    Family(
        "score_pairs_in_sight",
        "scores whose tiles are level with the maximum so far, above or below it, one after another in all orders",
        "scores of all pairs of kinds but far above",
    ),
    Family("rare", "small weights with large gradients", "rare values"),
    Family("rare_keys", "small weights with large values", "rare keys values"),
    Family("tiny_outputs", "tiny outputs", "tiny outputs values"),
    Family("creeping_scores", "scores that rise by less than a thousandth from tile to tile", "creeping scores"),
    Family(
        "near_overflow", "scores whose exponentials are at the edge of what float32 can hold", "scores near overflow"
    ),
    Family("climbing_scores", "scores that rise by 6 from tile to tile", "climbing scores"),
    Family("one_rise", "scores that rise once, after the first tile", "scores that rise once"),
    Family("nearly_level", "scores that are nearly the same", "nearly level scores"),
    Family(
        "vanishing_tile",
        "a first tile of keys whose weights are all 0 beside the others",
        "a first tile without weight",
    ),
    Family("opposite_values", "values that cancel in every output", "values that cancel"),
    Family("freezing", "keys whose features are all tiny", "freezing keys"),
    Family("faint", "queries whose features are tiny, among large keys", "faint queries"),
    Family("one_way", "values that are all below zero", "values below zero"),
    Family("blanks", "tiles of zeros, and tiles whose numbers add up to 0", "blank tiles"),
    Family("apart", "gradients further apart than float16 can hold", "gradients far apart"),
    Family("short_keys", "keys near zero", "keys near zero"),
    Family("dwarfing", "one number that dwarfs all others", "one number that dwarfs all others"),
    Family("sunken", "scores near -12,000", "scores near -12,000"),
    Family("far_below_zero", "scores that are all far below zero", "scores far below zero"),
    Family(
        "overflowing_scores", "products of queries and keys that float16 cannot hold", "products that overflow float16"
    ),
    Family(
        "score_triples",
        "scores whose tiles are level with the maximum so far, above or below it, in all orders of three",
        "scores of all triples of kinds",
    ),
    Family("extreme_scores", "scores of great magnitude, above zero and below it", "largest and smallest scores"),
    Family("vast_scores", "scores near 1e20 and -1e20", "scores near ±1e20"),
    Family("masked_weights", "rows of y in which some elements are 0", "zeros in y"),
    Family("alike_gradients", "gradients that are nearly alike", "gradients nearly alike"),
    Family("small_gradients", "gradients near the smallest number of the dtype", "smallest gradients"),
    Family("cancelling", "rows whose products nearly cancel", "products that cancel"),
    Family("unseen", "queries that saw no key, whose output is 0", "queries that saw nothing"),
    Family("ramp", "keys that grow along the sequence", "growing keys"),
    Family("rising", "keys that slowly grow along the sequence", "slowly growing keys"),
    Family("growing", "growing values", "growing values"),
    Family("signs", "signs values", "signs values"),
    Family("hot", "hot values", "hot values"),
    Family("cold", "cold values", "cold values"),
    Family("frozen", "frozen values", "frozen values"),
    Family("half_frozen", "half frozen values", "half of the queries frozen"),
    Family("warm", "warm values", "warm values"),
    Family("huge", "huge values", "huge values"),
    Family("outlier", "outlier values", "outlier values"),
    Family("counting", "counting values", "counting values"),
    Family("sink", "sink values", "sink values"),
    Family("pairs", "pairs values", "pairs values"),
)
FAMILIES: dict[str, Family] = {family.name: family for family in (NORMAL, *ROWS, *WORDS)}


def case_of(sizes: dict[str, int], meta: dict[str, int], *, family: str | Family = "normal", **more: Any) -> Case:
    return Case(sizes, meta, family=FAMILIES[family] if isinstance(family, str) else family, **more)
