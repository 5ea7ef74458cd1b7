"""The folder of a run. Each file in it is written to another name and renamed, so that it is whole or not there."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from checker.submission.kernel import KernelSource
from checker.workspace import write_atomically
from classroom.grading import records
from classroom.grading.keys import Setting
from classroom.grading.records import Collected, Fault, Result, VerdictRecord

_STALE = 3600.0
"""Seconds after which a half-written file is nobody's any more."""


class RunFolder:
    """Where the stages of grading a class leave what they found.

    ``collected.json``; ``kernels/``; ``verdicts/``, one file each, named by its key; ``faults/``; ``results.json``; ``report/``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def collected(self) -> Collected:
        """Raises FileNotFoundError, ValueError."""
        return records.read(self.path / "collected.json", Collected)

    @property
    def results(self) -> Result:
        return records.read(self.path / "results.json", Result)

    @property
    def setting(self) -> Setting:
        """The setting of the last run of `judge`. Raises FileNotFoundError, ValueError."""
        return records.read(self.path / "setting.json", Setting)

    def keep_setting(self, setting: Setting) -> None:
        records.write(self.path / "setting.json", setting)

    @property
    def report(self) -> Path:
        return self.path / "report"

    def keep_collected(self, collected: Collected, sources: Mapping[str, KernelSource]) -> None:
        """Raises OSError."""
        for key, source in sources.items():
            path = self.path / "kernels" / f"{key}.json"
            if not path.exists():
                write_atomically(path, msgspec.json.encode(source).decode() + "\n")
        records.write(self.path / "collected.json", collected)

    def keep_results(self, result: Result) -> None:
        records.write(self.path / "results.json", result)

    def kernel(self, key: str) -> KernelSource:
        """A kernel that was collected. Raises FileNotFoundError, ValueError."""
        return msgspec.json.decode((self.path / "kernels" / f"{key}.json").read_bytes(), type=KernelSource)

    # ---------------------------------------------------------------------------------------------------------- verdicts

    def verdict(self, key: str) -> VerdictRecord | None:
        """None where there is none; a file that is no verdict is none either, and is made again."""
        try:
            verdict = records.read(self._verdict(key), VerdictRecord)
        except (FileNotFoundError, ValueError):
            return None
        return verdict if verdict.key == key else None

    def missing(self, keys: Iterable[str]) -> list[str]:
        return [key for key in dict.fromkeys(keys) if self.verdict(key) is None]

    def keep_verdict(self, verdict: VerdictRecord) -> None:
        """Store a verdict. Another process may have stored the same one meanwhile."""
        records.write(self._verdict(verdict.key), verdict)
        with contextlib.suppress(FileNotFoundError):
            self._fault(verdict.key).unlink()

    def fault(self, key: str) -> Fault | None:
        try:
            return records.read(self._fault(key), Fault)
        except (FileNotFoundError, ValueError):
            return None

    def keep_fault(self, fault: Fault) -> None:
        records.write(self._fault(fault.key), fault)

    def sweep(self) -> None:
        """Take away what a process that was killed had begun to write."""
        for folder in ("verdicts", "faults", "kernels"):
            for path in (self.path / folder).glob(".*.new"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _STALE:
                        path.unlink()

    def _verdict(self, key: str) -> Path:
        return self.path / "verdicts" / f"{key}.json"

    def _fault(self, key: str) -> Path:
        return self.path / "faults" / f"{key}.json"
