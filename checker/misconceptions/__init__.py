"""Wrong kernels, one file each: what was believed, what to think instead, and the kernel that believes it.

A file is read as data and never imported. Its docstring has the paragraphs ``Believed: …``, ``Instead: …`` and, where it
helps, ``Try: …``. Its constants are `GATE` (the gate that should catch it, or a tuple of acceptable ones), `SAME_AS` (names of
others that behave the same) and `NOISE` (how far, relative to a row's largest element, two kernels of this belief may differ
by rounding alone). Lines that carry the mistake end in the comment ``# wrong``.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from checker.course import PUZZLES
from checker.submission.kernel import KernelSource, Piece

ROOT = Path(__file__).parent
_CONSTANTS = ("GATE", "SAME_AS", "NOISE")
_MARK = re.compile(r"#\s*wrong\b")


@dataclass(frozen=True)
class Misconception:
    """One wrong kernel. `wrong_lines` are the lines of `source` that carry the mistake."""

    puzzle: str
    name: str
    believed: str
    instead: str
    try_: str
    gates: tuple[str, ...]
    same_as: tuple[str, ...]
    source: KernelSource
    wrong_lines: tuple[int, ...]
    noise: float = 0.0


@cache
def bank(puzzle: str) -> tuple[Misconception, ...]:
    """Every misconception of a puzzle, by name; empty for a puzzle without any.

    Raises ValueError, naming the file, where one does not follow the format.
    """
    folder = ROOT / puzzle
    return tuple(read(path, puzzle) for path in sorted(folder.glob("*.py")) if path.name != "__init__.py")


def read(path: Path, puzzle: str) -> Misconception:
    """Read one file as data. Raises ValueError, naming the file, where it does not follow the format."""
    text = path.read_text(encoding="utf-8")
    try:
        module = ast.parse(text, filename=str(path.name))
    except SyntaxError as error:
        raise ValueError(f"{puzzle}/{path.name}: not valid Python: {error}") from error
    words = _paragraphs(ast.get_docstring(module) or "")
    constants = _constants(module)
    problems = [f"no paragraph '{word}:' in the docstring" for word in ("Believed", "Instead") if not words.get(word)]
    gates = _names(constants.get("GATE"))
    if not gates:
        problems.append("no GATE")
    kernel = PUZZLES[puzzle].kernel if puzzle in PUZZLES else f"{puzzle}_kernel"
    if not any(isinstance(node, ast.FunctionDef) and node.name == kernel for node in module.body):
        problems.append(f"no function {kernel}")
    wrong = tuple(i for i, line in enumerate(text.splitlines(), 1) if _MARK.search(line))
    if problems:
        raise ValueError(f"{puzzle}/{path.name}: {'; '.join(problems)}")
    noise = constants.get("NOISE", 0.0)
    return Misconception(
        puzzle=puzzle,
        name=path.stem,
        believed=words["Believed"],
        instead=words["Instead"],
        try_=words.get("Try", ""),
        gates=gates,
        same_as=_names(constants.get("SAME_AS")),
        source=kernel_source(text, puzzle, kernel, f"{puzzle}/{path.name}"),
        wrong_lines=wrong,
        noise=float(noise) if isinstance(noise, int | float) else 0.0,
    )


def kernel_source(text: str, puzzle: str, kernel: str, origin: str) -> KernelSource:
    """The kernel's module without docstring and constants, every line still at its own number."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        docstring = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        constant = isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in _CONSTANTS for t in node.targets
        )
        if docstring or constant:
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return KernelSource(puzzle, kernel, "\n".join(lines) + "\n", (Piece(1, len(lines), origin, 1),))


def _paragraphs(docstring: str) -> dict[str, str]:
    found = {}
    for paragraph in re.split(r"\n\s*\n", docstring.strip()):
        label, _, rest = " ".join(paragraph.split()).partition(":")
        if label in ("Believed", "Instead", "Try"):
            found[label] = rest.strip()
    return found


def _constants(module: ast.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in _CONSTANTS:
                found[name] = ast.literal_eval(node.value)
    return found


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(v) for v in value) if isinstance(value, tuple | list) else ()
