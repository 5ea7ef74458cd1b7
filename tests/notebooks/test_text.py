"""What the notebooks say: working links, every parameter and verb, pictures described in words, and no solution given away."""

from __future__ import annotations

import ast
import builtins
import json
import re
from pathlib import Path

from checker.course import LADDER
from checker.course.launchers import LAUNCHERS
from tools import site

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "notebooks" / "src").glob("*.md"))
DOCS = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/workshop").rglob("*.md"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS, *SOURCES]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text("utf-8"))


def links(path: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(path))


def test_links_lead_somewhere_and_pictures_are_described() -> None:
    for path in PAGES:
        # Jupyter resolves a notebook's links from notebooks/; its figures are next to the source.
        folder = ROOT / "notebooks" if path in SOURCES else path.parent
        assert links(path) or path not in SOURCES, path.name
        for link in links(path):
            if link.startswith("https://"):
                continue
            assert not link.startswith(("http:", "/", "file:")), (path.name, link)
            target = (path.parent if link.startswith("figures/") else folder) / link.split("#")[0]
            assert target.exists(), (path.name, link)
        for words, link in re.findall(r"!\[(.*?)\]\(([^)\s]+)\)", prose(path)):
            assert len(words.split()) >= 5, f"{path.name}: describe {link} for readers who cannot see it"


def test_the_site_has_every_file_that_its_pages_link_to() -> None:
    shown = {path for pattern in (*site.PAGES, *site.LINKED) for path in ROOT.glob(pattern)}
    shown |= {path.with_suffix(".ipynb") for path in (ROOT / "notebooks" / name for name in (p.name for p in SOURCES))}
    for page in sorted(path for path in shown if path.suffix == ".md"):
        local = {link.split("#")[0] for link in links(page) if not link.startswith(("https://", "#"))}
        assert {link for link in local if (page.parent / link).resolve() not in shown} == set(), page.name


def test_every_figure_is_used() -> None:
    used = {link for source in SOURCES for link in links(source)}
    assert {f"figures/{figure.name}" for figure in (ROOT / "notebooks/src/figures").iterdir()} <= used


def test_a_notebook_names_every_parameter_and_offers_every_verb() -> None:
    for puzzle in LADDER:
        source = ROOT / "notebooks/src" / f"{puzzle.notebook}.md"
        unexplained = [name for name in puzzle.parameters if f"`{name}" not in prose(source)]
        assert unexplained == [], f"{source.name}: explain these parameters of {puzzle.kernel} in backticks"
        for verb in ("check", "film", "hint"):
            assert f"\n{verb}({puzzle.kernel})\n" in source.read_text("utf-8"), puzzle.name


def test_a_learners_predictions_do_not_overwrite_each_other() -> None:
    names: list[str] = []
    for path in SOURCES:
        text = path.read_text("utf-8")
        recorded = re.findall(r"^predicted\(\s*\"([^\"]+)\",\s*prediction,", text, re.MULTILINE)
        assert len(recorded) == len(re.findall(r"^prediction = ", text, re.MULTILINE)), path.name
        names += recorded
    assert names
    assert len(names) == len(set(names))


def test_the_solution_is_not_given_away() -> None:
    """No code cell holds a line that a learner of this notebook has to write."""
    for puzzle in LADDER:
        code = "\n".join(FENCE.findall((ROOT / "notebooks/src" / f"{puzzle.notebook}.md").read_text("utf-8")))
        solution = (ROOT / "solutions" / f"{puzzle.name}.py").read_text()
        lines = [line.strip() for line in solution.split("# your code starts here")[1].splitlines()[1:]]
        # A lone bracket gives nothing away.
        kernel = [line for line in lines if re.search(r"\w", line) and not line.startswith("#")]
        assert kernel
        assert [line for line in kernel if line in code] == [], puzzle.name


def test_a_learner_writes_after_at_most_ten_cells() -> None:
    """From the top of a notebook to its first stub, and from the check of one puzzle to the stub of the next."""
    for puzzle in LADDER:
        cells = json.loads((ROOT / f"notebooks/{puzzle.notebook}.ipynb").read_text("utf-8"))["cells"]
        stub = next(i for i, cell in enumerate(cells) if cell["id"] == f"stub-{puzzle.name}")
        checks = [i for i, cell in enumerate(cells[:stub]) if "".join(cell["source"]).startswith("check(")]
        before = stub - checks[-1] - 1 if checks else stub
        assert before <= 10, f"{puzzle.notebook}: {before} cells before the stub of {puzzle.name}"


def test_a_learner_launches_every_kernel_on_tensors_of_their_own() -> None:
    for puzzle in LADDER:
        text = (ROOT / f"notebooks/src/{puzzle.notebook}.md").read_text("utf-8")
        launched = re.search(rf"^ *{puzzle.kernel}\[", text, re.MULTILINE)
        in_launcher = any(
            puzzle is used.puzzle for one in LAUNCHERS.values() if one.launcher for used in one.launcher.kernels
        )
        assert launched or in_launcher, puzzle.kernel


def test_every_name_that_a_cell_uses_comes_from_a_cell_above() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        known = set(dir(builtins))
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            nodes = list(ast.walk(ast.parse("".join(cell["source"])))) if cell["cell_type"] == "code" else []
            for node in nodes:
                if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
                    known.add(node.name or "")
                elif isinstance(node, ast.Import | ast.ImportFrom):
                    known |= {(name.asname or name.name).split(".")[0] for name in node.names}
                elif isinstance(node, ast.arg):
                    known.add(node.arg)
            names = [node for node in nodes if isinstance(node, ast.Name)]
            known |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
            assert {name.id for name in names} <= known, f"{path.name}: {''.join(cell['source'])[:80]}"
