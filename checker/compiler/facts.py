"""Facts about a compiled kernel without running it, from PTX, cubin, and Triton's own intermediate text (TTGIR).

None of these is a stable interface, so a fact that cannot be read is left out, and its answer is "unknown".
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class SharedTile:
    """Tiles of one kind in shared memory, `shape` in elements, of which `inner` are contiguous.

    `kind` is Triton's name for the layout: ``swizzled_shared`` (`vec`, `per_phase`, `max_phase`), ``nvmma_shared``
    (`swizzle_bytes`), or another. A pipelined loop has `stages` buffers in a row.
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
    """``[m, k] @ [k, n]``, its operands as the hardware gets them; `tensor_core` says whether one computes it, None if unknown."""

    m: int
    n: int
    k: int
    operands: str
    tensor_core: bool | None


@dataclass(frozen=True)
class TensorCore:
    """A tensor-core instruction and how often the program contains it, e.g. ``mma.sync``, ``m16n8k16``, ``f16``, 32."""

    name: str
    shape: str
    operands: str
    count: int


# PTX and cubin ---------------------------------------------------------------------------------------------------------

_MMA = re.compile(
    r"^\s*(?:@\S+\s+)?(mma\.sync|wgmma\.mma_async|tcgen05\.mma)(?:\.sp)?(?:\.sync)?(?:\.aligned)?(?:\.(m\d+n\d+k\d+))?((?:\.\w+(?:::\w+)?)*)",
    re.MULTILINE,
)
_OPERAND = re.compile(r"^(?:f16|bf16|tf32|f32|f64|s8|u8|s4|u4|b1|e4m3|e5m2|s32)$")
_GLOBAL = re.compile(r"\b(ld|st)\.global(?:\.[a-zA-Z_0-9:]+)*?(?:\.v(\d+))?\.[bufs](\d+)\b")
_ASYNC = re.compile(r"cp\.async\.\w+\.shared(?:::\w+)?\.global[^;]*?(?:0x([0-9a-f]+)|(\d+))(?:,[^;]*)?;")
_TMA = re.compile(r"\bcp\.async\.bulk\.tensor\.")


def facts_of(asm: Mapping[str, Any], metadata: Any) -> dict[str, int | str]:
    """The facts of `CompileResult.facts` that PTX and cubin contain."""
    ptx, ttgir = str(asm["ptx"]), str(asm.get("ttgir", ""))
    cores = tensor_cores(ptx)
    copies = [int(m[1], 16) if m[1] else int(m[2]) for m in _ASYNC.finditer(ptx)]
    accesses = [(m[1], int(m[2] or 1) * int(m[3])) for m in _GLOBAL.finditer(ptx)]
    loads = [bits for kind, bits in accesses if kind == "ld"] + [8 * n for n in copies if n in (4, 8, 16)]
    stores = [bits for kind, bits in accesses if kind == "st"]
    found: dict[str, int | str] = {
        "shared_bytes": int(metadata.shared),
        "num_warps": int(metadata.num_warps),
        "ptx_lines": ptx.count("\n"),
    }
    for name, widths in (("vector", loads + stores), ("load", loads), ("store", stores)):
        if widths:
            found[f"{name}_bits"] = max(widths)
    if loads:
        found["narrowest_load_bits"] = min(loads)
    # the two texts have to agree: if an expected instruction is missing, newer Triton writes it differently
    if cores or not any(dot.tensor_core for dot in dots(ttgir)):
        found["mma"] = sum(core.count for core in cores)
        found["mma_shapes"] = " ".join(sorted({core.shape for core in cores if core.shape}))
    if copies or "async_copy_global_to_local" not in ttgir:
        found["async_copies"] = len(copies)
    if ttgir:
        found["bytes_in_flight"] = bytes_in_flight(ttgir)
    tma = len(_TMA.findall(ptx))
    if tma or "async_tma_copy" not in ttgir:
        found["tma_copies"] = tma
    if "cubin" in asm:
        found |= resources(bytes(asm["cubin"]), str(metadata.name))
    return found


def amd_facts(assembly: str, metadata: Any) -> dict[str, int | str]:
    """Registers, spills and shared memory, from what AMD's assembler is told; a lane's vector register has four bytes."""
    counts = dict(re.findall(r"^\s*\.(vgpr_count|vgpr_spill_count):\s*(\d+)", assembly, re.MULTILINE))
    found: dict[str, int | str] = {"shared_bytes": int(metadata.shared), "num_warps": int(metadata.num_warps)}
    if "vgpr_count" in counts:
        found["registers"] = int(counts["vgpr_count"])
    if "vgpr_spill_count" in counts:
        found["spilled_bytes"] = 4 * int(counts["vgpr_spill_count"])
    return found


def tensor_cores(ptx: str) -> tuple[TensorCore, ...]:
    """The tensor-core instructions of a kernel, equal ones counted."""
    found: Counter[tuple[str, str, str]] = Counter()
    for match in _MMA.finditer(ptx):
        types = [word for word in match[3].replace("kind::", "").split(".") if _OPERAND.match(word)]
        operands = types[1] if len(types) > 1 else "".join(types)  # tcgen05 names only the kind of its operands
        found[match[1], match[2] or "", operands] += 1
    return tuple(TensorCore(*key, count) for key, count in found.items())


_FRAME_SIZE, _REGISTERS = 0x11, 0x2F


def resources(cubin: bytes, kernel: str) -> dict[str, int | str]:
    """Registers and spilled bytes per thread, from the ``.nv.info`` of a cubin (an ELF file); {} if it has none.

    Attributes are (format, attribute, size, value); format 4 carries `size` bytes: the symbol's index and a number.
    """
    if cubin[:5] != b"\x7fELF\x02":
        return {}
    found: dict[str, int | str] = {}
    sections = _sections(cubin)
    table, names = sections.get(".symtab", b""), sections.get(".strtab", b"")
    symbols = [_text(names, struct.unpack_from("<I", table, at)[0]) for at in range(0, len(table) - 23, 24)]
    body, at = sections.get(".nv.info", b""), 0
    while at + 4 <= len(body):
        form, attribute, size = struct.unpack_from("<BBH", body, at)
        at += 4
        if form != 4:
            continue
        if size == 8 and attribute in (_FRAME_SIZE, _REGISTERS):
            symbol, value = struct.unpack_from("<II", body, at)
            if symbol < len(symbols) and symbols[symbol] == kernel:
                found["registers" if attribute == _REGISTERS else "spilled_bytes"] = value
        at += size
    return found


def _sections(cubin: bytes) -> dict[str, bytes]:
    """The contents of every section of a 64-bit little-endian ELF file, by its name."""
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + i * size) for i in range(count)]
    names = cubin[headers[names_at][4] :]
    return {_text(names, h[0]): b"" if h[1] == 8 else cubin[h[4] : h[4] + h[5]] for h in headers}


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="replace")


# TTGIR -----------------------------------------------------------------------------------------------------------------

_ALIAS = re.compile(r"^#(\w+) = #(?:ttg|ttng|triton_gpu)\.(\w+)<(.*)>\s*$", re.MULTILINE)
_FIELD = re.compile(r"(\w+) = (true|false|-?\d+|\[[\d, ]*\])")
_ALLOCATED = re.compile(r"\blocal_alloc\b.*?!ttg\.memdesc<((?:\d+x)+)([a-z]\w*), #(\w+)")
_KEPT = re.compile(r"(%\w+) = \S*\blocal_alloc\b|\blocal_dealloc (%\w+)")
_DOT = re.compile(r"\b(?:tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma)\s[^\n]*")
_TYPE = re.compile(r"\b(?:tensor|memdesc)<((?:\d+x)+)([a-z]\w*)(?:, #(\w+))?")


def shared_tiles(ttgir: str) -> tuple[SharedTile, ...]:
    """Every kind of tile in shared memory, with its count."""
    aliases = _aliases(ttgir)
    found = Counter(_tile(match, aliases) for match in _ALLOCATED.finditer(ttgir) if not _is_barrier(match))
    return tuple(replace(tile, count=count) for tile, count in found.items())


def line_of_largest_tile(ttgir: str, file: str) -> int | None:
    """The line of the file, by its name without folders, that the largest tile in shared memory comes from, the first of equal ones; None if the text has none."""
    places = dict(re.findall(r"^#(loc\d*) = loc\((.*)\)$", ttgir, re.MULTILINE))

    def line(place: str) -> int | None:
        if match := re.search(rf'["/]{re.escape(file)}":(\d+):', place):
            return int(match[1])
        inner = (line(places.get(name, "")) for name in re.findall(r"#(loc\d*)", place))
        return next((number for number in inner if number is not None), None)

    tiles = [(match, text) for text in ttgir.splitlines() if (match := _ALLOCATED.search(text))]
    if not tiles:
        return None
    _, text = max(tiles, key=lambda tile: math.prod(_shape(tile[0][1])) * _bits(tile[0][2]))
    return line(text.rpartition(" loc(")[2])


def _is_barrier(allocated: re.Match[str]) -> bool:
    """Whether this holds mbarriers, not a tile: each is one number of 64 bits."""
    return allocated[2] == "i64" and _shape(allocated[1])[-1] == 1


def bytes_in_flight(ttgir: str) -> int:
    """Bytes per program that can be in flight while a loop works on one stage: what its tiles hold for the other stages.

    Consecutive loops free their tiles, so the largest one counts.
    """
    aliases, most = _aliases(ttgir), 0
    kept: dict[str, int] = {}
    for line in ttgir.splitlines():
        if (named := _KEPT.search(line)) is None:
            continue
        kept.pop(named[2] or "", None)
        if (match := _ALLOCATED.search(line)) and not _is_barrier(match):
            tile = _tile(match, aliases)
            kept[named[1]] = (tile.stages - 1) * math.prod(tile.shape) * tile.bits // 8
            most = max(most, sum(kept.values()))
    return most


def _tile(allocated: re.Match[str], aliases: dict[str, tuple[str, str]]) -> SharedTile:
    shape = _shape(allocated[1])
    kind, text = aliases.get(allocated[3], ("", ""))
    fields: dict[str, str] = dict(_FIELD.findall(text))
    order = [int(n) for n in re.findall(r"\d+", fields.get("order", ""))]
    rank = len(order) or min(2, len(shape))
    own = shape[len(shape) - rank :]
    fastest = order[0] if order else (0 if fields.get("transposed") == "true" else rank - 1)
    number = {name: int(value) for name, value in fields.items() if value.lstrip("-").isdigit()}
    return SharedTile(
        kind,
        own,
        _bits(allocated[2]),
        math.prod(shape[: len(shape) - rank]),
        inner=own[fastest] if fastest < len(own) else 1,
        vec=number.get("vec", 1),
        per_phase=number.get("perPhase", 1),
        max_phase=number.get("maxPhase", 1),
        swizzle_bytes=number.get("swizzlingByteWidth"),
    )


def dots(ttgir: str) -> tuple[Dot, ...]:
    """Every product of tiles in the program; equal ones appear once."""
    aliases = _aliases(ttgir)
    found: dict[Dot, None] = {}
    for match in _DOT.finditer(ttgir):
        types = _TYPE.findall(match[0])
        if len(types) < 3:
            continue
        (a, operands, _), (b, _, _), (_, _, layout) = types[:3]
        (m, k), n = _shape(a)[-2:], _shape(b)[-1]
        kind = aliases.get(layout, ("", ""))[0]
        tensor_core = True if "mma" in kind or "tc_gen5" in match[0] else False if kind == "blocked" else None
        found[Dot(m, n, k, operands, tensor_core)] = None
    return tuple(found)


def _shape(text: str) -> tuple[int, ...]:
    """(64, 32) for ``64x32x``."""
    return tuple(int(n) for n in text.rstrip("x").split("x"))


def _aliases(ttgir: str) -> dict[str, tuple[str, str]]:
    """A layout's kind and fields, by its name in the text."""
    return {match[1]: (match[2], match[3]) for match in _ALIAS.finditer(ttgir)}


def _bits(dtype: str) -> int:
    """Bits of one element: ``f16`` has 16, ``bf16`` 16, ``f8E4M3FN`` 8."""
    digits = re.match(r"[a-z]+(\d+)", dtype)
    return int(digits[1]) if digits else 0
