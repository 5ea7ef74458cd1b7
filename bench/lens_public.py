"""Whether the simulator computes right numbers for public kernels: their own functions, run through the lens and compared with torch.

    python -m bench.lens_public [--only NAME …] [--jobs N]

`bench/lens_public.toml` says what to call with which arguments, and what torch says to them. The packages are fetched from PyPI into the user's
cache folder; `reports/lens_public.json` is made here.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pkgutil
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

ROOT = Path(__file__).resolve().parents[1]
CHECKS = ROOT / "bench" / "lens_public.toml"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tile-by-tile" / "public-kernels"
REPORT = ROOT / "reports" / "lens_public.json"
TOLERANCE = 1e-5
"""The largest difference, as a share of the largest number of the reference or of 1."""


@dataclass(frozen=True)
class Check:
    """A function, `op`, and the expression that calls it; `reference` may use another function, `naive`.

    `gradients` names the `inputs` whose gradients are compared, too.
    """

    name: str
    op: str
    call: str
    reference: str
    inputs: dict[str, str]
    naive: str = ""
    gradients: str = ""
    tolerance: float = TOLERANCE


@dataclass
class Row:
    """One function: `status` is right, wrong, refused by the simulator, failed, or out of time."""

    name: str
    package: str
    status: str = "failed"
    difference: float = 0.0
    seconds: float = 0.0
    kernels: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    error: str = ""


def fetch(packages: Sequence[str]) -> Path:
    """The folder with the packages, each ``name==version``; what is missing is downloaded."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for package in packages:
        done = CACHE / f"{package}.fetched"
        if not done.exists():
            wheels = CACHE / "wheels" / package
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), package]
            subprocess.run(command, check=True)
            for wheel in wheels.glob("*.whl"):
                zipfile.ZipFile(wheel).extractall(CACHE / "packages")
            done.touch()
    return CACHE / "packages"


def flat(value: Any) -> list[torch.Tensor]:
    """The tensors in what a function returns."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for one in value or () for tensor in flat(one)] if isinstance(value, tuple | list) else []


def outputs(check: Check, expression: str, names: dict[str, Any]) -> list[torch.Tensor]:
    """What `expression` returns, and the gradients that the check asks for."""
    torch.manual_seed(0)
    code = compile(expression, "<check>", "eval")
    needed = {*code.co_names, *check.gradients.split()}
    names = names | {name: eval(text, names) for name, text in check.inputs.items() if name in needed}
    wanted = [names[name].requires_grad_() for name in check.gradients.split()]
    made = flat(eval(code, names))
    if not wanted:
        return made
    each = [(one.float() * torch.cos(torch.arange(one.numel()).view(one.shape))).sum() for one in made]
    return [*made, *torch.autograd.grad(torch.stack(each).sum(), wanted)]


def difference(made: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> float:
    """The largest difference, as in TOLERANCE; infinite where one is NaN and the other is not, or the shapes differ."""
    worst = 0.0
    for one, other in zip(made, right, strict=True):
        if one.shape != other.shape:
            return float("inf")
        a, b = one.detach().double(), other.detach().double()
        off = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs()).nan_to_num(nan=float("inf"))
        finite = b[b.isfinite()].abs()
        worst = max([worst, *(off / max(1.0, *finite.flatten().tolist())).flatten().tolist()])
    return worst


def look(check: Check, limit: int, folder: Path) -> Row:
    """One check, in a process of its own."""
    from checker.lens import KernelStopped, lens

    sys.path.insert(0, str(folder))
    row, began = Row(check.name, check.op.split(".")[0]), time.process_time()
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, limit)
    with lens(quiet=True) as report:
        try:
            torch.set_default_device("cuda")
            names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "op": pkgutil.resolve_name(check.op)}
            if check.naive:
                names["naive"] = pkgutil.resolve_name(check.naive)
            made, right = outputs(check, check.call, names), outputs(check, check.reference, names)
            row.difference = difference(made, right)
            row.status = "right" if row.difference <= check.tolerance else "wrong"
            if not report.launches:
                row.status, row.error = "failed", "no kernel was launched"
        except KeyboardInterrupt as error:
            row.status, row.error = "out of time", str(error)
        except KernelStopped as error:
            row.status, row.error = "refused", str(error)
        except Exception as error:
            row.error = f"{type(error).__name__}: {error}"[:500]
    signal.setitimer(signal.ITIMER_PROF, 0)
    row.seconds = round(time.process_time() - began, 2)
    row.kernels = [f"{of.file}:{of.kernel}" for of in report.kernels.values()]
    row.findings = [f"{p.kernel} {p.kind} {p.file}:{p.line} {p.what}" for p in report.findings]
    return row


def checks() -> tuple[list[str], list[Check]]:
    """The packages and the checks. One with `each` stands for several: every name takes the place of `$`."""
    table = tomllib.loads(CHECKS.read_text("utf-8"))
    every = []
    for row in table["checks"]:
        for name in row.pop("each", "").split() or [""]:
            put: dict[str, Any] = {
                key: text.replace("$", name) if isinstance(text, str) else text for key, text in row.items()
            }
            module, function = put["op"].split(":")
            put.setdefault("name", f"{module.split('.')[0]} {function}")
            every.append(Check(inputs=table["inputs"], **put))
    return table["packages"], every


def main(
    only: Annotated[list[str] | None, typer.Option(help="only checks whose names begin so")] = None,
    limit: Annotated[int, typer.Option(help="the most seconds of processor time for one check")] = 60,
    jobs: int = 1,
) -> None:
    packages, every = checks()
    folder = fetch(packages)
    chosen = [check for check in every if not only or check.name.startswith(tuple(only))]
    known = json.loads(REPORT.read_text())["rows"] if REPORT.exists() else []
    rows = {row["name"]: Row(**row) for row in known if row["name"] in {check.name for check in every}}
    os.environ["GEMS_VENDOR"] = "nvidia"  # flag_gems asks for a program of the driver
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["checker.lens.program", "torch.testing"])
    with ProcessPoolExecutor(jobs, context, max_tasks_per_child=1) as pool:
        for row in pool.map(look, chosen, [limit] * len(chosen), [folder] * len(chosen)):
            rows[row.name] = row
            print(
                f"{row.name:44}{row.status:12}{row.difference:9.1e}{row.seconds:7.1f} s  {row.error}",
                *row.findings,
                sep="\n    ",
                flush=True,
            )
    ordered = [rows[name] for name in sorted(rows)]
    REPORT.write_text(
        json.dumps({"schema": "bench-lens-public/v1", "rows": [asdict(row) for row in ordered]}, indent=1) + "\n"
    )


if __name__ == "__main__":
    typer.run(main)
