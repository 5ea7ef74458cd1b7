"""docs/speed.md and its plots, from a report of `bench/speed.py`: the aims with what was measured, then a table for each family."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]

FAMILIES = {
    "forward": "Attention, forward",
    "backward": "Attention, backward",
    "decode": "Attention, one query a head",
    "softmax": "Softmax",
    "linear": "Causal linear attention",
    "limits": "Limits",
}


TEXTS = {
    "fast, FP8": "*fast, FP8* multiplies numbers of eight bits (e4m3) with a scale for each tile, and quantising them is part of its time. Its "
    "products cost half as much, and three bits of mantissa round by 2.6 %. With normal inputs the output is off by about 5 % of its norm, "
    "where bf16 is off by 0.2 %. Two channels of the keys that are 30 times as large make it 12 %: the exponent saves the small channels, but "
    "the scores grow, and their errors with them. So it stands outside the aims, with a tolerance of its own.",
    "fast, split": "With one query a head there is little to multiply and much to read: the limit is a copy of as many bytes. Without a split "
    "there is one program for each head of keys, and most of the GPU is idle (*fast, not split*, the same kernel). *fast, split* shares the "
    "keys of a head out among as many programs as run at once, and merges their outputs by their log-sum-exps. Query heads that share "
    "keys are rows of one tile, so no key is read twice.",
}
"""What is said under a family's table where this contestant was timed."""


@dataclass(frozen=True)
class Aim:
    """`name` is to reach `ratio` of what `versus` reaches in the same case of the same run."""

    family: str
    case: str
    name: str
    versus: str
    ratio: float


AIMS = (
    Aim("softmax", "float32 4096 × 65536", "fast", "copy", 0.95),
    Aim("softmax", "float32 1024 × 262144", "fast", "copy", 0.90),
    Aim("softmax", "float32 32 × 8388608", "fast", "copy", 0.75),
    Aim("forward", "D128 full b1 h16 n16384", "fast", "cuDNN", 0.97),
    Aim("forward", "D128 causal b1 h16 n16384", "fast", "cuDNN", 0.95),
    Aim("forward", "D128 full b1 h16 n16384", "fast, in Gluon", "cuDNN", 1.07),
    Aim("forward", "D128 causal b1 h16 n16384", "fast, in Gluon", "cuDNN", 1.12),
    Aim("forward", "D64 full b1 h32 n16384", "fast", "cuDNN", 1.00),
    Aim("forward", "D64 causal b1 h32 n16384", "fast", "cuDNN", 0.97),
    Aim("forward", "D64 full b1 h32 n16384", "fast, in Gluon", "cuDNN", 1.12),
    Aim("forward", "D64 causal b1 h32 n16384", "fast, in Gluon", "cuDNN", 1.10),
    Aim("backward", "D128 full b1 h16 n16384", "fast", "cuDNN", 0.86),
    Aim("backward", "D128 causal b1 h16 n16384", "fast", "cuDNN", 0.86),
    Aim("backward", "D128 full b1 h16 n16384", "fast, in Gluon", "cuDNN", 1.00),
    Aim("backward", "D128 causal b1 h16 n16384", "fast, in Gluon", "cuDNN", 1.00),
    Aim("linear", "D64 b8 h16 n4096", "fast", "copy", 0.60),
    Aim("linear", "D128 b8 h16 n4096", "fast", "copy", 0.40),
    Aim("linear", "D64 b1 h4 n65536", "fast", "copy", 0.45),
)


def write_page(report: Path, docs: Path) -> Path:
    """Write docs/speed.md and one plot a family beside it, and return the page. Raises ValueError for another file."""
    read = json.loads(report.read_text("utf-8"))
    if read.get("schema") != "speed/v1":
        raise ValueError(f"{report} is no report of bench/speed.py")
    plots = {family: plot(read["rows"], family, docs) for family in FAMILIES if family != "limits"}
    page = docs / "speed.md"
    notes = report.with_suffix(".notes.md")
    parts = [
        "# Speed",
        *introduction(read, report),
        "## Aims",
        *aims_table(read["rows"]),
        *([notes.read_text("utf-8").strip()] if notes.exists() else []),
        *ragged_table(read["rows"]),
        *(
            line
            for family, title in FAMILIES.items()
            for line in section(read["rows"], family, title, plots.get(family))
        ),
        *left_out(read),
    ]
    page.write_text("\n\n".join(parts) + "\n", "utf-8")
    return page


def introduction(read: Row, report: Path) -> list[str]:
    facts = read["environment"]
    return [
        f"Made by `make speed` from `reports/{report.name}`: {facts['device']}, torch {facts['torch']}, Triton {facts['triton']}, "
        f"{read['date']}, one run.",
        "Each contestant's output was first compared with float64; a wrong one is named and not timed. All contestants of a case took "
        "turns, and each launch found an empty L2 cache and no time of Python's in it; launches of over a millisecond follow each other "
        "without a pause, so that a GPU that reaches its power limit does so here. A figure is the median, with the range from "
        "20 % to 80 % of all launches under it. GB/s count each input once and each output once; TFLOP/s count 4 · B · H · N² · D "
        "operations, half of them under a causal mask, and 2.5 times as many backward. Gaps under 5 % are ties: a GPU at its power "
        "limit does not run twice at one clock.",
        "*fast* is `solutions/fast/`, *course* the plain solutions, each with the best of a few tiles and warps.",
    ]


def timed(rows: Sequence[Row], family: str, case: str, name: str) -> Row | None:
    found = [r for r in rows if (r["family"], r["case"], r["name"]) == (family, case, name)]
    return found[0] if found else None


def aims_table(rows: Sequence[Row]) -> Iterator[str]:
    lines = ["| case | who | aim | measured | |", "|---|---|---|---|---|"]
    met = known = 0
    for aim in AIMS:
        mine, theirs = (timed(rows, aim.family, aim.case, name) for name in (aim.name, aim.versus))
        result, verdict = "not in this run", "open"
        if mine and theirs and mine["figure"] and theirs["figure"]:
            ratio = mine["figure"][0] / theirs["figure"][0]
            result = f"{ratio:.2f} ({mine['figure'][0]:.0f} of {theirs['figure'][0]:.0f} {mine['unit']})"
            verdict = "met" if round(ratio, 2) >= aim.ratio else "**missed**"
        elif mine and mine["status"] != "timed":
            result, verdict = mine["note"] or mine["status"], "**missed**"
        met, known = met + (verdict == "met"), known + (verdict != "open")
        lines.append(
            f"| {FAMILIES[aim.family]}, {aim.case} | {aim.name} | {aim.ratio:.2f} of {aim.versus} | {result} | {verdict} |"
        )
    yield f"{met} of {known} met; {len(AIMS) - known} open, because the run did not get to them."
    yield "\n".join(lines)


NEIGHBOURS = {"4097": "4096", "1000": "1024"}
CLIFF = 0.75


def ragged_table(rows: Sequence[Row]) -> Iterator[str]:
    """What a length that fits no tile costs: the fast kernels' figures over those at the length beside it."""
    lines = []
    for row in rows:
        *start, length = re.split(r"(?<=[n ])(\d+)$", row["case"])[:2]
        beside = timed(rows, row["family"], "".join(start) + NEIGHBOURS.get(length, ""), row["name"])
        if row["kind"] == "fast" and row["figure"] and length in NEIGHBOURS and beside and beside["figure"]:
            ratio = row["figure"][0] / beside["figure"][0]
            verdict = "" if ratio >= CLIFF else " **a cliff**"
            lines.append(
                f"| {FAMILIES[row['family']]}, {row['case']} | {row['name']} | {NEIGHBOURS[length]} | {ratio:.2f}{verdict} |"
            )
    if lines:
        yield "## Lengths that fit no tile"
        yield f"The figure over that of the same kernel at the length beside it; under {CLIFF} it is called a cliff."
        yield "\n".join(["| case | who | beside | ratio |", "|---|---|---|---|", *lines])


def section(rows: Sequence[Row], family: str, title: str, picture: Path | None) -> Iterator[str]:
    mine = [row for row in rows if row["family"] == family]
    if not mine:
        return
    yield f"## {title}"
    if picture:
        yield f"![{title}: figures of all contestants, case by case]({picture.name})"
    names = list(dict.fromkeys(row["name"] for row in mine if row["status"] in ("timed", "wrong")))
    lines = ["| case | unit | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for case in dict.fromkeys(row["case"] for row in mine):
        here = {row["name"]: row for row in mine if row["case"] == case}
        unit = next((row["unit"] for row in here.values() if row["unit"]), "")
        lines.append(f"| {case} | {unit} | " + " | ".join(cell(here.get(name)) for name in names) + " |")
    yield "\n".join(lines)
    for name, text in TEXTS.items():
        if found := [row for row in mine if row["name"] == name and row["status"] == "timed"]:
            yield " ".join([text, *errors(found, mine)])
    absent: dict[str, list[str]] = {}
    for row in mine:
        if row["status"] in ("missing", "failed", "wrong"):
            why = row["note"] if row["status"] != "wrong" else f"wrong, error {row['error']:.1e}"
            absent.setdefault(f"{row['name']}: {why}", []).append(row["case"])
    if absent:
        yield "\n".join(
            f"- {what} ({', '.join(where) if len(where) < 4 else f'{len(where)} cases'})"
            for what, where in absent.items()
        )


def errors(found: Sequence[Row], rows: Sequence[Row]) -> Iterator[str]:
    """The errors of what says more of them than that they are within the tolerance, beside those of the same kernel in 16 bits."""
    for row in found:
        beside = timed(rows, row["family"], row["case"], "fast")
        if row["note"] and row["error"] is not None and beside and beside["error"] is not None:
            yield f"In this run, {row['case']}: {row['error']:.1e} (bf16 {beside['error']:.1e}); {row['note']}."


def cell(row: Row | None) -> str:
    if row is None or row["status"] in ("missing", "failed"):
        return "–"
    if row["status"] == "wrong":
        return "wrong"
    middle, low, high = row["figure"]
    digits = 0 if middle >= 100 else 1 if middle >= 1 else 4
    return f"{middle:.{digits}f}<br>{low:.{digits}f} to {high:.{digits}f}"


def left_out(read: Row) -> Iterator[str]:
    if read["left_out"]:
        yield "## Left out"
        yield "Not part of this run: " + "; ".join(read["left_out"]) + "."


COLOURS = {"limit": "#555555", "peer": "#0072b2", "course": "#e69f00", "fast": "#009e73"}


def plot(rows: Sequence[Row], family: str, docs: Path) -> Path | None:
    """Bars of every contestant, case by case, as docs/speed-<family>.svg; None where nothing was timed."""
    mine = [row for row in rows if row["family"] == family and row["figure"]]
    if not mine:
        return None
    seen = max(row["figure"][0] for row in mine) / 100  # what is smaller has no bar that one sees: the table has it
    visible = {row["case"] for row in mine if row["figure"][0] >= seen}
    mine = [row for row in mine if row["case"] in visible]
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "speed"
    cases = list(dict.fromkeys(row["case"] for row in mine))
    figure, axes = plt.subplots(figsize=(9, 0.5 + 0.2 * (len(mine) + len(cases))))
    at, ticks, labels = 0.0, [], []
    for case in cases:
        ticks.append(at)
        labels.append(case)
        for row in sorted((r for r in mine if r["case"] == case), key=lambda r: -r["figure"][0]):
            middle, low, high = row["figure"]
            axes.barh(at, middle, color=COLOURS[row["kind"]], xerr=[[middle - low], [high - middle]], ecolor="#999999")
            axes.text(high, at, f" {row['name']}", va="center", fontsize=7)
            at += 1
        at += 1
    axes.set_yticks(ticks, labels, fontsize=7)
    axes.set_ylim(at - 1, -1)  # the first case on top, and no margin that grows with the figure
    axes.set_xlim(0, 1.3 * max(row["figure"][0] for row in mine))
    axes.set_xlabel(mine[0]["unit"])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    path = docs / f"speed-{family}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
