"""Which puzzles have their notebook. A puzzle may be judged and filmed before its text is written, and is listed here until."""

from __future__ import annotations

from checker.course import LADDER

UNWRITTEN: frozenset[str] = frozenset()
"""Notebooks that puzzles name and that are not written yet. Empty when the course is whole; a test holds it to the files."""

WRITTEN = tuple(puzzle for puzzle in LADDER if puzzle.notebook not in UNWRITTEN)
