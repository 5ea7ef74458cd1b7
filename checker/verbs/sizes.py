"""Sizes that a learner types, put in the place of a case's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.puzzle import Case, Puzzle
from checker.verbs.naming import Misuse
from checker.view.controls import case_with


def case_for(puzzle: Puzzle, sizes: Mapping[str, Any], case: Case) -> Case:
    """The case with other sizes, tile sizes or flags. Raises Misuse for names or numbers that it has not."""
    known = {**case.sizes, **case.meta, **case.flags}
    for name, value in sizes.items():
        if name not in known:
            shown = ", ".join(f"{k}={v}" for k, v in known.items())
            raise Misuse(f"{puzzle.name} has no size called {name}. The sizes are {shown}.")
        if name in case.flags:
            if not isinstance(value, bool | int | float):
                raise Misuse(f"{name} has to be a number or True or False, not {value!r}.")
        elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Misuse(f"{name} has to be a whole number of at least 1, not {value!r}.")
        elif name in case.meta and value & (value - 1):
            raise Misuse(f"{name} has to be a power of two, as Triton's tiles are, and {value} is not.")
    return case_with(case, sizes) if sizes else case
