"""The launchers of the fast kernels refuse what they cannot compute, in words, before anything is launched."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from solutions.fast import (
    attention,
    attention_backward,
    attention_fp8,
    attention_split,
    delta_rule,
    linear_attention,
    softmax,
)
from tests.fast.launches import caught


def launched(*_: object) -> None:
    raise AssertionError("this must not be launched")


def heads(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.zeros(*(shape or (1, 2, 17, 64)), dtype=dtype)


Q, SHORT, NARROW, GAPS = heads(), heads(1, 2, 9, 64), heads(1, 2, 17, 32), heads(1, 2, 17, 128)[..., ::2]
HALF, SINGLE, LSE = heads(dtype=torch.float16), heads(dtype=torch.float32), torch.zeros(1, 2, 17)
THREE = heads(1, 3, 17, 64)
FORWARD = {
    "fast": attention.attention,
    "split": attention_split.attention_split,
    "fp8": attention_fp8.attention_fp8,
    "linear": linear_attention.linear_attention,
    "decay": lambda q, k, v: delta_rule.decay_linear_attention(q, k, v, LSE),
    "delta": lambda q, k, v: delta_rule.delta_rule(q, k, v, LSE, LSE),
}


@pytest.mark.parametrize("run", FORWARD.values(), ids=FORWARD)
def test_attention_refuses_types_gaps_and_shapes_that_its_kernel_cannot_read(run: Callable[..., object]) -> None:
    with caught(launched):
        for tensors, words in (
            ((SINGLE, SINGLE, SINGLE), "not float32: convert it first"),
            ((Q, Q, SINGLE), "v has to be .* not float32"),
            ((GAPS, Q, Q), r"q has gaps .* q\.contiguous\(\)"),
            ((Q, Q, SHORT), r"\[1, 2, 9, 64\]"),
            ((NARROW, NARROW, NARROW), "64 or 128"),
            ((Q[0], Q, Q), r"not .*\[2, 17, 64\]"),
        ):
            with pytest.raises(ValueError, match=words):
                run(*tensors)


def test_attention_refuses_tensors_of_two_types() -> None:
    """Both are types that the kernel takes, but a product needs operands of one."""
    with caught(launched):
        for run in (attention.attention, attention_split.attention_split, attention_fp8.attention_fp8):
            with pytest.raises(ValueError, match="q and v need one type and one device"):
                run(Q, Q, HALF)


def test_attention_refuses_heads_that_cannot_share_and_lengths_it_cannot_read() -> None:
    lengths = torch.tensor([17], dtype=torch.int32)
    with caught(launched):
        for run in (attention.attention, attention_split.attention_split):
            with pytest.raises(ValueError, match="3 query heads have to share 2 heads"):
                run(THREE, Q, Q)
        for wrong, words in ((lengths.long(), "not int64"), (lengths.repeat(2), r"has to be \[1\]")):
            with pytest.raises(ValueError, match=words):
                attention.attention(Q, Q, Q, key_lengths=wrong)
        with pytest.raises(ValueError, match="leave out `config`"):
            attention.attention(Q, Q, Q, key_lengths=lengths, config=attention.SPECIALISED)
        with pytest.raises(ValueError, match="17 queries need as many keys, and there are 9"):
            attention_split.attention_split(Q, SHORT, SHORT, causal=True)


def test_the_delta_rule_refuses_decays_shares_and_states_that_it_cannot_read() -> None:
    state = torch.zeros(1, 2, 64, 64)
    with caught(launched):
        for g, beta, s0, words in (
            (LSE.bfloat16(), LSE, None, "g has to be float32"),
            (LSE, LSE[:, :1], None, r"beta has (gaps|to be \[1, 2, 17\])"),
            (LSE, LSE, state.bfloat16(), "s0 has to be float32"),
            (LSE, LSE, state[:, :, :17], r"s0 has (gaps|to be \[1, 2, 64, 64\])"),
            (LSE, LSE, torch.zeros(1, 1, 64, 64), r"s0 has to be \[1, 2, 64, 64\], not \[1, 1, 64, 64\]"),
        ):
            with pytest.raises(ValueError, match=words):
                delta_rule.delta_rule(Q, Q, Q, g, beta, s0)
        with pytest.raises(ValueError, match="q has to be bfloat16, not float16"):
            delta_rule.decay_linear_attention(HALF, HALF, HALF, LSE)


def test_decoding_refuses_caches_and_tables_that_do_not_belong_together() -> None:
    q, cache = heads(2, 4, 64), heads(5, 2, 16, 64)
    table, lengths = torch.zeros(2, 3, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    with caught(launched):
        for tensors, words in (
            ((q[0], cache, cache, table, lengths), r"q has to be \[B, H_Q, D\].* not \[4, 64\]"),
            ((q, cache, cache[:3], table, lengths), r"and \[3, 2, 16, 64\]"),
            ((heads(2, 3, 64), cache, cache, table, lengths), "3 query heads have to share 2 heads"),
            ((q.float(), cache, cache, table, lengths), "not float32: convert it first"),
            ((q, cache, cache.half(), table, lengths), "q and v_cache need one type"),
            ((heads(2, 4, 128)[..., ::2], cache, cache, table, lengths), r"q has gaps .* q\.contiguous\(\)"),
            ((q, cache, heads(5, 2, 16, 128)[..., ::2], table, lengths), r"v_cache\.contiguous\(\)"),
            ((q, cache, cache, table.long(), lengths), "block_table has to be int32, not int64"),
            ((q, cache, cache, table[:1], lengths), r"block_table has to be \[2, MAX_PAGES\].* not \[1, 3\]"),
            ((q, cache, cache, table, lengths[:1]), r"lengths \[2\], not \[2, 3\] and \[1\]"),
            ((q, cache, cache, table.T.contiguous().T, lengths), r"block_table\.contiguous\(\)"),
        ):
            with pytest.raises(ValueError, match=words):
                attention_split.paged_decode(*tensors)


def test_the_backward_pass_refuses_what_the_forward_pass_did_not_make() -> None:
    run = partial(attention_backward.attention_backward, Q, Q, Q)
    with caught(launched):
        for tensors, words in (
            ((Q, LSE, SINGLE), "do has to be"),
            ((SHORT, LSE, Q), "one shape"),
            ((Q, LSE.bfloat16(), Q), "lse has to be float32"),
            ((Q, LSE[:, :1], Q), r"lse has (gaps|to be \[1, 2, 17\])"),
        ):
            with pytest.raises(ValueError, match=words):
                run(*tensors)


def test_softmax_refuses_numbers_that_it_would_round_or_miss() -> None:
    with caught(launched):
        for x, words in (
            (torch.zeros(2, 3, dtype=torch.int64), "not int64"),
            (torch.zeros(2, 3, dtype=torch.float64), "not float64"),
            (torch.zeros(1, 40_000, dtype=torch.float64), "not float64"),
            (torch.zeros(3), r"not \[3\]"),
            (torch.zeros(2, 0), "1 to 2"),
            (torch.zeros(4, 6)[:, ::2], "gaps"),
        ):
            with pytest.raises(ValueError, match=words):
                softmax.softmax(x)
