"""One warm sandbox for all tests in this folder, and helpers that write honest and hostile kernels."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from checker.puzzle import Launch
from checker.sandbox import Limits, Sandbox
from checker.submission.kernel import KernelSource, Piece

ROOT = Path(__file__).resolve().parents[2]

ADD = """
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
"""


def kernel(before: str = "", body: str = ADD, name: str = "vector_add_kernel") -> KernelSource:
    """`body` in a module that runs `before` on import, which the rules would forbid."""
    source = "import triton\nimport triton.language as tl\n" + textwrap.dedent(before) + textwrap.dedent(body)
    lines = source.count("\n")
    return KernelSource("vector_add", name, source, (Piece(1, lines, "puzzles/vector_add.py", 1),))


def does(*lines: str) -> KernelSource:
    """A kernel with the parameters of `ADD` and these lines as its body, starting at line 6."""
    signature = "\n@triton.jit\ndef vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):\n"
    return kernel("", signature + "".join(f"    {line}\n" for line in lines))


def launch(n: int = 37, block: int = 16) -> Launch:
    x, y, z = torch.arange(n, dtype=torch.float32), torch.full((n,), 0.5), torch.full((n,), torch.nan)
    return Launch((-(-n // block),), {"x_ptr": x, "y_ptr": y, "z_ptr": z, "N": n}, {"BLOCK_N": block}, ("z_ptr",))


def works(sandbox: Sandbox) -> None:
    """The next honest job gives the right answer."""
    bound = launch()
    (result,) = sandbox.simulate(kernel(), [bound])
    assert result.status == "passed", result.message + result.detail
    assert torch.equal(result.tensors["z_ptr"], bound.arguments["x_ptr"] + 0.5)


def soon(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


SECRET = "SECRET_OF_THE_PARENT"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Its worker starts where the environment holds a `SECRET`."""
    with (
        pytest.MonkeyPatch.context() as patch,
        Sandbox(Limits(simulate=2.5, compile=30.0, memory=512 << 20, processes=16)) as one,
    ):
        patch.setenv(SECRET, "42")
        one.start()
        patch.undo()
        yield one
