"""Confining a process on Linux (x86-64 and 64-bit Arm): system calls that Python lacks, Landlock's file rules, a seccomp filter."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable
from pathlib import Path

MACHINE = platform.machine()

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, _AMBIENT_RAISE = 47, 2

CAP_DAC_READ_SEARCH = 2
"""The right to read every file and folder unless something else denies it."""

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 1 << 14, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, value: int = 0) -> None:
    _check(_libc.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3), "prctl")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int) -> None:
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None), "mount")


def syscall(number: int, *arguments: object) -> int:
    return _check(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def suspend_capabilities(suspended: bool = True) -> None:
    """Disable every capability of this process, or enable those that it still has. Raises OSError."""
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; low halves, then high halves
    _check(_libc.capget(_this_process(), sets), "capget")
    for half in (0, 3):
        sets[half] = 0 if suspended else sets[half + 1]
    _check(_libc.capset(_this_process(), sets), "capset")


def keep_only(capability: int | None) -> None:
    """Leave this process and its programs one capability or none, for good once PR_SET_NO_NEW_PRIVS is set. Raises OSError."""
    bits = 0 if capability is None else 1 << capability
    _check(_libc.capset(_this_process(), (ctypes.c_uint32 * 6)(bits, bits, bits)), "capset")
    if capability is not None:
        _check(_libc.prctl(PR_CAP_AMBIENT, *map(ctypes.c_ulong, (_AMBIENT_RAISE, capability, 0, 0))), "prctl")


def _this_process() -> ctypes.Array[ctypes.c_uint32]:
    return (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3 of the kernel's structures, process 0 for this one


# Landlock -------------------------------------------------------------------------------------------------------------

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READ_FILE = 1 << 2
_WRITE_FILE = 1 << 1
_FILE_ONLY = _READ_FILE | _WRITE_FILE | 1 << 14
# WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_* ; REFER since version 2, TRUNCATE since 3
_WRITE = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))


def landlock_version() -> int:
    """0 if the kernel has no Landlock."""
    try:
        return syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def restrict_files(writable: Iterable[Path], readable: Iterable[Path]) -> None:
    """Let this process write only to `writable`, read only there and in `readable`, use no TCP, and signal nobody outside.

    Needs PR_SET_NO_NEW_PRIVS. Raises OSError.
    """
    level = landlock_version()
    if level == 0:
        raise OSError("the kernel has no Landlock")
    write = _WRITE | (1 << 13 if level >= 2 else 0) | (1 << 14 if level >= 3 else 0)
    handled = write | _READ_FILE
    ports = 3 if level >= 4 else 0
    scope = 3 if level >= 6 else 0
    attributes = struct.pack("<QQQ", handled, ports, scope)[: 24 if level >= 6 else 16 if level >= 4 else 8]
    ruleset = syscall(_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    try:
        for path in writable:
            _allow(ruleset, path, handled)
        for path in readable:
            _allow(ruleset, path, handled & _READ_FILE)
        syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a missing file needs no permission
    try:
        access &= ~0 if path.is_dir() else _FILE_ONLY
        if access:
            rule = struct.pack("<Qi", access, fd)
            syscall(_ADD, ctypes.c_int(ruleset), ctypes.c_uint(1), ctypes.c_char_p(rule), ctypes.c_uint(0))
    finally:
        os.close(fd)


# seccomp --------------------------------------------------------------------------------------------------------------

# The filter lists what a job may not do (reach the network, other processes or kernel interfaces, start programs) and allows the
# rest: an allow-list would break with every new C library and CUDA driver. Numbers are those on x86-64 and on 64-bit Arm ("-" if
# there is no such call).


def _calls(text: str) -> dict[str, tuple[int, int | None]]:
    """System calls by name, from ``name x86-64 arm64, …``."""
    rows = (entry.split() for entry in text.split(","))
    return {name: (int(x86), None if arm == "-" else int(arm)) for name, x86, arm in rows}


_NEVER = _calls("""
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440, kcmp 312 272,
    pidfd_getfd 438 438, pidfd_send_signal 424 424, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
    tkill 200 130, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, setns 308 268, unshare 272 97,
    open_tree 428 428, move_mount 429 429, fsopen 430 430, fsmount 432 432, mount_setattr 442 442,
    open_by_handle_at 304 265, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425,
    io_uring_enter 426 426, io_uring_register 427 427, add_key 248 217, request_key 249 218, keyctl 250 219,
    init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294,
    reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89, personality 135 92
""")
_PROGRAMS = _calls("fork 57 -, vfork 58 -, execve 59 221, execveat 322 281")
_BY_ARGUMENT = _calls("socket 41 198, clone 56 220, kill 62 129, tgkill 234 131, clone3 435 435")
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE_THREAD = 0x00010000
_CLONE_NEW = 0x7E020080  # every CLONE_NEW* flag
_X32 = 0x40000000

_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH, _FIRST = 0, 4, 16  # _FIRST is the low half of the first argument; both machines are little-endian


def filter_supported() -> bool:
    return MACHINE in _AUDIT


def filter_program(*, programs: bool, gpu: bool, pid: int) -> bytes:
    """The filter for process `pid`. Without `programs` it may start threads, but neither fork nor exec."""
    column = 0 if MACHINE == "x86_64" else 1
    code: list[tuple[int, int, int, int]] = []

    def rule(name: str, *body: tuple[int, int, int, int]) -> None:
        """Let `body`, which must end in a return, decide one system call."""
        number = (_NEVER | _PROGRAMS | _BY_ARGUMENT)[name][column]
        if number is not None:
            code.append((_JEQ, 0, len(body), number))
            code.extend(body)

    code += [(_LOAD, 0, 0, _ARCH), (_JEQ, 1, 0, _AUDIT[MACHINE]), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NR)]
    if column == 0:
        code += [(_JGE, 0, 1, _X32), (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)]
    refuse, allow = (_RETURN, 0, 0, _REFUSE | errno.EPERM), (_RETURN, 0, 0, _ALLOW)
    for name in _NEVER if programs else _NEVER | _PROGRAMS:
        rule(name, refuse)
    # the filter cannot read clone3's flags, which are behind a pointer; without clone3 the C library falls back to clone
    rule("clone3", (_RETURN, 0, 0, _REFUSE | errno.ENOSYS))
    if programs:
        rule("clone", (_LOAD, 0, 0, _FIRST), (_JSET, 0, 1, _CLONE_NEW), refuse, allow)
    else:
        rule("clone", (_LOAD, 0, 0, _FIRST), (_JSET, 1, 0, _CLONE_THREAD), refuse, allow)
    for name in ("kill", "tgkill"):
        rule(name, (_LOAD, 0, 0, _FIRST), (_JEQ, 1, 0, pid), refuse, allow)
    if gpu:  # the driver talks to its daemon over local sockets
        rule("socket", (_LOAD, 0, 0, _FIRST), (_JEQ, 2, 0, 1), (_JEQ, 1, 0, 16), refuse, allow)
    else:
        rule("socket", refuse)
    code.append(allow)
    return b"".join(struct.pack("<HBBI", *step) for step in code)


def filter_system_calls(*, programs: bool, gpu: bool) -> None:
    """Filter this process and all its descendants. PR_SET_NO_NEW_PRIVS must be set. Raises OSError."""
    if not filter_supported():
        raise OSError(errno.ENOSYS, f"there is no filter for {MACHINE}")
    code = filter_program(programs=programs, gpu=gpu, pid=os.getpid())

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]

    filters = Program(len(code) // 8, code)
    number = {"x86_64": 317, "aarch64": 277}[MACHINE]
    syscall(number, ctypes.c_uint(1), ctypes.c_uint(0), ctypes.byref(filters))
