"""What sets the failing cases apart, in words."""

from __future__ import annotations

from dataclasses import replace

from checker.course import PUZZLES
from checker.judge.values_gate import contrast

PLAIN, *_ = PUZZLES["linear_attention"].cases
PADDED = replace(PLAIN, layout="padded")
RAGGED = replace(PLAIN, flags={"RAGGED": True})
BOTH = replace(PADDED, flags=RAGGED.flags)


def test_what_only_the_failing_cases_have_is_named():
    assert contrast([PADDED], [PLAIN]).startswith("It happens only where rows lie further apart")
    assert contrast([RAGGED], [PLAIN]) == "It happens only with RAGGED = True."
    assert contrast([BOTH], [PLAIN, PADDED]) == "It happens only with RAGGED = True."
    assert contrast([BOTH, PADDED], [PLAIN, RAGGED]).endswith("than they are long.")


def test_a_layout_that_always_comes_with_a_flag_is_not_made_the_cause():
    assert contrast([BOTH], [PLAIN]).endswith("than they are long, and these are the cases with RAGGED = True too.")


def test_nothing_is_named_where_nothing_stands_out():
    assert contrast([PADDED], []) == ""
    assert contrast([PADDED], [PADDED, PLAIN]) == ""
    assert contrast([PADDED, RAGGED], [PLAIN]) == ""
