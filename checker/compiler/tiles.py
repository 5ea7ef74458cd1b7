"""What Triton's own intermediate text (TTGIR) says about tiles: how they lie in shared memory, and which are multiplied.

The text is no interface of Triton's: what is not understood is left out, and where nothing is, the answer is "not known".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_ALIAS = re.compile(r"^#(\w+) = #(?:ttg|ttng|triton_gpu)\.(\w+)<(.*)>\s*$", re.MULTILINE)
_FIELD = re.compile(r"(\w+) = (true|false|-?\d+|\[[\d, ]*\])")
_ALLOCATED = re.compile(r"\blocal_alloc\b.*?!ttg\.memdesc<((?:\d+x)+)([a-z]\w*), #(\w+)")
_DOT = re.compile(r"\b(?:tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma)\s[^\n]*")
_TYPE = re.compile(r"\b(?:tensor|memdesc)<((?:\d+x)+)([a-z]\w*)(?:, #(\w+))?")


@dataclass(frozen=True)
class SharedTile:
    """Tiles of one kind in shared memory, `shape` in elements, of which `inner` lie side by side.

    `kind` is Triton's name of the layout: ``swizzled_shared`` (`vec`, `per_phase`, `max_phase`), ``nvmma_shared``
    (`swizzle_bytes`), or another. `stages` buffers stand behind one another for a pipelined loop.
    """

    kind: str
    shape: tuple[int, ...]
    bits: int
    stages: int = 1
    count: int = 1
    inner: int = 1
    vec: int = 1
    per_phase: int = 1
    max_phase: int = 1
    swizzle_bytes: int | None = None


@dataclass(frozen=True)
class Dot:
    """``[m, k] @ [k, n]``, its operands as the hardware gets them; `tensor_core` says what does it, None where that is not known."""

    m: int
    n: int
    k: int
    operands: str
    tensor_core: bool | None


def shared_tiles(ttgir: str) -> tuple[SharedTile, ...]:
    """Every tile that is kept in shared memory, tiles of one kind counted."""
    aliases = _aliases(ttgir)
    found: Counter[SharedTile] = Counter()
    for match in _ALLOCATED.finditer(ttgir):
        shape = tuple(int(n) for n in match[1].rstrip("x").split("x"))
        kind, text = aliases.get(match[3], ("", ""))
        found[_tile(kind, dict(_FIELD.findall(text)), shape, _bits(match[2]))] += 1
    return tuple(SharedTile(**{**vars(tile), "count": count}) for tile, count in found.items())


def _tile(kind: str, fields: dict[str, str], shape: tuple[int, ...], bits: int) -> SharedTile:
    order = [int(n) for n in re.findall(r"\d+", fields.get("order", ""))]
    rank = len(order) or min(2, len(shape))
    stages = 1
    for extra in shape[: len(shape) - rank]:
        stages *= extra
    own = shape[len(shape) - rank :]
    fastest = order[0] if order else (0 if fields.get("transposed") == "true" else rank - 1)
    number = {name: int(value) for name, value in fields.items() if value.lstrip("-").isdigit()}
    return SharedTile(
        kind,
        own,
        bits,
        stages,
        inner=own[fastest] if fastest < len(own) else 1,
        vec=number.get("vec", 1),
        per_phase=number.get("perPhase", 1),
        max_phase=number.get("maxPhase", 1),
        swizzle_bytes=number.get("swizzlingByteWidth"),
    )


def dots(ttgir: str) -> tuple[Dot, ...]:
    """Every product of tiles, once for each place in the program; equal ones are named once."""
    aliases = _aliases(ttgir)
    found: dict[Dot, None] = {}
    for match in _DOT.finditer(ttgir):
        types = _TYPE.findall(match[0])
        if len(types) < 3:
            continue
        (a, operands, _), (b, _, _), (_, _, layout) = types[:3]
        (m, k), n = _sides(a), _sides(b)[1]
        kind = aliases.get(layout, ("", ""))[0]
        tensor_core = True if "mma" in kind or "tc_gen5" in match[0] else False if kind == "blocked" else None
        found[Dot(m, n, k, operands, tensor_core)] = None
    return tuple(found)


def _sides(text: str) -> tuple[int, int]:
    sides = [int(n) for n in text.rstrip("x").split("x")]
    return sides[-2], sides[-1]


def _aliases(ttgir: str) -> dict[str, tuple[str, str]]:
    """Kind and fields of a layout by the name that the text gives it."""
    return {match[1]: (match[2], match[3]) for match in _ALIAS.finditer(ttgir)}


def _bits(dtype: str) -> int:
    """Bits of one element: ``f16`` has 16, ``bf16`` 16, ``f8E4M3FN`` 8."""
    digits = re.match(r"[a-z]+(\d+)", dtype)
    return int(digits[1]) if digits else 0
