"""Rate limits: so many at once, then so many a minute, for each key."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field

MOST_KEYS = 10_000


@dataclass
class Limit:
    """A bucket for each key, that holds `burst` and fills again at `a_minute`."""

    a_minute: float
    burst: float
    _left: dict[Hashable, tuple[float, float]] = field(default_factory=dict, repr=False)

    def left(self, key: Hashable) -> float:
        """How many the key has left now."""
        now = time.monotonic()
        then, had = self._left.get(key, (now, self.burst))
        return min(self.burst, had + (now - then) * self.a_minute / 60)

    def take(self, key: Hashable, count: float = 1) -> bool:
        """Take `count`, all or none; False where fewer are left."""
        left = self.left(key)
        if left < count:
            return False
        if len(self._left) >= MOST_KEYS and key not in self._left:
            full = [k for k in self._left if self.left(k) >= self.burst]
            for k in full or list(self._left)[: MOST_KEYS // 10]:
                del self._left[k]
        self._left[key] = (time.monotonic(), left - count)
        return True
