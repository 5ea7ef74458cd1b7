"""The kernels of broken_kernels.txt, which Triton refuses.

Each has a heading: its name, the kind of failure, words of the message. ``# !`` marks the line that the message names.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import NamedTuple

from tests.simulator.launching import HEAD

KERNEL = "@triton.jit\ndef kernel(x_ptr, y_ptr, N, B: tl.constexpr):\n"
SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "i32", "B": "constexpr"}


class Broken(NamedTuple):
    kind: str
    words: list[str]
    source: str


def _read() -> dict[str, Broken]:
    kernels = {}
    for part in ("\n" + Path(__file__).with_name("broken_kernels.txt").read_text()).split("\n## ")[1:]:
        title, text = part.split("\n", 1)
        name, kind, *words = title.split(" | ")
        kernels[name] = Broken(kind, words, HEAD + (text if KERNEL in text else KERNEL + textwrap.indent(text, "    ")))
    assert len(kernels) > 80, "broken_kernels.txt was not read"
    return kernels


BROKEN = _read()
