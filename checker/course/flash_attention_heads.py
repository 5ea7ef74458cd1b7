"""flash_attention_heads: attention as models use it: batch, heads, grouped K/V heads, causal, ragged lengths, any layout."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import torch

from checker.course import slips
from checker.course.attention_inputs import attention, counted, queries_keys_values, running
from checker.course.diagrams import attention as attention_diagram
from checker.course.families import generator, row_magnitude
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Hint, Launch, Long, Puzzle, Scalar, Tensors, Tolerance


def _sizes(case: Case) -> tuple[int, int, int, int, int, int]:
    """B, H_Q, H_KV, N_Q, N_KV, D. Raises ValueError where the query heads do not fall into equal groups."""
    b, h_q, h_kv, n_q, n_kv, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_Q", "N_KV", "D"))
    if h_q % h_kv:
        raise ValueError(f"{h_q} query heads cannot share {h_kv} key heads evenly")
    return b, h_q, h_kv, n_q, n_kv, d


_STRIDED = {"q_ptr": ((0, 2, 1, 3), 2, 8), "k_ptr": ((0, 1, 3, 2), 1, 5), "v_ptr": ((1, 0, 2, 3), 3, 0), "o_ptr": ((2, 0, 1, 3), 4, 0)}  # fmt: skip
"""Of a strided layout, for each tensor: the order of its dimensions in memory, the step of the last one, and the gap after it."""


def _laid_out(x: torch.Tensor, case: Case, name: str) -> torch.Tensor:
    """[B, H, N, D] in memory as the case says.

    `transposed` lies as [B, N, H, D], the layout a projection leaves behind. `strided`: every tensor in an order of its own,
    with gaps, so that no stride can be taken for another tensor's or left out; keys as caches hold them, D before N.
    """
    match case.layout:
        case "contiguous":
            return x.contiguous()
        case "transposed":
            return x.transpose(1, 2).contiguous().transpose(1, 2)
        case "strided":
            order, step, gap = _STRIDED[name]
            along = x.permute(order)
            wide = torch.full((*along.shape[:-1], along.shape[-1] * step + gap), torch.nan, dtype=x.dtype)
            wide[..., : along.shape[-1] * step : step] = along
            back = sorted(range(4), key=order.__getitem__)
            return wide[..., : along.shape[-1] * step : step].permute(back)
        case other:
            raise ValueError(f"no layout is called {other!r}")


def _key_lengths(case: Case) -> torch.Tensor:
    """[B] int32: all keys, unless the case is ragged: then the first batch lacks some, and the last has none at all."""
    b, n_kv = case.sizes["B"], case.sizes["N_KV"]
    lengths = torch.full((b,), n_kv, dtype=torch.int32)
    if case.flags.get("RAGGED"):
        lengths[:] = torch.randint(1, n_kv + 1, (b,), generator=generator(case), dtype=torch.int32)
        lengths[0] = max(1, 3 * n_kv // 4)
        lengths[-1] = 0
    return lengths


def make(case: Case) -> Tensors:
    b, h_q, h_kv, n_q, n_kv, d = _sizes(case)
    q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d))
    lengths = _key_lengths(case)
    padding = torch.arange(n_kv) >= lengths[:, None]  # [B, N_KV]
    k = k.masked_fill(padding[:, None, :, None], 7.0)  # padded keys hold numbers: whoever counts them is seen
    v = v.masked_fill(padding[:, None, :, None], 50.0)
    return {
        "q_ptr": _laid_out(q, case, "q_ptr"),
        "k_ptr": _laid_out(k, case, "k_ptr"),
        "v_ptr": _laid_out(v, case, "v_ptr"),
        "o_ptr": _laid_out(torch.zeros_like(q), case, "o_ptr"),
        "lse_ptr": torch.zeros(b, h_q, n_q, dtype=torch.float32),
        "key_lengths_ptr": lengths,
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    _, h_q, h_kv, n_q, n_kv, d = _sizes(case)
    group = h_q // h_kv
    k, v = (inputs[name].repeat_interleave(group, dim=1) for name in ("k_ptr", "v_ptr"))
    keys = torch.arange(n_kv)
    seen = (keys < inputs["key_lengths_ptr"][:, None])[:, None, None, :]  # [B, 1, 1, N_KV]
    if case.flags["IS_CAUSAL"]:
        seen = seen & (keys - torch.arange(n_q)[:, None] <= n_kv - n_q)
    o, lse = attention(inputs["q_ptr"], k, v, d**-0.5, seen)
    return {"o_ptr": o, "lse_ptr": lse}


def _visible(case: Case, tensors: Tensors, at: tuple[int, ...]) -> torch.Tensor:
    """[N_Q, N_KV] of batch ``at[0]``: keys below its length and, under a causal mask, not past the query, the ends aligned."""
    n_q, n_kv, keys = case.sizes["N_Q"], case.sizes["N_KV"], torch.arange(case.sizes["N_KV"])
    seen = (keys < tensors["key_lengths_ptr"][at[0]]).expand(n_q, n_kv)
    return seen & (keys - torch.arange(n_q)[:, None] <= n_kv - n_q) if case.flags["IS_CAUSAL"] else seen


def _head_kv(case: Case, at: tuple[int, ...]) -> tuple[int, ...]:
    """Batch and key head of a query head."""
    return (at[0], at[1] // (case.sizes["H_Q"] // case.sizes["H_KV"]))


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    b, h_q, h_kv, n_q, n_kv, d = _sizes(case)
    axes = {"q": "bhmd", "k": "bhnd", "v": "bhnd", "o": "bhmd"}
    strides = {
        f"stride_{name}{axis}": tensors[f"{name}_ptr"].stride(i) for name in axes for i, axis in enumerate(axes[name])
    }
    return Launch(
        grid=(-(-n_q // int(meta["BLOCK_M"])), b * h_q),
        arguments={**tensors, **strides, "scale": d**-0.5, "H_Q": h_q, "H_KV": h_kv, "N_Q": n_q, "N_KV": n_kv},
        meta={**meta, "IS_CAUSAL": bool(case.flags["IS_CAUSAL"]), "D": d},
        outputs=("o_ptr", "lse_ptr"),
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, _, n_q, n_kv, d = _sizes(case)
    block_m, block_n, itemsize = case.meta["BLOCK_M"], case.meta["BLOCK_N"], DTYPES[case.dtype].itemsize
    keys = 0  # keys loaded, over all programs of all batches
    for length in _key_lengths(case).tolist():
        for start_m in range(0, n_q, block_m):
            end = min(length, start_m + block_m + n_kv - n_q) if case.flags["IS_CAUSAL"] else length
            keys += h_q * min(length, -(-max(end, 0) // block_n) * block_n)
    queries, programs = b * h_q * n_q * d * itemsize, b * h_q * -(-n_q // block_m)
    needed = "only the tiles that a query of the tile may see, each once"
    return {
        "q_ptr": Allowance(queries, 0, "a tile of queries is loaded once and kept"),
        "k_ptr": Allowance(keys * d * itemsize, 0, needed),
        "v_ptr": Allowance(keys * d * itemsize, 0, needed),
        "o_ptr": Allowance(
            0,
            queries,
            "the output is written once, at the end, and never read: scores, weights and half-done rows stay on chip",
        ),
        "lse_ptr": Allowance(0, b * h_q * n_q * 4, "one number a query"),
        "key_lengths_ptr": Allowance(programs * 4, 0, "one number a program"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """A row of O is measured against its largest element, a log-sum-exp against its own size, and at least 1."""
    return row_magnitude(case, output, expected) if output == "o_ptr" else expected.abs().clamp(1.0)


def _case(b: int, h: tuple[int, int], n: tuple[int, int], d: int, block: tuple[int, int], **more: object) -> Case:
    causal, ragged = bool(more.pop("causal", False)), bool(more.pop("ragged", False))
    dtype, family = str(more.get("dtype", "float32")), str(more.get("family", "normal"))
    name = f"{b} × {h[0]}/{h[1]} heads, {counted(n[0], 'query', 'queries')} × {counted(n[1], 'key', 'keys')}, D = {d}, tiles {block[0]} × {block[1]}, {dtype}"
    name += ", causal" if causal else ""
    name += ", ragged" if ragged else ""
    name += f", {family} scores"
    name += f", {more['layout']}" if more.get("layout", "contiguous") != "contiguous" else ""
    return Case(
        name,
        {"B": b, "H_Q": h[0], "H_KV": h[1], "N_Q": n[0], "N_KV": n[1], "D": d},
        {"BLOCK_M": block[0], "BLOCK_N": block[1]},
        flags={"IS_CAUSAL": causal, "RAGGED": ragged},
        **more,  # type: ignore[arg-type]
    )


_GPU = frozenset({"gpu"})
_STRIDES = tuple(
    f"stride_{name}{axis}" for name, axes in zip("qkvo", ("bhmd", "bhnd", "bhnd", "bhmd"), strict=True) for axis in axes
)


def _grouped_heads(draw: Random, number: int, sizes: slips.Sizes) -> slips.Flags:
    shared, h_kv = draw.choice((1, 2, 3)), draw.choice((1, 2))
    sizes |= {"B": draw.choice((1, 2, 3)), "H_Q": shared * h_kv, "H_KV": h_kv}
    return {"IS_CAUSAL": number % 3 > 0, "RAGGED": sizes["B"] > 1 and number % 2 == 0}


PUZZLE = Puzzle(
    name="flash_attention_heads",
    title="FlashAttention as models use it",
    kernel="flash_attention_heads_kernel",
    parameters=(
        *("q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse_ptr", "key_lengths_ptr"),
        *_STRIDES,
        *("scale", "H_Q", "H_KV", "N_Q", "N_KV", "IS_CAUSAL", "BLOCK_M", "BLOCK_N", "D"),
    ),
    notebook="05_flash_attention",
    points=8,
    outputs=("o_ptr", "lse_ptr"),
    statement="Attention over batch and heads with grouped K/V heads, any strides, causal with the ends aligned, keys padded to "
    "key_lengths[b], the log-sum-exp saved. A query that sees no key gives 0 and a log-sum-exp of -inf.",
    cases=(
        _case(1, (1, 1), (32, 32), 16, (16, 16), causal=True),
        _case(1, (2, 1), (17, 33), 16, (16, 32), layout="transposed"),
        _case(3, (1, 1), (20, 40), 16, (16, 16), ragged=True, family="constant"),
        _case(1, (4, 2), (18, 50), 16, (16, 32), causal=True, family="ramp", layout="transposed"),
        _case(1, (1, 1), (50, 26), 16, (32, 16), causal=True, family="huge"),
        _case(2, (2, 1), (33, 47), 16, (16, 16), causal=True, ragged=True, family="negative"),
        _case(1, (1, 1), (33, 48), 64, (32, 16), causal=True, dtype="float16", family="ramp"),
        _case(1, (2, 2), (17, 40), 32, (16, 32), dtype="bfloat16", family="positive", layout="transposed"),
        _case(1, (1, 1), (18, 35), 16, (16, 16), causal=True, family="sink"),
        _case(2, (4, 2), (17, 24), 16, (16, 16), layout="strided"),
        _case(2, (8, 2), (1000, 1031), 64, (64, 32), devices=_GPU, causal=True, ragged=True, family="rising"),
        _case(2, (8, 8), (1031, 777), 64, (64, 64), devices=_GPU, causal=True, dtype="float16", layout="transposed"),
        _case(2, (16, 4), (2048, 2048), 128, (64, 64), devices=_GPU, causal=True, dtype="bfloat16"),
        _case(3, (8, 2), (1024, 4096), 128, (64, 32), devices=_GPU, ragged=True, dtype="bfloat16", family="rising"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance={
        "float32": Tolerance(rtol=4e-3, c=4.0 * 2**13),  # TF32, see flash_attention
        "float16": Tolerance(rtol=4e-3, c=4.0),
        "bfloat16": Tolerance(rtol=1.6e-2, c=4.0),
    },
    hint=Hint(
        question="Four query heads share two key heads: which key head does query head 3 use? Three queries stand at the end of five "
        "keys: which keys may the first of them see?",
        idea="Key head = head // (H_Q // H_KV). Query i sees key j when j - i <= N_KV - N_Q, and j < key_lengths[batch]. So the loop may "
        "stop early: no query of the tile sees past (pid_m + 1) * BLOCK_M + N_KV - N_Q. A row that has seen nothing has m_new = -inf: "
        "subtract 0 instead, and divide by 1 where l_i is 0.",
        skeleton="batch, head = ...\nhead_kv = ...\nend_n = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)\nlength = end_n\n"
        "if IS_CAUSAL:\n    end_n = tl.minimum(end_n, ...)\nfor start_n in range(0, end_n, BLOCK_N):\n    ...\n    seen = ...\n"
        "    s = tl.where(seen, s, float('-inf'))\n    m_new = ...\n    m_safe = tl.where(m_new == float('-inf'), 0.0, m_new)\n    ...\n"
        "tl.store(...)  # o\ntl.store(...)  # m_i + log(l), per query",
    ),
    explanation="Heads only choose where a program's rows start; grouped heads share keys, so consecutive heads read the same K and V. "
    "Under a causal mask the tiles above the diagonal hold nothing, and not loading them halves the work. The log-sum-exp m + log(l) "
    "is all that the backward pass needs to rebuild any score's weight without the matrix.",
    long=(
        Long(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "batch"),
        Long(("q_ptr", "o_ptr"), "head", (1,)),
    ),
    film=FilmSpec(
        case=_case(1, (1, 1), (128, 128), 16, (32, 32), causal=True, family="ramp"),
        diagram=attention_diagram(running(_visible, _head_kv), ("lse_ptr",)),
        state={"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"},
        choices={"N_Q": (64, 128), "N_KV": (64, 128, 160), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    slips=slips.attention(("contiguous", "transposed", "strided"), _grouped_heads),
)
