"""Rate limits: a burst at once, then so many per minute, for each key."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field

MAX_KEYS = 10_000


@dataclass
class Limit:
    """A bucket per key that holds `burst` and refills at `per_minute`."""

    per_minute: float
    burst: float
    _buckets: dict[Hashable, tuple[float, float]] = field(default_factory=dict, repr=False)

    def left(self, key: Hashable) -> float:
        now = time.monotonic()
        then, left = self._buckets.get(key, (now, self.burst))
        return min(self.burst, left + (now - then) * self.per_minute / 60)

    def take(self, key: Hashable, count: float = 1) -> bool:
        """Take `count`, all or none; False if fewer are left."""
        left = self.left(key)
        if left < count:
            return False
        if len(self._buckets) >= MAX_KEYS and key not in self._buckets:
            full = [k for k in self._buckets if self.left(k) >= self.burst]
            for k in full or list(self._buckets)[: MAX_KEYS // 10]:
                del self._buckets[k]
        self._buckets[key] = (time.monotonic(), left - count)
        return True
