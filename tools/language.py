"""Writes `docs/language.md`: every public name of `triton.language`, and what a kernel of the course may do with it.

    python tools/language.py

Every name that works has an example, which `tests/simulator/test_names_of_tl.py` compiles and simulates. A refused name
gets a message that says what to write instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import triton.language as tl  # noqa: E402

from checker.submission.allowed_names import DTYPES, FUNCTIONS, LIBDEVICE, MATH, METHODS  # noqa: E402

PAGE = ROOT / "docs" / "language.md"

HELPERS = """\
@triton.jit
def added(a, b):
    return a + b
"""
GIVEN = """\
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
n = tl.load(n_ptr + offs)
tile = tl.reshape(x, (4, 4))
square = tl.zeros((16, 16), dtype=tl.float32)
"""
"""What every example may use; N = BLOCK = 16."""

EXAMPLES: dict[str, str] = {
    "abs": "y = tl.abs(x)",
    "add": "y = tl.add(x, x)",
    "advance": "y = tl.load(tl.advance(tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,)), (0,)))",
    "arange": "y = tl.arange(0, BLOCK)",
    "argmax": "y = tl.argmax(tile, axis=1)",
    "argmin": "y = tl.argmin(tile, axis=1)",
    "associative_scan": "y = tl.associative_scan(x, 0, added)",
    "assume": "tl.assume(N > 0)",
    "atomic_add": "tl.atomic_add(y_ptr + offs, x)",
    "atomic_and": "y = tl.atomic_and(n_ptr + offs, n)",
    "atomic_cas": "y = tl.atomic_cas(n_ptr + offs, n, n)",
    "atomic_max": "tl.atomic_max(y_ptr + offs, x)",
    "atomic_min": "tl.atomic_min(y_ptr + offs, x)",
    "atomic_or": "y = tl.atomic_or(n_ptr + offs, n)",
    "atomic_xchg": "y = tl.atomic_xchg(n_ptr + offs, n)",
    "atomic_xor": "y = tl.atomic_xor(n_ptr + offs, n)",
    "bitonic_merge": "y = tl.bitonic_merge(x)",
    "broadcast": "y, z = tl.broadcast(x[:, None], x[None, :])",
    "broadcast_to": "y = tl.broadcast_to(x[:, None], (16, 16))",
    "cast": "y = tl.cast(x, tl.float16)",
    "cat": "y = tl.cat(x, x, can_reorder=True)",
    "cdiv": "y = tl.cdiv(N, BLOCK)",
    "ceil": "y = tl.ceil(x)",
    "clamp": "y = tl.clamp(x, 0.0, 1.0)",
    "condition": "while tl.condition(N < 0): N += 1",
    "constexpr": "HALF: tl.constexpr = BLOCK // 2",
    "cos": "y = tl.cos(x)",
    "cumprod": "y = tl.cumprod(x, axis=0)",
    "cumsum": "y = tl.cumsum(x, axis=0)",
    "debug_barrier": "tl.debug_barrier()",
    "device_assert": 'tl.device_assert(N > 0, "no columns")',
    "device_print": 'tl.device_print("x", x)',
    "div_rn": "y = tl.div_rn(x, x)",
    "dot": "y = tl.dot(square, square)",
    "erf": "y = tl.erf(x)",
    "exp": "y = tl.exp(x)",
    "exp2": "y = tl.exp2(x)",
    "expand_dims": "y = tl.expand_dims(x, 1)",
    "fdiv": "y = tl.fdiv(x, x)",
    "flip": "y = tl.flip(x, 0)",
    "floor": "y = tl.floor(x)",
    "fma": "y = tl.fma(x, x, x)",
    "full": "y = tl.full((BLOCK,), 1.0, dtype=tl.float32)",
    "gather": "y = tl.gather(x, n, 0)",
    "histogram": "y = tl.histogram(n, 16)",
    "interleave": "y = tl.interleave(x, x)",
    "join": "y = tl.join(x, x)",
    "load": "y = tl.load(x_ptr + offs, mask=offs < N, other=0.0)",
    "load_tensor_descriptor": "y = tl.load_tensor_descriptor(tl.make_tensor_descriptor(x_ptr, [N], [1], [BLOCK]), [0])",
    "log": "y = tl.log(x)",
    "log2": "y = tl.log2(x)",
    "make_block_ptr": "y = tl.load(tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,)))",
    "make_tensor_descriptor": "y = tl.make_tensor_descriptor(x_ptr, [N], [1], [BLOCK]).load([0])",
    "max": "y = tl.max(x, axis=0)",
    "max_constancy": "y = tl.max_constancy(offs // 16, 16)",
    "max_contiguous": "y = tl.max_contiguous(offs, 16)",
    "maximum": "y = tl.maximum(x, 0.0)",
    "min": "y = tl.min(x, axis=0)",
    "minimum": "y = tl.minimum(x, 0.0)",
    "mul": "y = tl.mul(x, x)",
    "multiple_of": "y = tl.multiple_of(tl.program_id(0) * BLOCK, 16)",
    "num_programs": "y = tl.num_programs(0)",
    "permute": "y = tl.permute(tile, (1, 0))",
    "program_id": "y = tl.program_id(0)",
    "range": "for start in tl.range(0, N, BLOCK): x += start",
    "ravel": "y = tl.ravel(tile)",
    "reduce": "y = tl.reduce(x, 0, added)",
    "reduce_or": "y = tl.reduce_or(n, 0)",
    "reshape": "y = tl.reshape(x, (4, 4))",
    "rsqrt": "y = tl.rsqrt(x)",
    "sigmoid": "y = tl.sigmoid(x)",
    "sin": "y = tl.sin(x)",
    "sort": "y = tl.sort(x)",
    "split": "y, z = tl.split(tl.join(x, x))",
    "sqrt": "y = tl.sqrt(x)",
    "sqrt_rn": "y = tl.sqrt_rn(x)",
    "squeeze": "y = tl.squeeze(x[:, None], 1)",
    "static_assert": "tl.static_assert(BLOCK == 16)",
    "static_print": 'tl.static_print("BLOCK", BLOCK)',
    "static_range": "for i in tl.static_range(4): x += i",
    "store": "tl.store(y_ptr + offs, x, mask=offs < N)",
    "store_tensor_descriptor": "tl.store_tensor_descriptor(tl.make_tensor_descriptor(y_ptr, [N], [1], [BLOCK]), [0], x)",
    "sub": "y = tl.sub(x, x)",
    "sum": "y = tl.sum(x, axis=0)",
    "swizzle2d": "y, z = tl.swizzle2d(tl.program_id(0), tl.program_id(1), 4, 4, 2)",
    "topk": "y = tl.topk(x, 4)",
    "trans": "y = tl.trans(tile)",
    "umulhi": "y = tl.umulhi(n, n)",
    "unsqueeze": "y = tl.unsqueeze(x, 1)",
    "view": "y = tl.view(x, (4, 4))",
    "where": "y = tl.where(x > 0.0, x, 0.0)",
    "xor_sum": "y = tl.xor_sum(n, axis=0)",
    "zeros": "y = tl.zeros((BLOCK,), dtype=tl.float32)",
    "zeros_like": "y = tl.zeros_like(x)",
}


def names() -> list[str]:
    """Every public name of the installed `tl`, without submodules."""
    return [n for n in sorted(dir(tl)) if not n.startswith("_") and not isinstance(getattr(tl, n), ModuleType)]


def kernel(example: str) -> str:
    """A module with one kernel that contains the example."""
    body = "".join(f"    {line}\n" for line in (*GIVEN.splitlines(), example))
    head = f"import triton\nimport triton.language as tl\n\n\n{HELPERS}\n\n@triton.jit\n"
    return f"{head}def kernel(x_ptr, y_ptr, n_ptr, N, BLOCK: tl.constexpr):\n{body}"


def page() -> str:
    return "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    public = names()
    types = DTYPES & set(public)
    functions = [name for name in public if name in FUNCTIONS - DTYPES]
    own_methods = METHODS - FUNCTIONS
    yield "# What a kernel may use of `tl`"
    yield f"""Of the {len(public)} public names of `triton.language`, {len(functions)} functions and {len(types)} types work here. The tests compile each of
these lines for an A100 and simulate it, with `x` float32 [16], `n` int32 [16], `tile` float32 [4, 4], `square` float32 [16, 16], and a
helper `added(a, b)`. (`python tools/language.py` writes this page.)"""
    lines = (EXAMPLES[name].removeprefix("y = ").removeprefix("y, z = ") for name in functions)
    yield "\n".join(["```text", *lines, "```"])
    yield f"**Types:** {_listed(types)}. **`tl.math`:** {_listed(MATH)}. **libdevice**, by any of its import paths: {_listed(LIBDEVICE)}."
    yield f"**Methods:** many of the above, as in `x.sum(axis=0)`, and also {_listed(own_methods)}."
    yield """**By version:** `make_block_ptr` and `advance` are gone since Triton 3.8. Two comparisons at once, as in `0 <= offs < N`, need Triton 3.9 or
newer. A kernel that uses either gets a warning, because another machine may have another Triton; Colab has 3.6."""
    yield """Where Triton and Python disagree (`//` of a negative number, `is`, sums of truth values, a loop's variable after the loop), the simulator
follows the compiler; `tests/compiler/test_simulator_agrees.py` checks a list of these."""
    refused = [name for name in public if name not in FUNCTIONS]
    yield f"**Refused**, with a message that says what to write instead: {_listed(refused)}."


def _listed(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in sorted(values))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
