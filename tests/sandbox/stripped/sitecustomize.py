"""Takes away from Python, on Linux, what it lacks on the system that LIKE names ("Windows", "Darwin"), and Triton's wheel with it.

Python runs this as it starts, where this folder is on PYTHONPATH. It shows what leans on Linux, not how the other system behaves.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import os
import platform
import select
import signal
import socket
import subprocess  # noqa: F401 (it takes what it needs of `os` now)
import sys
from importlib.metadata import MetadataPathFinder
from typing import Any

LIKE = os.environ["LIKE"]
LINUX_ONLY = {
    os: "memfd_create MFD_CLOEXEC MFD_ALLOW_SEALING pidfd_open sched_getaffinity setresuid setresgid unshare O_PATH",
    socket: "MSG_CMSG_CLOEXEC SO_PEERCRED",
}
NOT_ON_WINDOWS = {
    os: "fork forkpty setsid setpgid getpgid killpg nice geteuid getuid getgid getegid setuid setgid chown fchown "
    "setgroups statvfs fstatvfs ST_NOEXEC sysconf O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY set_blocking mkfifo WEXITSTATUS "
    "WIFEXITED WIFSIGNALED WTERMSIG getloadavg",
    signal: "SIGALRM SIGPROF SIGXCPU SIGXFSZ SIGCHLD SIGHUP SIGUSR1 ITIMER_PROF ITIMER_REAL setitimer alarm pthread_kill",
    socket: "AF_UNIX SCM_RIGHTS CMSG_SPACE send_fds recv_fds",
    select: "poll epoll",
}
MODULES = {"Windows": ("resource", "fcntl", "pwd", "grp", "termios", "syslog"), "Darwin": ()}[LIKE]

for owner, names in [*LINUX_ONLY.items(), *(NOT_ON_WINDOWS.items() if LIKE == "Windows" else ())]:
    for name in names.split():
        if hasattr(owner, name):
            delattr(owner, name)
for module in MODULES:
    sys.modules[module] = None  # type: ignore[assignment]

find, distributions = importlib.machinery.PathFinder.find_spec, MetadataPathFinder.find_distributions


def find_but_no_wheel(name: str, path: Any = None, target: Any = None) -> Any:
    if name == "triton":
        path = [folder for folder in sys.path if "pure_triton" in folder]
    return find(name, path, target)


def distributions_but_no_wheel(*context: Any) -> Any:
    return (one for one in distributions(*context) if not one._path.name.startswith("triton-"))


importlib.machinery.PathFinder.find_spec = functools.partial(find_but_no_wheel)  # type: ignore[method-assign,assignment]
MetadataPathFinder.find_distributions = distributions_but_no_wheel  # type: ignore[method-assign,assignment]

system = platform.system
platform.system = lambda: LIKE if sys._getframe(1).f_globals.get("__name__", "").startswith("checker") else system()

load = ctypes.CDLL.__init__


def load_by_name(self: Any, name: Any, *rest: Any, **more: Any) -> None:
    if name is None and LIKE == "Windows":
        raise TypeError("on Windows a library has a name")
    load(self, name, *rest, **more)


ctypes.CDLL.__init__ = load_by_name  # type: ignore[method-assign]

opened = open


def open_without_proc(file: Any, *rest: Any, **more: Any) -> Any:
    if str(file).startswith("/proc") and sys._getframe(1).f_globals.get("__name__", "").startswith(
        ("checker", "pathlib")
    ):
        raise FileNotFoundError(2, "there is no /proc", str(file))
    return opened(file, *rest, **more)


import builtins  # noqa: E402
import io  # noqa: E402

builtins.open = io.open = open_without_proc
