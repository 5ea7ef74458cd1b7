"""Windows bounds the memory of a process through a Job Object; other systems have other means."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

_windows: Any = ctypes  # some of it exists only there
_PROCESS_MEMORY = 0x100
_EXTENDED_LIMITS = 9


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION, whose first part is JOBOBJECT_BASIC_LIMIT_INFORMATION and the next IO_COUNTERS."""

    _fields_ = [
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("smallest_working_set", ctypes.c_size_t),
        ("largest_working_set", ctypes.c_size_t),
        ("processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
        ("counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    ]


def limit_memory(most: int) -> None:
    """Let this process hold `most` bytes, where the system has Job Objects: beyond that, it raises MemoryError. Raises OSError."""
    if sys.platform != "win32":
        return
    kernel = _kernel()
    limits = _Limits(flags=_PROCESS_MEMORY, process_memory=most)
    size = ctypes.sizeof(limits)
    if not kernel.SetInformationJobObject(_own_job(), _EXTENDED_LIMITS, ctypes.byref(limits), size):
        raise _windows.WinError(_windows.get_last_error())


@functools.cache
def _own_job() -> Any:
    """A new Job Object that holds this process."""
    kernel = _kernel()
    job = kernel.CreateJobObjectW(None, None)
    if not job or not kernel.AssignProcessToJobObject(job, kernel.GetCurrentProcess()):
        raise _windows.WinError(_windows.get_last_error())
    return job


@functools.cache
def _kernel() -> Any:
    kernel = _windows.WinDLL("kernel32", use_last_error=True)
    handle, number = ctypes.c_void_p, ctypes.c_uint32
    kernel.CreateJobObjectW.restype = kernel.GetCurrentProcess.restype = handle
    kernel.CreateJobObjectW.argtypes = [handle, ctypes.c_wchar_p]
    kernel.AssignProcessToJobObject.argtypes = [handle, handle]
    kernel.SetInformationJobObject.argtypes = [handle, ctypes.c_int, handle, number]
    return kernel
