"""The rooms of `checker/` stand in one order and import only from those before them; no module imports in a circle.

Annotations count: an import under ``TYPE_CHECKING`` is an import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parent.parent / "checker"

ROOMS: tuple[frozenset[str], ...] = (
    frozenset({"puzzle", "workspace"}),
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
)
"""From the vocabulary to what people see. What is in no room (the verbs, the shell) comes last and may import all."""

RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
LAST = len(ROOMS)
VOCABULARY = "checker.films.diagram"
"""What a puzzle says about its film: plain data that imports no room. It is the one module that the course may use of a later room."""
FILES = sorted(CHECKER.rglob("*.py"))


def room_of(path: Path) -> str:
    """``judge`` for `checker/judge/verdict.py`, ``puzzle`` for `checker/puzzle.py`, ``checker`` for the package itself."""
    parts = path.relative_to(CHECKER).with_suffix("").parts
    return "checker" if parts == ("__init__",) else parts[0]


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Every module or name of `checker` that a file imports, in full, at any depth, with its line."""
    package = ("checker", *path.relative_to(CHECKER).parent.parts)
    found: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
    return tuple((name, line) for name, line in found if name.split(".")[0] == "checker")


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every room a file imports from, with the line."""
    for name, line in imports(path):
        parts = name.split(".")
        if name == VOCABULARY or name.startswith(f"{VOCABULARY}."):
            continue
        here = CHECKER / parts[1] if len(parts) > 1 else CHECKER
        yield (parts[1] if here.is_dir() or here.with_suffix(".py").is_file() or parts[1] in RANK else "checker"), line


def wrong_imports(path: Path) -> list[str]:
    room = room_of(path)
    rank = RANK.get(room, LAST)
    return [
        f"{path.relative_to(CHECKER.parent)}:{line} imports {other}, which comes after {room}"
        for other, line in imported(path)
        if other != room and (RANK.get(other, LAST) > rank or (RANK.get(other, LAST) == rank != LAST))
    ]


def modules(folder: Path) -> dict[str, set[str]]:
    """The modules of a room, each with those of the same room that it names in an import."""
    names = {".".join(("checker", *p.relative_to(CHECKER).with_suffix("").parts)): p for p in folder.rglob("*.py")}
    return {
        name: {other for full, _ in imports(path) for other in (full, full.rpartition(".")[0]) if other in names}
        - {name}
        for name, path in names.items()
    }


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_room_imports_only_rooms_before_it() -> None:
    assert [problem for path in FILES for problem in wrong_imports(path)] == []


@pytest.mark.parametrize("room", sorted(p.name for p in CHECKER.iterdir() if (p / "__init__.py").is_file()))
def test_no_circles_inside_a_room(room: str) -> None:
    found = circle(modules(CHECKER / room))
    assert " → ".join(found) == ""


def test_what_is_asked_holds_no_machinery() -> None:
    """A puzzle needs the vocabulary and the other puzzles' helpers, and nothing else."""
    for path in sorted((CHECKER / "course").rglob("*.py")):
        assert {other for other, _ in imported(path)} <= {"puzzle", "course"}, path.name


def test_a_wrong_import_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests above can fail: in a function, relative, of the package's own name, under TYPE_CHECKING."""
    monkeypatch.setattr(f"{__name__}.CHECKER", tmp_path)
    (tmp_path / "judge").mkdir()
    path = tmp_path / "judge" / "case.py"
    path.write_text(
        "def f():\n    from checker.view import card\n    from ..films import run\n    from checker import sandbox\n"
        "if TYPE_CHECKING:\n    from checker.judge.verdict import Verdict\n"
    )
    (tmp_path / "judge" / "verdict.py").write_text("from . import case\n")
    assert [message.split(" imports ")[1].split(",")[0] for message in wrong_imports(path)] == [
        "view",
        "films",
        "sandbox",
    ]
    assert set(circle(modules(tmp_path / "judge"))) == {"checker.judge.case", "checker.judge.verdict"}


def test_every_room_is_there() -> None:
    present = {room_of(path) for path in FILES}
    assert {"puzzle", "course", "submission", "simulator", "compiler", "judge", "sandbox", "view"} <= present


def test_the_vocabulary_of_films_imports_no_room() -> None:
    assert imports(CHECKER / "films" / "diagram.py") == ()
