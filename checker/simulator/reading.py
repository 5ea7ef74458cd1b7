"""Reading data that a stranger's process sent: each function gives what it was asked for, or raises ValueError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

MAX_DIMENSIONS = 8
MAX_TEXT = 10_000
BOUND = 1 << 62
"""No honest number in a trace is larger."""


def fail(what: str, value: Any) -> ValueError:
    """The error to raise where `value` is not `what`."""
    return ValueError(f"not {what}: {str(value)[:80]!r}")


def fields(value: Any, what: str, names: set[str]) -> dict[str, Any]:
    """An object with exactly these fields."""
    if not isinstance(value, dict) or set(value) != names:
        raise fail(what, value)
    return value


def mapping(value: Any, what: str, most: int) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > most or not all(isinstance(k, str) for k in value):
        raise fail(what, value)
    return value


def items(value: Any, what: str, most: int, exactly: int | None = None) -> list[Any]:
    if not isinstance(value, (list, tuple)) or len(value) > most or (exactly is not None and len(value) != exactly):
        raise fail(what, value)
    return list(value)


def integer(value: Any, what: str, low: int = -BOUND, high: int = BOUND) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise fail(what, value)
    return value


def numbers(
    value: Any, what: str, most: int = MAX_DIMENSIONS, exactly: int | None = None, low: int = -BOUND
) -> tuple[int, ...]:
    return tuple(integer(v, what, low) for v in items(value, what, most, exactly))


def triple(value: Any, what: str) -> tuple[int, int, int]:
    x, y, z = numbers(value, what, exactly=3, low=0)
    return x, y, z


def text(value: Any, what: str, most: int = MAX_TEXT) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise fail(what, value)
    return value


def maybe(read: Callable[..., T], value: Any, what: str) -> T | None:
    return None if value is None else read(value, what)


def choice(value: Any, what: str, choices: tuple[str, ...]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise fail(what, value)
    return value
