"""Submissions that try to break the reader. Each costs one file, which is reported, and the next learner's file is read.

tests/submission/test_reading.py covers files that are merely damaged.
"""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import subprocess
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.submission.files import MAX_DEPTH
from checker.submission.from_path import SubmittedKernel
from checker.submission.reader import Reader
from tests.classroom.grading.classes import by_id, collected, notebook, zipped
from tests.classroom.grading.conftest import RIGHT

KERNELS = {"vector_add_kernel": "vector_add"}
HEAD, BODY = RIGHT.split("@triton.jit", 1)
START = "    # your code starts"


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(cpu_seconds=3.0) as made:
        yield made


def before_the_kernel(text: str) -> str:
    return f"{HEAD}{text}\n@triton.jit{BODY}"


def in_the_body(line: str) -> str:
    return RIGHT.replace(START, f"    {line}\n{START}")


def autotuned(config: str) -> str:
    return before_the_kernel(f'@triton.autotune(configs=[triton.Config({config})], key=["n"])')


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(40):
            archive.writestr(f"{n}.py", b"#" * (4 << 20))
    return out.getvalue()


def lying_zip() -> bytes:
    """Its directory claims that the member is one byte."""
    data = zipped({"a.py": "x = 1\n" * 1000})
    return data.replace(struct.pack("<L", 6000), struct.pack("<L", 1))


def overlapping_zip() -> bytes:
    """Many names for one compressed stream, as in Fifield's bomb."""
    body = zlib.compress(b"#" * (1 << 20), 9)[2:-4]
    crc = zlib.crc32(b"#" * (1 << 20))
    name = b"a.py"
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(body), 1 << 20, len(name), 0) + name + body
    entry = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, len(body), 1 << 20, len(name), 0, 0, 0, 0, 0, 0
    )
    directory = (entry + name) * 1500
    return local + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1500, 1500, len(directory), len(local), 0)


def nested_zip(depth: int) -> bytes:
    data = zipped({"a.py": RIGHT})
    for _ in range(depth):
        data = zipped({"inner.zip": data})
    return data


HEX = "0x" + "f" * 5000
DEEP = 3000

READ_IN_ONE_PASS: dict[str, str] = {
    "20,000 magic lines": notebook("%time\n" * 20_000 + "x = (", RIGHT),
    "magic behind 200,000 blanks": notebook(" " * 200_000 + "%time", RIGHT),
    "names before a magic": notebook("a, " * 60_000 + "= !ls\nx = (", RIGHT),
    "blank prefixes before an equals sign": notebook("\n".join([" " * 3000 + "=%"] * 100), RIGHT),
    "quotes and backslashes": notebook('%m\n"' + '\\"' * 100_000, RIGHT),
    "8,000 names": "\n".join(f"n{i} = {i}" for i in range(8000)) + "\n" + RIGHT,
    "8,000 names on one line": ";".join(f"n{i}={i}" for i in range(8000)) + "\n" + RIGHT,
    "8,000 names in 8,000 cells": notebook(*(f"n{i} = {i}" for i in range(8000)), RIGHT),
    "8,000 broken cells": notebook(*(["def vector_add_kernel((:"] * 8000), RIGHT),
    "form feeds and separators": "\x0c\n" * 1000 + "# \u2028 \x85\n" + RIGHT,
    "a thousand decorated functions": "@triton.jit\ndef f(): pass\n" * 1000 + RIGHT,
}


@pytest.mark.parametrize("text", READ_IN_ONE_PASS.values(), ids=READ_IN_ONE_PASS)
def test_long_files_are_read_in_one_pass(text: str, reader: Reader) -> None:
    (inner,) = reader.read("a.ipynb" if text.startswith("{") else "a.py", text.encode(), KERNELS)
    assert [found.puzzle for found in inner.found if found.source] == ["vector_add"]


UNREADABLE: dict[str, tuple[str, str | bytes, str]] = {
    "nested brackets": ("a.py", "x = " + "(" * DEEP, "syntax"),
    "nested lists in a notebook": ("a.ipynb", "[" * 100_000, "unreadable"),
    "nested unary operators": ("a.py", "x = " + "-" * 100_000 + "1\n" + RIGHT, "syntax"),
    "nested attributes": ("a.py", "x = a" + ".a" * 50_000 + "\n", "syntax"),
    "an encoding that is none": ("a.py", b"# -*- coding: surprise -*-\n" + RIGHT.encode(), "undecodable"),
    "utf-7 as a disguise": ("a.py", b"# -*- coding: rot13 -*-\n" + RIGHT.encode(), "undecodable"),
    "a notebook that is a number": ("a.ipynb", "1e999", "unreadable"),
    "a notebook with cells that are none": ("a.ipynb", '{"cells": {"a": 1}}', "unreadable"),
    "a number of a million digits in json": ("a.ipynb", '{"cells": ' + "9" * 1_000_000 + "}", "unreadable"),
    "a truncated notebook": ("a.ipynb", notebook(RIGHT)[:300], "unreadable"),
    "a tar": ("a.tar.gz", b"\x1f\x8b\x08", "other_kind"),
    "a pickle": ("a.pkl", b"\x80\x04.", "other_kind"),
    "a zip with a drive": ("a.zip", zipped({"C:/evil.py": RIGHT}), "unsafe"),
    "a zip with backslashes": ("a.zip", zipped({"..\\evil.py": RIGHT}), "unsafe"),
    "zips six deep": ("a.zip", nested_zip(6), "too_large"),
    "a zip of 3,000 files": ("a.zip", zipped({f"{n}.py": "" for n in range(3000)}), "too_large"),
    "a zip bomb": ("a.zip", bomb(), "too_large"),
    "a zip that lies about sizes": ("a.zip", lying_zip(), "unreadable"),
    "a zip of one stream with 1,500 names": ("a.zip", overlapping_zip(), "no_kernel"),
}


@pytest.mark.parametrize(("file", "content", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_file_is_reported_and_the_next_one_is_read(
    file: str, content: str | bytes, reason: str, reader: Reader
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    found = [one for inner in reader.read(file, data, KERNELS) for one in inner.found]
    assert reason in {one.reason for one in found}, found[:3]
    assert all(one.source is None for one in found)
    assert next_is_read(reader)


def next_is_read(reader: Reader) -> bool:
    return reader.read("next.py", RIGHT.encode(), KERNELS)[0].found[0].source is not None


FORBIDDEN: dict[str, str] = {
    "5,000 hex digits in a decorator": before_the_kernel(f"@triton.autotune({HEX})"),
    "5,000 hex digits in another decorator": before_the_kernel(f"@memo({HEX})"),
    "5,000 hex digits in a constant": before_the_kernel(f"HUGE = tl.constexpr({HEX})").replace(
        START, f"    x = HUGE\n{START}"
    ),
    "5,000 hex digits in the body": in_the_body(f"x = {HEX}"),
    "a power tower": autotuned('{"BLOCK_N": 9**9**9**9}'),
    "a shift of a billion": autotuned('{"BLOCK_N": 1 << 10**9}'),
    "a config of 0": autotuned('{"BLOCK_N": 0}'),
    "a negative config": autotuned('{"BLOCK_N": -64}'),
    "an infinite config": autotuned('{"BLOCK_N": 1e999}'),
    "a config of inf": autotuned('{"BLOCK_N": float("inf")}'),
    "a config that is no number": autotuned('{"BLOCK_N": float("nan")}'),
    "a surrogate as a config's name": autotuned('{"\\ud800": 64}'),
    "0 warps": autotuned('{"BLOCK_N": 64}, num_warps=0'),
    "a million warps": autotuned('{"BLOCK_N": 64}, num_warps=1048576'),
    "65 configs": before_the_kernel(f"@triton.autotune(configs=[{', '.join(['triton.Config({})'] * 65)}], key=[])"),
    "a config that is computed": autotuned('{"BLOCK_N": int(open("/etc/passwd").read())}'),
    "a hook in a config": autotuned('{"BLOCK_N": 64}, pre_hook=print'),
}


@pytest.mark.parametrize("text", FORBIDDEN.values(), ids=FORBIDDEN)
def test_the_learner_s_own_mistakes_are_forbidden_and_never_our_fault(text: str, reader: Reader) -> None:
    (inner,) = reader.read("a.py", text.encode(), KERNELS)
    (found,) = inner.found
    assert found.source is None or found.source.problems, found
    if found.source is not None:
        assert all(problem.message.isprintable() and len(problem.message) < 400 for problem in found.source.problems)
    else:
        assert found.reason == "unreadable"
    assert next_is_read(reader)


def test_an_exponent_that_overflows_in_a_body_is_still_a_kernel(reader: Reader) -> None:
    (inner,) = reader.read("a.py", in_the_body("x = 1e999999").encode(), KERNELS)
    assert inner.found[0].source is not None


def test_half_a_surrogate_pair_in_a_notebook_becomes_text(reader: Reader) -> None:
    text = notebook(RIGHT).replace("# your code starts", "# \\ud800 \\udfff your code starts")
    (inner,) = reader.read("a.ipynb", text.encode(), KERNELS)
    source = inner.found[0].source
    assert source is not None
    source.source.encode()


def test_a_reader_that_is_killed_takes_one_file_with_it() -> None:
    with Reader(cpu_seconds=0.3) as reader:
        slow = reader.read("a.py", b"x = 1\n" * 300_000, KERNELS)[0].found[0]
        assert "took more than 0.3 s" in slow.error
        assert next_is_read(reader)


def test_a_reader_that_grows_takes_one_file_with_it() -> None:
    with Reader(memory=300 << 20, cpu_seconds=20) as reader:
        found = reader.read("a.py", b"[0]," * 500_000, KERNELS)[0].found[0]
        assert found.reason in ("unreadable", "syntax")
        assert next_is_read(reader)


# ------------------------------------------------------------------------------------------------------ folders of a class


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A class with one honest learner."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "zoe.py").write_text(RIGHT)
    return tmp_path / "class"


def told(folder: Path) -> dict[str, list[str]]:
    began = time.monotonic()
    learners = by_id(collected(folder))
    assert time.monotonic() - began < 60
    assert len(learners.pop("zoe").kernels) == 1
    assert not any(kernel.source for learner in learners.values() for kernel in learner.kernels)
    return {name: [one.reason for one in learner.told] for name, learner in learners.items()}


def test_folders_1500_deep(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    try:
        assert told(folder) == {"d": ["too_large"]}
    finally:  # pytest takes folders away by recursion
        subprocess.run(["rm", "-rf", str(folder / "d")], check=True)
    assert MAX_DEPTH < 1500


@pytest.mark.parametrize("name", ["mallory.py", "mallory.zip", "mallory.ipynb"])
def test_a_fifo_is_not_waited_for(folder: Path, name: str) -> None:
    os.mkfifo(folder / name)
    assert told(folder) == {"mallory": ["unsafe"]}


def test_a_socket_is_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("mallory.py")
        assert told(folder) == {"mallory": ["unsafe"]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_not_opened(folder: Path) -> None:
    try:
        os.mknod(folder / "mallory.py", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices can be made here")
    assert told(folder) == {"mallory": ["unsafe"]}


@pytest.mark.parametrize("target", ["solutions", "solutions/vector_add.py", "/etc/passwd", "mallory.py", "zoe.py"])
def test_a_link_at_the_top_or_below_is_not_followed(folder: Path, target: str) -> None:
    root = Path(__file__).resolve().parents[2]
    (folder / "mallory.py").symlink_to(root / target if target.startswith("solutions") else target)
    (folder / "deep").mkdir()
    (folder / "deep" / "mallory.py").symlink_to(root / "solutions")
    assert told(folder) == {"deep": ["unsafe"], "mallory": ["unsafe"]}


@pytest.mark.parametrize(
    "name",
    [
        b"\xff\xfe.py",
        b"\xed\xa0\x80.py",
        b"\x1b[2J.py",
        b"two\nlines.py",
        "\u202eyp.live.py".encode(),
        b"=cmd().py",
    ],
    ids=["not utf-8", "surrogate", "escape", "newline", "right to left", "formula"],
)
def test_names_cannot_steer_a_terminal(folder: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("print('hello')")
    learners = by_id(collected(folder))
    (other,) = [learner for key, learner in learners.items() if key != "zoe"]
    assert other.person.id.isprintable()
    other.person.id.encode()
    assert [one.reason for one in other.told] == ["no_kernel"]


def test_an_unreadable_folder_is_reported(folder: Path) -> None:
    (folder / "mallory").mkdir()
    (folder / "mallory" / "a.py").write_text(RIGHT)
    (folder / "mallory").chmod(0)
    try:
        if os.access(folder / "mallory", os.R_OK):
            pytest.skip("root reads everything")
        assert told(folder) == {"mallory": ["unreadable"]}
    finally:
        (folder / "mallory").chmod(0o700)


def test_metadata_in_a_notebook_says_nothing_about_points(reader: Reader) -> None:
    """Points, `locked` and checksums belong to the grader, whatever a notebook claims (41)."""
    claimed = json.loads(notebook(RIGHT))
    claimed["cells"][0]["metadata"] = {"nbgrader": {"grade": True, "points": 100, "locked": False, "schema_version": 3}}
    plain, claims = (
        reader.read("a.ipynb", json.dumps(text).encode(), KERNELS)[0].found
        for text in (json.loads(notebook(RIGHT)), claimed)
    )
    assert plain == claims
    assert isinstance(plain[0], SubmittedKernel)
