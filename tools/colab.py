"""Installs what the course needs into Colab's own Python, without touching Colab's torch, triton and numpy.

Run by the first cell of every notebook after it has cloned the course. Colab ships nearly everything; what is there and new
enough is left as it is, and the three packages that Colab's GPU depends on are pinned to the versions found.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
COLABS_OWN = ("torch", "triton", "numpy")
FAILED = """pip could not install what the course needs; what it said stands above. Colab may be newer than the course.
Go back to one that the course knows: Runtime → Change runtime type → Runtime version 2026.07, then run the first cell again."""


def name_of(requirement: str) -> str:
    """``ml_dtypes`` of ``ml_dtypes>=0.5``."""
    return requirement.split(";")[0].split("<")[0].split(">")[0].split("=")[0].split("[")[0].strip()


def present(names: tuple[str, ...]) -> dict[str, str]:
    """The version of each package that is installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def pip_arguments(requirements: list[str], own: Mapping[str, str]) -> list[str]:
    """pip's arguments: every requirement that is not Colab's own, with Colab's own held at the versions found."""
    needed = [requirement for requirement in requirements if name_of(requirement) not in COLABS_OWN]
    return ["install", "--quiet", *needed, *(f"{name}=={found}" for name, found in own.items())]


def main() -> None:
    requirements = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"]
    own = present(COLABS_OWN)
    if subprocess.run([sys.executable, "-m", "pip", *pip_arguments(requirements, own)], check=False).returncode:
        sys.exit(FAILED)
    if missing := [name for name in COLABS_OWN if name not in own]:
        print(f"Colab came without {' and '.join(missing)}; doctor() says what to do about that.")


if __name__ == "__main__":
    main()
