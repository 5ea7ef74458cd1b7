"""Why the kernel of a film does not pass: a sentence, the wrong elements of its outputs, and what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from checker.phrases import short
from checker.view.formats import number


@dataclass(frozen=True)
class WrongOutput:
    """An output with wrong elements: where they are, the `expected` values and the kernel's, all in the output's shape."""

    wrong: np.ndarray
    expected: np.ndarray
    got: np.ndarray

    @property
    def first(self) -> tuple[int, ...]:
        """The index of the first wrong element, row-major."""
        return tuple(int(i) for i in np.unravel_index(int(self.wrong.argmax()), self.wrong.shape))

    @property
    def words(self) -> tuple[str, str]:
        """The first wrong element and its expected value, in enough digits to tell them apart."""
        numbers = float(self.got[self.first]), float(self.expected[self.first])
        got, expected = (number(n, 6) for n in numbers)
        return (got, expected) if got != expected else (f"{numbers[0]:.9g}", f"{numbers[1]:.9g}")


@dataclass(frozen=True)
class Flaws:
    """`verdict` is the sentence above the film. `outputs` is empty if every number of this launch is right."""

    verdict: str
    outputs: Mapping[str, WrongOutput] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """``y[0, 3] is 0.35 and should be 0.24.``; empty if nothing is wrong."""
        name = next(iter(self.outputs), None)
        if name is None:
            return ""
        wrong = self.outputs[name]
        got, expected = wrong.words
        return f"{short(name)}[{', '.join(map(str, wrong.first))}] is {got} and should be {expected}."
