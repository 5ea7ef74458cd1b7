"""File rules for one job with Linux's Landlock: which folders it may write to and read from, no TCP, no signals outside."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from checker.sandbox import syscalls

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READ_FILE = 1 << 2
_WRITE_FILE = 1 << 1
_FILE_ONLY = _READ_FILE | _WRITE_FILE | 1 << 14
# WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_* ; REFER since version 2, TRUNCATE since 3
_WRITE = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))


def version() -> int:
    """0 where the kernel has none."""
    try:
        return syscalls.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def restrict(writable: Iterable[Path], readable: Iterable[Path] | None, *, network: bool = False) -> None:
    """Limit this process to `writable` and `readable` (None: read anything). Needs `no_new_privileges`. Raises OSError."""
    level = version()
    if level == 0:
        raise OSError("the kernel has no Landlock")
    write = _WRITE | (1 << 13 if level >= 2 else 0) | (1 << 14 if level >= 3 else 0)
    handled = write | (_READ_FILE if readable is not None else 0)
    ports = 3 if level >= 4 and not network else 0
    scope = 3 if level >= 6 else 0
    attributes = struct.pack("<QQQ", handled, ports, scope)[: 24 if level >= 6 else 16 if level >= 4 else 8]
    ruleset = syscalls.syscall(_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    try:
        for path in writable:
            _allow(ruleset, path, handled)
        for path in readable or ():
            _allow(ruleset, path, handled & _READ_FILE)
        syscalls.syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what does not exist needs no permission
    try:
        access &= ~0 if path.is_dir() else _FILE_ONLY
        if access:
            rule = struct.pack("<Qi", access, fd)
            syscalls.syscall(_ADD, ctypes.c_int(ruleset), ctypes.c_uint(1), ctypes.c_char_p(rule), ctypes.c_uint(0))
    finally:
        os.close(fd)
