"""A folder for a room without a network: wheels for the Pythons in use, the course, slides, and a one-line installer."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from pathlib import Path

from classroom.workshop import NotPossibleHere

HERE = Path(__file__).resolve().parent
COURSE = ("checker", "notebooks", "puzzles", "solutions", "pyproject.toml", "LICENSE", "LICENSE-TEXT", "README.md")
IGNORED = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "src", "*.pyc")
TORCH = ("cpu", "cuda", "none")
HEAVY = ("torch", "triton")
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
PATCH = 99  # of the Pythons in the room: "3.12" alone would mean 3.12.0, for which some locked packages are too new
NEWEST_GLIBC = 28  # the wheels of torch and triton ask for glibc 2.28: Debian 10, Ubuntu 20.04 and newer


def write(root: Path, to: Path, pythons: Sequence[str], torch: str, slides: Path | None = None) -> tuple[int, int]:
    """Pack the course at `root` for these Pythons, e.g. ``3.12``; returns how many wheels, and the bytes of the whole folder.

    `torch` is its build; with ``none`` the machines' own torch and Triton are used. `slides` is a folder of decks. Raises
    NotPossibleHere; OSError where `to` cannot be written.
    """
    if (to / "course").exists():
        raise NotPossibleHere(f"{to} holds a pack already; name another folder, or remove it")
    wheels = to / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    asked = requirements(root, torch)
    (to / "requirements.txt").write_text("\n".join(asked) + "\n", "utf-8")
    for python in pythons:
        _download(asked, python, wheels, root / "constraints.txt", torch)
    if torch == "cpu" and any(wheels.glob("nvidia_*")):
        raise NotPossibleHere(f"pip found only torch's CUDA build, of several GB: {CPU_BUILDS} has to be within reach")
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
It makes ~/tile-by-tile, says what works there, and prints the line that opens the first notebook.

slides/index.html, where it is here, opens in any browser."""


def requirements(root: Path, torch: str) -> list[str]:
    """What a learner's environment needs: the course's own dependencies and those of `lab`."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    return [line for line in asked if torch != "none" or not line.startswith(HEAVY)]


def _download(asked: Sequence[str], python: str, wheels: Path, lock: Path, torch: str) -> None:
    """The locked versions of everything, as wheels. Raises NotPossibleHere with what pip said."""
    print(f"Fetching wheels for Python {python}.", flush=True)
    platforms = [option for tag in platform_tags(sysconfig.get_platform()) for option in ("--platform", tag)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", str(wheels)]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", f"{python}.{PATCH}", *platforms]
    command += ["--constraint", str(lock), *asked]
    if torch == "cpu" and _reachable(CPU_BUILDS.split("/")[2]):
        command += ["--extra-index-url", CPU_BUILDS]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ran.returncode:
        said = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")] or ran.stderr.splitlines()[-3:]
        raise NotPossibleHere(f"pip could not fetch the wheels for Python {python}:\n" + "\n".join(said))


def platform_tags(here: str) -> list[str]:
    """pip's names for Linux on this kind of processor, newest first. Raises NotPossibleHere for anything but Linux.

    ``linux-x86_64`` becomes ``manylinux_2_28_x86_64`` down to ``manylinux_2_5_x86_64`` and the two older names.
    """
    system, _, processor = here.partition("-")
    if system != "linux":
        raise NotPossibleHere(f"packs are made on Linux, for Linux and WSL; this is {here}")
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
    told = {"PYTHONS": " ".join(f"python{v}" for v in pythons), "VERSIONS": " ".join(pythons)}
    told["VENV_OPTIONS"] = "--system-site-packages" if torch == "none" else ""
    for name, value in told.items():
        text = text.replace(f"@{name}@", value)
    return text.replace("venv  ", "venv ")
