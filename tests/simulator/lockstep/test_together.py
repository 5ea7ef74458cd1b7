"""Which launches run side by side, and which are left to `simulate`."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl
from triton.language.semantic import TritonSemantic

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate, simulate_together
from checker.simulator.lockstep import memory
from tests.simulator.kernels import copied_by_descriptors
from tests.simulator.launching import HEAD, loaded, nans, ragged
from tests.simulator.lockstep.differential import compared_launches


@triton.jit
def to_its_own_length(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    turns = 0
    for start in range(0, tl.load(lengths_ptr + row), BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + offs, mask=offs < N, other=0.0)
        total += tl.sum(x, axis=0)
        turns = turns + 1
    tl.store(y_ptr + row, total + turns)


@triton.jit
def backwards(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for at in tl.range(tl.load(lengths_ptr + row) - 1, -1, -2):
        total = total * 0.5 + tl.load(x_ptr + row * N + at)
    tl.store(y_ptr + row, total)


@triton.jit
def while_halving(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    left = tl.load(lengths_ptr + row)
    total = 0.0
    while (left > 0) and (left < 1000):
        total += tl.load(x_ptr + row * N + left - 1)
        left = left // 2
    tl.store(y_ptr + row, total + left)


@triton.jit
def conditions(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths_ptr + row)
    total = 0.0
    count = 0
    twice = 0
    for at in range(N):
        if at < length:
            x = tl.load(x_ptr + row * N + at)
            if x > 0:
                total += x
            elif x < -1:
                count, twice = count + 1, twice + 2
            else:
                total -= 1.0
        else:
            count += 1
    if BLOCK > 8:
        total = total * 2
    if not length > 3:
        tl.store(y_ptr + row, total + count)
    else:
        tl.store(y_ptr + row, total - twice)


@triton.jit
def inside_a_branch(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    """What a resting program holds says nothing of the inner condition."""
    row = tl.program_id(0)
    length = tl.load(lengths_ptr + row)
    y = 0.0
    if length > 4:
        y = tl.where(length > 6, 1.0, 2.0)
    tl.store(y_ptr + row, y)


@triton.jit
def _until(x, stop):
    n = 0
    while n * n < stop:
        x = x * 0.5 + n
        n += 1
    return x


@triton.jit
def in_a_helper(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths_ptr + row)
    x = tl.load(x_ptr + row * N)
    for i in tl.static_range(3):
        if i < length:
            x = _until(x, length + i)
    tl.store(y_ptr + row, x)


@triton.jit
def reductions(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + offs, mask=offs < tl.load(lengths_ptr + row), other=-1.0)
    tile = tl.reshape(x, (2, BLOCK // 2))
    both = tl.join(x, tl.flip(x, 0))
    y = tl.argmax(x, axis=0) + tl.sum(tl.cumsum(x, axis=0)) + tl.max(tl.sum(tl.trans(tile), axis=1))
    y += tl.max(tl.sum(both, axis=1)) + tl.min(tl.max(tile, axis=0, keep_dims=True)) + tl.sum(tl.softmax(x))
    tl.store(y_ptr + row, y)


@triton.jit
def by_descriptors(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    M = tl.num_programs(0)
    length = tl.load(lengths_ptr + row)
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [2, BLOCK])
    own_desc = tl.make_tensor_descriptor(x_ptr + row * N, [length], [1], [BLOCK // 2])
    rows_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [1, BLOCK])
    total = tl.sum(rows_desc.gather((tl.arange(0, 8) + row) % 4, 4))
    for start in range(-4, length, 4):
        total += tl.sum(x_desc.load([row - 1, start])) - tl.sum(own_desc.load([start]))
    tl.store(y_ptr + row, total)


KERNELS = [to_its_own_length, backwards, while_halving, conditions, inside_a_branch, in_a_helper, reductions]
KERNELS.append(by_descriptors)
if hasattr(TritonSemantic, "make_block_ptr"):  # newer Triton has none

    @triton.jit
    def by_block_pointers(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        length = tl.load(lengths_ptr + row)
        row_block = tl.make_block_ptr(x_ptr, (tl.num_programs(0), N), (N, 1), (row, 0), (1, 4), (1, 0))
        own_block = tl.make_block_ptr(x_ptr + row * N, (length,), (1,), (0,), (BLOCK,), (0,))
        total = tl.sum(tl.load(own_block, boundary_check=(0,), padding_option="zero"))
        for _ in range(0, length, 4):
            total = total * 0.5 + tl.sum(tl.load(row_block))
            row_block = tl.advance(row_block, (0, 4))
        row_block = tl.advance(row_block, (0, -4))
        x = tl.load(row_block, boundary_check=(1,), padding_option="zero")
        tl.store(y_ptr + row, total + tl.sum(x))

    KERNELS.append(by_block_pointers)


def rows(lengths: list[int], n: int = 16, block: int = 16) -> Launch:
    """A row of x, a number of y and a length for each program."""
    arguments = {
        "x_ptr": torch.randn(len(lengths), n),
        "y_ptr": nans(len(lengths)),
        "lengths_ptr": torch.tensor(lengths, dtype=torch.int32),
        "N": n,
    }
    return Launch((len(lengths),), arguments, {"BLOCK": block}, ("y_ptr",))


def both_ways(kernel, *launches: Launch) -> list[bool]:
    """Which of them ran side by side, once what came of them has been compared."""
    difference = compared_launches(kernel, [(str(number), launch) for number, launch in enumerate(launches)])
    assert difference.problems == []
    return difference.together


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.fn.__name__)
def test_programs_and_launches_may_take_different_branches(kernel):
    for lengths in ([3, 3], [0, 5, 16, 1], [0, 0, 7]):
        assert all(both_ways(kernel, rows(lengths)))
    assert all(both_ways(kernel, rows([3, 9, 0]), rows([16]), rows([1, 1], n=40), rows([33, 2], n=40)))


def statements(tmp_path, *lines: str):
    """A kernel of `lines` for `rows`, with `row`, `x` and `length` at hand."""
    given = [
        "row = tl.program_id(0)",
        "offs = tl.arange(0, BLOCK)",
        "length = tl.load(lengths_ptr + row)",
        "x = tl.load(x_ptr + row * N + offs)",
    ]
    source = f"{HEAD}\n\n@triton.jit\ndef kernel(x_ptr, y_ptr, lengths_ptr, N, BLOCK: tl.constexpr):\n"
    return loaded(tmp_path, source + "".join(f"    {line}\n" for line in (*given, *lines)))


UNSUPPORTED = {
    "an atomic": ["tl.atomic_add(y_ptr + row, 1.0)"],
    "a print": ["tl.device_print('x', x)", "tl.store(y_ptr + row, 1.0)"],
    "an atomic through a descriptor": [
        "y_desc = tl.make_tensor_descriptor(y_ptr, [3], [1], [BLOCK])",
        "y_desc.atomic_add([0], x)",
    ],
    "a descriptor that is made again": [
        "for i in range(length):",
        "    x_desc = tl.make_tensor_descriptor(x_ptr, [N], [1], [BLOCK])",
        "    x += x_desc.load([0])",
        "tl.store(y_ptr + row, tl.sum(x))",
    ],
    "a histogram": ["tl.store(y_ptr + row, tl.sum(tl.histogram(offs, 16)).to(tl.float32))"],
    "some programs return": [
        "tl.store(y_ptr + row, 1.0)",
        "if length > 4:",
        "    return",
        "tl.store(y_ptr + row, 2.0)",
    ],
    "a loop variable afterwards": [
        "at = 0",
        "for at in range(0, length):",
        "    length = length + 0",
        "tl.store(y_ptr + row, at + 0.0)",
    ],
    "a choice by Python": ["tl.store(y_ptr + row, 1.0 if length > 4 else 2.0)"],
    "a static size that differs": [
        "for i in tl.static_range(length):",
        "    x += i",
        "tl.store(y_ptr + row, tl.sum(x))",
    ],
}
FINDINGS = {
    "outside its tensor": ["tl.store(y_ptr + row + (length > 4), 1.0)"],
    "a load outside": ["tl.store(y_ptr + row, tl.load(x_ptr + N * N + offs).sum())"],
    "never stored": ["tl.store(y_ptr + row, 1.0, mask=length > 4)"],
    "two programs store one element": ["tl.store(y_ptr + row, 1.0)", "tl.store(y_ptr + length // 8, 1.0)"],
    "two lanes store one element": ["tl.store(y_ptr + row + offs * 0, 1.0)"],
    "one stores what another loads": [
        "y = tl.load(y_ptr + (row + 1) % 3)",
        "tl.store(y_ptr + row, tl.where(y == y, 1.0, 2.0))",
    ],
    "one loads what another stored": ["tl.store(y_ptr + row, 1.0)", "tl.store(y_ptr + row, tl.load(y_ptr) * 0 + 1)"],
    "a barrier is missing": ["tl.store(y_ptr + row, 1.0)", "tl.store(y_ptr + row, 2 * tl.load(y_ptr + row))"],
    "an input is stored to": ["tl.store(x_ptr + row * N + offs, x, mask=length > 4)", "tl.store(y_ptr + row, 1.0)"],
    "undefined lanes": ["x = tl.load(x_ptr + row * N + offs, mask=offs < length)", "tl.store(y_ptr + row, tl.sum(x))"],
    "an undefined condition": [
        "n = tl.load(lengths_ptr + row, mask=row < 1)",
        "if n > 3:",
        "    x = x + 1",
        "tl.store(y_ptr + row, tl.sum(x))",
    ],
    "a descriptor larger than its tensor": [
        "x_desc = tl.make_tensor_descriptor(x_ptr, [N * 4], [1], [BLOCK])",
        "tl.store(y_ptr + row, tl.sum(x_desc.load([length * 16])))",
    ],
    "two programs store one block": [
        "tl.store(y_ptr + row, 1.0)",
        "y_desc = tl.make_tensor_descriptor(y_ptr, [3], [1], [BLOCK])",
        "y_desc.store([0], x * 0 + 1)",
    ],
    "a false promise": ["tl.store(y_ptr + tl.multiple_of(row, 2), tl.sum(x))"],
    "a false assumption": ["tl.assume(length > 4)", "tl.store(y_ptr + row, tl.sum(x))"],
}


def test_unsupported_operations_and_findings_are_left_to_simulate(tmp_path):
    """`simulate_together` changes nothing then."""
    for what, lines in {**UNSUPPORTED, **FINDINGS}.items():
        launch, kernel = rows([3, 9, 0]), statements(tmp_path, *lines)
        assert both_ways(kernel, launch) == [False], what
        assert bool(simulate(kernel, launch).findings) == (what in FINDINGS), what


def test_only_the_launch_with_the_finding_is_left_to_simulate(tmp_path):
    kernel = statements(tmp_path, "tl.store(y_ptr + row, tl.sum(x), mask=length < 10)")
    assert both_ways(kernel, rows([3, 9]), rows([3, 10]), rows([0])) == [True, False, True]


def test_a_failure_is_left_to_the_launch_itself(tmp_path):
    kernel = statements(tmp_path, "tl.store(y_ptr + row, nowhere)")
    assert simulate_together(kernel, [rows([3, 9])], 10.0) == [None]


@pytest.mark.parametrize(
    "loop", [["while length < 100:", "    length = length * 1"], ["for i in range(2**30):", "    x = x + 1"]], ids=str
)
def test_a_loop_without_end_is_left_after_its_time(loop, tmp_path):
    kernel = statements(tmp_path, *loop, "tl.store(y_ptr + row, tl.sum(x))")
    assert simulate_together(kernel, [rows([3, 9])], 0.2) == [None]


def test_one_program_gets_a_trace_and_a_grid_of_none_does_not():
    assert both_ways(to_its_own_length, rows([3])) == [True]
    assert simulate_together(to_its_own_length, [replace(rows([3]), grid=(0,))], 10.0) == [None]


def test_tensors_that_share_memory_run_by_themselves():
    launch = rows([3, 9])
    base = torch.randn(2, 32)
    shared = {**launch.arguments, "x_ptr": base[:, :16], "y_ptr": base[:, 20]}
    assert simulate_together(to_its_own_length, [replace(launch, arguments=shared)], 10.0) == [None]


@triton.jit
def copy_rows(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0)
    if WIDE:
        row = row.to(tl.int64)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_xm + offs, mask=offs < N)
    tl.store(y_ptr + row * stride_ym + offs, x, mask=offs < N)


def padded(m: int, n: int, wide: bool = True) -> Launch:
    x, y = torch.randn(m, n + 3)[:, :n], nans(m, n + 5)[:, :n]
    arguments = {"x_ptr": x, "y_ptr": y, "stride_xm": n + 3, "stride_ym": n + 5, "N": n}
    return Launch((m,), arguments, {"BLOCK": 16, "WIDE": wide}, ("y_ptr",))


def test_descriptors_of_matrices_of_any_size():
    assert all(both_ways(copied_by_descriptors, ragged(5, 20), ragged(12, 8), ragged(1, 28), ragged(7, 4)))


def test_a_descriptor_that_the_hardware_refuses_is_left_to_the_launch_itself():
    refused = ragged(5, 20, gap=3)
    assert both_ways(copied_by_descriptors, ragged(5, 20), refused) == [True, False]
    with pytest.raises(SimulationError, match="multiple of 16 bytes"):
        simulate(copied_by_descriptors, refused)


def test_gaps_between_rows_belong_to_nobody():
    assert all(both_ways(copy_rows, padded(3, 9), padded(2, 16)))
    wrong = padded(3, 9)
    assert simulate_together(copy_rows, [replace(wrong, arguments={**wrong.arguments, "N": 10})], 10.0) == [None]


def test_a_barrier_lets_a_program_load_what_it_stored(tmp_path):
    lines = "tl.store(y_ptr + row, 1.0)", "tl.debug_barrier()", "tl.store(y_ptr + row, 2 * tl.load(y_ptr + row))"
    assert both_ways(statements(tmp_path, *lines), rows([3, 9])) == [True]


@triton.jit
def neighbour(x_ptr, N):
    pid = tl.program_id(0)
    tl.store(x_ptr + pid, tl.load(x_ptr + (pid + 1) % N) + 1)


@pytest.mark.parametrize("most", [0, memory.MOST_WAITING])
def test_a_store_to_what_another_program_has_loaded_is_doubted(most, monkeypatch):
    monkeypatch.setattr(memory, "MOST_WAITING", most)
    x = torch.arange(4.0)
    launch = Launch((4,), {"x_ptr": x, "N": 4}, {}, ("x_ptr",))
    assert simulate_together(neighbour, [launch], 60.0) == [None]
    assert x.tolist() == [0, 1, 2, 3], "for `simulate`, which says what is wrong"
