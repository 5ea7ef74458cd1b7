"""What the worker of a live cell runs first (live_worker.js). It uses `Cell` from then on."""

import sys

sys.path.insert(0, "/course")

from checker.live import small_torch

small_torch.use()

from checker.live.cell import Cell  # noqa: E402, F401
