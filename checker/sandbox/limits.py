"""What a job may use, and the names of the isolation layers around it, any of which a machine may lack.

``namespaces``  its own processes, network, IPC and mounts (for an ordinary user, in a user namespace of its own)
``other_user``  the job gives up root for the user "nobody"
``landlock``    writes only to its own folder, reads only Python and system folders without /etc, no TCP, no signals outside
``seccomp``     no network, no other processes' memory, no kernel interfaces; a simulation starts no programs
``rlimits``     processor time, memory, files; always there on Linux
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NAMESPACES, OTHER_USER, LANDLOCK, SECCOMP = "namespaces", "other_user", "landlock", "seccomp"
LAYERS = (NAMESPACES, OTHER_USER, LANDLOCK, SECCOMP)
GAPS = frozenset({"network", "write", "memory", "signal", "solutions", "secrets"})
"""What a job must not be able to do: connect anywhere, write outside its folder, read the memory of the checker's processes or
signal them, read the course's solutions, read what only root may read."""
CACHE = "cache"
"""Triton's cache, in the folder of a job."""
ROOT = Path(__file__).resolve().parents[2]
MiB, GiB = 1 << 20, 1 << 30
PATIENCE = 5


@dataclass(frozen=True)
class Limits:
    """Times in seconds, sizes in bytes.

    `simulate` is processor time per launch in the simulator, and `compile` per specialisation, so that a busy machine does not
    fail an honest kernel; work that takes `PATIENCE` times that on the clock is stopped too. `launch` is on the clock, for each
    launch on a GPU with its compilation, and `start` for a cold worker. `memory` is what a job may take in addition to what the
    warm worker already holds and to its own tensors; `files` bounds each file it writes, and `output` what it prints.
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
