"""A lazy online softmax is told where it rescales without need, and where it waits too long."""

from __future__ import annotations

import pytest

from checker.course import PUZZLES
from checker.judge.outcome import Candidate
from checker.judge.rescales import count_rescales
from checker.judge.runner import Runner
from checker.submission.kernel import KernelSource
from tests.judge.helpers import changed, solution

PUZZLE = PUZZLES["flash_attention_window"]
EAGER = solution(PUZZLE.name)


def lazy(threshold: str) -> KernelSource:
    """The solution, which keeps a maximum until a score is more than the threshold above it."""
    maximum = "m_new = tl.maximum(m_i, tl.max(s, axis=1))"
    keeps = f"m_new = tl.where(tl.max(s, axis=1) > m_i + {threshold}, tl.max(s, axis=1), m_i)"
    product = "acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])"
    under_if = f"if tl.min(alpha, axis=0) < 1.0:\n            acc = acc * alpha[:, None]\n        {product.replace(' * alpha[:, None]', '')}"
    return changed(changed(EAGER, maximum, keeps), product, under_if)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lazy("5.545"), "25 rescales were avoided"),
        (EAGER, "the same whether a maximum grows or not"),
        (lazy("0.0"), "less than the threshold altogether, and the accumulator was rescaled 25 times"),
        (lazy("5.545 * 0.6931"), "less than the threshold altogether, and the accumulator was rescaled 1 time."),
        (lazy("8.0"), "more than the threshold, and the accumulator was rescaled 12 times only"),
    ],
    ids=["lazy", "eager", "any growth", "converted twice", "not converted"],
)
def test_rescales_are_counted(source: KernelSource, words: str, runner: Runner) -> None:
    rescales = PUZZLE.parts[-1].rescales
    assert rescales is not None
    enough, sentence = count_rescales(Candidate(PUZZLE, source, runner), rescales)
    assert words in sentence
    assert enough == words.startswith("25")
