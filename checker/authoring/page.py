"""A puzzle's page: one Markdown file with its title, statement, hints and explanation."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from checker.authoring.assumptions import assumptions
from checker.puzzle import Domain, Hint, Text

HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"```python\n(.*)\n```", re.DOTALL)


def page(path: Path, domain: Domain) -> Callable[[], Text]:
    """A function that reads the page when it is first called."""
    return cache(lambda: text_of(path.read_text("utf-8"), path.name, domain))


def text_of(page: str, name: str, domain: Domain) -> Text:
    """The parts of a page, without its line breaks. A demonstration has no hints.

    Raises ValueError if the page has no title or no explanation.
    """
    skeleton = FENCE.search(page)
    above, *parts = HEADING.split(FENCE.sub("", page))
    if above.strip() or not parts or not page.startswith("# "):
        raise ValueError(f"{name} does not begin with its title, a line like `# Online softmax`")
    title, statement, *rest = parts
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    if "Explanation" not in sections:
        raise ValueError(f"{name} has no section called Explanation")
    if "Hints" in sections and not {"Question", "Idea"} <= sections.keys():
        raise ValueError(f"{name} has hints without a section called Question or Idea")
    question, idea = (_flowing(sections.get(part, "")) for part in ("Question", "Idea"))
    hint = Hint(question, idea, skeleton[1] if skeleton else "")
    return Text(title, _flowing(statement), assumptions(domain), hint, _flowing(sections["Explanation"]))


def _flowing(section: str) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in section.strip().split("\n\n"))
