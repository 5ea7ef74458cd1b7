"""Writes `constraints.txt`: what pip picks for pyproject.toml in an empty environment, by exact version.

The versions of torch, triton and numpy are the course's own choice and stand below. Packages that only torch's CUDA build
needs are taken from pip's answer where pip was offered that build, and kept from the present lock where it was not.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "constraints.txt"
CHOSEN = ("torch==2.13.0", "triton==3.7.1", "numpy==2.4.6")

HEADER = """\
# The lock: every package of the course, its tools and its tests, by exact version. `make lock` writes it.
# torch is pinned without a build tag: pip takes PyPI's CUDA build or a CPU build, whichever it is offered.
"""
CUDA_HEADER = "\n# Needed by the CUDA build of torch only.\n"


def resolve() -> dict[str, str]:
    """Name and version of everything pip would install into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        report = Path(folder) / "report.json"
        command = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--dry-run", "--report", str(report)]
        subprocess.run([*command, *CHOSEN, f"{ROOT}[lab,dev]"], check=True)
        picked = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    return {m["name"]: m["version"].split("+")[0] for m in picked if m["name"] != "tile-by-tile"}


def is_cuda(name: str) -> bool:
    return name.lower().startswith(("nvidia-", "cuda-"))


def pinned() -> dict[str, str]:
    """The present lock."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", LOCK.read_text(), re.MULTILINE)) if LOCK.exists() else {}


def lines(versions: dict[str, str]) -> str:
    ordered = sorted(versions.items(), key=lambda item: re.sub(r"[-_.]+", "-", item[0]).lower())
    return "".join(f"{name}=={version}\n" for name, version in ordered)


def main() -> None:
    versions = resolve()
    cuda = {name: version for name, version in versions.items() if is_cuda(name)}
    cuda = cuda or {name: version for name, version in pinned().items() if is_cuda(name)}
    plain = {name: version for name, version in versions.items() if not is_cuda(name)}
    LOCK.write_text(HEADER + lines(plain) + CUDA_HEADER + lines(cuda))


if __name__ == "__main__":
    main()
