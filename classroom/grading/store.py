"""The folder of a run. Each file in it is written under another name and renamed, so that it is whole or missing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from checker.api.grading import KernelSource, Result, read, write, write_atomically
from classroom.grading.keys import Setting
from classroom.grading.records import Collected, Fault, StoredVerdict

_STALE = 3600.0
"""Seconds after which nobody is still writing a half-written file."""


class RunFolder:
    """Where the stages of grading a class leave their files.

    ``collected.json``; ``kernels/``; ``verdicts/``, one file each, named by its key; ``faults/``; ``results.json``; ``report/``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def collected(self) -> Collected:
        """Raises FileNotFoundError, ValueError."""
        return read(self.path / "collected.json", Collected)

    @property
    def results(self) -> Result:
        return read(self.path / "results.json", Result)

    @property
    def setting(self) -> Setting:
        """The setting of the last run of `judge`. Raises FileNotFoundError, ValueError."""
        return read(self.path / "setting.json", Setting)

    def keep_setting(self, setting: Setting) -> None:
        write(self.path / "setting.json", setting)

    @property
    def unmatched(self) -> Path:
        """Who handed in under a name that may be several people's: a table to fill in."""
        return self.path / "unmatched.csv"

    @property
    def report(self) -> Path:
        return self.path / "report"

    def keep_collected(self, collected: Collected, sources: Mapping[str, KernelSource]) -> None:
        """Raises OSError."""
        for key, source in sources.items():
            path = self.path / "kernels" / f"{key}.json"
            if not path.exists():
                write_atomically(path, msgspec.json.encode(source).decode() + "\n")
        write(self.path / "collected.json", collected)

    def keep_results(self, result: Result) -> None:
        write(self.path / "results.json", result)

    def kernel(self, key: str) -> KernelSource:
        """A kernel that was collected. Raises FileNotFoundError, ValueError."""
        return msgspec.json.decode((self.path / "kernels" / f"{key}.json").read_bytes(), type=KernelSource)

    # ---------------------------------------------------------------------------------------------------------- verdicts

    def verdict(self, key: str) -> StoredVerdict | None:
        """None if it is missing or damaged: then it is made again."""
        try:
            verdict = read(self._verdict(key), StoredVerdict)
        except (FileNotFoundError, ValueError):
            return None
        return verdict if verdict.key == key else None

    def missing(self, keys: Iterable[str]) -> list[str]:
        return [key for key in dict.fromkeys(keys) if self.verdict(key) is None]

    def keep_verdict(self, verdict: StoredVerdict) -> None:
        """Store a verdict. Another process may have stored the same one meanwhile."""
        write(self._verdict(verdict.key), verdict)
        with contextlib.suppress(FileNotFoundError):
            self._fault(verdict.key).unlink()

    def fault(self, key: str) -> Fault | None:
        try:
            return read(self._fault(key), Fault)
        except (FileNotFoundError, ValueError):
            return None

    def keep_fault(self, fault: Fault) -> None:
        write(self._fault(fault.key), fault)

    def sweep(self) -> None:
        """Delete what a process was writing when it was killed."""
        for folder in ("verdicts", "faults", "kernels"):
            for path in (self.path / folder).glob(".*.new"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _STALE:
                        path.unlink()

    def _verdict(self, key: str) -> Path:
        return self.path / "verdicts" / f"{key}.json"

    def _fault(self, key: str) -> Path:
        return self.path / "faults" / f"{key}.json"
