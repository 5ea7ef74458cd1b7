"""A loop that never ends is reported at once, with what it waits for, and loops that end are left alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate, simulate_together
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel
from tests.simulator.launching import HEAD, nans


def launched(folder: Any, *body: str) -> tuple[Any, Launch]:
    lines = "".join(f"    {line}\n" for line in ("i = 0", "n = tl.load(x_ptr)", *body, "tl.store(y_ptr, i)"))
    helpers = "".join(
        f"@triton.jit\ndef {name}(ptr, n):\n    return {value} < n\n\n"
        for name, value in {"below": "tl.atomic_add(ptr, 1)", "smaller": "tl.load(ptr)"}.items()
    )
    text = f"{HEAD}\n{helpers}@triton.jit\ndef kernel(x_ptr, y_ptr, N):\n{lines}"
    arguments = {"x_ptr": torch.tensor([3], dtype=torch.int32), "y_ptr": nans(1), "N": 40}
    return load_kernel(KernelSource("", "kernel", text, ()), folder), Launch((2,), arguments, {}, ("y_ptr",))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (("while True:", "    i += 1"), "its condition is always true"),
        (("while i < N:", "    n += 1"), "no turn changes i and N"),
        (("while i < N:", "    i += 0"), "no turn changes i and N"),
        (("step = 0", "while i < N:", "    i += step", "    step = step * 2"), "no turn changes i, N and step"),
        (("while tl.load(x_ptr + i) < N:", "    n += 1"), "no turn changes N and i or stores anything"),
        (("while smaller(x_ptr, N):", "    i += 1"), "no turn changes N or stores anything"),
        (("for j in range(0, 2**31):", "    i += j"), "2,147,483,648 turns"),
    ],
)
def test_a_loop_that_never_ends_says_why(body: tuple[str, ...], words: str, tmp_path: Any) -> None:
    kernel, launch = launched(tmp_path, *body)
    assert simulate_together(kernel, [launch], 5.0) == [None]
    with pytest.raises(SimulationError) as caught:
        simulate(kernel, launch)
    assert caught.value.status == "timeout"
    assert words in caught.value.message
    assert caught.value.line


@pytest.mark.parametrize(
    "body",
    [
        ("while i < N:", "    i += 1"),
        (
            "done = 0",
            "turn = 0",
            "while done == 0:",
            "    turn += 1",
            "    if turn >= N:",
            "        done = 1",
            "i = turn",
        ),
        ("last = N * 1", "while last > 0:", "    step = tl.minimum(last, 7)", "    last -= step", "    i += step"),
        ("while below(x_ptr, N):", "    i += 1", "i = N"),
        ("while tl.load(x_ptr) < N:", "    tl.store(x_ptr, tl.load(x_ptr) + 1)", "i = N"),
    ],
)
def test_a_loop_that_ends_is_left_alone(body: tuple[str, ...], tmp_path: Any) -> None:
    kernel, launch = launched(tmp_path, *body)
    simulate(kernel, launch)
    assert launch.arguments["y_ptr"].item() == 40
