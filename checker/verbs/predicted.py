"""`predicted`: what a learner guessed before running a cell, beside what came out; the first guess is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from checker import workspace
from checker.verbs import progress_file
from checker.verbs.progress_file import Prediction

Answer = float | str | Sequence["Answer"] | Mapping[Any, "Answer"]


def predicted(question: str, said: Any, answer: Any, within: float = 0.1) -> None:
    """Print a prediction beside the answer, and keep whether the first one was right.

    Numbers are right where they differ by no more than `within` of the answer, several numbers where all are. A prediction
    that is not filled in counts for nothing.
    """
    if not _filled(said):
        print(f"The answer is {_words(answer)}. You had not written a prediction; that counts neither way.")
        return
    right = _right(said, answer, within)
    print(f"You said {_words(said)}: right." if right else f"You said {_words(said)}. The answer is {_words(answer)}.")
    progress_file.keep_prediction(workspace.find(), question, Prediction(_words(said), right))


def _filled(said: Any) -> bool:
    """Whether there is an answer in every place."""
    if isinstance(said, Mapping):
        return bool(said) and all(map(_filled, said.values()))
    if isinstance(said, list | tuple):
        return bool(said) and all(map(_filled, said))
    return said is not None and said != ""


def _right(said: Any, answer: Any, within: float) -> bool:
    if isinstance(answer, Mapping):
        return isinstance(said, Mapping) and all(k in said and _right(said[k], answer[k], within) for k in answer)
    if isinstance(answer, list | tuple):
        pairs = isinstance(said, list | tuple) and len(said) == len(answer)
        return pairs and all(_right(s, a, within) for s, a in zip(said, answer, strict=True))
    if isinstance(answer, str):
        return str(said).strip().lower() == answer.lower()
    try:
        return math.isclose(float(said), float(answer), rel_tol=0.0, abs_tol=max(within * abs(float(answer)), 1e-9))
    except (TypeError, ValueError):
        return False


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_words(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
