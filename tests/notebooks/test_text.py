"""What the notebooks say: links that lead somewhere, every parameter named, figures that can be read without seeing them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from checker.course import LADDER
from checker.puzzle import Puzzle

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "notebooks" / "src").glob("*.md"))
DOCS = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/workshop").rglob("*.md"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS, *SOURCES]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"^<!-- \w+ -->$", re.MULTILINE)


def read(path: Path) -> str:
    """What a reader sees of a page."""
    return MARKER.sub("", FRONT_MATTER.sub("", path.read_text("utf-8")))


def prose(path: Path) -> str:
    return FENCE.sub("", read(path))


def links(path: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(path))


def test_there_is_something_to_look_at() -> None:
    assert len(SOURCES) >= 2
    assert all(links(path) for path in SOURCES)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    # a notebook's links are followed from where the notebook lies, its figures from where the source does
    folder = ROOT / "notebooks" if path in SOURCES else path.parent
    for link in links(path):
        if link.startswith("https://"):
            continue
        assert not link.startswith(("http:", "/", "file:")), link
        target = (path.parent if link.startswith("figures/") else folder) / link.split("#")[0]
        assert target.exists(), link


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_pictures_have_words(path: Path) -> None:
    for words, link in re.findall(r"!\[(.*?)\]\(([^)\s]+)\)", prose(path)):
        assert len(words.split()) >= 8, f"{link}: say what the picture shows"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_every_figure_is_used(path: Path) -> None:
    used = {link for source in SOURCES for link in links(source)}
    assert {f"figures/{figure.name}" for figure in (path.parent / "figures").iterdir()} <= used


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_names_every_parameter(puzzle: Puzzle) -> None:
    text = prose(ROOT / "notebooks/src" / f"{puzzle.notebook}.md")
    assert [name for name in puzzle.parameters if f"`{name}" not in text] == []


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_offers_every_verb_for_the_kernel(puzzle: Puzzle) -> None:
    text = (ROOT / "notebooks/src" / f"{puzzle.notebook}.md").read_text("utf-8")
    for verb in ("check", "film", "hint"):
        assert f"\n{verb}({puzzle.kernel})\n" in text


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_headings_go_down_one_step_at_a_time(path: Path) -> None:
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose(path), re.MULTILINE)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in itertools.pairwise(levels))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_says_how_long_it_takes_and_takes_an_hour_at_most(path: Path) -> None:
    stated = re.search(r"[Aa]bout (\d+) minutes", prose(path).split("\n## ")[0])
    assert stated is not None
    assert int(stated[1]) <= 60


def test_the_first_check_comes_after_300_words() -> None:
    before = read(ROOT / "notebooks/src/00_start_here.md").split("\ncheck(")[0]
    assert len(re.sub(r"!\[.*?\]\(.*?\)", "", FENCE.sub("", before)).split()) <= 300


@pytest.mark.parametrize(("path", "following"), list(itertools.pairwise(SOURCES)), ids=lambda p: p.stem)
def test_what_next_links_to_the_notebook_after_it(path: Path, following: Path) -> None:
    closing = prose(path).split("\n## What next")[1].split("\n## ")[0]
    assert f"]({following.stem}.ipynb)" in closing


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_what_is_to_be_broken_has_folded_answers(path: Path) -> None:
    """Each list of changes is followed by what the card says, an answer for a change."""
    lists = re.split(r"^#+ Break it on purpose$", prose(path), flags=re.MULTILINE)[1:]
    for text in lists:
        questions, found, rest = text.partition("<details>")
        assert found, "no answers"
        answers = rest.split("</details>")[0]
        assert len(re.findall(r"^\d+\. ", questions, re.MULTILINE)) == len(
            re.findall(r"^\d+\. ", answers, re.MULTILINE)
        )


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_every_prediction_is_kept_under_a_name_of_its_own(path: Path) -> None:
    text = path.read_text("utf-8")
    predictions = len(re.findall(r"^prediction = ", text, re.MULTILINE))
    kept = re.findall(r"^predicted\(\"([^\"]+)\", prediction, ", text, re.MULTILINE)
    assert predictions == len(kept)
    everywhere = "".join(source.read_text("utf-8") for source in SOURCES)
    assert [name for name in kept if everywhere.count(f'predicted("{name}"') != 1] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_the_solution_is_not_given_away(path: Path) -> None:
    """No code cell holds a line that a learner of this notebook has to write."""
    code = "\n".join(FENCE.findall(path.read_text("utf-8")))
    for puzzle in (p for p in LADDER if p.notebook == path.stem):
        solution = (ROOT / "solutions" / f"{puzzle.name}.py").read_text()
        lines = solution.split("# your code starts here")[1].splitlines()[1:]
        # a lone bracket gives nothing away
        said = [line.strip() for line in lines if any(mark.isalnum() for mark in line)]
        kernel = [line for line in said if not line.startswith("#")]
        assert kernel
        assert [line for line in kernel if line in code] == []
