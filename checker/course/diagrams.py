"""The stages of the films: matrices side by side, the square of attention's scores, the state of linear attention."""

from __future__ import annotations

import math
from dataclasses import replace

from checker.films.diagram import Accumulator, Band, Diagram, Drawn, Enlarged, KeptState, RunningState, Square, Update


def flowing(running: RunningState | None = None, **tensors: tuple[str, ...]) -> Diagram:
    """Tensors one after another, given as parameter name and axes; the running state is drawn beside its rows."""
    return Diagram({name: Drawn(axes) for name, axes in tensors.items()}, running=running)


def shrink(before: float, after: float) -> float:
    """The factor of a sum of exp(x - maximum) when the maximum changes from `before` to `after`."""
    return math.exp(before - after)


ONLINE = Update(
    measure="m_i",
    total="l_i",
    factor=shrink,
    begins="The first chunk has the maximum {after}, and its terms add up to {new}.",
    changes="The maximum rose from {before} to {after}: the old sum shrinks to {factor} of itself, and the new terms add {new}.",
    stays="The maximum stays {after}: the old sum stays as it is, and the new terms add {new}.",
    departs="The sum should be {sum}, and the kernel holds {got}.",
)
"""A sum of exp(x - maximum) that is rescaled when the maximum rises (Milakov & Gimelshein 2018, algorithm 3)."""

ONLINE_ATTENTION = replace(
    ONLINE,
    accumulator=Accumulator(
        names=("acc",),
        left=("p",),
        right=("v",),
        said="The accumulator shrinks by the same {factor}, and p · v is added.",
    ),
)


def matrices(running: RunningState | None = None) -> Diagram:
    """x and y, side by side."""
    return flowing(running, x_ptr=("row", "column"), y_ptr=("row", "column"))


def attention(
    running: RunningState, per_query: tuple[str, ...] = (), accumulator: tuple[str, str] = ("acc", "acc")
) -> Diagram:
    """The square of scores, with q and o along its queries and k and v along its keys.

    `per_query` are tensors with one number a query. `accumulator` names the variable before and after a tile's share is added.
    """
    return Diagram(
        {
            "q_ptr": Drawn(("query", "feature")),
            "k_ptr": Drawn(("key", "feature")),
            "v_ptr": Drawn(("key", "value")),
            "o_ptr": Drawn(("query", "value")),
            **{name: Drawn(("query",)) for name in per_query},
        },
        down=(Band("feature", 48), Band("query", 240, 8, numbered=True), Band("value", 48)),
        across=(Band("feature"), Band("key", 300, 8, numbered=True), Band("", 14), Band("value")),
        running=running,
        square=scores(
            "o[{rows}]", "queries {rows}", ("scores: one tile at a time,", "on chip, never in memory"), accumulator
        ),
    )


def scores(result: str, rows: str, about: tuple[str, str], accumulator: tuple[str, str] = ("acc", "acc")) -> Square:
    """A tile of scores on chip with the factor and the accumulator, before and after a tile's share. `rows` and `result` name what they are."""
    old, new = accumulator
    return Square(
        "q_ptr",
        "k_ptr",
        ("s", "scores", "qk", "p"),
        (
            Enlarged(("s", "scores", "qk", "p")),
            Enlarged(("alpha",), sign="→", note="0 … 1", vector=True),
            Enlarged((old,), "before", sign="×", note="before", changes=new),
            Enlarged((new,), "after", sign="+ p·v →", note="after"),
        ),
        made="{tile} = q[{rows}] · k[{columns}]ᵀ, on chip",
        used=f"{{result}} of {result}: rescaled, + p · v[{{columns}}]",
        here=f"{rows}, keys {{columns}}",
        nothing="no tile of scores is on chip now",
        legend=("scores of the tile on chip", "masked scores, -∞"),
        about=about,
    )


_DS = Enlarged(("ds", "dsT", "ds_t"), sign="→", signed=True)
_NARROW = (Band("feature", 19), Band("value", 19))
_FLAT = (Band("feature", 44), Band("value", 44))


def _backward(rows: str, columns: str, weights: str, results: tuple[Enlarged, ...], products: dict[str, str]) -> Square:
    """The square of the weights P and of dS in a backward kernel, which makes both again tile by tile.

    `rows` and `columns` are ``"keys"`` and ``"queries"``, in either order. `weights` are names of P, `products` captions of products
    by the variables they go to; names are separated by spaces.
    """
    pointers = {"keys": "k_ptr", "queries": "q_ptr"}
    return Square(
        pointers[rows],
        pointers[columns],
        tuple(weights.split()),
        (Enlarged(("p", "pT", "p_t", "weights")), _DS, *results),
        made=f"a product of {rows} {{rows}} and {columns} {{columns}}, on chip",
        used=f"{{result}} of {rows} {{rows}}: + what {columns} {{columns}} send",
        here=f"{rows} {{rows}}, {columns} {{columns}}",
        nothing="no weights are on chip now",
        legend=("weights of the tile on chip", "masked scores, -∞"),
        about=("P and dS: one tile at a time,", "on chip, never in memory"),
        products={name: caption for names, caption in products.items() for name in names.split()},
    )


def attention_dkdv() -> Diagram:
    """The square of weights with keys down and queries across. Left and right of it is what a program keeps, above it what it loads in turn.

    ::

                  q [feature, query]
                  do [value, query]
                  lse, delta [query]
        k, v      P and dS             dk, dv
    """
    return Diagram(
        {
            "q_ptr": Drawn(("query", "feature")),
            "do_ptr": Drawn(("query", "value")),
            "lse_ptr": Drawn(("query",), ("lse", "query")),
            "delta_ptr": Drawn(("query",), ("delta", "query")),
            "k_ptr": Drawn(("key", "feature")),
            "v_ptr": Drawn(("key", "value")),
            "dk_ptr": Drawn(("key", "feature"), ("key", "dk")),
            "dv_ptr": Drawn(("key", "value"), ("key", "dv")),
            "key_lengths_ptr": Drawn(("text",), ("feature", "dv"), inset=True),
        },
        down=(*_FLAT, Band("lse", 10, 10), Band("delta", 10, 10), Band("key", 260, 8, numbered=True)),
        across=(*_NARROW, Band("query", 260, 8, numbered=True), Band("dk", 19), Band("dv", 19)),
        square=_backward(
            "keys",
            "queries",
            weights="p pT p_t weights",
            results=(
                Enlarged(("dv",), "after", sign="p·do →", note="after"),
                Enlarged(("dk",), "after", sign="ds·q →", note="after"),
            ),
            products={
                "s sT s_t qk": "scores: k[{rows}] · q[{columns}]ᵀ, made again",
                "dp dpT dp_t": "dP: v[{rows}] · do[{columns}]ᵀ, on chip",
                "dv": "dv[{rows}] += p · do[{columns}]",
                "dk": "dk[{rows}] += ds · q[{columns}]",
            },
        ),
    )


def attention_dq() -> Diagram:
    """The same square with queries down and keys across.

    ::

                            k [feature, key]
                            v [value, key]
        q, do, lse, delta   P and dS           dq
    """
    return Diagram(
        {
            "k_ptr": Drawn(("key", "feature")),
            "v_ptr": Drawn(("key", "value")),
            "q_ptr": Drawn(("query", "feature")),
            "do_ptr": Drawn(("query", "value")),
            "lse_ptr": Drawn(("query",), ("query", "lse")),
            "delta_ptr": Drawn(("query",), ("query", "delta")),
            "dq_ptr": Drawn(("query", "feature"), ("query", "dq")),
            "key_lengths_ptr": Drawn(("text",), ("feature", "dq"), inset=True),
        },
        down=(*_FLAT, Band("query", 260, 8, numbered=True)),
        across=(*_NARROW, Band("lse", 10), Band("delta", 10), Band("key", 260, 8, numbered=True), Band("dq", 19)),
        square=_backward(
            "queries",
            "keys",
            weights="p weights",
            results=(Enlarged(("dq",), "after", sign="ds·k →", note="after"),),
            products={
                "s qk": "scores: q[{rows}] · k[{columns}]ᵀ, made again",
                "dp": "dP: do[{rows}] · v[{columns}]ᵀ, on chip",
                "dq": "dq[{rows}] += ds · k[{columns}]",
            },
        ),
    )


_LINEAR = KeptState(
    names=("state", "S", "kv", "mem", "s"),
    sums=("z", "z_i", "k_sum"),
    axes=("feature", "value"),
    at=("feature", "value"),
    before_at=("feature", ""),
    added="k_ptr",
    rows="k_ptr",
    columns="v_ptr",
    queries="q_ptr",
    output="o_ptr",
    start=("s0_ptr", "z0_ptr"),
    end=("s_ptr", "z_ptr"),
    adds="φ(k{added})ᵀ · v{added}",
    reads="φ(q{queries}) · {state}",
    holds=", which holds keys {seen}",
    empty=", which holds no keys so far",
    tokens=": tokens {seen}",
    title="{state}: φ(K)ᵀV",
    about="Weights are never formed: the pairs in grey went through the state, as a sum.",
    unread="No pair of query and key was seen to go through a state.",
    square=("q_ptr", "k_ptr"),
)
_WEIGHTS = Square(
    "q_ptr",
    "k_ptr",
    ("a", "w", "weights", "scores", "p"),
    (Enlarged(("a", "w", "weights", "scores", "p")),),
    made="{tile} = φ(q[{rows}]) · φ(k[{columns}])ᵀ, on chip",
    used="+ {tile} · v[{columns}]: the keys of this chunk",
    here="queries {rows}, keys {columns}",
    nothing="no weights are on chip now",
    legend=("weights of the tile on chip", "masked weights, -∞"),
    skips=False,  # pairs without a tile went through the state or come later
)


def linear(
    output: str = "o_ptr", ends: bool = True, chunks: bool = False, queries: bool = True, weights: bool = False
) -> Diagram:
    """The state φ(K)ᵀ V between k, to its left, and v, above it; below it the square of weights and the output.

    ::

                     v [N, D_V]     start (memory)
        k [D, N]     S [D, D_V] z   S before this step
        q [N, D] A   o [N, D_V]     end (memory)
        chunks (memory), in a row

    Tensors are placed as in a product: an element of S has its row in k and its column in v, an element of o has its row in q
    (and in the weights A) and its column in S (and in v). `ends`: states in memory before and after the text. `chunks`: a state
    for each chunk, which with `queries` is what the chunk starts from. `weights`: those inside a chunk, on chip.
    """
    tensors = {"k_ptr": Drawn(("key", "feature"), ("feature", "key")), "v_ptr": Drawn(("key", "value"))}
    if queries:
        tensors = {"q_ptr": Drawn(("query", "feature")), **tensors, output: Drawn(("query", "value"))}
    if output == "num_ptr":
        tensors["den_ptr"] = Drawn(("query",), ("query", ""))
    if ends:
        for held, total, row in (("s0_ptr", "z0_ptr", "key"), ("s_ptr", "z_ptr", "query")):
            tensors[held] = Drawn(("feature", "value"), (row, ""), inset=True)
            tensors[total] = Drawn(("feature",), (row, ""), inset=True)
    state = replace(_LINEAR, output=output, square=_LINEAR.square if queries else None)
    if chunks:
        tensors["s_ptr"] = Drawn(("feature", "value"), ("chunk", ""), in_a_row=True)
        tensors["z_ptr"] = Drawn(("feature",), ("chunk", ""), in_a_row=True)
        state = replace(state, chunks=("s_ptr", "z_ptr"), given=queries)
    if not ends:
        state = replace(state, start=(), end=())
    if weights:
        grey = "the pairs in grey went through the state, as a sum."
        state = replace(state, about=f"Weights: only tiles on the diagonal are ever on chip; {grey}")
    return Diagram(
        tensors,
        down=(
            Band("key", 92, 12, numbered=True),
            Band("feature", 112),
            Band("query", 176, 12, numbered=True),
            Band("chunk", 72, 6),
        ),
        across=(Band("feature", 48), Band("key", 176, 12, numbered=True), Band("value", 150), Band("", 14)),
        square=_WEIGHTS if weights else None,
        state=state,
    )


def decayed(values: str = "v_ptr") -> Diagram:
    """As `linear` with weights, without features and their sums; the logarithms of the decays stand beside the output.

    `values` are what tokens write; those of the delta rule are given, with what each takes back from the state.
    """
    plain = linear(weights=True)
    assert plain.state is not None
    assert plain.square is not None
    tensors = {name: drawn for name, drawn in plain.tensors.items() if name not in ("z0_ptr", "z_ptr")}
    tensors = {values if name == "v_ptr" else name: drawn for name, drawn in tensors.items()}
    state, tile, written = plain.state, plain.square.tile, "v"
    if values == "u_ptr":
        tensors["w_ptr"] = Drawn(("query", "feature"), ("query", ""))
        tile = tuple(name for name in tile if name != "w")  # a tile that is loaded
        written = "(U - W S)"
        state = replace(state, taken_by="w_ptr", takes_back="w{rows} · {state}: what is to go before u{rows} comes")
    return replace(
        plain,
        tensors={**tensors, "g_ptr": Drawn(("query",), ("query", ""))},
        square=replace(
            plain.square,
            tile=tile,
            lens=(Enlarged(tile, signed=True),),
            made="{tile} = q[{rows}] · k[{columns}]ᵀ, each decayed, on chip",
            used=f"+ {{tile}} · {written}[{{columns}}]: the keys of this chunk",
        ),
        state=replace(
            state,
            sums=(),
            columns=values,
            start=("s0_ptr",),
            end=("s_ptr",),
            decays=True,
            adds=f"what is left of it + k{{added}}ᵀ · {written}{{added}}, decayed",
            reads="q{queries}, decayed, · {state}",
            title="{state}: KᵀV",
        ),
    )


def delta() -> Diagram:
    """As `linear`, for a state that is corrected token by token: decays and strengths stand beside the keys' values."""
    plain = linear()
    assert plain.state is not None
    tensors = {name: drawn for name, drawn in plain.tensors.items() if name not in ("z0_ptr", "z_ptr")}
    beside = {name: Drawn(("query",), ("query", "")) for name in ("g_ptr", "beta_ptr")}
    return replace(
        plain,
        tensors={**tensors, **beside},
        state=replace(
            plain.state,
            sums=(),
            start=("s0_ptr",),
            end=("s_ptr",),
            decays=True,
            adds="what is left of it + k{added}ᵀ · beta (v{added} - k{added} · what is left)",
            reads="q{queries} · {state}",
            title="{state}",
            about="A row of the state answers one feature. What it held under a key goes, and the new value comes.",
        ),
    )


PREFIX = Diagram(
    {
        "x_ptr": Drawn(("chunk", "size"), ("chunk", "size")),
        "x0_ptr": Drawn(("size",), ("start", "size")),
        "start_ptr": Drawn(("chunk", "size"), ("starts", "size")),
        "end_ptr": Drawn(("size",), ("end", "size")),
    },
    down=tuple(
        Band(name, 150, 15, numbered=name == "chunk") for name in ("start", "chunk", "before", "state", "starts", "end")
    ),
    across=(Band("size", 600, 26),),
    state=KeptState(
        names=("state", "S", "kv", "mem", "s"),
        axes=("size",),
        at=("state", "size"),
        before_at=("before", "size"),
        added="x_ptr",
        columns="x_ptr",
        start=("x0_ptr",),
        end=("end_ptr",),
        chunks=("start_ptr",),
        flat=True,
        adds="x{added}",
        reads="{stored} = {state}",
        holds=": x0 and all of x[{seen}]",
        empty=": only x0",
        title="{state}, on chip, after this step",
    ),
)
"""A running sum of given states. In the same columns, what is added is above the state, and what was stored from it is below."""
