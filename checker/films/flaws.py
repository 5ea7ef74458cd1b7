"""Why the kernel of a film does not pass: a sentence, the wrong elements of its outputs, and what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from checker.view.formats import number, short


@dataclass(frozen=True)
class WrongOutput:
    """An output of which something is wrong: where, what is `expected` and what the kernel left there, all in its shape."""

    wrong: np.ndarray
    expected: np.ndarray
    got: np.ndarray

    @property
    def first(self) -> tuple[int, ...]:
        """The index of the first wrong element, row-major."""
        return tuple(int(i) for i in np.unravel_index(int(self.wrong.argmax()), self.wrong.shape))

    @property
    def expected_words(self) -> str:
        """What the first wrong element should be, in enough digits to tell it from what is there."""
        want, got = float(self.expected[self.first]), float(self.got[self.first])
        text = number(want, 6)
        return text if text != number(got, 6) else f"{want:.9g}"

    @property
    def got_words(self) -> str:
        want, got = float(self.expected[self.first]), float(self.got[self.first])
        text = number(got, 6)
        return text if text != number(want, 6) else f"{got:.9g}"


@dataclass(frozen=True)
class Flaws:
    """`verdict` is the sentence above the film. `outputs` are empty where every number of this launch is right."""

    verdict: str
    outputs: Mapping[str, WrongOutput] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """``y[0, 3] is 0.35 and should be 0.24.``; empty where nothing is wrong."""
        name = next(iter(self.outputs), None)
        if name is None:
            return ""
        wrong = self.outputs[name]
        where = f"{short(name)}[{', '.join(map(str, wrong.first))}]"
        return f"{where} is {wrong.got_words} and should be {wrong.expected_words}."
