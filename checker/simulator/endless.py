"""Loops that never end, noticed before their time is over.

What decides a `while` loop are the names in its test, whatever the loop computes these from, and memory. If no turn changes any of the
names or stores anything, none ever will: programs run one after another.
"""

from __future__ import annotations

import ast
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from checker.phrases import join
from checker.simulator.errors import EndlessLoop
from checker.simulator.triton_internals import handle_of, is_tensor

MOST_TURNS = 2**24
"""A loop of more turns takes minutes even if it does nothing."""
_TURNS = 3


def deciding(loop: ast.While) -> list[str]:
    """The names that decide how long the loop runs."""
    sources: defaultdict[str, list[ast.expr]] = defaultdict(list)
    controls: list[ast.expr] = []
    for node in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (name for target in targets for name in _names(target)):
                sources[name].append(node.value)
        elif isinstance(node, ast.For):
            controls.append(node.iter)
            for name in _names(node.target):
                sources[name].append(node.iter)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            controls.append(node.test)
    found: dict[str, None] = {}
    waiting: list[ast.expr] = [loop.test]
    while waiting:
        for name in _names(waiting.pop()):
            if name not in found:
                found[name] = None
                waiting += sources[name] and [*sources[name], *controls]
    return list(found)


def _names(node: ast.AST) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


class Turns:
    """The turns of one `while` loop. `stores` counts the stores of the launch so far."""

    def __init__(self, names: Sequence[str], stores: Callable[[], int]) -> None:
        self.names, self.stores, self.same = names, stores, 0
        self.last: Any = None

    def again(self, test: Any, values: Callable[[], Sequence[Any]]) -> Any:
        """The test of the next turn, and the values of what decides it. Raises EndlessLoop if they stay as they are."""
        now: Any = None
        with contextlib.suppress(NameError):  # the first turn gives it a value
            now = self.stores(), [_state(value) for value in values()]
        self.same = self.same + 1 if now is not None and now == self.last else 0
        self.last = now
        if self.same == _TURNS:
            now = dict(zip(self.names, values(), strict=True))
            shown = [name for name, value in now.items() if _is_number(value) and not _is_pointer(value)]
            why = f"no turn changes {join(shown)}" if shown else "its condition is always true"
            if any(map(_is_pointer, now.values())):
                why = (
                    f"no turn {f'changes {join(shown)} or ' if shown else ''}stores anything, and no other program runs"
                )
            raise EndlessLoop(f"this loop never ends: {why}")
        return test


def refuse_too_many(turns: range) -> None:
    """Raises EndlessLoop for a loop that would take minutes."""
    if len(turns) > MOST_TURNS:
        raise EndlessLoop(f"this loop would take {len(turns):,} turns, more than a check can wait for")


def _is_pointer(value: Any) -> bool:
    return is_tensor(value) and bool(handle_of(value).type.scalar.is_ptr())


def _is_number(value: Any) -> bool:
    return is_tensor(value) or isinstance(value, int | float)


def _state(value: Any) -> Any:
    if not is_tensor(value):
        return value if _is_number(value) else id(value)
    data = np.asarray(handle_of(value).data)
    return data.shape, data.tobytes()
