"""Frames and messages arrive intact; any other bytes are a protocol error and take little memory."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import struct
import time
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from checker.puzzle import Scalar
from checker.sandbox.protocol import Broken, Channel, Closed, JobEnd, Message, ProtocolError, decode, encode
from checker.sandbox.tasks import CompileReport, LaunchReport, trace_from_bytes

Pair = tuple[Channel, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    near, far = socket.socketpair()
    with near, far:
        yield Channel(near), far


def test_unexpected_descriptors_are_dropped(pair: Pair) -> None:
    channel, far = pair
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        Channel(far).send(Broken("no"), (0, 1, 2))
        assert channel.receive(Broken) == Broken("no")
    assert len(os.listdir("/proc/self/fd")) == before


BODY = {"type": "LaunchReport", "number": 0, "status": "passed"}
NOT_REPORTS = [
    *(b"", b"A" * 64, b"\xff" * 64, encode([BODY]), encode(BODY) * 2, encode(BODY)[:-3], b"\x91" * 100_000),
    b"\xdd\xff\xff\xff\xff",  # a list of four billion
    b"\xdf\xff\xff\xff\xff",  # a map of four billion
    encode(BODY | {"message": "@@"}).replace(b"@@", b"\xff\xff"),  # invalid UTF-8
    *(encode({1: 2}), encode({"type": "LaunchReport", "number": 0})),
]
NOT_REPORTS += [
    encode(BODY | wrong_field)
    for wrong_field in (
        *({"type": "JobEnd"}, {"type": None}, {"verdict": "passed"}, {"number": "0"}, {"number": True}),
        *({"number": 0.5}, {"number": -1}, {"status": "infra_error"}, {"status": ["passed"]}, {"message": 1}),
        *({"message": "x" * 100_000}, {"line": "3"}, {"line": True}, {"line": 3.5}, {"seconds": "1"}),
        *({"seconds": -1.0}, {"trace": [1.0, 2.0]}, {"timing": {"median": 1.0}}),
    )
]


def test_bytes_that_are_no_report_are_a_protocol_error() -> None:
    for data in NOT_REPORTS:
        with pytest.raises(ProtocolError):
            decode(LaunchReport, data)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_protocol_error(data: bytes) -> None:
    for kind in (LaunchReport, CompileReport, JobEnd | Broken):
        with contextlib.suppress(ProtocolError):
            assert isinstance(decode(kind, data), kind)  # type: ignore[arg-type]


def test_a_message_that_claims_to_be_large_takes_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, kind in (("tiles", CompileReport), ("trace", LaunchReport)):
        for claim in (b"\xdd", b"\xdf", b"\xdb", b"\xc6"):  # an array, a map, text, bytes
            with pytest.raises(ProtocolError):
                decode(kind, encode(BODY | {name: "@@"}).replace(b"\xa2@@", claim + b"\xff\xff\xff\xff"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


def test_a_frame_that_is_too_long_is_refused_without_being_read(pair: Pair) -> None:
    channel, far = pair
    for size in ((4 << 20) + 1, 1 << 62):
        far.sendall(struct.pack("<Q", size))
        with pytest.raises(ProtocolError, match="larger"):
            channel.receive(LaunchReport, time.monotonic() + 5)


def test_waiting_ends_at_the_deadline(pair: Pair) -> None:
    channel, far = pair
    with pytest.raises(TimeoutError):  # nobody reads
        channel.send(JobEnd(0, None, "", bytes(50_000_000)), deadline=time.monotonic() + 0.3)
    text = encode(BODY)
    far.sendall((struct.pack("<Q", len(text)) + text)[:-1])
    with pytest.raises(TimeoutError):
        channel.receive(LaunchReport, time.monotonic() + 0.2)
    far.close()
    with pytest.raises(Closed):
        channel.receive(LaunchReport, time.monotonic() + 1)


class Scalars(Message):
    values: dict[str, Scalar]


@given(st.dictionaries(st.text(), st.one_of(st.integers(-(2**62), 2**62), st.booleans(), st.floats(allow_nan=False))))
def test_numbers_keep_their_type_and_objects_are_never_sent(values: dict[str, Scalar]) -> None:
    back = decode(Scalars, encode(Scalars(values))).values
    assert {k: (type(v), v) for k, v in back.items()} == {k: (type(v), v) for k, v in values.items()}
    for value in (object(), torch.ones(1), 1j):
        with pytest.raises(TypeError):
            encode(Scalars({"x": value}))  # type: ignore[dict-item]


def test_bytes_that_are_no_trace_are_a_protocol_error() -> None:
    nested = (encode([b"[" * 100_000, []]), encode([b"{}", [["|O", bytes(8)]]]), encode([b"{}", [["<i8", bytes(7)]]]))
    for data in (b"", b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff", encode([b"{}", []]), *nested):
        with pytest.raises(ProtocolError):
            trace_from_bytes(memoryview(data))
