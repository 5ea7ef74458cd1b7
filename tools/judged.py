"""The record of what was judged: `make judged` writes it, and test runs leave out what it covers.

The tests marked ``judged`` judge more than 1,000 kernels and run every notebook, which takes two cores half an hour. Their results depend
on the kernel, its puzzle, the code that judges and the versions of the packages that compute. `reports/judged.json` keeps a hash of all
that for each puzzle whose kernels all came out as they should, for each notebook that ran as it should, for each pair of Triton and NumPy
on which the simulator's tests passed, for the fast solutions, which are compiled and simulated in every configuration, for the films of
right and wrong kernels (`films`), for a learner's work in a real JupyterLab and in a notebook's kernel (`browser`), and for what takes the
whole course as it is (`whole-course`): a pack, a puzzle added in six steps, a grading that is stopped, a room of learners, and gradings
beside nbgrader, otter-grader, Ray and a JupyterHub. Where the hash is unchanged, a test run takes one in `ONE_IN` of these tests, others at
every commit and none that is marked ``slow``, and leaves out the pair. Where it changed, the test run takes all of them. So whoever
changes something that decides about verdicts judges it with this command, or leaves it to CI, which then takes longer.

    JUDGE=all make test                  judge everything, whatever is recorded
    JUDGE="row_softmax" make test        the tests of these puzzles, notebooks or other subjects
    python tools/judged.py --list                     what has to be judged again
    python tools/judged.py --only row_softmax films   judge these puzzles, notebooks, pairs or other subjects
    python tools/judged.py --unchanged 3.6.0/2.3.5    exits with 0 where nothing has to be judged again
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.course import LADDER, PUZZLES  # noqa: E402
from classroom.grading.keys import DECIDING, packages, puzzle_files  # noqa: E402
from tools import browser, companions  # noqa: E402
from tools.mutant_reports import CPU, KINDS, load, path_of  # noqa: E402

REPORT = ROOT / "reports" / "judged.json"
TESTS = (
    "tests/misconceptions/test_kills.py",
    "tests/misconceptions/test_reports.py",
    "tests/misconceptions/test_held_out.py",
    "tests/simulator/lockstep/test_differential.py",
    "tests/compiler/test_compile.py",
    "tests/compiler/test_launch_keys.py",
    "tests/course/test_ladder.py",
    "tests/course/test_linear_attention.py",
    "tests/judge/test_authoring.py",
    "tests/judge/test_gates.py",
    "tests/judge/test_int64_overflow.py",
    "tests/judge/test_launches.py",
    "tests/judge/test_tolerances.py",
    "tests/notebooks/test_execution.py",
    "tests/test_guarded.py",
)
"""Where tests are marked so. Each has its puzzle or notebook, or what names it, among its parameters."""
USED = (
    "tests/judge/helpers.py",
    "tests/judge/local_runner.py",
    "tests/misconceptions/kernels.py",
    "tests/simulator/launching.py",
    "tests/simulator/lockstep/differential.py",
    "tools/diagnoses.py",
    "tools/guarded.py",
    "tools/mutate.py",
    "tools/mutations.py",
    "tools/semantic.py",
)
"""What these tests judge with."""
WORDS = ROOT / "checker" / "course" / "family_words.py"
"""Every puzzle names its cases with these, and a new puzzle may add some: they decide nothing."""
KERNELS = ("correct", "rewrites", "styles", "unseen")
MATRIX = ("3.6.0/2.3.5", "3.9.0/newest")
"""The pairs of Triton and NumPy that `tools/test-matrix` tries."""
OF_THE_MATRIX = ("tests/simulator", "tests/compiler/test_launch_keys.py")
FAST = "solutions/fast"
OF_THE_FAST = ("tests/fast/test_compiled.py", "tests/fast/test_values.py")
NOTEBOOKS = tuple(sorted({puzzle.notebook for puzzle in LADDER}))


@dataclass(frozen=True)
class Group:
    """Tests that are judged together: the files that hold them, and all files and folders that have a say in their results."""

    tests: tuple[str, ...]
    read: tuple[str, ...]
    in_browser: bool = False


FILMS, BROWSER, WHOLE = "films", "browser", "whole-course"
GROUPS = {
    FILMS: Group(
        (
            "tests/films/test_axe.py",
            "tests/films/test_diagram.py",
            "tests/films/test_page.py",
            "tests/films/test_player.py",
            "tests/films/test_side_by_side.py",
            "tests/films/test_state_divergence.py",
        ),
        (
            "checker",
            "solutions",
            "tests/browser/chromium.py",
            "tests/films",
            "tests/misconceptions/correct",
            "tests/misconceptions/kernels.py",
            "tests/view",
            "tools/browser.py",
        ),
        in_browser=True,
    ),
    BROWSER: Group(
        (
            "tests/browser/test_chunked_softmax.py",
            "tests/browser/test_row_softmax.py",
            "tests/verbs/test_notebook.py",
        ),
        (
            "checker",
            "notebooks",
            "puzzles",
            "solutions",
            "tests/browser",
            "tests/verbs/conftest.py",
            "tests/verbs/test_notebook.py",
            "tools",
            "constraints.txt",
            "pyproject.toml",
        ),
        in_browser=True,
    ),
    WHOLE: Group(
        (
            "tests/classroom/grading/test_judge_process.py",
            "tests/classroom/grading/test_judging.py",
            "tests/classroom/grading/test_nbgrader.py",
            "tests/classroom/grading/test_otter.py",
            "tests/classroom/grading/test_ray.py",
            "tests/test_contributing.py",
            "tests/classroom/workshop/test_hub.py",
            "tests/classroom/workshop/test_pack.py",
            "tests/classroom/workshop/test_room_size.py",
        ),
        (
            "checker",
            "notebooks",
            "puzzles",
            "solutions",
            "tests/browser/chromium.py",
            "tests/example_puzzle",
            "tests/films/conftest.py",
            "tests/classroom/grading",
            "tests/judge",
            "tests/test_contributing.py",
            "tests/classroom/workshop",
            "tools",
            "constraints.txt",
            "environment.yml",
            "pyproject.toml",
            "README.md",
            "LICENSE",
            "LICENSE-TEXT",
        ),
    ),
}
"""The subjects that are no puzzle, no notebook, no pair and no fast solution."""
SUBJECTS = (*PUZZLES, *NOTEBOOKS, *MATRIX, FAST, *GROUPS)
ONE_IN = 800
SHOWN = 16
"""Digits of a hash."""


def recorded() -> Mapping[str, str]:
    """The hash under which each subject was judged; nothing where there is no report."""
    known: Mapping[str, str] = json.loads(REPORT.read_text("utf-8"))["decides"] if REPORT.exists() else {}
    return known


def stale(subjects: Iterable[str] = SUBJECTS) -> list[str]:
    """Those of the subjects that have to be judged again."""
    known = recorded()
    return [subject for subject in subjects if known.get(subject) != decides(subject)]


def decides(subject: str) -> str:
    """A hash of everything that decides about the verdicts on a puzzle's kernels, or about the tests of another subject."""
    if subject in PUZZLES:
        return _of_puzzle(subject)
    if subject in GROUPS:
        return _of_group(GROUPS[subject])
    if subject == FAST:
        return _of_fast()
    return _of_pair(subject) if subject in MATRIX else _of_notebook(subject)


def _of_puzzle(puzzle: str) -> str:
    pages = [ROOT / "checker" / "misconceptions" / f"{puzzle}.md"]
    pages += [ROOT / "tests" / "misconceptions" / folder / f"{puzzle}.md" for folder in KERNELS]
    texts = [path.read_text("utf-8") for path in pages if path.is_file()]
    code = [ROOT / "solutions" / f"{puzzle}.py", *sorted(_files_of(puzzle) - {WORDS})]
    published = [json.dumps(table) for table in _published() if table["puzzle"] == puzzle]
    return _hash([_machinery(), *packages(), *map(_code, code), *texts, *published])


_files_of = cache(puzzle_files)


def _of_notebook(notebook: str) -> str:
    return _hash([_everything(), *packages(), (ROOT / "notebooks" / f"{notebook}.ipynb").read_text("utf-8")])


def _of_pair(pair: str) -> str:
    tests = [path for place in OF_THE_MATRIX for path in _python(ROOT / place)]
    return _hash([_machinery(), *packages(), pair, *map(_code, (*tests, *_python(ROOT / "checker" / "course")))])


def _of_fast() -> str:
    places = (FAST, "tests/fast", "checker/compiler", "checker/simulator", "checker/puzzle.py")
    return _hash([*packages(), *(_code(path) for place in places for path in _python(ROOT / place))])


def _of_group(group: Group) -> str:
    paths = [path for place in group.read for path in _files(ROOT / place)]
    return _hash([*packages(), *([_browser()] if group.in_browser else []), *map(_contents, paths)])


@cache
def _browser() -> str:
    """The version of Chromium, empty where there is none."""
    path = browser.find_browser()
    command = [path or "", "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout if path else ""


def _files(place: Path) -> list[Path]:
    """A file, or those of a folder, without what tools leave there."""
    found = place.rglob("*") if place.is_dir() else [place]
    return sorted(path for path in found if path.is_file() and not _is_left_over(path.relative_to(ROOT)))


def _is_left_over(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts)


@cache
def _contents(path: Path) -> str:
    """A module of the course's own as `_code`; everything else, kernels too, with each of its characters."""
    own = path.relative_to(ROOT).parts[:2]
    if path.suffix == ".py" and own[0] in ("checker", "tests", "tools") and own[1] != "example_puzzle":
        return _code(path)
    return f"{path.relative_to(ROOT)}\n{path.read_bytes().decode(errors='backslashreplace')}"


def _python(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


@cache
def _published() -> list[dict[str, object]]:
    """What the reports say of each puzzle's wrong kernels and mutants."""
    return [table for path in (CPU, *map(path_of, KINDS)) for table in load(path)["puzzles"]]


@cache
def _machinery() -> str:
    """The code that judges and the tests that say what a verdict has to be."""
    files = [ROOT / name for name in (*TESTS, *USED)]
    files += [path for name in (*DECIDING, "misconceptions") for path in _python(ROOT / "checker" / name)]
    return _hash(map(_code, sorted(files)))


@cache
def _everything() -> str:
    """All that a notebook may call or show."""
    code = [
        *_python(ROOT / "checker"),
        *_python(ROOT / "solutions"),
        ROOT / "tests" / "notebooks" / "test_execution.py",
    ]
    data = [path for path in sorted((ROOT / "checker").rglob("*")) if path.suffix in (".md", ".css", ".js")]
    return _hash([*map(_code, code), *(path.read_text("utf-8") for path in data)])


@cache
def _code(path: Path) -> str:
    """What a module says to Python: neither comments and docstrings nor where its lines break."""
    tree = ast.parse(path.read_text("utf-8"))
    _leave_out_texts(tree)
    return f"{path.relative_to(ROOT)}\n{ast.dump(tree)}"


def _leave_out_texts(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = [line for line in node.body if not _is_text(line)]
    for block in (
        "body",
        "orelse",
        "finalbody",
        "handlers",
        "cases",
    ):  # not `ast.walk`: no expression holds a docstring
        for line in getattr(node, block, ()):
            _leave_out_texts(line)


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:SHOWN]


# ---------------------------------------------------------------------------------------------------------- the test run


def chosen(tests: Mapping[str, str], choice: str, again: Collection[str], slow: Collection[str] = ()) -> set[str]:
    """Of the `tests`, id → subject, those to run: `choice` is the variable JUDGE (see above), `again` the stale subjects.

    The sample of what stands takes none of the `slow` ones: one of them takes as long as all others that are drawn.
    """
    if choice == "all":
        return set(tests)
    if choice:
        return {test for test, subject in tests.items() if subject in choice.split()}
    standing = [test for test, subject in tests.items() if subject not in again]
    quick = [test for test in standing if test not in slow]
    drawn = random.Random(_commit()).sample(quick, -(-len(quick) // ONE_IN))
    return {*drawn, *(tests.keys() - set(standing))}


@cache
def _commit() -> str:
    git = ["git", "rev-parse", "HEAD"]
    return subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def summary(choice: str, again: Collection[str]) -> str:
    """What a test run says of the tests that it left out."""
    if choice:
        return f"judged: {choice}"
    return (
        f"judged: all of {len(again)} of {len(SUBJECTS)} puzzles, notebooks and other subjects; of the others, which stand in reports/judged.json, "
        f"one test in {ONE_IN} (JUDGE=all takes every one)"
    )


# ---------------------------------------------------------------------------------------------------------------- main


def judge(subject: str, jobs: int) -> bool:
    """Whether everything of a subject comes out as it should."""
    if missing := needed(subject):
        print(f"judged: {subject} needs {', '.join(missing)} (`make browser companions`)", file=sys.stderr)
        return False
    if subject in MATRIX:
        command, variables = ["tools/test-matrix"], {"PAIRS": subject, "JUDGE": "all", "JOBS": str(jobs)}
    else:
        tests = GROUPS[subject].tests if subject in GROUPS else (*TESTS, *OF_THE_FAST)
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "-m", "judged", *tests]
        variables = {"JUDGE": subject}
    return subprocess.run(command, cwd=ROOT, env=os.environ | variables, check=False).returncode == 0


def needed(subject: str) -> list[str]:
    """What is not here and would let tests of a subject be skipped, which is not to be recorded as right."""
    if subject == WHOLE:
        return companions.missing()
    in_browser = subject in GROUPS and GROUPS[subject].in_browser
    found = {"Chromium": browser.find_browser(), "axe-core": browser.find_axe()} if in_browser else {}
    return [name for name, path in found.items() if path is None]


def record(subjects: Iterable[str], right: Callable[[str], bool]) -> list[str]:
    """Judge these and write after each what is known by then; those that did not come out as they should."""
    wrong = []
    for subject in subjects:
        before = decides(subject)
        if not right(subject):
            wrong.append(subject)
            continue
        known = {**recorded(), subject: before}
        table = {name: known[name] for name in SUBJECTS if name in known}
        REPORT.write_text(json.dumps({"schema": "judged/v1", "decides": table}, indent=1) + "\n", "utf-8")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Judges every kernel of each puzzle that changed, and runs each notebook, and all else, that did."
    )
    parser.add_argument("--list", action="store_true", help="judge nothing, only name what has to be judged again")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=SUBJECTS,
        metavar="NAME",
        help="judge these puzzles, notebooks or other subjects only",
    )
    parser.add_argument(
        "--unchanged", nargs="+", choices=SUBJECTS, metavar="NAME", help="exit with 0 where these need not be judged"
    )
    options = parser.parse_args()
    if options.unchanged:
        asked_for = {"all", *options.unchanged} & set(os.environ.get("JUDGE", "").split())
        return 1 if asked_for or stale(options.unchanged) else 0
    subjects = stale([subject for subject in SUBJECTS if subject in (options.only or SUBJECTS)])
    if not subjects:
        print("judged: nothing that decides has changed")
        return 0
    print("judged:", *subjects)
    if options.list:
        return 0
    print(
        "judged: a puzzle takes one to four minutes on two cores, a notebook half a minute, all else a few minutes; what is done is kept if you stop",
        flush=True,
    )
    wrong = record(subjects, lambda subject: judge(subject, os.cpu_count() or 1))
    if wrong:
        print("judged: not as it should be:", *wrong, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
