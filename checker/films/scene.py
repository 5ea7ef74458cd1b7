"""What every step draws: slots on the page, what a step puts into them, and what stays there afterwards.

The picture of step k is what the steps up to k have left behind, with what step k shows on top. So one set of data plays all
programs in any order, or one program alone.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from checker.films.svg import NOTHING, Picture, Shape, Text, drawn, text

TRAIL = 8
"""How many steps fade behind the current one."""

Value = Picture | str | int
"""Shapes, HTML (`Markup`, or text to be escaped), or the number of a layer."""
EMPTY: Picture = ()


@dataclass(frozen=True)
class Slot:
    """A place for a picture on the stage."""

    key: Hashable


@dataclass(frozen=True)
class Word:
    """A place for a text on the stage, at the position of `at`."""

    key: Hashable
    at: Text


@dataclass(frozen=True)
class Fading:
    """A place where the pictures of the last steps fade, the oldest most."""

    key: Hashable


@dataclass(frozen=True)
class Choice:
    """Layers, one of them visible: the one whose number is in the slot."""

    key: Hashable
    layers: tuple[tuple[Part, ...], ...]


Part = Shape | Slot | Word | Fading | Choice


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
    changes: list[list[Change]] = field(default_factory=list)
    together: list[list[Change]] = field(default_factory=list)
    """Changes that appear only while all programs are shown."""

    _last: dict[tuple[int, Hashable], Change] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.changes = [[] for _ in self.programs]
        self.together = [[] for _ in self.programs]

    def number(self, key: Hashable, own: bool = False) -> int:
        number = self.numbers.setdefault(key, len(self.numbers))
        if own:
            self.own.add(number)
        return number

    def put(
        self, k: int, key: Hashable, now: Value, after: Value | None = None, own: bool = False, together: bool = False
    ) -> None:
        """Step `k` shows `now`, which stays unless `after` is given."""
        change = Change(self.number(key, own), now, now if after is None else after)
        last = self._last.get((self.programs[k], key)) if own else None
        self._last[self.programs[k], key] = change
        if last != change or change.now != change.after:  # else the slot holds it already
            (self.together if together else self.changes)[k].append(change)

    def flash(self, k: int, key: Hashable, now: Value) -> None:
        """Step `k` shows `now`, and nothing of it stays."""
        self.number(key)
        if now not in (EMPTY, ""):
            self.put(k, key, now, "")

    def at(self, k: int) -> tuple[dict[int, Value], list[dict[int, Value]]]:
        """The content of every slot at step `k` with all programs in turn, and what each of the last steps showed, newest first."""
        shared: dict[int, Value] = {}
        owned: dict[int, Value] = {}
        for j in range(k + 1):
            for change in self.changes[j] + self.together[j]:
                value = change.now if j == k else change.after
                if change.slot not in self.own:
                    shared[change.slot] = value
                elif self.programs[j] == self.programs[k]:
                    owned[change.slot] = value
        before = range(k - 1, max(k - 1 - TRAIL, -1), -1)
        return shared | owned, [{c.slot: c.now for c in self.changes[j]} for j in before]


@dataclass
class Stage:
    """A picture of the scenes at one step."""

    scenes: Scenes
    k: int

    def __post_init__(self) -> None:
        self.values, self.trail = self.scenes.at(self.k)

    def value(self, key: Hashable) -> Value:
        return self.values.get(self.scenes.number(key), "")

    def html(self, key: Hashable) -> Markup:
        """The content of a slot."""
        return markup(self.value(key))

    def picture(self, part: Part) -> Markup:
        """The SVG of a part, with its slots marked for the player."""
        match part:
            case Slot(key):
                return Markup('<g data-s="{}">{}</g>').format(self.scenes.number(key), drawn(self._shapes(key)))
            case Word(key, at):
                words = replace(at, content=str(self.value(key)))
                return text(words, Markup(' data-s="{}"').format(self.scenes.number(key)))
            case Fading(key):
                age = Markup('<g opacity="{:.2g}">{}</g>')
                ages = [age.format(0.1 + 0.6 * (1 - i / TRAIL), drawn(self._faded(key, i))) for i in range(TRAIL)]
                return Markup('<g data-fade="{}">{}</g>').format(self.scenes.number(key), NOTHING.join(ages))
            case Choice(key, layers):
                group, visible = Markup("<g{}>{}</g>"), self.value(key) or 0
                hidden = [NOTHING if i == visible else Markup(' display="none"') for i in range(len(layers))]
                groups = (group.format(h, self.pictures(layer)) for h, layer in zip(hidden, layers, strict=True))
                return Markup('<g data-choose="{}">{}</g>').format(self.scenes.number(key), NOTHING.join(groups))
        return drawn((part,))

    def pictures(self, parts: Sequence[Part]) -> Markup:
        return NOTHING.join(map(self.picture, parts))

    def shapes(self, parts: Sequence[Part]) -> list[Shape]:
        """The shapes of some parts, without words."""
        out: list[Shape] = []
        for part in parts:
            match part:
                case Slot(key):
                    out += self._shapes(key)
                case Fading(key):
                    out += [shape for age in range(TRAIL) for shape in self._faded(key, age)]
                case Choice(key, layers):
                    visible = self.value(key)
                    out += self.shapes(layers[visible if isinstance(visible, int) else 0])
                case Word() | Text():
                    pass
                case _:
                    out.append(part)
        return out

    def _shapes(self, key: Hashable) -> Picture:
        value = self.value(key)
        return value if isinstance(value, tuple) else EMPTY

    def _faded(self, key: Hashable, age: int) -> Picture:
        value = self.trail[age].get(self.scenes.number(key), EMPTY) if age < len(self.trail) else EMPTY
        return value if isinstance(value, tuple) else EMPTY


def markup(value: str | Picture | int) -> Markup:
    return drawn(value) if isinstance(value, tuple) else Markup.escape(value)


class Values:
    """Everything that a slot ever holds, each value once: markup in pieces, or the number of a layer. The empty value comes first."""

    def __init__(self) -> None:
        self._items: list[list[str] | int] = []
        self._numbers: dict[Value, int] = {}
        self.number("")

    def number(self, value: Value) -> int:
        key = "" if value == EMPTY else str(markup(value)) if isinstance(value, str) else value
        if key not in self._numbers:
            self._numbers[key] = len(self._items)
            html = str(markup(key)) if isinstance(key, tuple) else key
            # a heat map is one piece: it is drawn in two places, at two scales
            self._items.append(html if isinstance(html, int) else re.split("(<g transform.*?>)", html))
        return self._numbers[key]

    def data(self) -> tuple[list[list[int] | int], list[str]]:
        """The values as numbers of pieces, and the pieces, sorted so that they compress well."""
        pieces = sorted({piece for item in self._items if isinstance(item, list) for piece in item if piece})
        numbers = {piece: i for i, piece in enumerate(pieces)}
        items = [i if isinstance(i, int) else [numbers[piece] for piece in i if piece] for i in self._items]
        return items, pieces
