"""Submissions that try to break the reader. The file is reported, and the next learner's file is read.

tests/submission/test_reading.py covers files that are merely damaged.
"""

from __future__ import annotations

import io
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


def encrypted_zip() -> bytes:
    data = bytearray(zipped({"a.py": RIGHT}))
    for at in (6, data.index(b"PK\1\2") + 8):  # the flags of the file and of its entry
        data[at] |= 1
    return bytes(data)


HEX = "0x" + "f" * 5000

READ_IN_ONE_PASS: dict[str, str] = {
    "20,000 magic lines": notebook("%time\n" * 20_000 + "x = (", RIGHT),
    "magic behind 200,000 blanks": notebook(" " * 200_000 + "%time", RIGHT),
    "quotes and backslashes": notebook('%m\n"' + '\\"' * 100_000, RIGHT),
    "8,000 names": "\n".join(f"n{i} = {i}" for i in range(8000)) + "\n" + RIGHT,
    "8,000 names in 8,000 cells": notebook(*(f"n{i} = {i}" for i in range(8000)), RIGHT),
    "8,000 broken cells": notebook(*(["def vector_add_kernel((:"] * 8000), RIGHT),
    "form feeds and separators": "\x0c\n" * 1000 + "# \u2028 \x85\n" + RIGHT,
}


def test_long_files_are_read_in_one_pass(reader: Reader) -> None:
    for name, text in READ_IN_ONE_PASS.items():
        (file,) = reader.read("a.ipynb" if text.startswith("{") else "a.py", text.encode(), KERNELS)
        assert [kernel.puzzle for kernel in file.found if kernel.source] == ["vector_add"], name


def unreadable() -> dict[str, tuple[str, str | bytes, str]]:
    """Files by what is wrong with them: name, content and the reason that is reported."""
    return {
        "nested lists in a notebook": ("a.ipynb", "[" * 100_000, "unreadable"),
        "nested unary operators": ("a.py", "x = " + "-" * 100_000 + "1\n" + RIGHT, "syntax"),
        "nested attributes": ("a.py", "x = a" + ".a" * 50_000 + "\n", "syntax"),
        "an encoding that is none": ("a.py", b"# -*- coding: surprise -*-\n" + RIGHT.encode(), "undecodable"),
        "a number of a million digits in json": ("a.ipynb", '{"cells": ' + "9" * 1_000_000 + "}", "unreadable"),
        "a tar": ("a.tar.gz", b"\x1f\x8b\x08", "other_kind"),
        "a zip that leads out of its folder": ("a.zip", zipped({"../evil.py": RIGHT}), "unsafe"),
        "a zip with a path from the root": ("a.zip", zipped({"/evil.py": RIGHT}), "unsafe"),
        "a zip with a drive": ("a.zip", zipped({"C:/evil.py": RIGHT}), "unsafe"),
        "a zip with backslashes": ("a.zip", zipped({"..\\evil.py": RIGHT}), "unsafe"),
        "an encrypted zip": ("a.zip", encrypted_zip(), "unreadable"),
        "a zip with a stream of a file": ("a.zip", zipped({"a.txt:b.py": RIGHT}), "unsafe"),
        "zips six deep": ("a.zip", nested_zip(6), "too_large"),
        "a zip of 3,000 files": ("a.zip", zipped({f"{n}.py": "" for n in range(3000)}), "too_large"),
        "a zip bomb": ("a.zip", bomb(), "too_large"),
        "a zip that lies about sizes": ("a.zip", lying_zip(), "unreadable"),
        "a zip of one stream with 1,500 names": ("a.zip", overlapping_zip(), "no_kernel"),
    }


def test_an_unreadable_file_is_reported_and_the_next_one_is_read(reader: Reader) -> None:
    for name, (file, content, reason) in unreadable().items():
        data = content if isinstance(content, bytes) else content.encode()
        kernels = [kernel for part in reader.read(file, data, KERNELS) for kernel in part.found]
        assert reason in {kernel.reason for kernel in kernels}, (name, kernels[:3])
        assert all(kernel.source is None for kernel in kernels), name
        assert next_is_read(reader), name


def next_is_read(reader: Reader) -> bool:
    return reader.read("next.py", RIGHT.encode(), KERNELS)[0].found[0].source is not None


FORBIDDEN: dict[str, str] = {
    "5,000 hex digits in a decorator": before_the_kernel(f"@triton.autotune({HEX})"),
    "5,000 hex digits in a constant": before_the_kernel(f"HUGE = tl.constexpr({HEX})").replace(
        START, f"    x = HUGE\n{START}"
    ),
    "5,000 hex digits in the body": in_the_body(f"x = {HEX}"),
    "a power tower": autotuned('{"BLOCK_N": 9**9**9**9}'),
    "a config of 0": autotuned('{"BLOCK_N": 0}'),
    "an infinite config": autotuned('{"BLOCK_N": 1e999}'),
    "a surrogate as a config's name": autotuned('{"\\ud800": 64}'),
    "0 warps": autotuned('{"BLOCK_N": 64}, num_warps=0'),
    "a million warps": autotuned('{"BLOCK_N": 64}, num_warps=1048576'),
    "65 configs": before_the_kernel(f"@triton.autotune(configs=[{', '.join(['triton.Config({})'] * 65)}], key=[])"),
    "a config that is computed": autotuned('{"BLOCK_N": int(open("/etc/passwd").read())}'),
    "a hook in a config": autotuned('{"BLOCK_N": 64}, pre_hook=print'),
}


def test_a_learners_own_mistakes_are_never_blamed_on_the_grader(reader: Reader) -> None:
    for name, text in FORBIDDEN.items():
        (file,) = reader.read("a.py", text.encode(), KERNELS)
        (kernel,) = file.found
        if kernel.source is None:
            assert kernel.reason == "unreadable", name
        else:
            problems = [problem.message for problem in kernel.source.problems]
            assert problems, name
            assert all(message.isprintable() and len(message) < 400 for message in problems), name
        assert next_is_read(reader), name


def test_odd_numbers_and_surrogates_do_not_lose_a_kernel(reader: Reader) -> None:
    (file,) = reader.read("a.py", in_the_body("x = 1e999999").encode(), KERNELS)
    assert file.found[0].source is not None
    text = notebook(RIGHT).replace("# your code starts", "# \\ud800 \\udfff your code starts")
    (file,) = reader.read("a.ipynb", text.encode(), KERNELS)
    source = file.found[0].source
    assert source is not None
    source.source.encode()


def test_a_reader_that_is_killed_takes_one_file_with_it() -> None:
    with Reader(cpu_seconds=0.3) as reader:
        slow = reader.read("a.py", b"x = 1\n" * 300_000, KERNELS)[0].found[0]
        assert "took more than 0.3 s" in slow.error
        assert next_is_read(reader)


def test_a_reader_that_grows_takes_one_file_with_it() -> None:
    with Reader(memory=300 << 20, cpu_seconds=20) as reader:
        large = reader.read("a.py", b"[0]," * 500_000, KERNELS)[0].found[0]
        assert large.reason in ("unreadable", "syntax")
        assert next_is_read(reader)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A class with one honest learner."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "zoe.py").write_text(RIGHT)
    return tmp_path / "class"


def problems(folder: Path) -> dict[str, list[str]]:
    """Why each learner but the honest one has no kernel."""
    began = time.monotonic()
    learners = by_id(collected(folder))
    assert time.monotonic() - began < 60
    assert len(learners.pop("zoe").kernels) == 1
    assert not any(kernel.source for learner in learners.values() for kernel in learner.kernels)
    return {name: [problem.reason for problem in learner.unread] for name, learner in learners.items()}


def test_folders_1500_deep(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    try:
        assert problems(folder) == {"d": ["too_large"]}
    finally:  # pytest removes folders recursively
        subprocess.run(["rm", "-rf", str(folder / "d")], check=True)
    assert MAX_DEPTH < 1500


def test_a_fifo_a_socket_or_a_link_is_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, root = ("mallory.py", "mallory.zip", "mallory.ipynb"), Path(__file__).resolve().parents[2]
    for name in names:
        os.mkfifo(folder / name)
        assert problems(folder) == {"mallory": ["unsafe"]}, name
        (folder / name).unlink()
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("mallory.py")
        assert problems(folder) == {"mallory": ["unsafe"]}
    (folder / "mallory.py").unlink()
    (folder / "deep").mkdir()
    (folder / "deep" / "mallory.py").symlink_to(root / "solutions")
    for target in (root / "solutions", root / "solutions/vector_add.py", "/etc/passwd", "mallory.py", "zoe.py"):
        (folder / "mallory.py").symlink_to(target)
        assert problems(folder) == {"deep": ["unsafe"], "mallory": ["unsafe"]}, target
        (folder / "mallory.py").unlink()


def test_file_names_cannot_control_a_terminal(folder: Path) -> None:
    right_to_left = "\u202eyp.live.py".encode()
    for name in (b"\xff\xfe.py", b"\xed\xa0\x80.py", b"\x1b[2J.py", b"two\nlines.py", right_to_left, b"=cmd().py"):
        path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        path.write_text("print('hello')")
        (learner,) = [learner for key, learner in by_id(collected(folder)).items() if key != "zoe"]
        assert learner.person.id.isprintable(), name
        learner.person.id.encode()
        assert [problem.reason for problem in learner.unread] == ["no_kernel"], name
        path.unlink()


def test_an_unreadable_folder_is_reported(folder: Path) -> None:
    (folder / "mallory").mkdir()
    (folder / "mallory" / "a.py").write_text(RIGHT)
    (folder / "mallory").chmod(0)
    try:
        if os.access(folder / "mallory", os.R_OK):
            pytest.skip("root reads everything")
        assert problems(folder) == {"mallory": ["unreadable"]}
    finally:
        (folder / "mallory").chmod(0o700)
