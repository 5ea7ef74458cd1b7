"""What can be read off a compiled kernel without running it."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Mapping
from typing import Any

from checker.compiler.request import TensorCore, gpu_name
from checker.compiler.tiles import dots

_MMA = re.compile(
    r"^\s*(?:@\S+\s+)?(mma\.sync|wgmma\.mma_async|tcgen05\.mma)(?:\.sp)?(?:\.sync)?(?:\.aligned)?(?:\.(m\d+n\d+k\d+))?((?:\.\w+)*)",
    re.MULTILINE,
)
_OPERAND = re.compile(r"^(?:f16|bf16|tf32|f32|f64|s8|u8|s4|u4|b1|e4m3|e5m2|s32)$")
_GLOBAL = re.compile(r"\b(ld|st)\.global(?:\.[a-zA-Z_0-9:]+)*?(?:\.v(\d+))?\.[bufs](\d+)\b")
_ASYNC = re.compile(r"cp\.async\.\w+\.shared(?:::\w+)?\.global[^;]*?(?:0x([0-9a-f]+)|(\d+))(?:,[^;]*)?;")
_TMA = re.compile(r"\bcp\.async\.bulk\.tensor\.")


def facts_of(asm: Mapping[str, Any], metadata: Any, capability: int) -> dict[str, int | str]:
    """The facts of `CompileResult.facts`, from PTX text and the cubin. One that cannot be found is not in it."""
    ptx, ttgir = str(asm["ptx"]), str(asm.get("ttgir", ""))
    cores = tensor_cores(ptx)
    copies = [int(m[1], 16) if m[1] else int(m[2]) for m in _ASYNC.finditer(ptx)]
    accesses = [(m[1], int(m[2] or 1) * int(m[3])) for m in _GLOBAL.finditer(ptx)]
    loads = [bits for kind, bits in accesses if kind == "ld"] + [8 * n for n in copies if n in (4, 8, 16)]
    stores = [bits for kind, bits in accesses if kind == "st"]
    found: dict[str, int | str] = {
        "gpu": gpu_name(capability),
        "shared_bytes": int(metadata.shared),
        "num_warps": int(metadata.num_warps),
        "ptx_lines": ptx.count("\n"),
    }
    for name, widths in (("vector", loads + stores), ("load", loads), ("store", stores)):
        if widths:
            found[f"{name}_bits"] = max(widths)
    if loads:
        found["narrowest_load_bits"] = min(loads)
    # the two texts have to agree: an instruction that is expected and not found is one that is written in a new way
    if cores or not any(dot.tensor_core for dot in dots(ttgir)):
        found["mma"] = sum(core.count for core in cores)
        found["mma_shapes"] = " ".join(sorted({core.shape for core in cores if core.shape}))
    if copies or "async_copy_global_to_local" not in ttgir:
        found["async_copies"] = len(copies)
    tma = len(_TMA.findall(ptx))
    if tma or "async_tma_copy" not in ttgir:
        found["tma_copies"] = tma
    if "cubin" in asm:
        found |= resources(bytes(asm["cubin"]), str(metadata.name))
    return found


def tensor_cores(ptx: str) -> tuple[TensorCore, ...]:
    """The tensor-core instructions of a kernel, equal ones counted."""
    found: Counter[tuple[str, str, str]] = Counter()
    for match in _MMA.finditer(ptx):
        types = [word for word in match[3].split(".") if _OPERAND.match(word)]
        found[match[1], match[2] or "", types[1] if len(types) > 1 else ""] += 1
    return tuple(TensorCore(*key, count) for key, count in found.items())


_FRAME_SIZE, _REGISTERS = 0x11, 0x2F


def resources(cubin: bytes, kernel: str) -> dict[str, int | str]:
    """Registers and spilled bytes per thread, from the ``.nv.info`` of a cubin (an ELF file); {} if it has none.

    Attributes are (format, attribute, size, value); format 4 carries `size` bytes: the symbol's index and a number.
    """
    if cubin[:5] != b"\x7fELF\x02":
        return {}
    found: dict[str, int | str] = {}
    symbols = _symbols(cubin)
    for name, _, body in _sections(cubin):
        if name != ".nv.info":
            continue
        at = 0
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


def _sections(cubin: bytes) -> list[tuple[str, int, bytes]]:
    """(name, type, contents) of every section of a 64-bit little-endian ELF file."""
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + i * size) for i in range(count)]
    names = cubin[headers[names_at][4] :]
    return [(_text(names, h[0]), h[1], b"" if h[1] == 8 else cubin[h[4] : h[4] + h[5]]) for h in headers]


def _symbols(cubin: bytes) -> list[str]:
    sections = {name: body for name, _, body in _sections(cubin)}
    table, names = sections.get(".symtab", b""), sections.get(".strtab", b"")
    return [_text(names, struct.unpack_from("<I", table, at)[0]) for at in range(0, len(table) - 23, 24)]


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="replace")
