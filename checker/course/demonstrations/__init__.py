"""What is shown and not asked: kernels that the course tells a story with. They are not graded, and worth no points.

A demonstration is described as a puzzle is, so that it is launched, compared with its reference and filmed by the same
machinery, but stands in no ladder. Its kernel lies in `solutions/demonstrations/` and has no region to write in.
"""

from __future__ import annotations

from checker.puzzle import Puzzle

DEMONSTRATIONS: dict[str, Puzzle] = {}
FOLDER = "demonstrations"
"""Where their kernels lie, below `solutions/`."""
