"""One thread inside, as many as before afterwards, however the threads overlap."""

from __future__ import annotations

import threading

import torch

from checker.judge.runner import at_most


def test_one_inside_and_as_many_as_before_afterwards_though_two_overlap() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    both, seen = threading.Barrier(2), []

    def late() -> None:
        with at_most(1):
            both.wait()
            seen.append(torch.get_num_threads())
            both.wait()  # the other has left by now

    try:
        other = threading.Thread(target=late)
        other.start()
        with at_most(1):
            seen.append(torch.get_num_threads())
            both.wait()
        both.wait()
        other.join()
        assert seen == [1, 1]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
