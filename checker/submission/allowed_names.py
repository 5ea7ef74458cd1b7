"""Every name of Triton that a kernel may use, and what to write instead of some that it may not: `language.toml`, read."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LANGUAGE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("language.toml").read_text("utf-8"))


def _names(key: str) -> frozenset[str]:
    return frozenset(_LANGUAGE[key].split())


DTYPES = _names("dtypes")
FUNCTIONS = DTYPES | _names("functions")
MATH = _names("math")
LIBDEVICE = _names("libdevice")
LIBDEVICES = _names("libdevices")
MODULES = _names("modules") | LIBDEVICES
TRITON = _names("triton")
TAKE_A_HELPER = _names("take_a_helper")
METHODS = _names("methods")
ATTRIBUTES = _names("attributes")
BUILTINS = _names("builtins")
BOUND_TO_A_SESSION = _names("bound_to_a_session")
INSTEAD: Mapping[str, str] = _LANGUAGE["instead"]
PYTHON_INSTEAD: Mapping[str, str] = _LANGUAGE["python_instead"]
STATEMENTS: Mapping[str, str] = _LANGUAGE["statements"]
EXPRESSIONS: Mapping[str, str] = _LANGUAGE["expressions"]
RULES: Mapping[str, str] = _LANGUAGE["rules"]
"""Every rule by its short name, each in a sentence."""


def no_python(name: str) -> str:
    instead = PYTHON_INSTEAD.get(name)
    return f"`{name}` is a Python function, which a kernel cannot call" + (f": {instead}" if instead else "")


def no_tl(name: str) -> str:
    meant = _nearest(name, FUNCTIONS, "tl.")
    return INSTEAD.get(name) or f"`tl.{name}` is not one of the functions of `tl` that this course uses{meant}"


def no_libdevice(name: str) -> str:
    return f"`{name}` is not one of the libdevice functions that this course simulates"


def no_math(name: str) -> str:
    if name in LIBDEVICE:
        return f"`tl.math.{name}` does not exist: it is tl.extra.libdevice.{name}"
    return f"`tl.math.{name}` is not one of the functions of `tl.math` that this course uses"


def no_attribute(name: str) -> str:
    if name.startswith("_"):
        return f"`.{name}` belongs to Python: a kernel cannot use it"
    meant = _nearest(name, METHODS | ATTRIBUTES, ".")
    return INSTEAD.get(name) or f"`.{name}` cannot be used in a kernel{meant}"


def _nearest(name: str, known: frozenset[str], before: str) -> str:
    """A question about the most similar name; empty if none is similar."""
    close = difflib.get_close_matches(name, sorted(known), 1, 0.7)
    return f": did you mean `{before}{close[0]}`?" if close else ""
