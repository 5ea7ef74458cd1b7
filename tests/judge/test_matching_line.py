"""Which line of one kernel plays the part of a line of another."""

from __future__ import annotations

from checker.course import PUZZLES
from checker.judge.launches import prepare
from checker.judge.matching_line import matching_line
from checker.misconceptions import bank
from checker.simulator.trace import SimulateOptions
from tests.judge.helpers import changed, solution

PUZZLE = PUZZLES["causal_linear_attention_chunked"]
UPDATE = "        state = tl.dot(tl.trans(k.to(v.dtype)), v, state)\n        z += tl.sum(k, axis=0)\n"
WEIGHTS = "        a = tl.dot(q.to(v.dtype), tl.trans(k.to(v.dtype)))\n"


def test_a_product_is_known_by_its_words_and_not_by_its_place(runner):
    """Both kernels add the chunk before they read the state; one makes its weights before that, the other after."""
    known = next(m for m in bank(PUZZLE.name) if m.name == "state_added_before_it_is_read")
    mine = changed(changed(solution(PUZZLE.name), UPDATE, ""), WEIGHTS, UPDATE + WEIGHTS)
    ready = prepare(PUZZLE, PUZZLE.cases[0])
    theirs, traced = (
        next(iter(runner.simulate(source, [ready.launch], SimulateOptions(events=True)))).trace
        for source in (known.source, mine)
    )
    line = matching_line(known.source, known.wrong_lines[0], theirs, mine, traced)
    assert mine.source.splitlines()[line - 1] == UPDATE.splitlines()[0]
