"""Turn what was seen into sentences for a good programmer who has never written a GPU kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from checker.puzzle import Case
from checker.simulator.trace import Finding
from checker.submission.kernel import KernelSource


def name_of(tensor: str) -> str:
    """``x`` for ``x_ptr``."""
    return tensor.removesuffix("_ptr")


def element(tensor: str, index: Sequence[int]) -> str:
    """``y[3, 17]``."""
    return f"{name_of(tensor)}[{', '.join(map(str, index))}]"


def number(value: float) -> str:
    """A value as a learner would print it: six figures are enough to see a difference."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.6g}"


def program(ids: Sequence[int], grid: Sequence[int] | None = None) -> str:
    """``program 3`` on a one-dimensional grid, ``program (3, 0, 1)`` otherwise."""
    flat = not any(ids[1:]) if grid is None else all(size == 1 for size in grid[1:])
    return f"program {ids[0]}" if flat else f"program ({', '.join(map(str, ids))})"


def line_words(source: KernelSource, line: int | None) -> str:
    """``line 12``, and the file or cell where that is another one than the kernel's; empty without a line."""
    if line is None:
        return ""
    origin, own = source.locate(line)
    return f"line {own}" if origin == main_piece(source)[1] else f"line {own} of {origin}"


_LINE = re.compile(r"\b([Ll])ine (\d+)\b")


def in_own_lines(source: KernelSource, text: str) -> str:
    """Text that names lines of `source`, naming the learner's own lines instead."""
    return _LINE.sub(lambda match: f"{match[1]}ine {own_line(source, int(match[2]))}", text)


def own_finding(source: KernelSource, finding: Finding) -> Finding:
    """A finding that names the learner's own lines."""
    return replace(finding, line=own_line(source, finding.line), message=in_own_lines(source, finding.message))


def own_line(source: KernelSource, line: int | None) -> int | None:
    """The learner's own number of a line of `source`."""
    return None if line is None else source.locate(line)[1]


def main_piece(source: KernelSource) -> tuple[str, str, int]:
    """Text, origin and first line of the piece that holds the kernel itself."""
    lines = source.source.splitlines()
    head = f"def {source.kernel}("
    at = next((i for i, text in enumerate(lines, 1) if text.lstrip().startswith(head)), 1)
    for piece in source.pieces:
        if piece.start <= at <= piece.stop:
            return "\n".join(lines[piece.start - 1 : piece.stop]) + "\n", piece.origin, piece.origin_start
    return source.source, source.pieces[0].origin if source.pieces else "", 1


def count(n: int, one: str, many: str | None = None) -> str:
    """``1 element``, ``2 elements``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def join(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    items = list(parts)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""


FAMILIES: dict[str, str] = {
    "negative": "rows in which every number is far below zero",
    "positive": "rows of large positive numbers, whose exponentials overflow",
    "ascending": "ascending rows, whose maximum comes last",
    "descending": "descending rows, whose maximum comes first",
    "one_hot": "rows in which the last element takes nearly everything",
    "constant": "rows in which all numbers are equal",
    "masked": "rows in which some elements are -inf",
    "deep": "rows of numbers so far below zero that their exponentials vanish",
    "late_max": "rows whose last element dwarfs all before it",
    "early_max": "rows whose first element dwarfs all after it",
    "first_chunk_masked": "rows whose first tile is -inf throughout",
    "masked_then_deep": "rows whose first tile is -inf throughout, and all others far below zero",
    "spike": "rows of one large element and many tiny ones",
    "uneven": "neighbouring rows of very different magnitude",
    "empty": "rows that are -inf throughout",
}


def contrast(failing: Sequence[Case], passing: Sequence[Case]) -> str:
    """What all failing cases share and no passing one has, in words; empty where nothing stands out.

    A layout and a flag that always come together are named together: which of them it is, the cases do not say.
    """
    if not passing:
        return ""
    apart = {
        trait: words
        for trait, words in _traits(failing[0])
        if all(_has(case, trait) for case in failing) and not any(_has(case, trait) for case in passing)
    }
    first = next(iter(apart), "")
    flag = next((trait.removeprefix("flag=") for trait in apart if trait.startswith("flag=")), "")
    if first.startswith("layout=") and flag:
        return f"{apart[first].rstrip('.')}, and these are the cases with {flag.replace('=', ' = ')} too."
    return apart.get(first, "")


def _traits(case: Case) -> list[tuple[str, str]]:
    found = [
        (f"family={case.family}", f"It happens only with {FAMILIES.get(case.family, case.family + ' values')}."),
        (f"dtype={case.dtype}", f"It happens only in {case.dtype}."),
        ("dtype=half", "It happens only in the 16-bit types; convert to float32 right after the load."),
        (f"layout={case.layout}", "It happens only where rows lie further apart in memory than they are long."),
        ("ragged", "It happens only where a size is not a multiple of its tile, so look at the lanes past the end."),
    ]
    found += [(f"flag={k}={v}", f"It happens only with {k} = {v}.") for k, v in case.flags.items()]
    found += [(f"several={k}", f"It happens only with more than one tile along {k}.") for k in case.sizes]
    return [
        (trait, words) for trait, words in found if trait not in ("family=normal", "layout=contiguous", "dtype=float32")
    ]


def _has(case: Case, trait: str) -> bool:
    kind, _, value = trait.partition("=")
    if kind == "family":
        return case.family == value
    if kind == "dtype":
        return case.dtype != "float32" if value == "half" else case.dtype == value
    if kind == "layout":
        return case.layout == value
    if kind == "flag":
        key, _, wanted = value.partition("=")
        return str(case.flags.get(key)) == wanted
    if kind == "several":
        return case.sizes.get(value, 0) > case.meta.get(f"BLOCK_{value}", math.inf)
    return any(size % case.meta[f"BLOCK_{k}"] for k, size in case.sizes.items() if f"BLOCK_{k}" in case.meta)
