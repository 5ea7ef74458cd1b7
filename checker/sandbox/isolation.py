"""The layers around a job, each of which may be missing on a given machine, and what they are called.

``namespaces``  own processes, network, IPC and mounts (as an ordinary user: in an own user namespace)
``other_user``  the job gives up root for the user "nobody"
``landlock``    writes only to its own folder, reads only Python and system folders, no TCP, no signals outside
``seccomp``     no network, no other processes' memory, no kernel interfaces; a simulation starts no program at all
``rlimits``     processor time, memory, files; always there
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from checker.sandbox import landlock, seccomp, syscalls
from checker.sandbox.limits import Limits

NAMESPACES, OTHER_USER, LANDLOCK, SECCOMP = "namespaces", "other_user", "landlock", "seccomp"
LAYERS = (NAMESPACES, OTHER_USER, LANDLOCK, SECCOMP)
NOBODY = 65534
_THREADS = 1024  # the kernel counts threads as processes here; the supervisor counts real ones
ROOT = Path(__file__).resolve().parents[2]
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/nix/store", "/proc", "/sys", "/dev")


class LayerFailed(Exception):
    """A layer that cannot be put on here; `layer` is its name."""

    def __init__(self, layer: str, cause: Exception) -> None:
        super().__init__(f"{layer}: {cause}")
        self.layer = layer


@dataclass(frozen=True)
class Wall:
    """What one job is given: the layers in force, its own folder, and what kind of work it does."""

    layers: frozenset[str]
    folder: Path
    gpu: bool
    may_start_programs: bool
    cpu_seconds: int
    memory: int  # bytes on top of what the worker holds, the job's own tensors included
    limits: Limits


def possible() -> frozenset[str]:
    """The layers worth trying here."""
    layers = set(LAYERS)
    if os.geteuid() != 0:
        layers.discard(OTHER_USER)
    if landlock.version() == 0:
        layers.discard(LANDLOCK)
    if not seccomp.supported():
        layers.discard(SECCOMP)
    return frozenset(layers)


def enter_namespaces(wall: Wall) -> None:
    """In the parent of the job's first process, before it is forked. Raises LayerFailed."""
    if NAMESPACES not in wall.layers:
        return
    flags = syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWNS
    uid, gid = os.geteuid(), os.getegid()
    with contextlib.suppress(PermissionError):
        syscalls.unshare(flags)
        return
    try:
        syscalls.unshare(flags | syscalls.CLONE_NEWUSER)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else the maps below belong to root
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    except OSError as error:
        raise LayerFailed(NAMESPACES, error) from error


def hide_processes(wall: Wall) -> None:
    """In the first process of a new namespace: a /proc that shows only it and its descendants, where that is allowed."""
    if NAMESPACES not in wall.layers:
        return
    with contextlib.suppress(OSError):  # many containers forbid it; the processes outside are out of reach all the same
        syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount("proc", "/proc", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC)


def confine(wall: Wall) -> None:
    """In the job itself, last thing before foreign code. Raises LayerFailed."""
    os.chdir(wall.folder)
    _limit(wall)
    steps = {OTHER_USER: _become_nobody, LANDLOCK: _restrict_files, SECCOMP: _filter}
    syscalls.no_new_privileges()
    for layer, step in steps.items():
        if layer in wall.layers:
            try:
                step(wall)
            except OSError as error:
                raise LayerFailed(layer, error) from error
        if layer == OTHER_USER:
            with contextlib.suppress(OSError):
                syscalls.drop_capabilities()
    # A change of user makes /proc/self unreadable to the job itself, which the CUDA driver does not survive.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def _limit(wall: Wall) -> None:
    limits = wall.limits
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, wall.cpu_seconds)
    _lower(resource.RLIMIT_FSIZE, limits.files)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    if OTHER_USER in wall.layers:  # the limit counts all processes of a user: sensible only for a user with no others
        _lower(resource.RLIMIT_NPROC, limits.processes + _THREADS)
    if not wall.gpu:  # CUDA reserves far more addresses than it uses
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, held + wall.memory)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _become_nobody(wall: Wall) -> None:
    os.chown(wall.folder, NOBODY, NOBODY)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    for file in (__file__, os.__file__):
        if not os.access(file, os.R_OK):
            raise PermissionError(f"the user nobody cannot read {file}")


def _restrict_files(wall: Wall) -> None:
    writable = [wall.folder, Path("/dev/null")]
    if wall.gpu:  # the driver writes to its devices and to the names of its threads
        writable += [Path("/dev"), Path("/proc")]
    landlock.restrict(writable, _readable())


def _readable() -> list[Path]:
    """System folders, Python's own and the checker's, but not the folder of the course, which holds the solutions."""
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path]
    paths = [Path(p) for p in (*_SYSTEM, *python) if p]
    return [ROOT / "checker", *(p for p in paths if not ROOT.is_relative_to(p.resolve()))]


def _filter(wall: Wall) -> None:
    seccomp.install(may_start_programs=wall.may_start_programs, gpu=wall.gpu)
