"""The mechanical mutants: valid Python, all different, one change each, the same every time."""

from __future__ import annotations

import ast
import json
from dataclasses import asdict

import pytest
import torch

from checker.course import LADDER, PUZZLES
from tools import mutant_reports, mutants, mutate
from tools.mutations import alike_by_form, mutations

KERNEL = '''import triton
import triton.language as tl


@triton.jit
def small_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    """Says what it does."""
    row = tl.program_id(0).to(tl.int64)
    m_i = float("-inf")
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_n < N) & (row < N)
        m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=0))
    m_i += 1.0
    tl.store(y_ptr + row * stride_ym, m_i)
'''
ATTENDS = '''import triton
import triton.language as tl


@triton.jit
def small_kernel(q_ptr, k_ptr, v_ptr, o_ptr, stride_qm, stride_kn, N_Q, N_KV, IS_CAUSAL: tl.constexpr, D: tl.constexpr):
    """Says what it does."""
    head = tl.program_id(0) % 4
    head_kv = head // 2
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + head * stride_qm + offs_d[:, None])
    k = tl.load(k_ptr + head_kv * stride_kn + offs_d[:, None])
    v = tl.load(v_ptr + head_kv * stride_kn + offs_d[:, None])
    end_n = tl.minimum(N_Q, N_KV)
    acc = tl.zeros([D, D], tl.float32)
    if IS_CAUSAL:
        end_n = end_n - 1
    s = tl.dot(q, tl.trans(k))
    seen = offs_d[None, :] - offs_d[:, None] <= end_n
    p = tl.log(tl.where(seen & (head > 0), s, 1.0))
    acc = tl.dot(p.to(v.dtype), v, acc)
    tl.store(o_ptr + offs_d[:, None] * D + offs_d[None, :], acc)
    tl.debug_barrier()
'''
RECURS = '''import triton
import triton.language as tl


@triton.jit
def small_kernel(k_ptr, v_ptr, s_ptr, z_ptr, stride_kh, stride_kn, N, N_CHUNKS, D_V, CHUNK: tl.constexpr, D: tl.constexpr):
    """Says what it does."""
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    offs_d = tl.arange(0, D)
    mask_n, mask_v = offs_d < N, offs_d < D_V
    state = tl.load(s_ptr + offs_d)
    z = tl.zeros([D], tl.float32)
    for i in range(N):
        k = tl.load(
            k_ptr + head * stride_kh + i * stride_kn + offs_d, mask=mask_v, other=0.0
        )  # over several lines
        z += k
        state += k
    tl.store(s_ptr + (head * N_CHUNKS + chunk) * D + offs_d, state, mask=mask_n)
    tl.store(z_ptr + offs_d, z)
'''
KERNELS = {"online_softmax": KERNEL, "flash_attention_heads": ATTENDS, "causal_linear_attention_chunked": RECURS}
"""A small kernel with the names of a puzzle's family."""
MADE = {name: mutations(kernel, "small", "small_kernel", PUZZLES[name].slips) for name, kernel in KERNELS.items()}
SLIPS = {
    "online_softmax": {
        "(dropped)",
        "row = tl.program_id(0)",
        "row = tl.program_id(1).to(tl.int64)",
        "m_i = 0.0",
        'm_i = float("inf")',
        "for start_n in range(BLOCK_N, N, BLOCK_N):",
        "for start_n in range(0, N - BLOCK_N, BLOCK_N):",
        "for start_n in range(0, N, BLOCK_N // 2):",
        "offs_n = start_n - tl.arange(0, BLOCK_N)",
        "offs_n = tl.arange(0, BLOCK_N)",
        "mask = offs_n < N",
        "mask = (offs_n < N) | (row < N)",
        "mask = (offs_n <= N) & (row < N)",
        "mask = (offs_n < BLOCK_N) & (row < N)",
        "m_i = tl.minimum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.min(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0), axis=1))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, mask=mask), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_xm + offs_n, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * stride_ym + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i = tl.maximum(m_i, tl.max(tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0), axis=0))",
        "m_i -= 1.0",
        "tl.store(m_i, y_ptr + row * stride_ym)",
        "tl.store(x_ptr + row * stride_ym, m_i)",
    },
    "flash_attention_heads": {
        "head = tl.program_id(0) // 4",
        "head_kv = head % 2",
        "end_n = tl.maximum(N_Q, N_KV)",
        "end_n = N_KV",
        "q = tl.load(q_ptr + head * stride_kn + offs_d[:, None])",
        "q = tl.load(q_ptr + head * D + offs_d[:, None])",
        "k = tl.load(k_ptr + head * stride_kn + offs_d[:, None])",
        "v = tl.load(k_ptr + head_kv * stride_kn + offs_d[:, None])",
        "acc = tl.zeros([D, D], tl.float16)",
        "if True:",
        "if not IS_CAUSAL:",
        "end_n = end_n + 1",
        "s = tl.dot(tl.trans(k), q)",
        "s = tl.dot(q, k)",
        "s = tl.dot(q, tl.trans(v))",
        "seen = offs_d[None, :] - offs_d[:, None] < end_n",
        "seen = offs_d[:, None] - offs_d[:, None] <= end_n",
        "p = tl.log(tl.where(seen, s, 1.0))",
        "p = tl.log(tl.where(seen & (head >= 0), s, 1.0))",
        "p = tl.log2(tl.where(seen & (head > 0), s, 1.0))",
        "acc = tl.dot(p, v, acc)",
        "acc = tl.dot(s.to(v.dtype), v, acc)",
        "acc = tl.dot(p.to(v.dtype), v)",
        "acc = acc",
    },
    "causal_linear_attention_chunked": {
        "chunk = tl.program_id(1)",
        "mask_n, mask_v = (offs_d < N, offs_d < D)",
        "mask_n, mask_v = (offs_d < N_CHUNKS, offs_d < D_V)",
        "for i in range(1, N):",
        "for i in range(N - 1):",
        "for i in range(N + 1):",
        "for i in range(0, N, 2):",
        "k = tl.load(k_ptr + head * stride_kn + i * stride_kn + offs_d, mask=mask_v, other=0.0)",
        "k = tl.load(k_ptr + head * stride_kh + i * D + offs_d, mask=mask_v, other=0.0)",
        "k = tl.load(k_ptr + head * stride_kh + i * stride_kn + offs_d, mask=mask_n, other=0.0)",
        "z += k; k = tl.load(k_ptr + head * stride_kh + i * stride_kn + offs_d, mask=mask_v, other=0.0)",
        "z = k",
        "tl.store(s_ptr + (chunk * N_CHUNKS + chunk) * D + offs_d, state, mask=mask_n)",
        "tl.store(s_ptr + (head * CHUNK + chunk) * D + offs_d, state, mask=mask_n)",
        "tl.store(s_ptr + (head * N_CHUNKS + chunk) * D_V + offs_d, state, mask=mask_n)",
        "tl.store(s_ptr + (head * N_CHUNKS + chunk) * D + offs_d, z, mask=mask_n)",
        "tl.store(s_ptr + offs_d, z)",
    },
}
"""Among many others."""


@pytest.mark.parametrize("family", KERNELS)
class TestMade:
    def test_the_same_every_time(self, family):
        assert mutations(KERNELS[family], "small", "small_kernel", PUZZLES[family].slips) == MADE[family]

    def test_all_are_different_and_none_is_the_kernel(self, family):
        codes = [ast.dump(ast.parse(m.source)) for m in MADE[family]]
        assert len(set(codes)) == len(codes)
        assert ast.dump(ast.parse(KERNELS[family])) not in codes
        assert len({m.key for m in MADE[family]}) == len(codes)

    def test_one_statement_changes_and_the_docstring_stays(self, family):
        before = KERNELS[family].splitlines()
        several = 2 if any(line.endswith("tl.load(") for line in before) else 0  # lines that a statement goes on for
        for mutation in MADE[family]:
            after = mutation.source.splitlines()
            assert len(before) == len(after), mutation.key
            changed = [number for number, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b]
            assert mutation.line in changed, mutation.key
            with_its_body = mutation.kind == "line dropped" and mutation.before.startswith(("for", "if"))
            most = 5 if with_its_body else 2 if mutation.kind == "lines swapped" else 1
            assert len(changed) <= most + several, mutation.key
            assert '"""Says what it does."""' in mutation.source

    def test_the_slips_are_among_them(self, family):
        assert SLIPS[family] - {m.after for m in MADE[family]} == set()

    def test_names_of_one_form_are_mistaken_without_being_declared(self, family):
        bare = {m.key for m in mutations(KERNELS[family], "small", "small_kernel")}
        assert bare < {m.key for m in MADE[family]}


def test_strides_and_shared_words_are_alike():
    groups = alike_by_form(
        ["stride_qm", "stride_qh", "stride_kn", "mask_m", "mask_n", "q_row", "k_row", "row", "N", "N_Q", "N_KV"]
    )
    assert sorted(map(sorted, groups)) == [
        ["N_KV", "N_Q"],
        ["k_row", "q_row"],
        ["mask_m", "mask_n"],
        ["stride_kn", "stride_qm"],
        ["stride_qh", "stride_qm"],
    ]


def test_what_no_case_here_can_show_says_why():
    assert {m.after: m.unseen for m in MADE["online_softmax"] if m.unseen} == {
        "row = tl.program_id(0)": "no case that fits into memory can show the difference"
    }


def test_a_barrier_is_dropped():
    (barrier,) = [m for m in MADE["flash_attention_heads"] if m.kind == "barrier dropped"]
    assert (barrier.before, barrier.after) == ("tl.debug_barrier()", "(dropped)")


def test_a_loop_with_two_bounds_begins_and_ends_elsewhere():
    kernel = KERNEL.replace("range(0, N, BLOCK_N)", "range(BLOCK_N, N)")
    assert kernel != KERNEL
    found = mutations(kernel, "small", "small_kernel", PUZZLES["online_softmax"].slips)
    bounds = {m.after for m in found if m.kind == "bounds" and m.after.startswith("for")}
    assert bounds == {
        "for start_n in range(BLOCK_N + 1, N):",
        "for start_n in range(BLOCK_N, N - 1):",
        "for start_n in range(BLOCK_N, N + 1):",
        "for start_n in range(BLOCK_N, N, 2):",
    }


def test_statements_that_read_the_same_are_told_apart():
    twice = KERNEL.replace("    m_i += 1.0\n", "    m_i += 1.0\n    m_i += 1.0\n")
    keys = [m.key for m in mutations(twice, "small", "small_kernel")]
    assert "small: m_i += 1.0 → m_i -= 1.0" in keys
    assert "small: m_i += 1.0 (2) → m_i -= 1.0" in keys


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_extra_cases_are_ones_the_puzzle_knows(puzzle):
    cases = mutate.extra_cases(puzzle)
    assert mutate.extra_cases(puzzle) == cases
    assert len({case.name for case in cases}) == len(cases) == mutate.EXTRA
    own = PUZZLES[puzzle.name].cases[0]
    for case in cases:
        assert case.meta.keys() == own.meta.keys()
        assert case.dtype in puzzle.tolerance
        assert puzzle.reference(case, {k: v.double() for k, v in puzzle.make(case).items()}).keys() == set(
            puzzle.outputs
        )


LINEAR = [puzzle for puzzle in LADDER if "BLOCK_V" in puzzle.parameters]
EVERY = {"normal", "growing", "constant", "warm", "hot", "cold", "frozen", "half_frozen", "huge", "signs", "outlier"}


@pytest.mark.parametrize("puzzle", LINEAR, ids=lambda p: p.name)
def test_linear_attention_is_drawn_in_every_family_with_narrow_values_and_wide_ones(puzzle):
    cases = mutate.extra_cases(puzzle)
    assert {case.family for case in cases} == EVERY
    assert {case.dtype for case in cases} == set(puzzle.tolerance)
    assert {case.layout for case in cases} == {"contiguous", "padded"}
    assert any(case.sizes["D"] < case.sizes["D_V"] for case in cases)
    assert any(case.sizes["D"] > case.sizes["D_V"] > case.meta["BLOCK_V"] for case in cases)


@pytest.mark.parametrize(("steps", "alike"), [(0, True), (20, True), (100, False), (-100, False)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_another_order_of_a_float32_sum_is_no_other_sum(dtype, steps, alike):
    """z is float32 whatever the dtype of the keys."""
    puzzle = PUZZLES["linear_chunk_states"]
    case = next(c for c in puzzle.cases if c.dtype == dtype)
    z = 1.0 + puzzle.make(case)["z_ptr"]
    assert mutate._alike(puzzle, case, "z_ptr", z * (1.0 + steps * torch.finfo(torch.float32).eps), z) is alike


ADD = {m.after: m for m in mutate.generated(PUZZLES["vector_add"])}


@pytest.mark.parametrize(
    ("after", "outcome", "by"),
    [
        ("mask = offs_n <= N", "killed", "memory"),
        ("tl.store(z_ptr + offs_n, x - y, mask=mask)", "killed", "values"),
        ("tl.store(x + y, z_ptr + offs_n, mask=mask)", "killed", "compile"),
        ("x = tl.load(x_ptr + offs_n, mask=mask, other=1.0)", "equivalent", ""),
        ("x = tl.load(x_ptr + offs_n, mask=mask)", "equivalent", ""),
    ],
)
def test_mutants_of_vector_add_whose_fate_is_plain(after, outcome, by):
    fate = mutate.judge(ADD[after])
    assert (fate.outcome, fate.by) == (outcome, by)


# ---- a sweep of one puzzle, put into the report of all -------------------------------------------------------------------

FACTS = {"python": "3", "torch": "2"}
SWEPT_ADD = [
    mutate.Fate(m.key, m.puzzle, m.kind, m.line, m.before, m.after, "killed", "values")
    for m in mutate.generated(PUZZLES["vector_add"])
]


def report_of(*names: str) -> dict[str, object]:
    return {"schema": "mechanical/v1", "environment": FACTS, "puzzles": [{"puzzle": n, "made": 0} for n in names]}


def merged(old: dict[str, object], facts: dict[str, str] = FACTS) -> dict[str, object]:
    return mutant_reports.merged("mechanical", old, SWEPT_ADD, facts)


def test_a_sweep_takes_the_place_of_its_puzzle_and_the_others_stay():
    old = report_of("row_softmax", "vector_add")
    new = merged(old)
    assert [table["puzzle"] for table in new["puzzles"]] == ["vector_add", "row_softmax"], "in the order of the ladder"
    assert new["puzzles"][0]["made"] == new["puzzles"][0]["killed"]["values"] == len(SWEPT_ADD)
    assert new["puzzles"][0]["outcomes"] == {"killed": len(SWEPT_ADD), "equivalent": 0, "tolerated": 0, "survived": 0}
    assert new["puzzles"][1] == old["puzzles"][0]


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """A folder of reports in which those of vector_add are old."""
    monkeypatch.setattr(mutants, "path_of", lambda kind: tmp_path / f"{kind}.json")
    monkeypatch.setattr(mutant_reports, "path_of", mutants.path_of)
    monkeypatch.setattr(mutants, "_environment", lambda: FACTS)
    for kind in mutant_reports.KINDS:
        mutant_reports.write(kind, report_of("vector_add"))
    return tmp_path


def test_a_sweep_is_taken_over_into_the_report_of_its_kind(reports):
    swept = reports / "swept.json"
    swept.write_text(json.dumps([asdict(fate) for fate in SWEPT_ADD]))
    mutants.take_over([str(swept)])
    made = {kind: mutants.load(mutants.path_of(kind))["puzzles"][0]["made"] for kind in mutant_reports.KINDS}
    assert made == {"mechanical": len(SWEPT_ADD), "semantic": 0, "guarded": 0}


def test_half_a_sweep_is_not_taken(reports):
    swept = reports / "swept.json"
    swept.write_text(json.dumps([asdict(fate) for fate in SWEPT_ADD[1:]]))
    with pytest.raises(ValueError, match="not the mutants of vector_add as they are now: sweep again"):
        mutants.take_over([str(swept)])


def test_a_row_of_another_machine_says_so():
    both = merged(report_of("row_softmax"), {**FACTS, "torch": "3"})
    assert both["environment"]["torch"] == FACTS["torch"]
    of = {table["puzzle"]: table.get("environment", {}).get("torch") for table in both["puzzles"]}
    assert of == {"vector_add": "3", "row_softmax": None}
    assert "environment" not in merged(report_of("row_softmax"), FACTS)["puzzles"][0]
