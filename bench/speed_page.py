"""`docs/speed.md` and its plots, from a report of `bench/speed.py` and the notes beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

Row = dict[str, Any]

FAMILIES = {
    "forward": "Attention, forward",
    "backward": "Attention, backward",
    "decode": "Attention, one query per head",
    "softmax": "Softmax",
    "linear": "Causal linear attention",
    "decay": "Linear attention with decays",
    "delta": "The gated delta rule",
}


@dataclass(frozen=True)
class Aim:
    """`name` should reach `ratio` of what `versus` reaches in the same case of the same run."""

    family: str
    case: str
    name: str
    versus: str
    ratio: float


def _aims() -> Iterator[Aim]:
    for case, ratio in (("4096 × 65536", 0.95), ("1024 × 262144", 0.90), ("32 × 8388608", 0.75)):
        yield Aim("softmax", f"float32 {case}", "fast", "copy", ratio)
    attention = (
        ("forward", "D128 full b1 h16 n16384", 0.97, 1.07),
        ("forward", "D128 causal b1 h16 n16384", 0.95, 1.12),
        ("forward", "D64 full b1 h32 n16384", 1.00, 1.12),
        ("forward", "D64 causal b1 h32 n16384", 0.97, 1.10),
        ("backward", "D128 full b1 h16 n16384", 0.86, 1.00),
        ("backward", "D128 causal b1 h16 n16384", 0.86, 1.00),
    )
    for family, case, in_triton, in_gluon in attention:
        yield Aim(family, case, "fast", "cuDNN", in_triton)
        yield Aim(family, case, "fast, in Gluon", "cuDNN", in_gluon)
    for case, ratio in (("D64 b8 h16 n4096", 0.60), ("D128 b8 h16 n4096", 0.40), ("D64 b1 h4 n65536", 0.45)):
        yield Aim("linear", case, "fast", "copy", ratio)
    yield Aim("decay", "D128 b8 h16 n4096", "fast", "fla chunk_retention", 1.50)
    yield Aim("delta", "D128 b8 h16 n4096", "fast", "fla chunk_gated_delta_rule", 1.00)
    for case, ratio in (("D128 b1 h32 over 8 n65536", 0.90), ("D128 b4 h16 over 2 n16384", 0.75)):
        for name in ("fast, split", "fast, paged"):
            yield Aim("decode", case, name, "copy", ratio)


AIMS = tuple(_aims())


def write_page(report: Path, docs: Path) -> Path:
    """Write docs/speed.md, and a plot per family beside it; return the page. Raises ValueError for any other file."""
    read = json.loads(report.read_text("utf-8"))
    if read.get("schema") != "speed/v1":
        raise ValueError(f"{report} is no report of bench/speed.py")
    notes = report.with_suffix(".notes.md")
    parts = [*introduction(read, report), *aims_table(read["rows"])]
    parts += [notes.read_text("utf-8").rstrip()] if notes.exists() else []
    parts += ["## Everyone, case by case"]
    for family, title in FAMILIES.items():
        if picture := plot(read["rows"], family, docs):
            parts.append(f"![{title}: bars for every contestant]({picture.name})")
    parts += absent(read)
    page = docs / "speed.md"
    page.write_text("\n\n".join(parts) + "\n", "utf-8")
    return page


def introduction(read: Row, report: Path) -> list[str]:
    facts = read["environment"]
    again = ", ".join(f"{family} {date}" for family, date in read.get("again", {}).items())
    return [
        "# Speed",
        f"Our kernels beside libraries, in one run on an {facts['device']} (torch {facts['torch']}, Triton "
        f"{facts['triton']}, {read['date']}{'; timed again: ' * bool(again)}{again}). `make speed` writes this page from "
        f"[`{report.name}`](../reports/{report.name}), which has every figure and its spread.",
        """Every output is first compared with float64; a wrong kernel is not timed. L2 is flushed before each launch, and host overhead is
excluded. Launches over a millisecond follow each other without a pause, so that the GPU's power limit counts. Figures
are medians. GB/s count every input and output once; TFLOP/s count 4 · B · H · N² · D operations, half of that under a causal mask, and
2.5 times as many backward. Gaps under 5 % are ties.""",
        "*fast* is `solutions/fast/`, *course* the plain solutions with the best of a few tiles.",
        """In linear attention the time of flash-linear-attention (fla) includes its normaliser, but not the map
elu + 1. Decays are retention's, one for each head. With decays and in the delta rule, keys and queries have norm 1.""",
    ]


def timed(rows: Sequence[Row], family: str, case: str, name: str) -> Row | None:
    return next((r for r in rows if (r["family"], r["case"], r["name"]) == (family, case, name)), None)


def measured(rows: Sequence[Row], aim: Aim) -> tuple[str, str]:
    """Whether an aim is met, missed or open, and in words what was measured."""
    ours, theirs = (timed(rows, aim.family, aim.case, name) for name in (aim.name, aim.versus))
    if ours and theirs and ours["figure"] and theirs["figure"]:
        ratio = round(ours["figure"][0] / theirs["figure"][0], 2)
        met = ratio >= aim.ratio
        return (
            "met" if met else "missed",
            f"{'**' * met}{ratio:.2f}{'**' * met} ({ours['figure'][0]:.0f})",
        )
    if ours and ours["status"] != "timed":
        return "missed", ours["note"] or ours["status"]
    return "open", "not in this run"


def aims_table(rows: Sequence[Row]) -> Iterator[str]:
    """A row has every kernel of ours that has an aim in a case, beside the same library or limit."""
    yield "## Aims"
    lines = ["| case | aim | measured |", "|---|---|---|"]
    verdicts = list[str]()
    for (family, case, versus), aims in groupby(AIMS, key=lambda aim: (aim.family, aim.case, aim.versus)):
        ratios, results = list[str](), list[str]()
        for aim in aims:
            verdict, words = measured(rows, aim)
            verdicts.append(verdict)
            ratios.append(f"{aim.ratio:.2f}")
            results.append(words)
        lines.append(f"| {family} {case} | {' / '.join(ratios)} of {versus} | {' / '.join(results)} |")
    met, missed = verdicts.count("met"), verdicts.count("missed")
    yield (
        f"{met} of {met + missed} met (bold), {verdicts.count('open')} open. Two figures are for Triton / Gluon, in decoding for contiguous / "
        "paged keys. In parentheses: TFLOP/s forward and backward, elsewhere GB/s."
    )
    yield "\n".join(lines)


def absent(read: Row) -> Iterator[str]:
    """What was not timed, and why."""
    reasons: dict[str, list[str]] = {}
    for row in read["rows"]:
        if row["status"] in ("missing", "failed", "wrong"):
            why = row["note"] if row["status"] != "wrong" else f"wrong, error {row['error']:.1e}"
            reasons.setdefault(f"{row['name']}: {why}", []).append(row["case"])
    if reasons:
        yield "Not timed:"
        yield "\n".join(f"- {what} ({len(where)} cases)" for what, where in reasons.items())
    if read["left_out"]:
        yield "Not part of this run: " + "; ".join(read["left_out"]) + "."


COLOURS = {"limit": "#555555", "peer": "#0072b2", "course": "#e69f00", "fast": "#009e73"}


def plot(rows: Sequence[Row], family: str, docs: Path) -> Path | None:
    """Bars of every contestant, case by case, as docs/speed-<family>.svg; None if nothing was timed."""
    mine = [row for row in rows if row["family"] == family and row["figure"]]
    if not mine:
        return None
    seen = max(row["figure"][0] for row in mine) / 100  # a smaller one has no visible bar
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
