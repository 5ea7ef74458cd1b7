"""The policy file: what a gate is worth, which try counts, what lateness costs. Scoring applies it; judging never does."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from checker.api.grading import Lateness

_SUMMER = {"CEST": 2, "EEST": 3, "WEST": 1, "BST": 1, "EDT": -4, "CDT": -5, "MDT": -6, "PDT": -7, "PST": -8, "CST": -6}
"""Hours before UTC of zones that have no file of their own."""
_MOST = 1e6
_KINDS = {
    bool: "true or false",
    int: "a whole number, from 0",
    float: "a number, from 0 to a million",
    str: "a word in quotes, or a date with a time, such as 2026-11-20T23:59:00Z",
}
GATES = ("values", "memory", "traffic", "gpu")
"""The gates that are worth points."""


class PolicyError(ValueError):
    """The file cannot be used as a policy; the message says why."""


@dataclass(frozen=True)
class Attempts:
    """Which try of a puzzle counts. Only the first `most` do; 0 means all."""

    count: Literal["best", "last"] = "best"
    most: int = 0


@dataclass(frozen=True)
class Late:
    """`due` is ISO 8601. Each day begun after it and after `grace_minutes` costs `per_day` of the score, the first `free_days` nothing.

    After `last_day` days nothing counts; 0 is no end. Times of files count only with `file_times`: copying and unpacking change them.
    """

    due: str = ""
    grace_minutes: float = 0
    free_days: int = 0
    per_day: float = 0.0
    last_day: int = 0
    file_times: bool = False


@dataclass(frozen=True)
class Rules:
    """A kernel that breaks a rule gets this `share` of the points that it earns without the statements that break it.

    With `compiler`, a verdict that was made without Triton's compiler does not count, and the kernel stays ungraded.
    """

    share: float = 0.0
    compiler: bool = False


@dataclass(frozen=True)
class Policy:
    """`points` weighs the gates of a puzzle against each other; `puzzles` gives puzzles other points than the course does.

    `drop_lowest` puzzles are left out of each learner's sum.
    """

    points: Mapping[str, float] = field(
        default_factory=lambda: {"values": 7.0, "memory": 1.0, "traffic": 2.0, "gpu": 2.0}
    )
    puzzles: Mapping[str, float] = field(default_factory=dict)
    attempts: Attempts = Attempts()
    late: Late = Late()
    drop_lowest: int = 0
    rules: Rules = Rules()

    def lateness(self, time: str | None, flagged: bool, file_time: bool = False) -> Lateness | None:
        """What the time of a try costs; None if it is not late. What a platform calls late is at least a day late."""
        late = self.late
        days = 0.0
        if late.due and time and (late.file_times or not file_time):
            after = moment(time) - moment(late.due) - timedelta(minutes=late.grace_minutes)
            days = max(0.0, after / timedelta(days=1))
        if not days and not flagged:
            return None
        begun = max(1, math.ceil(days))
        counted = max(0, begun - late.free_days)
        over = bool(late.last_day) and begun > late.last_day
        factor = 0.0 if over else max(0.0, 1 - late.per_day * counted)
        return Lateness(days=round(days, 4), counted_days=counted, factor=round(factor, 6))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def moment(text: str) -> datetime:
    """ISO 8601, which may end with the name of a zone (``CET``, ``America/New_York``); without one it is UTC. Raises ValueError."""
    stamp, _, zone = text.strip().rpartition(" ")
    if not re.fullmatch(r"[A-Za-z][\w+/-]*", zone):
        at = datetime.fromisoformat(stamp + zone if zone[:1] in ("+", "-") else text.strip())
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    at = datetime.fromisoformat(stamp)
    if zone in _SUMMER:
        return at.replace(tzinfo=timezone(timedelta(hours=_SUMMER[zone])))
    try:
        return at.replace(tzinfo=ZoneInfo("UTC" if zone == "Z" else zone))
    except (KeyError, OSError):
        raise ValueError(f"there is no time zone called {zone}") from None


def read_policy(path: Path, puzzles: Mapping[str, object]) -> Policy:
    """Raises FileNotFoundError and PolicyError."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path} is not TOML: {error}") from None
    known = {"points", "puzzles", "attempts", "late", "drop", "rules"}
    _only(table, known, str(path))
    for name, value in table.items():
        if not isinstance(value, dict):
            raise PolicyError(
                f"{path}: `{name}` is a table: write [{name}] on a line of its own, and what it sets below it"
            )
    try:
        points = {**Policy().points, **_numbers(table.get("points", {}), GATES, "points")}
        if not sum(points.values()):
            raise PolicyError("[points] gives no gate anything")
        late = Late(**_fields(table.get("late", {}), Late, "late"))
        if late.per_day > 1:
            raise PolicyError(
                f"[late] per_day is a share of the score: 0.1 takes a tenth for each day, and {late.per_day:g} is more than all"
            )
        if late.due:
            moment(late.due)
        attempts = Attempts(**_fields(table.get("attempts", {}), Attempts, "attempts"))
        if attempts.count not in ("best", "last"):
            raise PolicyError(f'[attempts] count is "best" or "last", not {attempts.count!r}')
        rules = Rules(**_fields(table.get("rules", {}), Rules, "rules"))
        if rules.share > 1:
            raise PolicyError(f"[rules] share is a share of the points, from 0 to 1, not {rules.share:g}")
        drop = table.get("drop", {})
        _only(drop, {"lowest"}, "[drop]")
        lowest = drop.get("lowest", 0)
        if type(lowest) is not int or lowest < 0:
            raise PolicyError(f"[drop] lowest is how many puzzles are left out, not {lowest!r}")
        return Policy(points, _numbers(table.get("puzzles", {}), puzzles, "puzzles"), attempts, late, lowest, rules)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise PolicyError(f"{path} cannot be used: {error}") from None


def _only(table: Mapping[str, Any], known: Any, where: str) -> None:
    for name in table:
        if name not in known:
            raise PolicyError(f"{where} has no `{name}`; it may have {', '.join(sorted(known))}")


def _numbers(table: Mapping[str, Any], known: Any, where: str) -> dict[str, float]:
    _only(table, known, f"[{where}]")
    for name, value in table.items():
        if type(value) not in (int, float) or not 0 <= value <= _MOST:
            raise PolicyError(f"[{where}] {name} has to be a number, from 0 to a million, not {value!r}")
    return {name: float(value) for name, value in table.items()}


def _fields(table: Mapping[str, Any], kind: type[Attempts] | type[Late] | type[Rules], where: str) -> dict[str, Any]:
    default = asdict(kind())
    _only(table, default, f"[{where}]")
    fields: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, datetime):  # TOML has times of its own
            value = value.isoformat()
        wanted = type(default[name])
        right = type(value) is wanted or (wanted is float and type(value) is int)
        if not right or (wanted in (int, float) and not 0 <= value <= _MOST):
            raise PolicyError(f"[{where}] {name} cannot be {value}: it is {_KINDS[wanted]}")
        fields[name] = value
    return fields
