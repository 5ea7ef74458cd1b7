"""The key of a verdict: a hash of everything that decides it: puzzle, kernel, secret, device, versions and limits."""

from __future__ import annotations

import ast
import hashlib
import platform
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from checker.api.grading import KernelSource, Puzzle, Record, version

CHECKER = Path(__file__).resolve().parents[2] / "checker"
DECIDING = (
    "phrases.py",
    "puzzle.py",
    "submission",
    "simulator",
    "compiler",
    "gpu.py",
    "judge",
    "lens",
    "sandbox",
    "checking.py",
)
"""The code that decides, besides the puzzle itself."""
FORMAT = 2


class Setting(Record, frozen=True, kw_only=True):
    """Everything but kernel and puzzle.

    `device` is ``cpu`` or the GPU's name, `secret_id` names the secret that draws the cases (empty without one), and `seconds` is
    the limit for one kernel.
    """

    device: str = "cpu"
    secret_id: str = ""
    diagnose: bool = True
    seconds: float = 600.0


def secret_id(secret: bytes | None) -> str:
    """A name for a secret that does not reveal it."""
    return hashlib.sha256(b"secret id\0" + secret).hexdigest()[:12] if secret is not None else ""


@cache
def machinery() -> str:
    """A hash of the code that decides."""
    files: list[Path] = []
    for name in DECIDING:
        path = CHECKER / name
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return _hash(files)


def puzzle_files(name: str) -> set[Path]:
    """A puzzle's file, and the files in `course/` that it uses."""
    course, files, waiting = CHECKER / "course", set[Path](), [*(CHECKER / "course").rglob(f"{name}.py")]
    while waiting:
        path = waiting.pop()
        if path in files or not path.is_file():
            continue
        files.add(path)
        waiting += [course / f"{module}.py" for module in _used(path)]
    return files


@cache
def puzzle_version(name: str) -> str:
    """A hash of a puzzle's file, of what it uses in `course/`, and of its wrong kernels."""
    bank = CHECKER / "misconceptions"
    return _hash([*puzzle_files(name), *bank.glob(f"{name}.*"), *bank.glob("*.py")])


def _used(path: Path) -> Iterable[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("checker.course"):
            yield from [(node.module or "").rpartition(".")[2], *(alias.name for alias in node.names)]


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(path.relative_to(CHECKER).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def without_origin(source: KernelSource) -> KernelSource:
    """The kernel without its file's name: kernels that are otherwise the same, on the same lines, are judged once.

    Other cells keep their numbers, which messages about their helpers mention.
    """
    if source.problems:
        return source
    text = "\n".join(line.rstrip() for line in source.source.split("\n"))
    places = {piece.origin: piece.origin.rpartition(", ")[2] for piece in source.pieces} | {source.origin: "kernel"}
    pieces = tuple(replace(piece, origin=places[piece.origin]) for piece in source.pieces)
    return replace(source, source=text, pieces=pieces)


@cache
def packages() -> tuple[str, ...]:
    """The versions of Python and of the packages that compute."""
    python = ".".join(platform.python_version_tuple()[:2])
    return (python, *(version(name) for name in ("torch", "triton", "numpy", "ml_dtypes")))


def key_of(puzzle: Puzzle, source: KernelSource, setting: Setting) -> str:
    """The key of the verdict on a kernel `without_origin`."""
    parts = (
        FORMAT,
        puzzle.name,
        puzzle_version(puzzle.name),
        machinery(),
        packages(),
        source,
        (setting.device, setting.secret_id, setting.diagnose, setting.seconds),
    )
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]
