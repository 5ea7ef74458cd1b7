"""How many threads torch computes on: on a busy machine they spend more time waiting for each other than working."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

FEW = 4
"""For tensors of many megabytes: more threads gain little, and take processors from other verdicts."""
_lock = threading.Lock()
_inside = 0
_usual = 1


@contextlib.contextmanager
def at_most(count: int) -> Iterator[None]:
    """Inside, torch uses at most `count` threads (1 for small tensors); afterwards as many as before. May overlap in several threads."""
    global _inside, _usual
    with _lock:
        if _inside == 0:
            _usual = torch.get_num_threads()
        _inside += 1
    torch.set_num_threads(min(count, _usual))
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
        torch.set_num_threads(_usual)
