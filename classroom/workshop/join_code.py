"""Names and secrets of a class: join codes, pseudonyms, tokens."""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Collection

from checker.api.room import PORT, parse

LETTERS = "abcdefghjkmnpqrstuvwxyz"
DIGITS = "23456789"
"""Without i, l, o, 0 and 1, which look or sound like others."""
WORDS = ("tile", "lane", "mask", "warp", "grid", "row", "sum", "max", "load", "store", "block", "chunk")
_ANIMALS = (
    "Badger Bear Beaver Bison Camel Crane Crow Deer Dingo Dolphin Donkey Eagle Falcon Ferret Finch Fox Gecko Goose Hare "
    "Hawk Heron Horse Ibis Jackal Koala Lemur Lion Llama Lynx Magpie Marten Mole Moose Newt Otter Owl Panda Parrot Puffin "
    "Quail Rabbit Raven Robin Salmon Seal Shark Sloth Snail Stork Swan Tapir Tiger Toad Turtle Walrus Weasel Whale Wolf "
    "Wombat Yak Zebra"
)
ANIMALS = _ANIMALS.split()
LONGEST_NAME = 40


def new_code() -> str:
    """A code that can be read aloud: ``tile-7k3f9``. There are about 9 million; wrong guesses are rate-limited."""
    letter, digit = (lambda: secrets.choice(LETTERS)), (lambda: secrets.choice(DIGITS))
    return f"{secrets.choice(WORDS)}-{digit()}{letter()}{digit()}{letter()}{letter()}"


def shown(code: str, url: str) -> str:
    """What a learner passes to `join`: as short as `parse` allows."""
    bare = url.removeprefix("http://").rstrip("/").removesuffix(f":{PORT}")
    plain = url.startswith("http://") and "/" not in bare and parse(f"{code}@{bare}").url == url
    return f"{code}@{bare if plain else url.rstrip('/')}"


def pseudonym(taken: Collection[str]) -> str:
    """An animal and a number that nobody in the class has."""
    for digits in (2, 3, 4):
        for _ in range(50):
            name = f"{secrets.choice(ANIMALS)} {secrets.randbelow(9 * 10 ** (digits - 1)) + 10 ** (digits - 1)}"
            if name not in taken:
                return name
    raise RuntimeError("every pseudonym is taken")


def clean_name(text: str) -> str:
    """A typed name as one line of at most 40 characters, without control and direction marks; may be empty."""
    flat = " ".join(unicodedata.normalize("NFKC", text[:400]).split())
    return "".join(c for c in flat if unicodedata.category(c)[0] != "C")[:LONGEST_NAME].strip()


def new_token() -> str:
    """128 random bits."""
    return secrets.token_hex(16)


def digest(token: str) -> bytes:
    """The form in which the board stores a learner's token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
