"""Who may import whom: packages, the rooms of `checker`, the public face of `checker`; and no module imports in a circle.

Annotations count: an import under ``TYPE_CHECKING`` is an import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHECKER = ROOT / "checker"

ROOMS: tuple[frozenset[str], ...] = (
    frozenset({"phrases", "pure_triton", "puzzle", "workspace"}),
    frozenset({"authoring"}),
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
"""From the vocabulary to what people see. Anything else (the verbs, the shell, the public face) comes last and may import all."""

RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
LAST = len(ROOMS)
VOCABULARY = "checker.films.diagram"
"""What a puzzle says about its film: plain data that imports no room. It is the one module that the course may use of a later room."""
JOB = ("judge/launcher.py", "checker.lens.calls")
"""The file that writes the text of a job that calls a function around kernels, and the module that only this job imports."""
CODE_IN_TEXT = re.compile(r"^\s*(?:from|import) (checker[\w.]*)", re.MULTILINE)
"""An import in text that some process is to run."""

PACKAGES: Mapping[str, frozenset[str]] = {
    "checker": frozenset(),
    "classroom": frozenset({"checker"}),
    "tools": frozenset({"checker", "classroom"}),
    "bench": frozenset({"checker", "classroom", "tools"}),
    "tests": frozenset({"checker", "classroom", "tools", "bench"}),
}
"""The packages of the repository, each with the others that it may import."""


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the packages, by its name: ``checker.judge.verdict``, ``checker.judge`` for its `__init__.py`."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    paths = [path for path in paths if "vendored" not in path.parts]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in sorted(paths)
    }


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Every module or name of the packages that a file imports, in full, at any depth, with its line."""
    package = path.relative_to(ROOT).parent.parts
    names: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
    return tuple((name, line) for name, line in names if name.split(".")[0] in PACKAGES)


def wrong_packages(path: Path) -> list[str]:
    package = path.relative_to(ROOT).parts[0]
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}: {package} may not import it"
        for name, line in imports(path)
        if ((other := name.split(".")[0]) != package and other not in PACKAGES[package])
        or (package == "classroom" and other == "checker" and not name.startswith("checker.api."))
        or (".test_" in name and "exhaustive" not in path.parts)  # a long test may extend the short one beside it
    ]


# ------------------------------------------------------------------------------------------------- the rooms of `checker`

FILES = sorted(path for path in CHECKER.rglob("*.py") if "vendored" not in path.parts)


def room_of(path: Path) -> str:
    """``judge`` for `checker/judge/verdict.py`, ``puzzle`` for `checker/puzzle.py`, ``checker`` for the package itself."""
    parts = path.relative_to(CHECKER).with_suffix("").parts
    return "checker" if parts == ("__init__",) else parts[0]


def imports_in_text(path: Path) -> Iterator[tuple[str, int]]:
    """Every module of `checker` that code in a file's strings imports, with the line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((name, node.lineno) for name in CODE_IN_TEXT.findall(node.value))


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every room of `checker` that a file imports from, with the line."""
    file = path.relative_to(CHECKER).as_posix()
    in_text = [(name, line) for name, line in imports_in_text(path) if (file, name) != JOB]
    for name, line in (*imports(path), *in_text):
        parts = name.split(".")
        if parts[0] == "checker" and not f"{name}.".startswith(f"{VOCABULARY}."):
            here = CHECKER / parts[1] if len(parts) > 1 else CHECKER
            yield (
                (parts[1] if here.is_dir() or here.with_suffix(".py").is_file() or parts[1] in RANK else "checker"),
                line,
            )


def wrong_rooms(path: Path) -> list[str]:
    room = room_of(path)
    rank = RANK.get(room, LAST)
    return [
        f"{path.relative_to(ROOT)}:{line} imports {other}, which comes after {room}"
        for other, line in imported(path)
        if other != room and (RANK.get(other, LAST) > rank or (RANK.get(other, LAST) == rank != LAST))
    ]


# ---------------------------------------------------------------------------------------------------------------- circles


def graph(prefix: str) -> dict[str, set[str]]:
    """The modules whose names begin with `prefix`, each with those that it imports."""
    names = {name: path for name, path in modules().items() if f"{name}.".startswith(f"{prefix}.")}
    return {
        name: {full if full in names else full.rpartition(".")[0] for full, _ in imports(path)} & names.keys() - {name}
        for name, path in names.items()
    }


def circle(edges: Mapping[str, set[str]]) -> str:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return " → ".join(error.args[1])
    return ""


# ------------------------------------------------------------------------------------------------------------------ tests


def test_a_package_imports_only_what_it_may() -> None:
    """`checker` never imports `classroom`, which uses only its public face; nobody imports a module of tests."""
    assert [problem for path in modules().values() for problem in wrong_packages(path)] == []


def test_a_room_imports_only_rooms_before_it() -> None:
    assert [problem for path in FILES for problem in wrong_rooms(path)] == []


def test_no_module_imports_in_a_circle() -> None:
    rooms = [f"checker.{path.name}" for path in CHECKER.iterdir() if (path / "__init__.py").is_file()]
    assert [found for name in (*rooms, "classroom", "tools", "bench", "tests") if (found := circle(graph(name)))] == []


def test_a_puzzle_needs_only_the_vocabulary_and_other_puzzles() -> None:
    for path in sorted((CHECKER / "course").rglob("*.py")):
        assert {other for other, _ in imported(path)} <= {"puzzle", "authoring", "course"}, path.name


def test_a_wrong_import_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Imports inside a function or a string, relative ones, the package's own name and TYPE_CHECKING all count."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.CHECKER", tmp_path / "checker")
    files = {
        "checker/judge/case.py": "def f():\n    from checker.view import card\n    from ..films import run\n"
        "    from checker import sandbox\n    'import checker.checking'\nif TYPE_CHECKING:\n    from checker.judge.verdict import Verdict\n",
        "checker/judge/verdict.py": "from . import case\nimport classroom.cli\n",
        "classroom/cli.py": "from checker.api.command_line import App\nfrom checker.judge import verdict\n",
        "tests/test_a.py": "from tests.test_b import helper\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    modules.cache_clear()
    case, *others = (tmp_path / name for name in files)
    assert [message.split(" imports ")[1].split(",")[0] for message in wrong_rooms(case)] == [
        "view",
        "films",
        "sandbox",
        "checking",
    ]
    assert [message.split(" imports ")[1].split(":")[0] for path in others for message in wrong_packages(path)] == [
        "classroom.cli",
        "checker.judge.verdict",
        "tests.test_b.helper",
    ]
    assert set(circle(graph("checker")).split(" → ")) == {"checker.judge.case", "checker.judge.verdict"}
    modules.cache_clear()


def test_the_job_that_calls_a_function_imports_what_is_said_here() -> None:
    file, module = JOB
    assert [name for name, _ in imports_in_text(CHECKER / file)] == [module]
    assert module in modules()


def test_the_vocabulary_of_films_imports_no_room() -> None:
    assert imports(CHECKER / "films" / "diagram.py") == ()
