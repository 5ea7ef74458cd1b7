"""The rooms of `checker/` stand in one order, and a room imports only from those before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parent.parent / "checker"

ROOMS: tuple[frozenset[str], ...] = (
    frozenset({"puzzle", "region", "workspace"}),
    frozenset({"course"}),
    frozenset({"submission"}),
    frozenset({"misconceptions"}),  # wrong kernels are submissions, read as data
    frozenset({"simulator"}),
    frozenset({"compiler"}),
    frozenset({"gpu"}),
    frozenset({"judge"}),
    frozenset({"sandbox"}),
    frozenset({"checking"}),
    frozenset({"view"}),
    frozenset({"films"}),
    frozenset({"grading"}),
)
"""From the vocabulary to what people see. What is in no room (the verbs, the shell) comes last and may import all."""

RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
LAST = len(ROOMS)
FILES = sorted(CHECKER.rglob("*.py"))


def room_of(path: Path) -> str:
    """``judge`` for `checker/judge/verdict.py`, ``puzzle`` for `checker/puzzle.py`, ``checker`` for the package itself."""
    parts = path.relative_to(CHECKER).with_suffix("").parts
    return "checker" if parts == ("__init__",) else parts[0]


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every room a file imports from, wherever the import stands, with its line."""
    package = ("checker", *path.relative_to(CHECKER).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "checker" else [module]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "checker":
                yield (parts[1] if len(parts) > 1 else "checker"), node.lineno


def wrong_imports(path: Path) -> list[str]:
    room = room_of(path)
    rank = RANK.get(room, LAST)
    return [
        f"{path.relative_to(CHECKER.parent)}:{line} imports {other}, which comes after {room}"
        for other, line in imported(path)
        if other != room and (RANK.get(other, LAST) > rank or (RANK.get(other, LAST) == rank != LAST))
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(CHECKER)))
def test_imports_only_rooms_before_it(path: Path) -> None:
    assert wrong_imports(path) == []


def test_what_is_asked_holds_no_machinery() -> None:
    """A puzzle needs the vocabulary and the other puzzles' helpers, and nothing else."""
    for path in sorted((CHECKER / "course").rglob("*.py")):
        assert {other for other, _ in imported(path)} <= {"puzzle", "course"}, path.name


def test_a_wrong_import_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test above can fail: in a function, relative, and of the package's own name."""
    monkeypatch.setattr(f"{__name__}.CHECKER", tmp_path)
    path = tmp_path / "judge" / "case.py"
    path.parent.mkdir()
    path.write_text(
        "def f():\n    from checker.view import card\n    from ..grading import run\n    from checker import sandbox\n"
    )
    assert [message.split(" imports ")[1].split(",")[0] for message in wrong_imports(path)] == [
        "view",
        "grading",
        "sandbox",
    ]


def test_every_room_is_there() -> None:
    present = {room_of(path) for path in FILES}
    assert {"puzzle", "course", "submission", "simulator", "compiler", "judge", "sandbox", "grading", "view"} <= present
