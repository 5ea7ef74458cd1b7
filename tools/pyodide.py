"""Fetches Python for the browser, for the live cells of the site: Pyodide's core from npm, its packages from its CDN.

python tools/pyodide.py      writes .site/pyodide, about 30 MB, which `make site` then puts into the site
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

VERSION = "314.0.7"
CORE = f"https://registry.npmjs.org/pyodide/-/pyodide-{VERSION}.tgz"
CDN = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PACKAGES = ("numpy", "ml-dtypes", "msgspec", "cachetools", "jinja2", "markupsafe", "pygments")
"""What checker imports to judge and to film."""
FOLDER = Path(__file__).resolve().parent.parent / ".site" / "pyodide"


def fetched(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=120) as answer:
        content: bytes = answer.read()
        return content


def core() -> Iterator[tuple[str, bytes]]:
    """The files of the npm package that a page needs, by name."""
    with tarfile.open(fileobj=io.BytesIO(fetched(CORE))) as archive:
        for name in FILES:
            member = archive.extractfile(f"package/{name}")
            assert member is not None, f"Pyodide {VERSION} has no {name}"
            yield name, member.read()


def wheels(lock: bytes, packages: Iterable[str] = PACKAGES) -> Iterator[tuple[str, bytes]]:
    """The packages that Pyodide's lock names, by file. Raises ValueError where one is not what the lock promises."""
    known = json.loads(lock)["packages"]
    for package in packages:
        name, promised = known[package]["file_name"], known[package]["sha256"]
        content = fetched(CDN + name)
        if hashlib.sha256(content).hexdigest() != promised:
            raise ValueError(f"{CDN}{name} is not the file that Pyodide's lock names. Do not use it.")
        yield name, content


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        files = dict(core())
        files |= wheels(files["pyodide-lock.json"])
    except (OSError, ValueError) as error:
        print(f"Pyodide could not be fetched: {error}. Without it, the site has no live cells.", file=sys.stderr)
        return 1
    for name, content in files.items():
        (FOLDER / name).write_bytes(content)
    print(f"Pyodide {VERSION} is in {FOLDER}: {sum(map(len, files.values())) >> 20} MB in {len(files)} files.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
