"""How many threads torch computes on: on a busy machine they wait for one another longer than they work."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

FEW = 4
"""For tensors of many megabytes: more threads gain little, and spin on the processors of the verdicts beside this one."""
_lock = threading.Lock()
_inside = 0
_usual = 1


@contextlib.contextmanager
def at_most(count: int) -> Iterator[None]:
    """Inside, torch computes on so many threads (1 for small tensors); afterwards on as many as before. May overlap in several threads."""
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
