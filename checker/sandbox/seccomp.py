"""A filter of system calls for one job, built as a small BPF program.

It names what a job may not do (reach the network, other processes or the kernel's inner parts, start programs) and lets the rest
pass: an allow-list would break with every new C library and CUDA driver.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from checker.sandbox import syscalls

# number on x86-64, number on 64-bit Arm (None where it does not exist)
_NUMBERS: dict[str, tuple[int, int | None]] = {
    "socket": (41, 198),
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "kill": (62, 129),
    "ptrace": (101, 117),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "execveat": (322, 281),
    "userfaultfd": (323, 282),
    "pidfd_send_signal": (424, 424),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "clone3": (435, 435),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "mount_setattr": (442, 442),
}
_ALWAYS = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd", "pidfd_send_signal"),
    *("rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill", "mount", "umount2", "pivot_root", "chroot", "setns", "unshare"),
    *("open_tree", "move_mount", "fsopen", "fsmount", "mount_setattr", "open_by_handle_at", "bpf", "perf_event_open"),
    *("userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key", "request_key", "keyctl"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff"),
    *("acct", "personality"),
)
_PROGRAMS = ("fork", "vfork", "execve", "execveat")
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE_THREAD = 0x00010000
_CLONE_NEW = 0x7E020080  # every CLONE_NEW* flag
_X32 = 0x40000000

_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NR, _ARCH = 0, 4


def _refuse(number: int) -> int:
    return 0x00050000 | number


def _argument(index: int) -> int:
    return 16 + 8 * index  # the low half; both machines are little-endian


def supported() -> bool:
    return syscalls.MACHINE in _AUDIT


def program(*, may_start_programs: bool, gpu: bool, pid: int) -> bytes:
    """The filter for the process `pid`: without programs it may start threads but neither fork nor exec."""
    column = 0 if syscalls.MACHINE == "x86_64" else 1
    code: list[tuple[int, int, int, int]] = []

    def rule(name: str, *body: tuple[int, int, int, int]) -> None:
        """`body` decides about one system call; it must end in a return."""
        number = _NUMBERS[name][column]
        if number is not None:
            code.append((_JEQ, 0, len(body), number))
            code.extend(body)

    code += [(_LOAD, 0, 0, _ARCH), (_JEQ, 1, 0, _AUDIT[syscalls.MACHINE]), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NR)]
    if column == 0:
        code += [(_JGE, 0, 1, _X32), (_RETURN, 0, 0, _refuse(errno.ENOSYS))]
    refuse, allow = (_RETURN, 0, 0, _refuse(errno.EPERM)), (_RETURN, 0, 0, _ALLOW)
    for name in _ALWAYS + (() if may_start_programs else _PROGRAMS):
        rule(name, refuse)
    rule(
        "clone3", (_RETURN, 0, 0, _refuse(errno.ENOSYS))
    )  # its flags lie behind a pointer; the C library falls back to clone
    if may_start_programs:
        rule("clone", (_LOAD, 0, 0, _argument(0)), (_JSET, 0, 1, _CLONE_NEW), refuse, allow)
    else:
        rule("clone", (_LOAD, 0, 0, _argument(0)), (_JSET, 1, 0, _CLONE_THREAD), refuse, allow)
    for name in ("kill", "tgkill"):
        rule(name, (_LOAD, 0, 0, _argument(0)), (_JEQ, 1, 0, pid), refuse, allow)
    if gpu:  # the driver talks to its daemon over local sockets
        rule("socket", (_LOAD, 0, 0, _argument(0)), (_JEQ, 2, 0, 1), (_JEQ, 1, 0, 16), refuse, allow)
    else:
        rule("socket", refuse)
    code.append(allow)
    return b"".join(struct.pack("<HBBI", *step) for step in code)


def install(*, may_start_programs: bool, gpu: bool) -> None:
    """Filter this process and all its descendants. `no_new_privileges` must be set. Raises OSError."""
    if not supported():
        raise OSError(errno.ENOSYS, f"no filter is written for {syscalls.MACHINE}")
    code = program(may_start_programs=may_start_programs, gpu=gpu, pid=os.getpid())

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]

    filters = Program(len(code) // 8, code)
    number = {"x86_64": 317, "aarch64": 277}[syscalls.MACHINE]
    syscalls.syscall(number, ctypes.c_uint(1), ctypes.c_uint(0), ctypes.byref(filters))
