"""Triton without its wheel: its Python part, copied unchanged, beside a stand-in for its C++ part.

Triton publishes wheels for Linux only. The simulator and Triton's front end, which checks types, are Python and run anywhere.
Machine code, and with it registers and shared memory, is what is missing.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

VENDORED = Path(__file__).parent / "vendored"
"""Files of Triton `VERSION`, byte for byte, with their licence."""
VERSION = "3.7.1"


def use() -> None:
    """Make `import triton` find the Python part."""
    from checker.pure_triton.libtriton import modules

    sys.modules.update(modules())
    sys.path.append(str(VENDORED))


def use_if_there_is_no_wheel() -> None:
    """Called before anything imports Triton."""
    if "triton" not in sys.modules and find_spec("triton") is None:
        use()


def has_compiler() -> bool:
    """Whether Triton can make machine code here."""
    return str(VENDORED) not in sys.path
