"""What the lens finds in kernels that it has not seen: the 184 files of TritonBench-G, and what it costs.

    python -m bench.lens [--only NAME …] [--limit SECONDS] [--jobs N]
    python -m bench.lens --speed

Each file is a kernel from a public repository with its own test, and runs as `python -m checker lens FILE` would run it. People have confirmed
memory bugs in 24 of them by hand (thunlp/TritonBench, issue 12). `bench/lens_flags.toml` holds our own verdict on each flag. The files are
fetched into the user's cache folder; `reports/lens.json` and the table in `docs/lens.md` are made here.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import random
import signal
import statistics
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

ROOT = Path(__file__).resolve().parents[1]
COMMIT = "603e28a5050e8c268f6883a69709d477a272d49a"
ARCHIVE = f"https://codeload.github.com/thunlp/TritonBench/tar.gz/{COMMIT}"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tile-by-tile" / f"TritonBench-{COMMIT[:12]}"
CONFIRMED = frozenset(
    {
        "apply_penalty",
        "attention_fwd_triton1",
        "chunk_bwd_dqkg",
        "chunk_delta_fwd",
        "chunk_gated_attention",
        "chunk_gla_fwd",
        "chunk_gla_simple",
        "chunk_linear_attn",
        "chunk_retention_ops",
        "decay_cumsum",
        "fused_recurrent_delta",
        "fused_recurrent_hgrn",
        "fused_recurrent_retention",
        "fused_rotary_embedding",
        "layer_norm_triton",
        "matmul_triton2",
        "nested_loops_processing",
        "parallel_attention",
        "parallel_retention_attention",
        "quantize_kv_copy",
        "rotary_emb_nopad",
        "softmax_reducev",
        "token_attn_mistral",
        "token_attn_reduceV",
    }
)
"""The files whose bugs people confirmed."""
REPORT = ROOT / "reports" / "lens.json"
FLAGS = ROOT / "bench" / "lens_flags.toml"
PAGE = ROOT / "docs" / "lens.md"
BEGIN, END = "<!-- made by bench/lens.py -->", "<!-- end -->"
WALL = 600.0
"""Seconds for one launch. Processor time ends a file much earlier, unless the machine is busy."""


@dataclass(frozen=True)
class Row:
    """One file: `status` is ended, failed, launched nothing or out of time; `stopped` are launches that were refused or failed."""

    name: str
    status: str
    seconds: float
    launches: int = 0
    complete: bool = True
    findings: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    error: str = ""


def files() -> list[Path]:
    """The files of TritonBench-G, fetched on the first call."""
    if not CACHE.exists():
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(ARCHIVE) as answer, tarfile.open(fileobj=io.BytesIO(answer.read())) as archive:
            inside = [m for m in archive.getmembers() if "/data/TritonBench_G_v1/" in m.name and m.name.endswith(".py")]
            for member in inside:
                member.name = Path(member.name).name
            archive.extractall(CACHE, inside, filter="data")
    return sorted(CACHE.glob("*.py"))


def look(file: Path, limit: int) -> Row:
    """Run one file through the lens, for at most `limit` seconds of processor time. In a process of its own, with the same random numbers each time."""
    import torch

    from checker.lens.program import look_at

    report, said, began = CACHE / f"{file.stem}.json", io.StringIO(), time.process_time()
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, limit)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = look_at([str(file)], False, {"seconds": WALL}, str(report), None, None)
    left, seconds = signal.setitimer(signal.ITIMER_PROF, 0)[0], time.process_time() - began
    data = json.loads(report.read_text())
    ended = "ended" if status < 3 else "failed"
    errors = [line.strip() for line in said.getvalue().splitlines() if "Error: " in line]
    return Row(
        name=file.stem,
        status="out of time" if not left else "launched nothing" if not data["launches"] else ended,
        seconds=round(seconds, 2),
        launches=data["launches"],
        complete=data["complete"],
        findings=[{k: f[k] for k in ("kernel", "kind", "line", "tensor", "what")} for f in data["findings"]],
        stopped=list(dict.fromkeys(stopped["message"] for stopped in data["stopped"])),
        error=errors[-1] if errors else "",
    )


def looks(chosen: Sequence[Path], limit: int, jobs: int) -> Iterator[Row]:
    """All of them, each in a fresh process that has imported torch and Triton already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["checker.lens.program", "torch.testing", "numpy.random"])
    with ProcessPoolExecutor(jobs, context, max_tasks_per_child=1) as pool:
        yield from pool.map(look, chosen, [limit] * len(chosen))


def judged(rows: Sequence[Row]) -> tuple[list[str], list[str], list[str]]:
    """Each flag as ``name kind line``: those that are true, those that are false, and those that nobody has read."""
    verdicts = tomllib.loads(FLAGS.read_text("utf-8"))
    flags = dict.fromkeys(f"{row.name} {f['kind']} {f['line']}" for row in rows for f in row.findings)
    false = [flag for flag in flags if flag in verdicts["false_"]]
    true = [flag for flag in flags if flag not in false and flag.split()[0] in verdicts["true_"]]
    return true, false, [flag for flag in flags if flag not in {*true, *false}]


def table(rows: Sequence[Row]) -> str:
    """The section of docs/lens.md."""
    known = [row for row in rows if row.name in CONFIRMED]
    others = [row for row in rows if row.name not in CONFIRMED]
    true, false, unread = judged(others)
    flagged = [row for row in others if row.findings]
    wrong = {flag.split()[0] for flag in false}
    seconds = sorted(row.seconds for row in rows if row.launches)
    status = {s: [row for row in rows if row.status == s] for s in ("failed", "out of time", "launched nothing")}
    refused = [row for row in rows if row.stopped and row.status != "out of time"]
    confirmed = judged(known)
    lines = [
        "| | |",
        "|---|---|",
        f"| files that ran | {len(rows)} of {len(files())} |",
        f"| found of the {len(known)} files with confirmed bugs among them | **{sum(bool(row.findings) for row in known)}** |",
        f"| flags in these files, by kind and line | {len(confirmed[0])} true, {len(confirmed[1])} false, {len(confirmed[2])} unread |",
        f"| flagged of the other {len(others)} files | {len(flagged)} |",
        f"| flags in these | {len(true)} true, {len(false)} false ({', '.join(sorted(wrong)) or 'none'}), {len(unread)} unread |",
        f"| a launch refused or failed | {len(refused)}: {', '.join(row.name for row in refused)} |",
        f"| out of time | {len(status['out of time'])}: {', '.join(row.name for row in status['out of time'])} |",
        f"| launched nothing | {len(status['launched nothing'])} |",
        f"| seconds of processor time, without 3 s for imports | median {statistics.median(seconds):.1f}, p95 {seconds[int(0.95 * len(seconds))]:.1f} |",
    ]
    return "\n".join(lines)


def write_page(rows: Sequence[Row]) -> None:
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table(rows) + "\n" + END + rest.split(END)[1], "utf-8")


def speed() -> None:
    """One launch of the course's attention in the lens and in Triton's interpreter, in processes of their own."""
    for name, environment in (("lens", {}), ("TRITON_INTERPRET=1", {"TRITON_INTERPRET": "1"})):
        command = [sys.executable, "-m", "bench.lens_launch"]
        run = subprocess.run(
            command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True
        )
        print(f"{name:20} {run.stdout.strip()} s")


def main(
    only: Annotated[list[str] | None, typer.Option(help="only this file, without .py; may be repeated")] = None,
    limit: Annotated[int, typer.Option(help="the most seconds of processor time for one file")] = 60,
    jobs: int = 1,
    launch: Annotated[bool, typer.Option("--speed", help="time one launch, and look at no file")] = False,
) -> None:
    if launch:
        speed()
        return
    rows = {row["name"]: Row(**row) for row in json.loads(REPORT.read_text())["rows"]} if REPORT.exists() else {}
    for row in looks([file for file in files() if not only or file.stem in only], limit, jobs):
        rows[row.name] = row
        kinds = " ".join(f"{f['kind']}:{f['line']}" for f in row.findings)
        print(
            f"{row.name:40}{row.status:18}{row.seconds:6.1f} s  {kinds} {row.error} {' '.join(row.stopped)}", flush=True
        )
        every = [asdict(rows[name]) for name in sorted(rows)]
        REPORT.write_text(json.dumps({"schema": "bench-lens/v1", "rows": every}, indent=1) + "\n")
    write_page([rows[name] for name in sorted(rows)])
    print("unread:", *judged(list(rows.values()))[2], sep="\n  ")


if __name__ == "__main__":
    typer.run(main)
