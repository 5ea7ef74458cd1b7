"""What can be read off a compiled kernel without running it."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Any

from checker.compiler.request import gpu_name

_MMA = re.compile(
    r"^\s*(?:@\S+\s+)?(?:mma|wgmma\.mma_async)\.sync\.aligned\.(m\d+n\d+k\d+)|^\s*(?:@\S+\s+)?mma\.sync\.aligned",
    re.MULTILINE,
)
_GLOBAL = re.compile(r"\b(?:ld|st)\.global(?:\.[a-z_0-9:]+)*?(?:\.v(\d+))?\.[bufs](\d+)\b")
_ASYNC = re.compile(r"cp\.async\.\w+\.shared(?:::\w+)?\.global[^;]*?(?:0x([0-9a-f]+)|(\d+))(?:,[^;]*)?;")


def facts_of(asm: Mapping[str, Any], metadata: Any, capability: int) -> dict[str, int | str]:
    """The facts of `CompileResult.facts`, from PTX text and the cubin."""
    ptx = str(asm["ptx"])
    shapes = [match[1] or "" for match in _MMA.finditer(ptx)]
    copies = [int(m[1], 16) if m[1] else int(m[2]) for m in _ASYNC.finditer(ptx)]
    widths = [int(m[1] or 1) * int(m[2]) for m in _GLOBAL.finditer(ptx)] + [8 * n for n in copies if n in (4, 8, 16)]
    found: dict[str, int | str] = {
        "gpu": gpu_name(capability),
        "shared_bytes": int(metadata.shared),
        "num_warps": int(metadata.num_warps),
        "mma": len(shapes),
        "mma_shapes": " ".join(sorted({s for s in shapes if s})),
        "vector_bits": max(widths, default=0),
        "async_copies": len(copies),
        "ptx_lines": ptx.count("\n"),
    }
    if "cubin" in asm:
        found |= resources(bytes(asm["cubin"]), str(metadata.name))
    return found


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
