"""Where Python and Triton's compiler read the same words differently, the simulator goes with the compiler.

Each example sets `r` from N = 16, which is a scalar of the language, and from BLOCK = 16, a constant. The compiler folds it into
one number, which is read out of the machine code; the simulator runs it. What is not here means the same in Python.
"""

from __future__ import annotations

import re

import pytest
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompilationError

from checker.puzzle import Launch
from checker.simulator import simulate
from tests.simulator.launching import HEAD, loaded

GIVEN = """

@triton.jit
def early(x):
    if x > 3:
        return 1
    return 2


@triton.jit
def kernel(y_ptr, N_: tl.constexpr, BLOCK: tl.constexpr):
    N = tl.full((), N_, tl.int32)
    zero = N - 16
"""

SAME = {
    "division rounds to zero": ("r = (zero - 7) // 2", -3),
    "remainder has the sign of the first": ("r = (zero - 7) % 4", -3),
    "division of constants is Python's": ("r = -7 // 2", -4),
    "division of integers gives a float": ("r = ((N - 9) / 2 * 10).to(tl.int32)", 35),
    "cdiv of a negative number": ("r = tl.cdiv(zero - 7, 2)", -3),
    "remainder of floats": ("r = ((zero.to(tl.float32) - 7.5) % 4.0 * 2).to(tl.int32)", -7),
    "32 bits wrap": ("r = (zero + 2147483647 + 1 < 0).to(tl.int32)", 1),
    "a product wraps in 32 bits": ("r = (zero + 65536) * (zero + 65536)", 0),
    "a large literal is int64": ("r = (zero + 4294967296 // 65536).to(tl.int32)", 65536),
    "8 bits wrap": ("a = (N + 100).to(tl.int8)\nr = (a + a).to(tl.int32)", -24),
    "8 bits stay 8 bits beside a literal": ("a = (N + 100).to(tl.int8)\nr = (a + 100).to(tl.int32)", -40),
    "unsigned numbers wrap below 0": ("r = ((N.to(tl.uint32) - 17) > 5).to(tl.int32)", 1),
    "signed beside unsigned is unsigned": ("r = ((N - 17) < N.to(tl.uint32)).to(tl.int32)", 0),
    "a float is cut towards 0": ("r = (zero.to(tl.float32) - 2.7).to(tl.int32)", -2),
    "a literal is float32": ("r = ((0.1 + zero.to(tl.float32)) * 1e9).to(tl.int32)", 100000000),
    "integers past 2^24 round in float32": ("r = ((zero + 16777217) * 1.0).to(tl.int32)", 16777216),
    "float16 stays float16 beside a literal": (
        "a = zero.to(tl.float16) + 1\nr = ((a + 1e-4) * 10000).to(tl.int32)",
        10000,
    ),
    "float16 rounds": ("r = (zero.to(tl.float16) + 2048 + 1).to(tl.int32)", 2048),
    "bfloat16 rounds": ("r = (zero.to(tl.bfloat16) + 257).to(tl.int32)", 256),
    "a sum of truth values is one bit": ("r = (N > 3) + (N > 4)", 0),
    "a difference of truth values is one bit": ("r = (N > 3) - (N > 4)", 0),
    "a product of truth values": ("r = (N > 3) * (N > 4)", 1),
    "not of a truth value": ("r = (~(N > 3)).to(tl.int32)", 0),
    "and with a constant that is true": ("r = N and 5", 16),
    "or with a constant that is true": ("r = N or 5", 5),
    "and of a condition and a constant": ("r = (N > 3) and BLOCK == 16", 1),
    "is between numbers": ("t = 3\nr = 1 if t is 3 else 2", 2),
    "is between constants": ("r = 1 if BLOCK is 16 else 2", 1),
    "an annotation that is a dtype": ("t: tl.int32 = 3\nr = t", 3),
    "an annotation converts nothing": ("t: tl.int8 = 300\nr = t", 300),
    "a loop does not see its variable changed": ("r = 0\nfor i in range(5):\n    i = i + 1\n    r = i", 5),
    "a static loop leaves its last number": ("for i in tl.static_range(5):\n    t = i\nr = i", 4),
    "a loop downwards": ("r = 0\nfor i in range(zero, -3, -1):\n    r += i", -3),
    "a loop with no turns": ("r = 0\nfor i in range(3, 3):\n    r += 1", 0),
    "a return in a branch of a helper": ("r = early(N)", 1),
    "min and max of numbers": ("r = min(N, 3) + max(N, 3)", 19),
    "two variables exchanged": ("a, b = 1, 2\na, b = b, a\nr = a * 10 + b", 21),
    "the shape of a tile": ("t = tl.zeros((16, 4), tl.float32)\nr = t.shape[0] * 10 + t.shape[1]", 164),
    "a dtype in a condition": ("t = tl.zeros((16, 4), tl.float16)\nr = 1 if t.dtype == tl.float16 else 2", 1),
}

REFUSED = {
    "break": "r = 0\nfor i in range(3):\n    break",
    "continue": "r = 0\nfor i in range(3):\n    continue",
    "a return in a loop": "r = 0\nfor i in range(3):\n    return",
    "first set in a branch": "if N > 3:\n    t = 1\nr = t",
    "first set in a loop": "for i in range(5):\n    t = i\nr = t",
    "another type in a branch": "t = 1\nif N > 3:\n    t = 1.5\nr = t.to(tl.int32)",
    "another type in a loop": "t = 1\nfor i in range(3):\n    t = t * 1.5\nr = t.to(tl.int32)",
    "two types in one expression": "r = 1 if N > 3 else 2.5",
    "a chain of comparisons": "r = (3 < N < 20).to(tl.int32)",
    "a number as a condition of while": "t = N\nwhile t:\n    t = t - 1\nr = t",
}
"""Python runs these and the compiler refuses them. A check compiles before it simulates, so a learner reads the compiler's words."""


def module(tmp_path, body: str):
    lines = "".join(f"    {line}\n" for line in (*body.split("\n"), "tl.store(y_ptr, r)"))
    return loaded(tmp_path, HEAD + GIVEN + lines)


def machine_code(kernel) -> str:
    signature = {"y_ptr": "*i32", "N_": "constexpr", "BLOCK": "constexpr"}
    source = ASTSource(fn=kernel, signature=signature, constexprs={(1,): 16, (2,): 16})
    return triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["ptx"]


def stored(ptx: str) -> int:
    """The constant that the machine code stores."""
    operand = re.search(r"st\.global\.b32 \[[^\]]*\], *\{? *(%r\d+|-?\d+) *\}?", ptx).group(1)
    if operand.startswith("%"):
        operand = re.findall(rf"mov\.[bu]32\s+{re.escape(operand)}, *(-?\d+)", ptx)[-1]
    return int(operand)


@pytest.mark.parametrize(("body", "value"), SAME.values(), ids=SAME)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_the_same_number(body, value, tmp_path):
    kernel = module(tmp_path, body)
    assert stored(machine_code(kernel)) == value, "the compiler"
    y = torch.full((1,), -99, dtype=torch.int32)
    simulate(kernel, Launch((1,), {"y_ptr": y}, {"N_": 16, "BLOCK": 16}, ("y_ptr",)))
    assert y.item() == value, "the simulator"


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_the_compiler_refuses(body, tmp_path):
    with pytest.raises((CompilationError, RuntimeError)):
        machine_code(module(tmp_path, body))
