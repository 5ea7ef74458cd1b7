"""`predicted`: compare a learner's guess with the result, and remember the first guess."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from checker import workspace
from checker.verbs import progress_file, second_try
from checker.verbs.progress_file import Prediction

Answer = float | str | Sequence["Answer"] | Mapping[Any, "Answer"]


def predicted(
    question: str,
    prediction: Any,
    answer: Any,
    within: float = 0.1,
    typical: Mapping[float | str | tuple[float | str, ...], str] | None = None,
) -> None:
    """Print a prediction beside the answer, and remember whether the first one was right.

    A number is right if it differs from the answer by at most the fraction `within`; several are right if each one is. A
    prediction with gaps is not scored. `typical` has a sentence for each wrong answer that people often give; several
    numbers are a tuple.
    """
    if not _filled(prediction):
        print(f"The answer is {_words(answer)}.")
        return
    right = _right(prediction, answer, within)
    if right:
        print(f"You said {_words(prediction)}: right.")
    else:
        said = list(prediction.values()) if isinstance(prediction, Mapping) else prediction
        reply = next((words for wrong, words in (typical or {}).items() if _right(said, wrong, min(within, 0.05))), "")
        print(f"You said {_words(prediction)}. The answer is {_words(answer)}. {reply}".rstrip())
    first = Prediction(_words(prediction), right)
    progress_file.keep_prediction(workspace.find(), question, first, due=lambda saved: dict(second_try.due(saved)))


def _filled(prediction: Any) -> bool:
    """Whether the prediction has no gaps."""
    if isinstance(prediction, Mapping):
        prediction = list(prediction.values())
    if isinstance(prediction, list | tuple):
        return bool(prediction) and all(map(_filled, prediction))
    return prediction is not None and prediction != ""


def _right(prediction: Any, answer: Any, within: float) -> bool:
    if isinstance(answer, Mapping):
        return isinstance(prediction, Mapping) and all(
            k in prediction and _right(prediction[k], answer[k], within) for k in answer
        )
    if isinstance(answer, list | tuple):
        same_length = isinstance(prediction, list | tuple) and len(prediction) == len(answer)
        return same_length and all(_right(p, a, within) for p, a in zip(prediction, answer, strict=True))
    if isinstance(answer, str):
        return str(prediction).strip().lower() == answer.lower()
    try:
        return math.isclose(
            float(prediction), float(answer), rel_tol=0.0, abs_tol=max(within * abs(float(answer)), 1e-9)
        )
    except (TypeError, ValueError):
        return False


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_words(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
