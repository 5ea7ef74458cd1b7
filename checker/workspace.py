"""The learner's folder: where their files are, where ours go, and how to write without ever losing theirs.

Everything of ours lies in `.tile-by-tile/` beside the notebooks and puzzles:

    progress.json, progress.json.bak    what `progress` shows
    passed/<puzzle>-<time>.py           every kernel that passed
    saved/<puzzle>-<time>.py            what stood in a file before `reset` put the stub back
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

OURS = ".tile-by-tile"
HOME_VARIABLE = "TILE_BY_TILE_HOME"
"""An environment variable that names the learner's folder, for machines whose disk does not last (a mounted drive)."""
UNWRITABLE = (
    f"Where the folder cannot be written, work in a copy of the course, or set {HOME_VARIABLE} to a folder of yours."
)


@dataclass(frozen=True)
class Workspace:
    """A learner's folder; `root` holds `notebooks/` and `puzzles/` where it is a copy of the course."""

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
        """The course's own solution: of this folder, or of the copy of the course that `checker` was imported from."""
        for root in (self.root, Path(__file__).resolve().parent.parent):
            path = root / "solutions" / f"{puzzle}.py"
            if path.is_file():
                return path
        return None


def find(start: Path | None = None) -> Workspace:
    """The learner's folder at or above `start` (default: the working directory), which it is itself where there is none."""
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return Workspace(Path(named).expanduser().resolve())
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
    return datetime.now(timezone.utc).isoformat(timespec="seconds")  # noqa: UP017 (doctor has to reach Python 3.10 to call it too old)


def keep_copy(folder: Path, puzzle: str, content: str | bytes) -> Path:
    """Save `content` as ``<folder>/<puzzle>-<time>.py``, never over another file; the same content is kept only once.

    Raises OSError where the folder cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    folder.mkdir(parents=True, exist_ok=True)
    for known in folder.glob(f"{puzzle}-*.py"):
        with contextlib.suppress(OSError):
            if known.read_bytes() == data:
                return known
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    for count in range(1, 10_000):
        path = folder / (f"{puzzle}-{stamp}.py" if count == 1 else f"{puzzle}-{stamp}-{count}.py")
        try:
            with path.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"no free name for {puzzle}-{stamp}.py in {folder}")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content` in one step: a reader sees the old file or the new one, and a crash leaves the old."""
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
    """The permissions of the file that is replaced, or those an ordinary new file would have."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextlib.contextmanager
def locked(path: Path, patience: float = 10.0) -> Iterator[None]:
    """Hold the lock of `path` (a file beside it) against other kernels and shells; released when a process dies.

    Where the file system has no locks the body runs without one. Raises TimeoutError after `patience` seconds.
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
