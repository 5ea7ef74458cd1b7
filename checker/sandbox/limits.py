"""What a job may use before it is stopped."""

from __future__ import annotations

from dataclasses import dataclass

MiB = 1 << 20
GiB = 1 << 30
PATIENCE = 5


@dataclass(frozen=True)
class Limits:
    """Times in seconds, sizes in bytes.

    `simulate` is processor time per launch in the simulator, `compile` per specialisation, so that a busy machine does not fail
    an honest kernel; what takes `PATIENCE` times that by the clock is stopped too. `launch` is by the clock, for each launch on
    a GPU with its compilation, `start` for a cold worker. `memory` is what a job may take on top of what the
    warm worker already holds and of its own tensors; `files` bounds one written file, `output` what it prints.
    """

    compile: float = 30.0
    simulate: float = 6.0
    launch: float = 60.0
    start: float = 120.0
    memory: int = 2 * GiB
    files: int = 256 * MiB
    output: int = 64 * 1024
    open_files: int = 256
    processes: int = 64
