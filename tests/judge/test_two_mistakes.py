"""Kernels with two of the bank's mistakes: made for the diagnosis, and recognised by it."""

from __future__ import annotations

from checker.judge.two_mistakes import both, likely_pairs, pairs
from checker.misconceptions import bank
from tests.judge.helpers import changed, solution


def test_a_pair_has_both_mistakes_word_by_word():
    named = {(a.name, b.name): both(a, b) for a, b in pairs("online_softmax")}
    twice = named["inf_minus_inf", "sum_not_rescaled"]
    assert twice is not None
    assert "l_i = l_i + tl.sum(tl.exp(x - m_new), axis=0)" in twice.source.source
    assert "m_safe" not in twice.source.source
    assert "inf_minus_inf and updated_before_rescaled" in twice.same_as


def test_mistakes_that_contradict_each_other_are_no_pair():
    names = {frozenset((a.name, b.name)) for a, b in pairs("online_softmax")}
    assert frozenset(("sum_not_rescaled", "rescaled_with_the_wrong_sign")) not in names


def test_a_pair_in_the_kernels_words_is_likely():
    source = changed(solution("row_softmax"), "tl.sum(p, axis=0)", "N")
    source = changed(source, 'other=float("-inf")', "other=0.0")
    likely = {frozenset((a.name, b.name)) for a, b in likely_pairs(source, bank("row_softmax")).values()}
    assert frozenset(("divides_by_n", "zero_in_masked_lanes")) in likely
