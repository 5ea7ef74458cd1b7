"""What is said aloud, typed and handed out: join codes, addresses, pseudonyms, tokens."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

PORT = 8787
LETTERS = "abcdefghjkmnpqrstuvwxyz"
DIGITS = "23456789"
"""Without those that look or sound like another: i, l, o, 0, 1."""
WORDS = ("tile", "lane", "mask", "warp", "grid", "row", "sum", "max", "load", "store", "block", "chunk")
_ANIMALS = (
    "Badger Bear Beaver Bison Camel Crane Crow Deer Dingo Dolphin Donkey Eagle Falcon Ferret Finch Fox Gecko Goose Hare "
    "Hawk Heron Horse Ibis Jackal Koala Lemur Lion Llama Lynx Magpie Marten Mole Moose Newt Otter Owl Panda Parrot Puffin "
    "Quail Rabbit Raven Robin Salmon Seal Shark Sloth Snail Stork Swan Tapir Tiger Toad Turtle Walrus Weasel Whale Wolf "
    "Wombat Yak Zebra"
)
ANIMALS = _ANIMALS.split()
LONGEST_NAME = 40


class AddressError(ValueError):
    """What was passed to `join` is no ``code@host``; the message says what it looks like."""


@dataclass(frozen=True)
class JoinAddress:
    """A join code and the address of the board, which ends with a slash."""

    code: str
    url: str


def new_code() -> str:
    """A code that can be said aloud: ``tile-7k3f``. About 9 million; wrong ones are rate-limited."""
    letter, digit = (lambda: secrets.choice(LETTERS)), (lambda: secrets.choice(DIGITS))
    return f"{secrets.choice(WORDS)}-{digit()}{letter()}{digit()}{letter()}{letter()}"


def same_code(text: str) -> str:
    """A code as it is compared: case, spaces and a missing or a long dash do not matter."""
    return re.sub(r"[^a-z0-9]", "", text.lower())[:40]


def parse(text: str) -> JoinAddress:
    """``code@host``, ``code@host:port`` or ``code@https://host/path``. Raises AddressError."""
    code, at, place = text.strip().partition("@")
    if not (at and same_code(code) and place.strip()):
        raise AddressError(
            f'join takes what is on the screen, for example join("tile-7k3fw@192.168.1.5"), not {text!r}.'
        )
    place = place.strip()
    try:
        parts = urlsplit(place if "://" in place else f"http://{place}")
        port = parts.port
    except ValueError as error:
        raise AddressError(f"{place} is no address: {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise AddressError(f"{place} is no address of a board: it is a host, or begins with http:// or https://.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if port is None and "://" not in place:
        port = PORT
    path = parts.path.rstrip("/") + "/"
    return JoinAddress(code, f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}")


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
    """A name as somebody typed it: one line, without control and direction marks, at most 40 characters; "" where nothing is left."""
    flat = " ".join(unicodedata.normalize("NFKC", text[:400]).split())
    return "".join(c for c in flat if unicodedata.category(c)[0] != "C")[:LONGEST_NAME].strip()


def new_token() -> str:
    """128 random bits."""
    return secrets.token_hex(16)


def digest(token: str) -> bytes:
    """What the board keeps of a learner's token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
