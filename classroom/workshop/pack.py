"""A folder that installs the course without a network: wheels for the room's Pythons, the course, slides, and an installer."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from pathlib import Path

from checker.api.command_line import UnavailableHere

HERE = Path(__file__).resolve().parent
COURSE = ("checker", "notebooks", "puzzles", "solutions", "pyproject.toml", "LICENSE", "LICENSE-TEXT", "README.md")
IGNORED = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "src", "*.pyc")
TORCH = ("cpu", "cuda", "none")
HEAVY = ("torch", "triton")
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
PATCH = 99  # a plain "3.12" would mean 3.12.0, which is too old for some locked packages
NEWEST_GLIBC = 28  # the wheels of torch and triton need glibc 2.28: Debian 10, Ubuntu 20.04 and newer


def write(root: Path, to: Path, pythons: Sequence[str], torch: str, slides: Path | None = None) -> tuple[int, int]:
    """Pack the course at `root` for these Pythons, e.g. ``3.12``; returns the number of wheels and the bytes of the folder.

    `torch` is its build; ``none`` means the machines' own torch and Triton. `slides` is a folder of decks. Raises UnavailableHere, OSError.
    """
    if (to / "course").exists():
        raise UnavailableHere(f"there is a pack in {to} already: name another folder, or remove this one")
    wheels = to / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    needed = requirements(root, torch)
    (to / "requirements.txt").write_text("\n".join(needed) + "\n", "utf-8")
    for python in pythons:
        _download(needed, python, wheels, root / "constraints.txt", torch)
    if torch == "cpu" and any(wheels.glob("nvidia_*")):
        raise UnavailableHere(f"pip found only torch's CUDA build of several GB, because it cannot reach {CPU_BUILDS}")
    for part in COURSE:
        source, target = root / part, to / "course" / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=IGNORED)
        elif source.exists():
            shutil.copy(source, target)
    if slides is not None:
        shutil.copytree(slides, to / "slides")
    (to / "install.sh").write_text(_installer(pythons, torch), "utf-8")
    (to / "README.txt").write_text(f"{README}\n", "utf-8")
    files = [path for path in to.rglob("*") if path.is_file()]
    return len(list(wheels.iterdir())), sum(path.stat().st_size for path in files)


README = """Tile by Tile, for a room without a network.

Linux, or WSL on Windows:    sh install.sh
It creates ~/tile-by-tile, says what works there, and prints the command that opens the first notebook.

If there is a slides/index.html, it opens in any browser."""


def requirements(root: Path, torch: str) -> list[str]:
    """What a learner's environment needs: the course's dependencies, including those of `lab`."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    return [line for line in needed if torch != "none" or not line.startswith(HEAVY)]


def _download(needed: Sequence[str], python: str, wheels: Path, lock: Path, torch: str) -> None:
    """Fetch the locked versions of all packages as wheels. Raises UnavailableHere with pip's message."""
    print(f"Fetching wheels for Python {python}.", flush=True)
    platforms = [option for tag in platform_tags(sysconfig.get_platform()) for option in ("--platform", tag)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", str(wheels)]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", f"{python}.{PATCH}", *platforms]
    command += ["--constraint", str(lock), *needed]
    if torch == "cpu" and _reachable(CPU_BUILDS.split("/")[2]):
        command += ["--extra-index-url", CPU_BUILDS]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ran.returncode:
        lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")] or ran.stderr.splitlines()[-3:]
        raise UnavailableHere(f"pip could not fetch the wheels for Python {python}:\n" + "\n".join(lines))


def platform_tags(here: str) -> list[str]:
    """pip's names for Linux on this kind of processor, newest first. Raises UnavailableHere on other systems.

    ``linux-x86_64`` becomes ``manylinux_2_28_x86_64`` down to ``manylinux_2_5_x86_64`` and the two older names.
    """
    system, _, processor = here.partition("-")
    if system != "linux":
        raise UnavailableHere(f"a pack can only be made on Linux, for Linux and WSL; this is {here}")
    tags = [f"manylinux_2_{minor}_{processor}" for minor in range(NEWEST_GLIBC, 4, -1)]
    return [*tags, f"manylinux2014_{processor}", f"manylinux2010_{processor}", f"manylinux1_{processor}"]


def _reachable(host: str) -> bool:
    try:
        socket.create_connection((host, 443), timeout=3).close()
    except OSError:
        return False
    return True


def _installer(pythons: Sequence[str], torch: str) -> str:
    text = (HERE / "install.sh").read_text("utf-8")
    values = {"PYTHONS": " ".join(f"python{v}" for v in pythons), "VERSIONS": " ".join(pythons)}
    values["VENV_OPTIONS"] = "--system-site-packages" if torch == "none" else ""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text.replace("venv  ", "venv ")
