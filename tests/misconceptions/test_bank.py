"""The bank of wrong kernels: full enough for every puzzle, and within the rules that a learner's kernel keeps."""

from __future__ import annotations

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge import verdict
from checker.misconceptions import GATES, ROOT, bank
from checker.submission.rules import is_untouched, violations
from tests.misconceptions.kernels import correct, rewrites

ALL = [m for puzzle in LADDER for m in bank(puzzle.name)]
ids = [f"{m.puzzle}-{m.name}" for m in ALL]
LEAST = {
    "vector_add": (6, 5, 6),
    "row_softmax": (12, 5, 6),
    "chunked_softmax": (14, 5, 3),
    "online_softmax": (14, 5, 5),
    "merge_softmax_stats": (14, 5, 2),
    "tiled_softmax": (14, 5, 4),
    "flash_attention": (14, 5, 6),
    "flash_attention_v1": (14, 3, 1),
    "flash_attention_heads": (14, 3, 4),
    "softmax_backward": (15, 5, 5),
    "attention_delta": (15, 4, 4),
    "attention_dkdv": (16, 5, 6),
    "attention_dq": (16, 5, 6),
    "linear_attention": (16, 3, 4),
    "causal_linear_attention": (16, 3, 4),
    "causal_linear_attention_chunked": (16, 3, 4),
    "linear_chunk_states": (16, 3, 4),
    "linear_state_prefix": (16, 3, 4),
    "causal_linear_attention_parallel": (16, 3, 4),
}
"""How many wrong kernels a puzzle has at least, how many correct ones beside the solution, how many beliefs in two other wordings."""


@pytest.mark.parametrize("puzzle", LEAST)
def test_there_are_enough_kernels(puzzle):
    stems = [name.rpartition("__")[0] for name in rewrites(puzzle)]
    twice = sum(stems.count(stem) >= 2 for stem in set(stems))
    wrong, right, worded = LEAST[puzzle]
    assert len(bank(puzzle)) >= wrong
    assert len(correct(puzzle)) >= right
    assert twice >= worded


@pytest.mark.parametrize("puzzle", LEAST)
def test_every_gate_has_something_to_catch(puzzle):
    gates = {gate for wrong in bank(puzzle) for gate in wrong.gates}
    assert {"values", "memory"} <= gates
    assert "traffic" in gates or puzzle == "merge_softmax_stats", "whose budget nothing but a wrong value overdraws"


def test_pages_are_puzzles():
    assert {path.stem for path in ROOT.glob("*.md")} <= set(PUZZLES)
    assert bank("no_such_puzzle") == ()


def test_without_the_solutions_there_is_no_bank(monkeypatch, tmp_path):
    monkeypatch.setattr("checker.misconceptions.SOLUTIONS", tmp_path / "solutions")
    assert bank.__wrapped__("vector_add") == ()


def test_gates_are_those_that_can_stop_a_kernel():
    assert (*GATES, "speed") == verdict.GATES, "speed earns medals and stops nothing"


@pytest.mark.parametrize("misconception", ALL, ids=ids)
def test_words_are_sentences_and_the_kernel_keeps_the_rules(misconception):
    for text in (misconception.believed, misconception.instead, *filter(None, [misconception.try_])):
        assert text.endswith((".", "?"))
        assert "`" not in text, "words for people hold no code"
    assert not violations(misconception.source, PUZZLES[misconception.puzzle])
    assert not is_untouched(misconception.source)
