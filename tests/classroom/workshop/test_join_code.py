"""Codes, addresses and names, as people say and type them."""

from __future__ import annotations

import re

import pytest

from checker.verbs.board_wire import AddressError, JoinAddress, parse, plain_code
from classroom.workshop.join_code import clean_name, new_code, pseudonym, shown


def test_an_address_is_parsed_and_shown_as_short_as_possible() -> None:
    for typed, url in (
        ("tile-7k3fw@10.0.0.5", "http://10.0.0.5:8787/"),
        (" tile-7k3fw@room.local:9000 ", "http://room.local:9000/"),
        ("tile-7k3fw@[::1]:9000", "http://[::1]:9000/"),
        ("tile-7k3fw@https://hub.example.org/services/board", "https://hub.example.org/services/board/"),
        ("tile-7k3fw@http://127.0.0.1:8787/", "http://127.0.0.1:8787/"),
    ):
        assert parse(typed) == parse(shown("tile-7k3fw", url)) == JoinAddress("tile-7k3fw", url)
        assert len(shown("tile-7k3fw", url)) <= len(typed)
    for typed in ("", "tile-7k3fw", "@host", "tile@", "a@ftp://host", "a@http://u:p@host", "a@host:port", "a@h/?x=1"):
        with pytest.raises(AddressError):
            parse(typed)


def test_a_code_can_be_said_aloud_and_typed_by_ear() -> None:
    code = new_code()
    assert re.fullmatch(r"[a-z]+-[2-9][a-z][2-9][a-z]{2}", code)
    assert not set("01ilo") & set(code.partition("-")[2])
    assert plain_code(code.upper().replace("-", " – ")) == plain_code(code)


def test_a_name_is_one_short_visible_line() -> None:
    for typed, name in (
        ("  Ada\n Lovelace ", "Ada Lovelace"),
        ("\u202eevil\u0000\u200b", "evil"),
        ("x" * 500, "x" * 40),
        ("\u200b\n", ""),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ):
        assert clean_name(typed) == name
    taken: set[str] = set()
    for _ in range(400):
        taken.add(pseudonym(taken))
    assert len(taken) == 400, "pseudonyms are unique"
