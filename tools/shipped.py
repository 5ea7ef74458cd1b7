"""Writes `docs/shipped.md`: bugs that shipped, each as a small kernel in `docs/shipped/`, and what the lens says about it.

    python tools/shipped.py

The docstring of a kernel's file is its text on the page, after a first line that is its title. ``# wrong`` marks each line that
is wrong. A ``--output NAME`` in the text is an option for the lens.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.lens import lens  # noqa: E402
from checker.lens.report import Report  # noqa: E402
from checker.phrases import count  # noqa: E402

PAGE = ROOT / "docs" / "shipped.md"
KERNELS = ROOT / "docs" / "shipped"
OUTPUT = re.compile(r"`--output (\w+)`")
WRONG = re.compile(r"^ *(.*\S) +# wrong$", re.MULTILINE)
WIDTH = 110

INTRO = """\
# Bugs that shipped

Why is the checker so strict? The reports linked here describe {bugs} in vLLM, SGLang, flash-linear-attention, ExecuTorch and the
libraries around them. All got past their authors, because the answer was right on the sizes, values and machines that somebody had
tried. For each we wrote a small kernel with the same mistake. The page shows its wrong line and, word for word, what the lens says
about it, without a GPU. `--films films` also makes a film of the kernel:

```sh
python -m checker lens --films films docs/shipped/masked_tile.py
```
"""
SEEN = """
## What the lens sees

Bounds, races, barriers and NaN need no expected answer. The [lens](lens.md) looks for them in any Triton program.
"""
VALUES = """
## What only the values show

Every access is allowed, no operation makes a NaN, and yet the answer is wrong. The lens finds nothing, so these files compare with
torch themselves. For the puzzles the judge does so, on values chosen to tell right from wrong.
"""
COST = """
## What only the traffic shows

The answer is right, and the lens finds nothing wrong. It counts, however, how often each tensor was read.
"""


@dataclass(frozen=True)
class Bug:
    """One file of `docs/shipped/`, and what its launches showed."""

    name: str
    text: str
    report: Report
    printed: str

    @property
    def section(self) -> str:
        docstring = ast.get_docstring(ast.parse(self.text)) or ""
        title, story = docstring.split("\n", 1)
        wrong = "\n".join(WRONG.findall(self.text))
        head = f"\n### {title}\n\n{story.strip()}\n[{self.name}](shipped/{self.name}):\n"
        return f"{head}\n```python\n{wrong}\n```\n\n```\n{self.shown}\n```\n"

    @property
    def shown(self) -> str:
        """The first finding, and how many more there are; without any what the program printed; else the bytes moved."""
        places = self.report.panel().lists
        if not self.report.findings:
            return self.printed.strip() or _listed(*places[0])
        more = len(self.report.findings) - 1
        return _listed(*places[0]) + (f"\n… and {count(more, 'more finding')}" if more else "")


def _listed(place: str, items: Sequence[object]) -> str:
    lines = (textwrap.fill(str(i), WIDTH, initial_indent="  • ", subsequent_indent="    ") for i in items)
    return "\n".join((place, *lines))


def bug(path: Path) -> Bug:
    """Run a file through the lens."""
    text = path.read_text("utf-8")
    printed = io.StringIO()
    with (
        contextlib.chdir(path.parent),
        contextlib.redirect_stdout(printed),
        lens(outputs=OUTPUT.findall(text), quiet=True) as report,
    ):
        runpy.run_path(path.name)
    return Bug(path.name, text, report, printed.getvalue())


def page() -> str:
    bugs = [bug(path) for path in sorted(KERNELS.glob("*.py"))]
    seen = [b for b in bugs if b.report.findings]
    values = [b for b in bugs if not b.report.findings and b.printed]
    cost = [b for b in bugs if not b.report.findings and not b.printed]
    parts = [INTRO.format(bugs=count(len(bugs), "bug"))]
    for words, group in ((SEEN, seen), (VALUES, values), (COST, cost)):
        parts += [words, *(b.section for b in group)]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
