"""What is drawn at every step: slots on the page, what each step puts into them, and what stays in them after it.

A picture of step k is what the steps up to k have left behind, and over it what step k shows. So the film can be played for
all programs, in any order, or for one alone, from the same data.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from checker.films.svg import NOTHING, Bars, Cells, Path, Picture, Shape, Text, drawn, text

TRAIL = 8
"""How many steps fade behind the one that is shown."""

Value = Picture | str | int
"""Shapes, HTML (`Markup`, or text that will be escaped), or a number for those slots that take one."""
EMPTY: Picture = ()


@dataclass(frozen=True)
class Slot:
    """A place for a picture on the stage."""

    key: Hashable


@dataclass(frozen=True)
class Word:
    """A place for one text on the stage, at the position of `at`."""

    key: Hashable
    at: Text


@dataclass(frozen=True)
class Fading:
    """A place where what the last steps put into it fades, the oldest most."""

    key: Hashable


@dataclass(frozen=True)
class Choice:
    """Layers of which one is seen: that whose number is in the slot."""

    key: Hashable
    layers: tuple[tuple[Part, ...], ...]


Part = Shape | Slot | Word | Fading | Choice


@dataclass(frozen=True)
class Change:
    """One step sets one slot: to `now` while it is shown, and to `after` from then on."""

    slot: int
    now: Value
    after: Value


@dataclass
class Scenes:
    """All slots of a film by number, and what each step changes. `programs` says whose each step is."""

    programs: Sequence[int]
    numbers: dict[Hashable, int] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    """Slots in which every program has values of its own: those of the program of the step are shown."""
    changes: list[list[Change]] = field(default_factory=list)
    together: list[list[Change]] = field(default_factory=list)
    """Changes that only make sense where all programs are shown."""

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
        """Step `k` shows `now`; `after` it, the same stays unless `after` is given."""
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
        """What every slot holds at step `k` of all programs one after another; and what the last steps showed, newest first."""
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
        """What a slot of the page holds."""
        return Markup.escape(self.value(key))

    def picture(self, part: Part) -> Markup:
        """The SVG of a part, with its slots marked for the player."""
        match part:
            case Slot(key):
                return Markup('<g data-s="{}">{}</g>').format(self.scenes.number(key), drawn(self._shapes(key)))
            case Word(key, at):
                shown = Text(at.x, at.y, str(self.value(key)), at.name, at.size, at.anchor)
                return text(shown, Markup(' data-s="{}"').format(self.scenes.number(key)))
            case Fading(key):
                number = self.scenes.number(key)
                ages = [Markup('<g opacity="{:.2g}">{}</g>').format(opacity, drawn(self._faded(number, age))) for age, opacity in enumerate(FADING)]  # fmt: skip
                return Markup('<g data-fade="{}">{}</g>').format(number, NOTHING.join(ages))
            case Choice(key, layers):
                chosen, out = self.value(key), []
                for i, layer in enumerate(layers):
                    hidden = NOTHING if i == (chosen or 0) else Markup(' display="none"')
                    out.append(Markup("<g{}>{}</g>").format(hidden, self.pictures(layer)))
                return Markup('<g data-choose="{}">{}</g>').format(self.scenes.number(key), NOTHING.join(out))
        return drawn((part,))

    def pictures(self, parts: Sequence[Part]) -> Markup:
        return NOTHING.join(self.picture(part) for part in parts)

    def shapes(self, parts: Sequence[Part]) -> list[Shape]:
        """The shapes themselves, words left out."""
        out: list[Shape] = []
        for part in parts:
            match part:
                case Slot(key):
                    out += self._shapes(key)
                case Fading(key):
                    out += [s for age in range(TRAIL) for s in self._faded(self.scenes.number(key), age)]
                case Choice(key, layers):
                    chosen = self.value(key)
                    out += self.shapes(layers[chosen if isinstance(chosen, int) else 0])
                case Word() | Text():
                    pass
                case _:
                    out.append(part)
        return out

    def _shapes(self, key: Hashable) -> Picture:
        value = self.value(key)
        return value if isinstance(value, tuple) else EMPTY

    def _faded(self, number: int, age: int) -> Picture:
        value = self.trail[age].get(number, EMPTY) if age < len(self.trail) else EMPTY
        return value if isinstance(value, tuple) else EMPTY


FADING = tuple(0.1 + 0.6 * (TRAIL - age) / TRAIL for age in range(TRAIL))


# ---- for the player ----------------------------------------------------------------------------------------------------


class Values:
    """Everything that is ever put into a slot, each thing once and numbered."""

    def __init__(self) -> None:
        self.items: list[object] = []
        self.strings: dict[str, int] = {}
        """Path data and levels, each once: many shapes have them in common."""
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        value = "" if value == EMPTY else value
        key = value if not isinstance(value, str) else str(Markup.escape(value))
        if key not in self._numbers:
            self._numbers[key] = len(self.items)
            self.items.append([self._shape(s) for s in key] if isinstance(key, tuple) else key)
        return self._numbers[key]

    def _shape(self, shape: Shape) -> object:
        match shape:
            case Text():
                return str(text(shape, painted=False))
            case Cells(at, rows, columns, levels, signed, inside, struck):
                return [self._string(levels), self._numbers_of(*at, rows, columns, 2 if struck else signed, *inside)]
            case Path(name, d):
                return [name, self._string(d)]
            case Bars(at, levels, name, inside):
                return [name, self._string(levels), self._numbers_of(*at, inside)]

    def _numbers_of(self, *numbers: float) -> int:
        return self._string(" ".join(f"{n:.5g}" for n in numbers))

    def _string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))
