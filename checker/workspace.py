"""The learner's folder: where files are, and how to write them without losing anything.

The course keeps its own files in `.tile-by-tile/`, beside the notebooks and puzzles:

    progress.json                       what `progress` shows
    passed/<puzzle>-<time>.py           every kernel that passed
    saved/<puzzle>-<time>.py            the learner's version from before a `reset`
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

OURS = ".tile-by-tile"
_CHECKOUT, _INSTALLED = Path(__file__).resolve().parent.parent, Path(__file__).resolve().parent / "material"
COURSE = _CHECKOUT if (_CHECKOUT / "solutions").is_dir() else _INSTALLED
"""Where notebooks/, puzzles/ and solutions/ are: in this copy of the course, or inside the installed package (setup.py)."""
HOME_VARIABLE = "TILE_BY_TILE_HOME"
"""An environment variable with the path of the learner's folder, e.g. on a mounted drive if the machine's own disk is erased."""
UNWRITABLE = (
    f"If you cannot write to this folder, work in a copy of the course, or set {HOME_VARIABLE} to a folder of yours."
)


@dataclass(frozen=True)
class Workspace:
    """A learner's folder. If it is a copy of the course, `root` holds `notebooks/` and `puzzles/`."""

    root: Path

    @property
    def ours(self) -> Path:
        return self.root / OURS

    @property
    def progress(self) -> Path:
        return self.ours / "progress.json"

    def puzzle_file(self, puzzle: str) -> Path:
        return self.root / "puzzles" / f"{puzzle}.py"

    def solution_file(self, puzzle: str) -> Path | None:
        """The course's solution, from this folder or from the course that `checker` was imported with."""
        folders = [root / "solutions" for root in (self.root, COURSE)]
        files = [
            path for folder in folders for path in (folder / f"{puzzle}.py", folder / "launchers" / f"{puzzle}.py")
        ]
        return next((path for path in files if path.is_file()), None)


def find(start: Path | None = None) -> Workspace:
    """The learner's folder at or above `start` (default: the working directory), or else `start` itself."""
    if home := os.environ.get(HOME_VARIABLE):
        return Workspace(Path(home).expanduser().resolve())
    here = (start or Path.cwd()).resolve()
    if here.is_file():
        here = here.parent
    for folder in (here, *here.parents):
        course = (folder / "notebooks").is_dir() and (folder / "puzzles").is_dir()
        if course or (folder / OURS).is_dir():
            return Workspace(folder)
    return Workspace(here)


def now() -> str:
    """The time as ISO 8601 in UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")  # noqa: UP017 (doctor must run on Python 3.10 to report that it is too old)


def keep_copy(folder: Path, name: str, content: str | bytes, suffix: str = ".py") -> Path:
    """Save `content` as ``<folder>/<name>-<time>.py`` unless a copy is there already; never overwrites. Raises OSError."""
    data = content.encode() if isinstance(content, str) else content
    folder.mkdir(parents=True, exist_ok=True)
    for copy in folder.glob(f"{name}-*{suffix}"):
        with contextlib.suppress(OSError):
            if copy.read_bytes() == data:
                return copy
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    for count in itertools.count(1):
        path = folder / (f"{name}-{stamp}{suffix}" if count == 1 else f"{name}-{stamp}-{count}{suffix}")
        with contextlib.suppress(FileExistsError), path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            return path
    raise AssertionError("unreachable")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace the file in one step: readers see the old content or the new, and a crash leaves the old."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: Path) -> int:
    """The permissions of the old file, or of an ordinary new one."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextlib.contextmanager
def locked(path: Path, patience: float = 10.0) -> Iterator[None]:
    """Hold a lock on `path` against other processes; it is released if this one dies. Raises TimeoutError after `patience` seconds.

    On a file system without locks, the body runs without one.
    """
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(path.name + ".lock")
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(FileLock(file, timeout=patience))
        except TimeoutError:
            raise TimeoutError(f"another process holds {file}") from None
        except (OSError, NotImplementedError):
            pass
        yield
