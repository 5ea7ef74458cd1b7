"""What the verbs return: said on the screen already, and there for code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checker import workspace

if TYPE_CHECKING:
    from checker.verbs.machine import Finding


class Report(list["Finding"]):
    """What the doctor found, for code; people are shown it."""

    def __repr__(self) -> str:
        problems, warnings = (sum(f.level == level for f in self) for level in ("problem", "warning"))
        return f"<doctor: {problems} problem{'s' * (problems != 1)}, {warnings} warning{'s' * (warnings != 1)}>"

    @property
    def text(self) -> str:
        """The findings as plain lines."""
        lines = [f"{f.level:8} {f.what}: {f.message}" + (f"\n         {f.command}" if f.command else "") for f in self]
        return "\n".join(lines)


@dataclass(frozen=True)
class Film:
    """A film that was shown. `html` is one self-contained fragment."""

    puzzle: str
    title: str
    html: str

    def save(self, path: str | Path) -> Path:
        """Write the film as a page of its own, for a browser."""
        from checker.films import film_document

        target = Path(path)
        workspace.write_atomically(target, film_document(self.html, self.title))
        return target

    def __repr__(self) -> str:
        return f"<film of {self.puzzle}: keep it with .save('{self.puzzle}.html')>"


@dataclass(frozen=True)
class Standing:
    """How far a learner is."""

    passed: int
    total: int
    points: int
    next: str | None

    def __repr__(self) -> str:
        return f"<{self.passed} of {self.total} puzzles passed" + (f", next: {self.next}>" if self.next else ">")
