"""Turns what a course file says into a `Puzzle`: `puzzle` derives the rest from the solution's signature and the puzzle's page."""

from checker.authoring.build import cdiv, puzzle
from checker.authoring.families import family
from checker.authoring.space import Row, Space
from checker.authoring.table import table

__all__ = ["Row", "Space", "cdiv", "family", "puzzle", "table"]
