"""The wrong and the right kernels of the course, judged once for what decides about them: `make judged`.

The tests marked ``judged`` judge more than 1,000 kernels, which takes two cores twenty minutes. A verdict hangs on the kernel, its
puzzle, the code that judges and the versions that compute. `reports/judged.json` keeps a hash of all that for each puzzle whose kernels
all came out as they should. Where the hash is still the same, a test run takes one in `ONE_IN` of these tests, others at every commit;
where it is not, all of the puzzle's. So a change that decides about verdicts is either judged by whoever makes it, with this command,
or by CI, which then takes longer.

    JUDGE=all make test                  judge everything, whatever is recorded
    JUDGE="row_softmax" make test        the kernels of these puzzles, and no others
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.course import LADDER  # noqa: E402
from checker.grading.keys import DECIDING, packages  # noqa: E402
from tools.mutant_reports import CPU, load  # noqa: E402

REPORT = ROOT / "reports" / "judged.json"
TESTS = (
    "tests/misconceptions/test_kills.py",
    "tests/misconceptions/test_reports.py",
    "tests/misconceptions/test_held_out.py",
    "tests/simulator/lockstep/test_differential.py",
    "tests/judge/test_authoring.py",
    "tests/judge/test_gates.py",
    "tests/judge/test_int64_overflow.py",
    "tests/test_guarded.py",
)
"""Where tests are marked so. Each has its puzzle, or what names it, among its parameters."""
KERNELS = ("correct", "rewrites", "styles")
ONE_IN = 20
SHOWN = 16
"""Digits of a hash."""


def recorded() -> Mapping[str, str]:
    """The hash under which each puzzle's kernels were judged; nothing where there is no report."""
    verdicts: Mapping[str, str] = json.loads(REPORT.read_text("utf-8"))["puzzles"] if REPORT.exists() else {}
    return verdicts


def stale() -> list[str]:
    """The puzzles that have to be judged again."""
    known = recorded()
    return [puzzle.name for puzzle in LADDER if known.get(puzzle.name) != decides(puzzle.name)]


def decides(puzzle: str) -> str:
    """A hash of everything that decides about the verdicts on the kernels of `puzzle`."""
    course = sorted((ROOT / "checker" / "course").glob("*.py"))
    pages = [ROOT / "checker" / "misconceptions" / f"{puzzle}.md"]
    pages += [ROOT / "tests" / "misconceptions" / folder / f"{puzzle}.md" for folder in KERNELS]
    own = [ROOT / "solutions" / f"{puzzle}.py", *(path for path in course if _is_used_by(puzzle, path.stem))]
    texts = [path.read_text("utf-8") for path in pages if path.is_file()]
    published = [json.dumps(table) for table in _kill_tables() if table["puzzle"] == puzzle]
    return _hash([_machinery(), *packages(), *map(_code, own), *texts, *published])


@cache
def _kill_tables() -> list[dict[str, object]]:
    tables: list[dict[str, object]] = load(CPU)["puzzles"]
    return tables


@cache
def _machinery() -> str:
    """The code that judges and the tests that say what a verdict has to be."""
    files = [*(ROOT / test for test in TESTS), ROOT / "tests" / "misconceptions" / "kernels.py"]
    for name in (*DECIDING, "misconceptions"):
        path = ROOT / "checker" / name
        files += path.rglob("*.py") if path.is_dir() else [path]
    return _hash(map(_code, sorted(files)))


def _is_used_by(puzzle: str, module: str) -> bool:
    """A puzzle hangs on its own module and on those of `course/` that are no puzzle's."""
    return module == puzzle or module not in {other.name for other in LADDER}


@cache
def _code(path: Path) -> str:
    """What a module says to Python: neither comments and docstrings nor where its lines break."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)]
    return f"{path.relative_to(ROOT)}\n{ast.dump(tree)}"


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:SHOWN]


# ---------------------------------------------------------------------------------------------------------- the test run


def chosen(tests: Mapping[str, str], asked: str) -> set[str]:
    """Of the `tests`, id → puzzle, those to run: `asked` is the variable JUDGE (see above)."""
    if asked == "all":
        return set(tests)
    if asked:
        return {test for test, puzzle in tests.items() if puzzle in asked.split()}
    again = set(stale())
    standing = [test for test, puzzle in tests.items() if puzzle not in again]
    drawn = random.Random(_commit()).sample(standing, -(-len(standing) // ONE_IN))
    return {*drawn, *(tests.keys() - set(standing))}


@cache
def _commit() -> str:
    git = ["git", "rev-parse", "HEAD"]
    return subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def summary(asked: str) -> str:
    """What a test run says of the kernels that it did not judge."""
    if asked:
        return f"judged: the kernels of {asked}"
    again = stale()
    judged = f"all kernels of {', '.join(again)}" if again else "no puzzle's kernels whole"
    return (
        f"judged: {judged}; of the other {len(LADDER) - len(again)} puzzles, whose verdicts stand in reports/judged.json, "
        f"one kernel in {ONE_IN} (JUDGE=all judges every one)"
    )


# ---------------------------------------------------------------------------------------------------------------- main


def judge(puzzle: str, jobs: int) -> bool:
    """Whether every kernel of a puzzle comes out as it should."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "-m", "judged", *TESTS]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"JUDGE": puzzle}, check=False).returncode == 0


def record(puzzles: Iterable[str], right: Callable[[str], bool]) -> list[str]:
    """Judge these puzzles and write after each what is known by then; those with a kernel that came out otherwise."""
    wrong = []
    for puzzle in puzzles:
        before = decides(puzzle)
        if not right(puzzle):
            wrong.append(puzzle)
            continue
        known = {**recorded(), puzzle: before}
        table = {p.name: known[p.name] for p in LADDER if p.name in known}
        REPORT.write_text(json.dumps({"schema": "judged/v1", "puzzles": table}, indent=1) + "\n", "utf-8")
    return wrong


def main() -> int:
    puzzles = stale()
    if not puzzles:
        print("judged: nothing that decides has changed")
        return 0
    print("judged:", *puzzles, flush=True)
    wrong = record(puzzles, lambda puzzle: judge(puzzle, os.cpu_count() or 1))
    if wrong:
        print("judged: not as it should be:", *wrong, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
