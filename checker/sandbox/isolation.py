"""Sets up the isolation layers around a job on Linux: see `limits.LAYERS`."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from checker.sandbox import linux
from checker.sandbox.limits import CACHE, LANDLOCK, LAYERS, NAMESPACES, OTHER_USER, ROOT, SECCOMP, Limits
from checker.workspace import COURSE

NOBODY = 65534
_THREADS = 1024  # RLIMIT_NPROC counts threads as processes; the supervisor counts real ones
_CPU_SECONDS = 3600  # for a job that gets more and more work; each launch and compilation has its own limit
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/proc", "/sys")
# What the loader, the C library and Python ask for in /etc and /dev; the rest holds passwords, keys and disks.
_ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "localtime",
    "nsswitch.conf",
    "ssl/openssl.cnf",
    "alternatives",
)
_DEV = ("null", "zero", "full", "random", "urandom")


class LayerFailed(Exception):
    """A layer cannot be set up on this machine; `layer` is its name."""

    def __init__(self, layer: str, cause: Exception) -> None:
        super().__init__(f"{layer}: {cause}")
        self.layer = layer


@dataclass(frozen=True)
class Confinement:
    """What one job gets: the layers in force, its own folder, and what its work needs. `memory` includes the job's tensors."""

    layers: frozenset[str]
    folder: Path
    gpu: bool
    programs: bool
    memory: int
    limits: Limits
    cache: Path | None = None  # what other jobs compiled of the same kernel


def available_layers() -> frozenset[str]:
    """The layers worth trying on this machine."""
    layers = set(LAYERS)
    if os.geteuid() != 0:
        layers.discard(OTHER_USER)
    if linux.landlock_version() == 0:
        layers.discard(LANDLOCK)
    if not linux.filter_supported():
        layers.discard(SECCOMP)
    return frozenset(layers)


def enter_namespaces(confinement: Confinement) -> None:
    """Call in the parent of the job's first process, before forking it. Raises LayerFailed."""
    if NAMESPACES not in confinement.layers:
        return
    flags = linux.CLONE_NEWPID | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWNS
    uid, gid = os.geteuid(), os.getegid()
    with contextlib.suppress(PermissionError):
        linux.unshare(flags)
        return
    try:
        linux.unshare(flags | linux.CLONE_NEWUSER)
        linux.prctl(linux.PR_SET_DUMPABLE, 1)  # otherwise the maps below belong to root
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
    except OSError as error:
        raise LayerFailed(NAMESPACES, error) from error


def hide_processes(confinement: Confinement) -> None:
    """In a namespace's first process: mount a /proc that shows only it and its descendants, if the machine allows it."""
    if NAMESPACES not in confinement.layers:
        return
    with contextlib.suppress(OSError):  # many containers forbid it; processes outside stay out of reach anyway
        linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
        linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)


def confine(confinement: Confinement) -> None:
    """Call in the job itself, right before untrusted code. Raises LayerFailed."""
    os.chdir(confinement.folder)
    _limit(confinement)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    for layer, set_up in ((OTHER_USER, _become_nobody), (LANDLOCK, _restrict_files), (SECCOMP, _filter_system_calls)):
        if layer in confinement.layers:
            try:
                set_up(confinement)
            except OSError as error:
                raise LayerFailed(layer, error) from error
        elif layer == OTHER_USER:
            with contextlib.suppress(OSError):
                _drop_capabilities(confinement)
    # after a change of user the job cannot read its own /proc/self, which the CUDA driver needs
    linux.prctl(linux.PR_SET_DUMPABLE, 1)


def _limit(confinement: Confinement) -> None:
    limits = confinement.limits
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, _CPU_SECONDS)
    _lower(resource.RLIMIT_FSIZE, limits.files)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    if (
        OTHER_USER in confinement.layers
    ):  # it counts all processes of a user, so it only makes sense for one without others
        _lower(resource.RLIMIT_NPROC, limits.processes + _THREADS)
    if not confinement.gpu:  # CUDA reserves far more addresses than it uses
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, held + confinement.memory)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _become_nobody(confinement: Confinement) -> None:
    os.chown(confinement.folder, NOBODY, NOBODY)
    with contextlib.suppress(FileNotFoundError):
        os.chown(confinement.folder / CACHE, NOBODY, NOBODY)
    linux.prctl(linux.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    if unreadable := _drop_capabilities(confinement):
        raise PermissionError(f"the user nobody cannot read {unreadable}")


def _drop_capabilities(confinement: Confinement) -> str:
    """Give up root's capabilities, and return "". If Python could not be read then, give up nothing, and return a file of it.

    If Python is in a folder of root's own, such as /root, the job keeps the right to read, but only behind Landlock, which decides
    what it reads.
    """
    linux.suspend_capabilities()
    unreadable = next((file for file in (__file__, os.__file__) if not _opens(file)), "")
    if unreadable and LANDLOCK not in confinement.layers:
        linux.suspend_capabilities(False)
        return unreadable
    linux.keep_only(linux.CAP_DAC_READ_SEARCH if unreadable else None)
    return ""


def _opens(path: str) -> bool:
    try:
        Path(path).open("rb").close()
    except OSError:
        return False
    return True


def _restrict_files(confinement: Confinement) -> None:
    writable = [confinement.folder, Path("/dev/null")]
    if confinement.gpu:  # the driver writes to its devices and names its threads
        writable += [Path("/dev"), Path("/proc")]
    linux.restrict_files(writable, _readable())


def _readable() -> list[Path]:
    """System folders, Python's and the checker's own, but not the course's folder, which holds the solutions."""
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path]
    paths = [Path(p) for p in (*_SYSTEM, *python) if p]
    paths += [*(Path("/etc", name) for name in _ETC), *(Path("/dev", name) for name in _DEV)]
    if ROOT == COURSE:
        return [ROOT / "checker", *(p for p in paths if not ROOT.is_relative_to(p.resolve()))]
    return [part for path in paths for part in _without(path.resolve(), COURSE)]


def _without(path: Path, hidden: Path) -> list[Path]:
    """A path, or what is left of it if `hidden` lies inside: in an installation that is where all other packages are, too."""
    real = path.resolve()
    if not hidden.is_relative_to(real):
        return [path]
    if real == hidden or path.is_symlink():  # such a link, as a venv's lib64 is, would open everything around it
        return []
    return [part for child in path.iterdir() for part in _without(child, hidden)]


def _filter_system_calls(confinement: Confinement) -> None:
    linux.filter_system_calls(programs=confinement.programs, gpu=confinement.gpu)
