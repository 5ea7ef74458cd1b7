"""What the notebooks say: links that lead somewhere, every parameter and verb, predictions and answers, no solution given away."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from checker.course import LADDER

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "notebooks" / "src").glob("*.md"))
DOCS = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/workshop").rglob("*.md"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS, *SOURCES]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"^<!-- \w+ -->$", re.MULTILINE)


def prose(path: Path) -> str:
    """The page without front matter, slide markers and code."""
    return FENCE.sub("", MARKER.sub("", FRONT_MATTER.sub("", path.read_text("utf-8"))))


def links(path: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(path))


def test_links_lead_somewhere() -> None:
    assert all(links(path) for path in SOURCES)
    for path in PAGES:
        # links of a notebook start from where the notebook is, its figures from where the source is
        folder = ROOT / "notebooks" if path in SOURCES else path.parent
        for link in links(path):
            if link.startswith("https://"):
                continue
            assert not link.startswith(("http:", "/", "file:")), (path.name, link)
            target = (path.parent if link.startswith("figures/") else folder) / link.split("#")[0]
            assert target.exists(), (path.name, link)


def test_every_figure_is_used_and_described() -> None:
    for path in PAGES:
        for words, link in re.findall(r"!\[(.*?)\]\(([^)\s]+)\)", prose(path)):
            assert len(words.split()) >= 5, f"{path.name}: describe {link} for readers who cannot see it"
    used = {link for source in SOURCES for link in links(source)}
    assert {f"figures/{figure.name}" for figure in (ROOT / "notebooks/src/figures").iterdir()} <= used


def test_a_notebook_names_every_parameter_and_offers_every_verb() -> None:
    for puzzle in LADDER:
        source = ROOT / "notebooks/src" / f"{puzzle.notebook}.md"
        text = prose(source)
        assert [name for name in puzzle.parameters if f"`{name}" not in text] == [], puzzle.name
        for verb in ("check", "film", "hint"):
            assert f"\n{verb}({puzzle.kernel})\n" in source.read_text("utf-8")


def test_headings_go_down_one_level_at_a_time() -> None:
    for path in SOURCES:
        levels = [len(marks) for marks in re.findall(r"^(#+) ", prose(path), re.MULTILINE)]
        assert (levels[0], levels.count(1)) == (1, 1), path.name
        assert all(below <= above + 1 for above, below in itertools.pairwise(levels)), path.name


def test_a_notebook_takes_an_hour_at_most_and_leads_to_the_next() -> None:
    for path in SOURCES:
        stated = re.search(r"[Aa]bout (\d+) minutes", prose(path).split("\n## ")[0])
        assert stated is not None, path.name
        assert int(stated[1]) <= 60, path.name
    for path, following in itertools.pairwise(SOURCES):
        closing = prose(path).split("\n## What next")[1].split("\n## ")[0]
        assert f"]({following.stem}.ipynb)" in closing, path.name


def test_every_change_under_break_it_on_purpose_has_a_folded_answer() -> None:
    for path in SOURCES:
        for text in re.split(r"^#+ Break it on purpose$", prose(path), flags=re.MULTILINE)[1:]:
            questions, details, rest = text.partition("<details>")
            assert details, path.name
            answers = rest.split("</details>")[0]
            counts = [len(re.findall(r"^\d+\. ", part, re.MULTILINE)) for part in (questions, answers)]
            assert counts[0] == counts[1], path.name


def test_every_prediction_is_recorded_under_a_name_of_its_own() -> None:
    names: list[str] = []
    for path in SOURCES:
        text = path.read_text("utf-8")
        recorded = re.findall(r"^predicted\(\"([^\"]+)\", prediction, ", text, re.MULTILINE)
        assert len(re.findall(r"^prediction = ", text, re.MULTILINE)) == len(recorded), path.name
        names += recorded
    assert len(set(names)) == len(names)


def test_no_cell_gives_the_solution_away() -> None:
    """No code cell of a notebook contains a line that its learner has to write."""
    for puzzle in LADDER:
        code = "\n".join(FENCE.findall((ROOT / "notebooks/src" / f"{puzzle.notebook}.md").read_text("utf-8")))
        solution = (ROOT / "solutions" / f"{puzzle.name}.py").read_text("utf-8")
        lines = [line.strip() for line in solution.split("# your code starts here")[1].splitlines()[1:]]
        kernel = [line for line in lines if any(map(str.isalnum, line)) and not line.startswith("#")]
        assert kernel, puzzle.name
        assert [line for line in kernel if line in code] == [], puzzle.name
