"""Codes, addresses and names, as people say and type them."""

from __future__ import annotations

import re

import pytest

from classroom.workshop.join_code import (
    AddressError,
    JoinAddress,
    clean_name,
    new_code,
    parse,
    pseudonym,
    same_code,
    shown,
)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("tile-7k3fw@10.0.0.5", "http://10.0.0.5:8787/"),
        (" tile-7k3fw@room.local:9000 ", "http://room.local:9000/"),
        ("tile-7k3fw@https://hub.example.org/services/board", "https://hub.example.org/services/board/"),
        ("tile-7k3fw@http://127.0.0.1:8787/", "http://127.0.0.1:8787/"),
    ],
)
def test_an_address_is_understood_and_shown_as_short_as_can_be(typed: str, url: str) -> None:
    found = parse(typed)
    assert found == JoinAddress("tile-7k3fw", url)
    assert parse(shown("tile-7k3fw", url)) == found
    assert len(shown("tile-7k3fw", url)) <= len(typed)


@pytest.mark.parametrize(
    "typed", ["", "tile-7k3fw", "@host", "tile-7k3fw@", "a@ftp://host", "a@http://u:p@host", "a@host:port", "a@h/?x=1"]
)
def test_what_is_no_address_is_told(typed: str) -> None:
    with pytest.raises(AddressError):
        parse(typed)


def test_a_code_can_be_said_and_typed_as_it_was_heard() -> None:
    code = new_code()
    assert re.fullmatch(r"[a-z]+-[2-9][a-z][2-9][a-z]{2}", code)
    assert not set("01ilo") & set(code.partition("-")[2])
    assert same_code(code.upper().replace("-", " ")) == same_code(code)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("  Ada\n Lovelace ", "Ada Lovelace"),
        ("\u202eevil\u0000\u200b", "evil"),
        ("x" * 500, "x" * 40),
        ("\u200b\n", ""),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
    ids=["spaces", "control", "long", "nothing", "markup"],
)
def test_a_name_is_one_short_line_of_what_can_be_seen(typed: str, name: str) -> None:
    assert clean_name(typed) == name


def test_a_pseudonym_is_nobody_elses() -> None:
    taken: set[str] = set()
    for _ in range(400):
        taken.add(pseudonym(taken))
    assert len(taken) == 400
