"""The compile gate: the front end for every variant, machine code once, shared memory for the largest tiles; only a kernel that no GPU accepts is an error."""

from __future__ import annotations

import pytest

from checker.compiler import TARGETS, CompileResult
from checker.course import PUZZLES
from checker.judge.compile_gate import Compilation, by_version
from checker.judge.launches import plan, prepare_all
from checker.judge.outcome import Candidate
from checker.live.in_process import InProcess
from checker.puzzle import GATES
from tests.judge.helpers import changed, cpu_cases, judge, solution

ROW = PUZZLES["row_softmax"]


WRONG = changed(solution("row_softmax"), "p / l_i", "p / l_i + 0.5")
EIGHT = changed(solution("row_softmax"), "mask = offs_n < N", "mask = offs_n < N  # not yet in tl.float8e5")
"""It speaks of a type that some GPUs lack."""
SAID = {"status": "compile_error", "message": "no such thing", "raw": "Triton's words", "line": 17}


class Refusing(InProcess):
    """Its compiler refuses the requests for which `refuses` holds, with what is SAID, or `more`."""

    def __init__(self, directory, refuses=lambda request: False, **more):
        super().__init__(directory, compiles=False)
        self.refuses, self.said, self.requests = refuses, SAID | more, []

    def compile(self, kernel, requests, *, aside=False):
        for request in requests:
            self.requests.append(request)
            refused = self.refuses(request)
            yield CompileResult(request, ok=False, **self.said) if refused else CompileResult(request, ok=True)


@pytest.fixture
def compiler(tmp_path):
    """It takes everything."""
    return Refusing(tmp_path)


def gate(verdict):
    return next(g for g in verdict.gates if g.gate == "compile")


def in_full(requests):
    return [request for request in requests if request.until == "machine_code"]


def test_of_a_wrong_kernel_the_front_end_sees_every_dtype(tmp_path):
    for hurry in (True, False):
        compiler = Refusing(tmp_path)
        verdict = judge(ROW, WRONG, compiler, diagnose=False, hurry=hurry)
        assert verdict.failure.gate == "values"
        assert {r.capability for r in compiler.requests} == {TARGETS["A100"]}
        assert {r.signature["x_ptr"] for r in compiler.requests} == {"*fp32", "*fp16", "*bf16"}
        assert not in_full(compiler.requests)
        assert gate(verdict).message == "Triton's front end accepts it; machine code is made once the kernel is right."


def test_the_front_end_sees_each_flag_in_each_dtype_and_each_number_as_1(compiler):
    heads = PUZZLES["flash_attention_heads"]
    launches = prepare_all(heads, plan(cpu_cases(heads), ()))
    compilation = Compilation(Candidate(heads, solution("flash_attention_heads"), compiler), launches)
    assert compilation.first() is None
    seen = {(r.signature["q_ptr"], r.constexprs["IS_CAUSAL"]) for r in compiler.requests}
    assert len(seen) == 6
    assert len(compiler.requests) <= 10
    ones = {name for r in compiler.requests for name, value in r.constexprs.items() if value is not True and value == 1}
    numbers = {name for one in launches for name, value in one.launch.arguments.items() if type(value) is int}
    assert ones == {name for name in numbers if any(one.launch.arguments[name] == 1 for one in launches)} >= {"N_KV"}


def test_a_right_kernel_is_compiled_once_and_accepted_for_every_gpu(tmp_path):
    for hurry in (True, False):
        compiler = Refusing(tmp_path)
        verdict = judge(ROW, solution("row_softmax"), compiler, hurry=hurry)
        assert verdict.passed
        (full,) = in_full(compiler.requests)
        assert full.capability == TARGETS["A100"]
        assert full.constexprs["BLOCK_N"] == max(r.constexprs["BLOCK_N"] for r in compiler.requests)
        assert {r.capability for r in compiler.requests} == {80}
        assert gate(verdict).message == (
            "Compiles for A100. Triton's front end accepts it for T4, L4 and H100, too; `xray` makes machine code for all."
        )


def test_machine_code_is_made_of_small_tiles_and_shared_memory_is_laid_out_for_large_ones(compiler):
    heads = PUZZLES["flash_attention_heads"]
    assert judge(heads, solution("flash_attention_heads"), compiler).passed
    (full,) = in_full(compiler.requests)
    (laid_out,) = [request for request in compiler.requests if request.until == "shared_memory"]
    assert full.constexprs["BLOCK_M"] * full.constexprs["BLOCK_N"] == 16 * 16
    assert full.constexprs["IS_CAUSAL"]
    assert laid_out.constexprs["BLOCK_M"] * laid_out.constexprs["BLOCK_N"] == 64 * 32


def test_a_wrong_kernel_that_one_dtype_breaks_does_not_compile(tmp_path):
    """In a hurry the simulation begins when the compiler has read one variant, but what it says of the others comes first."""
    half = Refusing(tmp_path, lambda request: any("16" in kind for kind in request.signature.values()))
    assert judge(ROW, WRONG, half, hurry=True).status == "compile_error"


def test_a_right_kernel_without_machine_code_on_any_gpu_fails(tmp_path):
    refusing = Refusing(tmp_path, lambda r: r.until == "machine_code")
    verdict = judge(ROW, solution("row_softmax"), refusing)
    assert verdict.status == "compile_error"
    assert verdict.failure.gate == "compile"
    assert {r.capability for r in in_full(refusing.requests)} == set(TARGETS.values())
    statuses = {result.gate: result.status for result in verdict.gates}
    assert [statuses[name] for name in ("values", "memory", "traffic")] == ["passed"] * 3
    assert statuses["gpu"] == "skipped"


def test_a_compile_error_carries_line_message_and_advice(tmp_path):
    verdict = judge(ROW, solution("row_softmax"), Refusing(tmp_path, lambda request: True, kind="power_of_two"))
    assert verdict.status == "compile_error"
    failed = gate(verdict)
    assert (failed.line, failed.message, failed.detail) == (17, "Line 17: no such thing", "Triton's words")
    assert "power of two" in failed.advice
    assert [g.status for g in verdict.gates[2:]] == ["skipped"] * (len(GATES) - 2)
    half = Refusing(tmp_path, lambda request: any("16" in kind for kind in request.signature.values()))
    assert judge(ROW, solution("row_softmax"), half).status == "compile_error"


def test_the_way_the_compiler_ends_becomes_the_status(tmp_path):
    for status in ("timeout", "resource_limit", "infra_error", "protocol_error"):
        verdict = judge(ROW, solution("row_softmax"), Refusing(tmp_path, lambda request: True, status=status))
        assert verdict.status == status
        assert gate(verdict).advice


def test_a_kernel_that_one_gpu_refuses_passes_with_a_warning(tmp_path):
    unknown = "It may or may not compile for the {}: no such thing"
    for status, message in (
        ("compile_error", "It does not compile for the {} (line 17): no such thing"),
        ("timeout", unknown),
        ("resource_limit", unknown),
    ):
        for name, capability in TARGETS.items():
            compiler = Refusing(tmp_path, lambda r, refused=capability: r.capability == refused, status=status)
            verdict = judge(ROW, EIGHT, compiler)
            assert verdict.passed
            assert gate(verdict).warnings
            assert all(warning.message.startswith(message.format(name)) for warning in gate(verdict).warnings)
            assert name not in gate(verdict).message


def test_amd_s_gpus_are_tried_on_request_and_never_decide(tmp_path):
    asked = Refusing(tmp_path)
    assert gate(judge(ROW, solution("row_softmax"), asked, amd=True)).message.startswith(
        "Compiles for A100, MI300X and RX 7900. "
    )
    assert [request.capability for request in in_full(asked.requests)] == [80, 942, 1100]
    verdict = judge(ROW, solution("row_softmax"), Refusing(tmp_path, lambda r: r.capability == 942), amd=True)
    assert verdict.passed
    assert gate(verdict).message.startswith("Compiles for A100 and RX 7900. ")
    assert [w.message for w in gate(verdict).warnings] == [
        "It does not compile for the MI300X (line 17): no such thing"
    ]


def test_the_real_compiler_makes_amd_s_machine_code(compiling_runner):
    verdict = judge(PUZZLES["vector_add"], solution("vector_add"), compiling_runner, amd=True)
    assert gate(verdict).message.startswith("Compiles for A100, MI300X and RX 7900. ")


def test_a_compiler_without_an_answer_is_an_infra_error(runner):
    runner.compile = lambda kernel, requests, *, aside=False: iter(())
    assert judge(ROW, solution("row_softmax"), runner).status == "infra_error"


def test_the_real_compiler_names_the_line(compiling_runner):
    for new in ("offs_n = tl.arange(0, N)", "offs_n = tl.arange(0, BLOCK_N - 1)"):
        source = changed(solution("row_softmax"), "offs_n = tl.arange(0, BLOCK_N)", new)
        verdict = judge(ROW, source, compiling_runner)
        assert verdict.status == "compile_error"
        assert new in source.source.splitlines()[gate(verdict).line - 1]
        assert gate(verdict).detail


def test_a_kernel_that_a_size_of_1_breaks_does_not_compile(compiling_runner):
    """Triton makes a size of 1 a constant, which has no methods: on a GPU, its first row of length 1 would stop."""
    source = changed(solution("row_softmax"), "offs_n < N", "offs_n < N.to(tl.int64)")
    verdict = judge(ROW, source, compiling_runner)
    assert verdict.status == "compile_error"
    assert "N.to(tl.int64)" in source.source.splitlines()[gate(verdict).line - 1]
    assert "a size that is 1" in gate(verdict).message


def test_what_another_triton_refuses_gets_a_warning_on_its_line():
    assert by_version(solution("row_softmax")) == []
    chained = changed(solution("row_softmax"), "mask = offs_n < N", "mask = 0 <= offs_n < N")
    (warning,) = by_version(chained)
    assert "need Triton 3.9" in warning.message
    assert "0 <= offs_n < N" in chained.source.splitlines()[warning.line - 1]
    pointers = changed(solution("row_softmax"), "mask = offs_n < N", "mask = tl.make_block_ptr(offs_n)")
    assert "removed block pointers" in by_version(pointers)[0].message
