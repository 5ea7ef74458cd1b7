"""Small tensors on one thread: on a busy machine torch's threads wait for one another longer than they work."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

_lock = threading.Lock()
_inside = 0
_usual = 1


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch computes on the calling thread alone; afterwards on as many as before. May overlap in several threads."""
    global _inside, _usual
    with _lock:
        if _inside == 0:
            _usual = torch.get_num_threads()
        _inside += 1
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
        torch.set_num_threads(_usual)
