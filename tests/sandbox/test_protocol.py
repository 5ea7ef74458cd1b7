"""Frames and messages arrive intact; any other bytes are a protocol error and take little memory."""

from __future__ import annotations

import contextlib
import resource

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from checker.puzzle import Scalar
from checker.sandbox.protocol import Broken, JobEnd, Message, ProtocolError, decode, encode
from checker.sandbox.tasks import CompileReport, LaunchReport


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_protocol_error(data: bytes) -> None:
    for kind in (LaunchReport, CompileReport, JobEnd | Broken):
        with contextlib.suppress(ProtocolError):
            assert isinstance(decode(kind, data), kind)  # type: ignore[arg-type]


BODY = {"type": "LaunchReport", "number": 0, "status": "passed"}


def test_a_message_that_claims_to_be_large_takes_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, kind in (("tiles", CompileReport), ("trace", LaunchReport)):
        for claim in (b"\xdd", b"\xdf", b"\xdb", b"\xc6"):  # an array, a map, text, bytes
            with pytest.raises(ProtocolError):
                decode(kind, encode(BODY | {name: "@@"}).replace(b"\xa2@@", claim + b"\xff\xff\xff\xff"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


class Scalars(Message):
    values: dict[str, Scalar]


@given(st.dictionaries(st.text(), st.one_of(st.integers(-(2**62), 2**62), st.booleans(), st.floats(allow_nan=False))))
def test_numbers_keep_their_type_and_objects_are_never_sent(values: dict[str, Scalar]) -> None:
    back = decode(Scalars, encode(Scalars(values))).values
    assert {k: (type(v), v) for k, v in back.items()} == {k: (type(v), v) for k, v in values.items()}
    for value in (object(), torch.ones(1), 1j):
        with pytest.raises(TypeError):
            encode(Scalars({"x": value}))  # type: ignore[dict-item]
