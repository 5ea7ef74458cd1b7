"""A decorator for families of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checker.puzzle import Family


def family(words: str, label: str = "", chunks: int = 2) -> Callable[[Callable[..., Any]], Family]:
    """Makes a `Family` of a function and its name; without a `label` the name stands for it in the names of cases."""

    def named(make: Callable[..., Any]) -> Family:
        return Family(make.__name__, words, label or make.__name__.replace("_", " "), make, chunks)

    return named
