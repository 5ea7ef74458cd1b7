"""The masks of loads and stores: which line computes each, and whether a wrong kernel lacks only a mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_PLACES = {"load": 1, "store": 2}
"""Which argument of `tl.load` and of `tl.store` is the mask."""


@dataclass(frozen=True)
class Access:
    """A load or store in the lines `start` to `stop`; `does` describes it without its mask.

    `mask` is the line that computes the mask: its last assignment if it has a name, otherwise `start`; None without a mask.
    """

    start: int
    stop: int
    does: str
    mask: int | None


def mask_at_fault(wrong: str, line: int, right: str, mine: str, access: int) -> int | None:
    """The line of `mine` that computes the mask of the load or store in line `access`, if the `wrong` kernel's `line` lacks only its mask.

    Both kernels behave alike, so the learner's mask hides nothing.
    """
    there, here = _access(wrong, line), _access(mine, access)
    if there is None or here is None or there.mask is not None:
        return None
    return here.mask if any(one.does == there.does and one.mask for one in _accesses(right)) else None


def _access(source: str, line: int) -> Access | None:
    """The access in this line, if it is the only one."""
    found = [one for one in _accesses(source) if one.start <= line <= one.stop]
    return found[0] if len(found) == 1 else None


@lru_cache(512)
def _accesses(source: str) -> list[Access]:
    return list(_found(ast.parse(source)))


def _found(module: ast.Module) -> Iterator[Access]:
    assigned = [
        (target.id, node.lineno)
        for node in ast.walk(module)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _PLACES:
            continue
        place = _PLACES[call.func.attr]
        given = [*(one.value for one in call.keywords if one.arg == "mask"), *call.args[place : place + 1]]
        mask = given[0] if given else None
        while isinstance(mask, ast.Subscript):  # mask[:, None]
            mask = mask.value
        own = [n for name, n in assigned if isinstance(mask, ast.Name) and name == mask.id and n < call.lineno]
        line = None if mask is None else max(own, default=call.lineno)
        does = ", ".join(map(ast.dump, (call.func, *call.args[:place])))
        yield Access(call.lineno, call.end_lineno or call.lineno, does, line)
