"""The compile gate: the front end for every dtype first, machine code for every GPU last; only a kernel that no GPU accepts is an error."""

from __future__ import annotations

import pytest

from checker.compiler import TARGETS, CompileResult
from checker.course import PUZZLES
from checker.judge.compile_gate import Compilation
from checker.judge.launches import plan, prepare_all
from checker.judge.outcome import Candidate
from checker.puzzle import GATES
from tests.judge.helpers import changed, cpu_cases, judge, solution
from tests.judge.local_runner import LocalRunner

ROW = PUZZLES["row_softmax"]


WRONG = changed(solution("row_softmax"), "p / l_i", "p / l_i + 0.5")
SAID = {"status": "compile_error", "message": "no such thing", "raw": "Triton's words", "line": 17}


class Refusing(LocalRunner):
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
    return [request for request in requests if not request.front_end_only]


def test_before_simulation_every_dtype_passes_the_front_end_and_one_is_compiled(compiler):
    verdict = judge(ROW, WRONG, compiler, diagnose=False)
    assert verdict.failure.gate == "values"
    assert {r.capability for r in compiler.requests} == {TARGETS["A100"]}
    assert {r.signature["x_ptr"] for r in compiler.requests} == {"*fp32", "*fp16", "*bf16"}
    (first,) = in_full(compiler.requests)
    assert first.constexprs["BLOCK_N"] == max(r.constexprs["BLOCK_N"] for r in compiler.requests)
    assert gate(verdict).message == "Compiles for A100; the other GPUs are tried once the kernel is right."


def test_the_front_end_sees_each_flag_in_each_dtype_and_machine_code_each_dtype_and_gpu_once(compiler):
    heads = PUZZLES["flash_attention_heads"]
    launches = prepare_all(heads, plan(cpu_cases(heads), ()))
    compilation = Compilation(Candidate(heads, solution("flash_attention_heads"), compiler), launches)
    assert compilation.first() is None
    seen = {(r.signature["q_ptr"], r.constexprs["IS_CAUSAL"]) for r in compiler.requests}
    assert len(seen) == len(compiler.requests) == 6
    assert compilation.rest() is None
    assert [r.capability for r in in_full(compiler.requests)] == [
        TARGETS[name] for name in ("A100", "T4", "L4", "H100")
    ]
    assert {r.signature["q_ptr"] for r in in_full(compiler.requests)} == {"*fp32", "*fp16", "*bf16"}


def test_a_right_kernel_is_compiled_in_every_dtype_and_for_every_gpu(tmp_path):
    for hurry in (True, False):
        compiler = Refusing(tmp_path)
        verdict = judge(ROW, solution("row_softmax"), compiler, hurry=hurry)
        assert verdict.passed
        assert gate(verdict).message == "Compiles for T4, A100, L4 and H100."
        compiled = {(r.signature["x_ptr"], r.capability) for r in in_full(compiler.requests)}
        assert len(compiled) == 4
        assert {dtype for dtype, _ in compiled} == {"*fp32", "*fp16", "*bf16"}
        assert {capability for _, capability in compiled} == {75, 80, 89, 90}


def test_a_dtype_that_compiles_for_no_gpu_fails_an_otherwise_right_kernel(compiler, tmp_path):
    judge(ROW, solution("row_softmax"), compiler)
    refused = in_full(compiler.requests)[1].signature["x_ptr"]
    refusing = Refusing(tmp_path, lambda r: r.signature["x_ptr"] == refused and not r.front_end_only)
    verdict = judge(ROW, solution("row_softmax"), refusing)
    assert verdict.status == "compile_error"
    assert verdict.failure.gate == "compile"
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
            verdict = judge(ROW, solution("row_softmax"), compiler)
            assert verdict.passed
            assert gate(verdict).warnings
            assert all(warning.message.startswith(message.format(name)) for warning in gate(verdict).warnings)
            assert name not in gate(verdict).message


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
