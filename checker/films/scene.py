"""What every step draws: slots on the page, what a step puts into them, and what stays there afterwards.

The picture of step k is what the steps up to k have left behind, with what step k shows on top. So one set of data plays all
programs in any order, or one program alone.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from checker.films.svg import NOTHING, text

TRAIL = 8
"""How many steps fade behind the current one."""

Value = Markup | str | int
"""A picture or HTML, text to be escaped, or the number of a layer."""


@dataclass(frozen=True)
class Change:
    """A step sets a slot to `now`, and to `after` for the steps that follow."""

    slot: int
    now: Value
    after: Value


@dataclass
class Scenes:
    """All slots of a film by number, and the changes of each step. `programs` holds the program of each step."""

    programs: Sequence[int]
    numbers: dict[Hashable, int] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    """Slots that hold a value for each program: the page shows the one of the step's program."""
    changes: list[list[Change]] = field(init=False)
    together: list[list[Change]] = field(init=False)
    """Changes that appear only while all programs are shown."""
    _last: dict[tuple[int, Hashable], Change] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.changes = [[] for _ in self.programs]
        self.together = [[] for _ in self.programs]

    def number(self, key: Hashable) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def put(
        self, k: int, key: Hashable, now: Value, after: Value | None = None, own: bool = False, together: bool = False
    ) -> None:
        """Step `k` shows `now`, which stays unless `after` is given."""
        change = Change(self.number(key), now, now if after is None else after)
        last = self._last.get((self.programs[k], key)) if own else None
        if own:
            self.own.add(change.slot)
        self._last[self.programs[k], key] = change
        if last != change or change.now != change.after:  # else the slot holds it already
            (self.together if together else self.changes)[k].append(change)

    def flash(self, k: int, key: Hashable, now: Value) -> None:
        """Step `k` shows `now`, and nothing of it stays."""
        self.number(key)
        if now:
            self.put(k, key, now, "")

    # ---- on the page: elements with the numbers of their slots, which `filled` gives the content of the first step

    def slot(self, key: Hashable) -> Markup:
        """A place for a picture on the stage."""
        return Markup('<g data-s="{}"></g>').format(self.number(key))

    def word(
        self, key: Hashable, x: float, y: float, name: str = "", size: float = 11, anchor: str = "start"
    ) -> Markup:
        """A place for a line of text on the stage."""
        return text(x, y, "", name, size, anchor, Markup(' data-s="{}"').format(self.number(key)))

    def fading(self, key: Hashable) -> Markup:
        """A place where what the last steps showed fades, the oldest most."""
        age = Markup('<g opacity="{:.2g}"></g>')
        ages = NOTHING.join(age.format(0.1 + 0.6 * (1 - i / TRAIL)) for i in range(TRAIL))
        return Markup('<g data-fade="{}">{}</g>').format(self.number(key), ages)

    def choice(self, key: Hashable, layers: Sequence[Markup]) -> Markup:
        """The layer whose number is in a slot, or the only one. The slot's first value must be known."""
        if len(layers) == 1:
            return layers[0]
        group, visible = Markup("<g{}>{}</g>"), self.first(key) or 0
        hidden = (NOTHING if i == visible else Markup(' display="none"') for i in range(len(layers)))
        groups = NOTHING.join(map(group.format, hidden, layers))
        return Markup('<g data-choose="{}">{}</g>').format(self.number(key), groups)

    def first(self, key: Hashable) -> Value:
        """The content of a slot at the first step."""
        return self._first.get(self.numbers.get(key, -1), "")

    @property
    def _first(self) -> dict[int, Value]:
        return {change.slot: change.now for change in self.changes[0] + self.together[0]}

    def filled(self, page: str) -> str:
        """A page with slots, as it is at the first step."""
        first = self._first
        return re.sub(r'data-s="(\d+)">', lambda m: m[0] + str(Markup.escape(first.get(int(m[1]), ""))), page)

    def data(self) -> tuple[list[str | int], list[tuple[list[int], list[int]]]]:
        """Every value that a slot ever holds, the empty one first, and the changes of each step, ``[slot, now, after, …]``.

        `now` and `after` are numbers of values; a step's changes are those that always appear, and those of all programs together.
        """
        values: dict[str | int, int] = {"": 0}

        def number(value: Value) -> int:
            return values.setdefault(value if isinstance(value, int) else str(Markup.escape(value)), len(values))

        def numbered(changes: Iterable[Change]) -> list[int]:
            return [n for c in changes for n in (c.slot, number(c.now), number(c.after))]

        steps = [(numbered(own), numbered(all_)) for own, all_ in zip(self.changes, self.together, strict=True)]
        return list(values), steps
