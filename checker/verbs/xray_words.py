"""Sentences that follow from the compiler's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checker.compiler.occupancy import MOST_REGISTERS
from checker.judge.words import join
from checker.verbs.xray_facts import Results, held, kib, number
from checker.verbs.xray_layouts import swizzle_bytes
from checker.view.formats import count

WIDEST = 16  # bytes that one lane can load at once


@dataclass(frozen=True)
class Said:
    """A sentence; those of the lowest rank are said first and dropped last."""

    rank: int
    text: str


def sentences(results: Results, odd: Sequence[str] = ()) -> list[str]:
    """Two to five sentences. `odd` are the kernel's numbers that are no multiples of 16, which keep loads narrow."""
    said = [*_about_spills(results), *_about_cores(results), *_about_loads(results, odd), *_about_occupancy(results)]
    said += _about_swizzle(results)
    return [one.text for one in sorted(said, key=lambda one: one.rank)[:5]]


def _about_spills(results: Results) -> Iterable[Said]:
    spilled = {name: n for name, r in results.items() if (n := number(r, "spilled_bytes"))}
    if spilled:
        worst = max(spilled, key=lambda name: spilled[name])
        yield Said(
            0,
            f"On the {join(spilled)} a thread has more values than registers: up to {spilled[worst]} bytes per thread go to slow "
            f"memory and come back. Smaller tiles or more warps per program leave each thread fewer values.",
        )
    elif all(number(r, "spilled_bytes") == 0 for r in results.values()):
        most = max(int(r.facts.get("registers", 0)) for r in results.values())
        if most:
            yield Said(
                5, f"Everything fits in registers, at most {most} of a thread's {MOST_REGISTERS}: nothing spills."
            )


def _about_cores(results: Results) -> Iterable[Said]:
    known = {name: r for name, r in results.items() if r.dots and r.tensor_cores is not None}
    without = [name for name, r in known.items() if not r.tensor_cores]
    if "T4" in without:
        yield Said(
            1,
            "No tensor core on the T4: Triton's code for sm_75 works this product out with plain multiplications, one by one, on the "
            "ordinary arithmetic units.",
        )
    if others := [name for name in without if name != "T4"]:
        yield Said(
            1,
            f"No tensor core on {join(others)} either: there is none for these operands. float32 with "
            '`input_precision="ieee"` is the usual reason.',
        )
    if tf32 := [name for name, r in known.items() if any(c.operands == "tf32" for c in r.tensor_cores or ())]:
        yield Said(
            2,
            f"On {join(tf32)} the float32 operands are rounded to TF32 (10 bits after the point instead of 23) for the tensor cores.",
        )
    if wide := {name: r for name, r in known.items() if any(c.name.startswith("wgmma") for c in r.tensor_cores or ())}:
        core = next(c for r in wide.values() for c in r.tensor_cores or () if c.name.startswith("wgmma"))
        yield Said(
            3,
            f"The {join(wide)} multiplies with wgmma ({core.shape}): four warps together take 64 rows at a time, straight from shared memory.",
        )
    narrow = [n for n, r in known.items() if r.request.capability == 90 and r.tensor_cores and n not in wide]
    if narrow:
        yield Said(
            3,
            f"The {join(narrow)} falls back to the mma.sync of older GPUs: its own wgmma needs tiles of at least 64 rows and at least 4 warps.",
        )


def _about_loads(results: Results, odd: Sequence[str]) -> Iterable[Said]:
    widths = {name: bits // 8 for name, r in results.items() if (bits := number(r, "load_bits"))}
    if not widths:
        return
    if min(widths.values()) >= WIDEST:
        yield Said(4, f"A lane loads up to {WIDEST} bytes at once, the most there is.")
        return
    why = (
        f" Triton joins neighbours only where it knows that addresses and mask come in such steps, and {join(odd)} "
        f"{'is no multiple' if len(odd) == 1 else 'are no multiples'} of 16 here."
        if odd
        else ""
    )
    yield Said(2, f"A lane loads {span(widths.values())} bytes at a time, and {WIDEST} would be the most.{why}")


def _about_occupancy(results: Results) -> Iterable[Said]:
    found = {name: h for name, r in results.items() if (h := held(r)) is not None}
    if not found:
        return
    name = min(found, key=lambda n: found[n].warps / found[n].most_warps)
    worst = found[name]
    share = f"{worst.warps} of {worst.most_warps} warps"
    if worst.programs == 0:
        yield Said(0, f"Not even one program fits on an SM of the {name}: it has too few {join(worst.limits)}.")
    elif 2 * worst.warps < worst.most_warps:
        yield Said(
            2,
            f"Only {count(worst.programs, 'program')} at a time {'fits' if worst.programs == 1 else 'fit'} on an SM of the {name} ({share}), "
            f"for want of {join(worst.limits)}: while one waits for memory, few others have work to do.",
        )
    else:
        yield Said(
            4,
            f"At least half of the warps that an SM can hold fit at a time on every GPU (the least: {name}, {share}).",
        )


def _about_swizzle(results: Results) -> Iterable[Said]:
    kinds = {name: {swizzle_bytes(tile) for tile in r.tiles} for name, r in results.items() if r.tiles}
    swizzled = [name for name, widths in kinds.items() if any(widths)]
    plain = [name for name, widths in kinds.items() if widths == {0}]
    if swizzled:
        yield Said(
            3,
            f"On {join(swizzled)} the tiles in shared memory are swizzled: a column's elements fall on different banks and can be "
            "read at once.",
        )
    elif plain:
        yield Said(4, f"The tiles in shared memory are not swizzled ({join(plain)}): they are read row by row.")
    elif all(r.tiles == () for r in results.values()):
        scratch = max((n for r in results.values() if (n := number(r, "shared_bytes"))), default=0)
        use = f" The {kib(scratch)} are what the warps hand one another in reductions." if scratch else ""
        yield Said(4, f"No tile is kept in shared memory: all of them live in registers.{use}")


def span(values: Iterable[int]) -> str:
    """``4``, or ``4 to 8``."""
    low, high = min(found := list(values)), max(found)
    return f"{low}" if low == high else f"{low} to {high}"
