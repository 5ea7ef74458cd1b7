"""Cases of linear attention by the names of their families."""

from __future__ import annotations

from typing import Any

from checker.course import linear_state_prefix, linear_values
from checker.puzzle import Case

FAMILIES = {family.name: family for family in linear_values.FAMILIES}
PREFIX_FAMILIES = {**FAMILIES, **{family.name: family for family in linear_state_prefix.FAMILIES}}


def linear_case(sizes: dict[str, int], meta: dict[str, int], *, family: str = "normal", **more: Any) -> Case:
    families = PREFIX_FAMILIES if "SIZE" in sizes else FAMILIES
    return Case(sizes, meta, family=families[family], **more)
