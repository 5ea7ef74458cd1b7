"""Guards: conditions under which a kernel could be wrong although it is right everywhere else.

Each is a condition that a kernel can test: a size beyond a bound, a remainder, one dtype, one layout, one program, a flag, two
of these together, or how the current chunk compares with those before it. If a kernel that is wrong only under such a condition
passes, the puzzle lacks a case. `guarded` skips guards that use names a kernel does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Guard:
    """A condition, written as a Triton expression.

    `test` uses what a kernel can know: its parameters, ``tl.program_id``, ``tl.num_programs``, element types, and flags of the
    case. A test with ``turn`` or ``turns`` is evaluated in every iteration of a loop: the iteration's number, from 0, and how many
    there are. With `chunk`, a variable, the test is evaluated after that variable's last assignment in a loop, or outside loops,
    and may use any variable of the solution that exists there. With `twice`, it must also have held in the previous iteration.
    """

    name: str
    test: str
    chunk: str = ""
    twice: bool = False

    @property
    def in_place(self) -> bool:
        """Tested inside a loop's body rather than at the top of the kernel."""
        return bool(self.chunk) or "turn" in self.test


def _dtypes(pointer: str) -> dict[str, str]:
    """One test per dtype."""
    return {name: f"{pointer}.dtype.element_ty == tl.{name}" for name in ("float32", "float16", "bfloat16")}


def _guards(tests: dict[str, str], chunk: str = "") -> tuple[Guard, ...]:
    return tuple(Guard(name, test, chunk) for name, test in tests.items())


def _both(first: dict[str, str], second: dict[str, str]) -> dict[str, str]:
    """Each test of the first kind combined with each of the second."""
    return {f"{a} and {b}": f"({x}) and ({y})" for (a, x), (b, y) in product(first.items(), second.items())}


def _remainders(size: str, tile: str, what: str) -> dict[str, str]:
    """How full the last tile is, and whether it is the only one."""
    return {
        f"{what}: {size} % {tile} = 0": f"{size} % {tile} == 0",
        f"{what}: {size} % {tile} = 0, several": f"{size} % {tile} == 0 and {size} > {tile}",
        f"{what}: {size} % {tile} = 1": f"{size} % {tile} == 1 and {size} > {tile}",
        f"{what}: {size} % {tile} = {tile} - 1": f"{size} % {tile} == {tile} - 1",
        f"{what}: {size} < {tile}": f"{size} < {tile}",
        f"{what}: {size} = 1": f"{size} == 1",
    }


def _many(size: str, tile: str, counts: tuple[int, ...], what: str) -> dict[str, str]:
    return {f"more than {count} {what}": f"{size} > {count} * {tile}" for count in counts}


PROGRAMS = {
    "the first program": "tl.program_id(0) == 0",
    "all programs but the first": "tl.program_id(0) > 0",
    "program 4 on": "tl.program_id(0) >= 4",
    "program 16 on": "tl.program_id(0) >= 16",
    "program 64 on": "tl.program_id(0) >= 64",
    "odd programs": "tl.program_id(0) % 2 == 1",
    "the last program of several": "tl.program_id(0) > 0 and tl.program_id(0) == tl.num_programs(0) - 1",
    "more than 4 programs": "tl.num_programs(0) > 4",
    "more than 16 programs": "tl.num_programs(0) > 16",
}
SECOND_AXIS = {
    "axis 1: all programs but the first": "tl.program_id(1) > 0",
    "axis 1: program 2 on": "tl.program_id(1) >= 2",
    "axis 1: program 4 on": "tl.program_id(1) >= 4",
    "axis 1: the last program of several": "tl.program_id(1) > 0 and tl.program_id(1) == tl.num_programs(1) - 1",
}
# tested in the loop that contains the mistake
TURNS = {
    "the first turn": "turn == 0",
    "the first turn of several": "turn == 0 and turns > 1",
    "the second turn": "turn == 1",
    "the third turn on": "turn >= 2",
    "odd turns": "turn % 2 == 1",
    "turn 8 on": "turn >= 8",
    "turn 12 on": "turn >= 12",
    "turn 32 on": "turn >= 32",
    "the last turn of several": "turn == turns - 1 and turns > 1",
    "neither the first turn nor the last": "turn > 0 and turn < turns - 1",
}
ANY = _guards({**PROGRAMS, **TURNS})


# -------------------------------------------------------------------------------------------------------------- softmax


def _rows_at_large(x: str, y: str) -> dict[str, str]:
    """For kernels over the rows of two matrices, named as in ``x_ptr`` and ``stride_xm``."""
    dtypes = _dtypes(f"{x}_ptr")
    in_16_bits = {name: dtypes[name] for name in ("float16", "bfloat16")}
    padded = {"padded rows": f"stride_{x}m != N"}
    chunks = {"more than one chunk": "N > BLOCK_N"}
    several = {"more than 4 chunks": "N > 4 * BLOCK_N"}
    full = {"full chunks": "N % BLOCK_N == 0"}
    return {
        **{f"more than {n:,} columns": f"N > {n}" for n in (64, 192, 1024)},
        **_many("N", "BLOCK_N", (1, 4, 11, 32), "chunks"),
        **_remainders("N", "BLOCK_N", "columns"),
        **{f"tiles of {n} columns or more": f"BLOCK_N >= {n}" for n in (32, 64, 512)},
        "tiles of 8 columns or fewer": "BLOCK_N <= 8",
        **{f"tiles of {n} rows or more": f"BLOCK_M >= {n}" for n in (8, 16)},
        "tiles of as many rows as columns": "BLOCK_M == BLOCK_N",
        "tiles of more rows than columns": "BLOCK_M > BLOCK_N",
        **_remainders("M", "BLOCK_M", "rows"),
        **_many("M", "BLOCK_M", (4,), "tiles of rows"),
        **dtypes,
        "packed rows": f"stride_{x}m == N",
        **padded,
        f"{x} and {y} of two strides": f"stride_{x}m != stride_{y}m",
        **_both(padded, {**chunks, **several, **full, **in_16_bits}),
        **_both(in_16_bits, {**several, **full}),
        **_both(full, {"more than 2 chunks": "N > 2 * BLOCK_N"}),
        "not full rows and not full columns": "M % BLOCK_M != 0 and N % BLOCK_N != 0",
        "full rows, not full columns": "M % BLOCK_M == 0 and N % BLOCK_N != 0",
        "full columns, not full rows": "M % BLOCK_M != 0 and N % BLOCK_N == 0",
    }


_PARTS = {
    "more than 8 parts": "SPLITS > 8",
    "more than 16 parts": "SPLITS > 16",
    "more than 32 parts": "SPLITS > 32",
    "tiles of more than 8 parts": "BLOCK_S > 8",
    **_remainders("SPLITS", "BLOCK_S", "parts"),
    "packed parts": "stride_pm == SPLITS",
    "padded parts": "stride_pm != SPLITS",
    "padded and full tiles": "stride_pm != SPLITS and SPLITS == BLOCK_S",
    "padded and not full tiles": "stride_pm != SPLITS and SPLITS < BLOCK_S",
}


_LOW = 'float("-inf")'


def _row(chunk: str, m: str) -> dict[str, str]:
    """How the maximum of a row's chunk can compare with the running maximum `m`."""
    low = _LOW
    return {
        "a chunk of -inf at the start": f"({chunk} == {low}) & ({m} == {low})",
        "a chunk of -inf later on": f"({chunk} == {low}) & ({m} != {low})",
        "a chunk whose maximum equals the one so far": f"({chunk} == {m}) & ({m} != {low})",
        "a chunk just below the maximum so far": f"({chunk} < {m}) & ({chunk} > {m} - 10.0)",
        "a chunk far below the maximum so far": f"({chunk} < {m} - 88.0) & ({chunk} != {low})",
        "a chunk just above the maximum so far": f"({chunk} > {m}) & ({chunk} < {m} + 10.0)",
        "a chunk far above the maximum so far": f"({chunk} > {m} + 88.0) & ({m} != {low})",
        "a maximum below 0": f"({chunk} < 0.0) & ({chunk} != {low})",
        "a maximum above 88": f"{chunk} > 88.0",
        "a maximum below -1,000": f"({chunk} < -1000.0) & ({chunk} != {low})",
        "a maximum above 1,000": f"{chunk} > 1000.0",
    }


def _rows(x: str, m: str, mask: str) -> dict[str, str]:
    """The same for a tile of rows: in some row, in every row, and in some rows only."""
    tests = {}
    for name, test in _row(f"tl.max({x}, axis=1)", m).items():
        some = f"tl.max((({test}) & ({mask})).to(tl.int32), axis=0) == 1"
        every = f"tl.min((({test}) | ~({mask})).to(tl.int32), axis=0) == 1"
        tests[f"{name}, in some row"] = some
        tests[f"{name}, in every row"] = every
        tests[f"{name}, in one row and not in another"] = f"({some}) & ~({every})"
    return tests


def _some_row_empty(x: str, mask: str) -> str:
    return f"tl.max(((tl.max({x}, axis=1) == {_LOW}) & ({mask})).to(tl.int32), axis=0) == 1"


SOFTMAX = (
    *_guards({**_rows_at_large("x", "y"), **_PARTS, **PROGRAMS, **TURNS}),
    *_guards(_row("tl.max(x, axis=0)", "m_i"), "x"),
    Guard("a second chunk of -inf in a row", f"tl.max(x, axis=0) == {_LOW}", "x", twice=True),
)
TILES = (
    *_guards({**_rows_at_large("x", "y"), **PROGRAMS, **TURNS}),
    *_guards(_rows("x", "m_i", "offs_m < M"), "x"),
    Guard("a second chunk of -inf in a row, in some row", _some_row_empty("x", "offs_m < M"), "x", twice=True),
)
# rows of y, dy and dx
GRADIENT_ROWS = _guards({**_rows_at_large("y", "dy"), **PROGRAMS})


# ------------------------------------------------------------------------------------------------------------ attention

_K = _dtypes("k_ptr")
_K16 = {name: _K[name] for name in ("float16", "bfloat16")}
_CAUSAL = {"causal": "IS_CAUSAL"}
_NOT_CAUSAL = {"not causal": "not IS_CAUSAL"}
_STRIDED = {"strided": "stride_qd != 1", "heads side by side": "stride_qd == 1 and stride_qm != D"}
_RAGGED = {"ragged": "RAGGED"}
_LONGER = {"more queries than keys": "N_Q > N_KV", "more keys than queries": "N_KV > N_Q"}
_GROUPS = {"groups of 2": "H_Q == 2 * H_KV", "groups of 3 or more": "H_Q >= 3 * H_KV"}
_WIDTHS = {f"D = {d}": f"D == {d}" for d in (16, 32, 64, 128)}
_TILES = {
    "square tiles": "BLOCK_M == BLOCK_N",
    "tiles of more queries than keys": "BLOCK_M > BLOCK_N",
    "tiles of more keys than queries": "BLOCK_M < BLOCK_N",
}
_FULL_KEYS = {"full tiles of keys": "N_KV % BLOCK_N == 0"}
_BATCHES = {"all batches but the first": "tl.program_id(1) >= H_Q", "odd heads": "tl.program_id(1) % H_Q % 2 == 1"}

_TILES_OF_SCORES = {
    **_WIDTHS,
    "D < BLOCK_N": "D < BLOCK_N",
    "D > BLOCK_N": "D > BLOCK_N",
    **{f"more than {n} keys": f"N_KV > {n}" for n in (64, 128, 600)},
    **{f"more than {n} queries": f"N_Q > {n}" for n in (64, 128)},
    **_many("N_KV", "BLOCK_N", (1, 2, 3, 8), "tiles of keys"),
    **_many("N_Q", "BLOCK_M", (1, 2, 4), "tiles of queries"),
    **_remainders("N_KV", "BLOCK_N", "keys"),
    **_remainders("N_Q", "BLOCK_M", "queries"),
    **_TILES,
    **{f"tiles of {n} queries or more": f"BLOCK_M >= {n}" for n in (32, 64)},
    **{f"tiles of {n} keys or more": f"BLOCK_N >= {n}" for n in (32, 64)},
    **_K,
    **_LONGER,
    "as many queries as keys": "N_Q == N_KV",
    "padded rows": "stride_qm != D",
    "packed rows": "stride_qm == D",
    "q and k of two strides": "stride_qm != stride_kn",
    **_STRIDED,
    **_CAUSAL,
    **_NOT_CAUSAL,
    **_RAGGED,
    **_GROUPS,
    "a group of 1, several heads": "H_Q == H_KV and H_KV > 1",
    "one key head, several query heads": "H_KV == 1 and H_Q > 1",
    **_both(_CAUSAL, {**_STRIDED, **_K16, **_LONGER, **_RAGGED, **_GROUPS, **_TILES, **_FULL_KEYS}),
    **_both(_NOT_CAUSAL, {**_STRIDED, **_K16, **_RAGGED, **_GROUPS}),
    **_both(_RAGGED, {**_FULL_KEYS, **_LONGER, **_STRIDED, **_K16}),
    **_both(_GROUPS, {"tiles of 32 queries or more": "BLOCK_M >= 32", **_STRIDED, **_K16}),
    **_both({"padded rows": "stride_qm != D"}, {**_K16, "more than 2 tiles of keys": "N_KV > 2 * BLOCK_N"}),
    **_both(_K16, {"D = 128": "D == 128", "more than 8 tiles of keys": "N_KV > 8 * BLOCK_N"}),
    "causal, queries without keys": "IS_CAUSAL and N_Q > N_KV + BLOCK_M",
    "causal and ragged and strided": "IS_CAUSAL and RAGGED and stride_qd != 1",
    **PROGRAMS,
    **SECOND_AXIS,
    **_BATCHES,
    "all batches but the first, causal": "IS_CAUSAL and tl.program_id(1) >= H_Q",
    "the second tile of queries on, causal": "IS_CAUSAL and tl.program_id(0) > 0",
    **TURNS,
}


def _scores(mask: str) -> tuple[Guard, ...]:
    """For a kernel with a tile of scores `s`, whose rows `mask` selects."""
    empty = Guard("a second tile of -inf in a row, in some row", _some_row_empty("s", mask), "s", twice=True)
    return (*_guards(_TILES_OF_SCORES), *_guards(_rows("s", "m_i", mask), "s"), empty)


ATTENTION = _scores("mask_m")
# tiles whose rows are keys, in a loop over queries
KEYS_DOWN = (
    *_scores("mask_n"),
    *_guards({**_many("N_Q", "BLOCK_M", (8,), "tiles of queries"), "more than 600 queries": "N_Q > 600"}),
)

_O = _dtypes("o_ptr")
_O_STRIDED = {"strided": "stride_od != 1", "heads side by side": "stride_od == 1 and stride_om != D"}

# the output of attention and its gradient
DELTA = _guards(
    {
        **_WIDTHS,
        **{f"more than {n} queries": f"N_Q > {n}" for n in (64, 128, 600)},
        **_many("N_Q", "BLOCK_M", (1, 2, 4), "tiles of queries"),
        **_remainders("N_Q", "BLOCK_M", "queries"),
        **{f"tiles of {n} queries or more": f"BLOCK_M >= {n}" for n in (32, 64)},
        "tiles of as many queries as features": "BLOCK_M == D",
        **_O,
        "packed rows": "stride_om == D",
        "o and do of two strides": "stride_om != stride_dom",
        **_O_STRIDED,
        "several heads": "H_Q > 1",
        **_both(_O_STRIDED, {"float16": _O["float16"], "bfloat16": _O["bfloat16"], "several heads": "H_Q > 1"}),
        **PROGRAMS,
        **SECOND_AXIS,
        **_BATCHES,
    }
)

# the last keys only, and sinks
_WINDOWS = {
    "a window of one key": "WINDOW == 1",
    "a window of full tiles": "WINDOW % BLOCK_N == 0",
    **{f"a window of more than {n} tiles": f"WINDOW > {n} * BLOCK_N" for n in (0, 1, 2)},
    "a window shorter than a tile": "WINDOW < BLOCK_N",
    "a window of fewer keys than a tile has queries": "WINDOW < BLOCK_M",
    "a window of all keys": "WINDOW >= N_KV",
}
_SINKS = {"no sink": "SINKS == 0", "sinks among the scores": "SINKS == 1", "small and large sinks": "SINKS == 2"}
WINDOW = (
    *ATTENTION,
    *_guards(
        {
            **_WINDOWS,
            **_SINKS,
            **_both(_WINDOWS, {**_RAGGED, **_K16, **_SINKS, "the second tile of queries on": "tl.program_id(0) > 0"}),
            **_both(_SINKS, {**_GROUPS, **_K16, **_RAGGED}),
        }
    ),
)

# one query of each head, keys in splits
_K_STRIDED = {"strided": "stride_kd != 1", "heads side by side": "stride_kd == 1 and stride_kn != D"}
_SPLITS = {
    "one split": "SPLITS == 1",
    **{f"more than {n} splits": f"SPLITS > {n}" for n in (2, 4, 8)},
    "the last split of several": "SPLITS > 1 and tl.program_id(0) == SPLITS - 1",
    "more splits than keys": "SPLITS > N_KV",
    "as many keys in each split": "N_KV % SPLITS == 0",
    "splits of more than a tile": "N_KV > SPLITS * BLOCK_N",
    "more splits than entries": "SPLITS > MAX_PAGES",
}
_PAGES = {
    **{f"pages of {n} keys": f"PAGE == {n}" for n in (8, 16, 32, 64)},
    "a page for each tile": "PAGE == BLOCK_N",
    "several pages in a tile": "PAGE < BLOCK_N",
    "several tiles in a page": "PAGE > BLOCK_N",
    "one entry": "MAX_PAGES == 1",
    **{f"more than {n} entries": f"MAX_PAGES > {n}" for n in (4, 8, 64)},
}
DECODE = (
    *_guards(
        {
            **_WIDTHS,
            **{f"more than {n} keys": f"N_KV > {n}" for n in (64, 128, 600)},
            **_many("N_KV", "BLOCK_N", (1, 2, 4), "tiles of keys"),
            **_remainders("N_KV", "BLOCK_N", "keys"),
            **{f"tiles of {n} keys or more": f"BLOCK_N >= {n}" for n in (32, 64)},
            **_GROUPS,
            "a group of 1, several heads": "H_Q == H_KV and H_KV > 1",
            "a group that fills its tile": "H_Q == H_KV * BLOCK_G",
            "one key head": "H_KV == 1",
            **_K,
            **_RAGGED,
            **_K_STRIDED,
            "packed rows": "stride_kn == D",
            "k and v of two strides": "stride_kn != stride_vn",
            **_SPLITS,
            **_PAGES,
            **_both(_SPLITS, {**_K16, **_RAGGED, **_GROUPS}),
            **_both(_PAGES, {**_K16, **_RAGGED, **_K_STRIDED}),
            **_both(_K_STRIDED, {**_K16, **_RAGGED, **_GROUPS}),
            **PROGRAMS,
            **SECOND_AXIS,
            "all batches but the first": "tl.program_id(1) >= H_KV",
            "odd heads": "tl.program_id(1) % H_KV % 2 == 1",
            **TURNS,
        }
    ),
    *_guards(_rows("s", "m_i", "mask_g"), "s"),
)
MERGE = (
    *_guards({**_WIDTHS, **_O, **_PARTS, **_both({"float16": _O["float16"]}, _PARTS), **PROGRAMS}),
    *_guards(
        {
            "no split with a key": f"tl.max(lse_part, axis=0) == {_LOW}",
            "a split without a key": f"tl.max(((lse_part == {_LOW}) & (offs_s < SPLITS)).to(tl.int32), axis=0) == 1",
            "a first split without a key": f"tl.max(((lse_part == {_LOW}) & (offs_s == 0)).to(tl.int32), axis=0) == 1",
            "a single split with a key": f"tl.sum((lse_part > {_LOW}).to(tl.int32), axis=0) == 1",
            "a log-sum-exp below -88": f"(tl.max(lse_part, axis=0) < -88.0) & (tl.max(lse_part, axis=0) > {_LOW})",
            "a log-sum-exp above 88": "tl.max(lse_part, axis=0) > 88.0",
        },
        "lse_part",
    ),
)


# ----------------------------------------------------------------------------------------------------- linear attention

_SLICES = {"several slices of values": "D_V > BLOCK_V"}
_PAST = {"after a text": "PAST > 0"}
_PADDED_K = {"padded rows": "stride_kn != D"}

LINEAR = (
    *_guards(
        {
            **_WIDTHS,
            "D = D_V": "D == D_V",
            "D < D_V": "D < D_V",
            "D > D_V": "D > D_V",
            **_remainders("D_V", "BLOCK_V", "values"),
            **_SLICES,
            "more than 2 slices of values": "D_V > 2 * BLOCK_V",
            "D_V no multiple of 16": "D_V % 16 != 0",
            **{f"more than {n} tokens": f"N > {n}" for n in (64, 128, 600)},
            **_many("N", "CHUNK", (1, 2, 3, 8), "chunks"),
            **_remainders("N", "CHUNK", "tokens"),
            **{f"chunks of {n} tokens or more": f"CHUNK >= {n}" for n in (32, 64)},
            "CHUNK = BLOCK_V": "CHUNK == BLOCK_V",
            "CHUNK < BLOCK_V": "CHUNK < BLOCK_V",
            "CHUNK > D": "CHUNK > D",
            "CHUNK < D": "CHUNK < D",
            **{f"more than {n} keys": f"N_KV > {n}" for n in (64, 128, 600)},
            **_many("N_KV", "BLOCK_N", (1, 2, 8), "tiles of keys"),
            **_many("N_Q", "BLOCK_M", (1, 2, 8), "tiles of queries"),
            **_remainders("N_KV", "BLOCK_N", "keys"),
            **_remainders("N_Q", "BLOCK_M", "queries"),
            **_TILES,
            **_LONGER,
            **_RAGGED,
            **_PAST,
            "after no text": "PAST == 0",
            "slices of 32 values or more": "BLOCK_V >= 32",
            "several heads": "H > 1",
            "odd heads": "H % 2 == 1 and H > 1",
            **_K,
            **_PADDED_K,
            "packed rows": "stride_kn == D",
            "k and v of two strides": "stride_kn != stride_vn",
            **_both(_PADDED_K, {**_K16, **_SLICES, **_PAST, **_RAGGED}),
            **_both(
                _K16, {"D = 128": "D == 128", "more than 3 chunks": "N > 3 * CHUNK", **_SLICES, **_PAST, **_RAGGED}
            ),
            **_both(_PAST, {**_SLICES, "full chunks": "N % CHUNK == 0", "one chunk": "N <= CHUNK"}),
            **_both(_RAGGED, {**_FULL_KEYS, **_LONGER}),
            **_both(_SLICES, {"not full slices": "D_V % BLOCK_V != 0", "full chunks": "N % CHUNK == 0"}),
            **PROGRAMS,
            **SECOND_AXIS,
            "axis 2: all programs but the first": "tl.program_id(2) > 0",
            "axis 2: the last program of several": "tl.program_id(2) > 0 and tl.program_id(2) == tl.num_programs(2) - 1",
            "the second head on, the second slice on": "tl.program_id(0) > 0 and tl.program_id(1) > 0",
            **TURNS,
        }
    ),
    *_guards(
        {
            "a chunk whose features all vanish": "tl.max(k) < 1e-30",
            "a large feature in the chunk": "tl.max(k) > 1000.0",
            "a chunk with features below 1 only": "tl.max(k) < 1.0",
            "an empty state": "tl.max(z) == 0.0",
            "a state that is not empty": "tl.max(z) > 0.0",
            "a sum of features above 100": "tl.max(z) > 100.0",
        },
        "k",
    ),
)


def _decays(g: str) -> dict[str, str]:
    """For the logarithms of a chunk's decays [CHUNK], none of which is below -100."""
    return {
        "a chunk that forgets nothing": f"tl.min({g}, axis=0) == 0.0",
        "a chunk that forgets little": f"(tl.sum({g}, axis=0) > -1.0) & (tl.sum({g}, axis=0) < 0.0)",
        "a chunk whose decays add up to less than -88": f"tl.sum({g}, axis=0) < -88.0",
        "a token that forgets everything": f"tl.min({g}, axis=0) < -99.0",
        "a strong decay": f"(tl.min({g}, axis=0) < -8.0) & (tl.min({g}, axis=0) > -99.0)",
    }


_BETAS = {
    "a token that writes nothing": "tl.min(beta, axis=0) == 0.0",
    "a token that writes more than the difference": "tl.max(beta, axis=0) > 1.0",
    "tokens that write little": "tl.max(beta, axis=0) < 0.1",
}
_HELD = {"an empty state": "tl.max(tl.abs(state)) == 0.0", "a state above 100": "tl.max(tl.abs(state)) > 100.0"}
FORGETTING = (*LINEAR, *_guards({**_decays("g"), **_HELD}, "g"))
TOKENS = (
    *LINEAR,
    *_guards(
        {
            "a token that forgets nothing": "g == 0.0",
            "a token that forgets everything": f"g == {_LOW}",
            "a strong decay": f"(g < -8.0) & (g > {_LOW})",
            "a token that writes nothing": "beta == 0.0",
            "a token that writes all of the difference": "beta == 1.0",
            "a token that writes more than the difference": "beta > 1.0",
            **_HELD,
        },
        "beta",
    ),
)
_V = _dtypes("v_ptr")
# a chunk for each program
CHUNKS = (
    *_guards(
        {
            **_WIDTHS,
            **{f"D_V = {d}": f"D_V == {d}" for d in (16, 32, 64)},
            "D < D_V": "D < D_V",
            "D > D_V": "D > D_V",
            **{f"chunks of {n} tokens": f"CHUNK == {n}" for n in (16, 32, 64)},
            **{f"more than {n} chunks": f"N_CHUNKS > {n}" for n in (1, 2, 4)},
            **_remainders("N", "CHUNK", "tokens"),
            "CHUNK > D": "CHUNK > D",
            "CHUNK < D": "CHUNK < D",
            **_K,
            **{f"values in {name}": test for name, test in _V.items()},
            **_PADDED_K,
            "padded values": "stride_vn != D_V",
            "k and v of two strides": "stride_kn != stride_vn",
            **_both(_PADDED_K, _K16),
            "an unfinished chunk": "tl.program_id(0) * CHUNK + CHUNK > N",
            **PROGRAMS,
            **SECOND_AXIS,
            **TURNS,
            **{f"row {n} on": f"turn >= {n - 1}" for n in (16, 17, 48)},
        }
    ),
    *_guards({**_decays("tl.maximum(g, -100.0)"), **_BETAS}, "beta"),
)
PREFIX = _guards(
    {
        **{f"more than {n} chunks": f"N_CHUNKS > {n}" for n in (4, 8, 12, 32)},
        "one chunk": "N_CHUNKS == 1",
        **{f"states of more than {n:,} numbers": f"SIZE > {n}" for n in (32, 64, 1024)},
        **_remainders("SIZE", "BLOCK_SIZE", "numbers"),
        "tiles of 32 numbers or more": "BLOCK_SIZE >= 32",
        "tiles of 8 numbers or fewer": "BLOCK_SIZE <= 8",
        "as many chunks as numbers or more": "N_CHUNKS >= SIZE",
        "several groups": "tl.num_programs(1) > 1",
        "several tiles and several groups": "tl.num_programs(1) > 1 and SIZE > BLOCK_SIZE",
        **PROGRAMS,
        **SECOND_AXIS,
        **TURNS,
    }
)
