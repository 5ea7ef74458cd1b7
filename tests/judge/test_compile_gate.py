"""The compile gate: the front end of every dtype first, machine code for every GPU last; only a kernel that no GPU can take is an error."""

from __future__ import annotations

import pytest

from checker.compiler import TARGETS, CompileResult
from checker.course import PUZZLES
from checker.judge.compile_gate import Compilation
from checker.judge.launches import plan, prepare_all
from checker.judge.verdict import GATES
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


def test_every_dtype_passes_the_front_end_and_one_becomes_machine_code_before_anything_runs(compiler):
    verdict = judge(ROW, WRONG, compiler, diagnose=False)
    assert verdict.failure.gate == "values"
    assert {r.capability for r in compiler.requests} == {TARGETS["A100"]}
    assert {r.signature["x_ptr"] for r in compiler.requests} == {"*fp32", "*fp16", "*bf16"}
    (first,) = in_full(compiler.requests)
    assert first.constexprs["BLOCK_N"] == max(r.constexprs["BLOCK_N"] for r in compiler.requests)
    assert gate(verdict).message == "Compiles for A100; the other GPUs are tried once the kernel is right."


def test_the_front_end_sees_each_flag_in_each_dtype_and_machine_code_is_made_once_a_dtype_and_gpu(compiler):
    heads = PUZZLES["flash_attention_heads"]
    launches = prepare_all(heads, plan(heads, cpu_cases(heads), ()))
    compilation = Compilation(heads, solution("flash_attention_heads"), compiler, launches)
    assert compilation.first() is None
    seen = {(r.signature["q_ptr"], r.constexprs["IS_CAUSAL"]) for r in compiler.requests}
    assert len(seen) == len(compiler.requests) == 6
    assert compilation.rest() is None
    assert [r.capability for r in in_full(compiler.requests)] == [
        TARGETS[name] for name in ("A100", "T4", "L4", "H100")
    ]
    assert {r.signature["q_ptr"] for r in in_full(compiler.requests)} == {"*fp32", "*fp16", "*bf16"}


@pytest.mark.parametrize("hurry", [True, False], ids=["in a hurry", "one after another"])
def test_a_right_kernel_is_machine_code_in_every_dtype_and_for_every_gpu_whenever_it_is_made(hurry, compiler):
    verdict = judge(ROW, solution("row_softmax"), compiler, hurry=hurry)
    assert verdict.passed
    assert gate(verdict).message == "Compiles for T4, A100, L4 and H100."
    asked = {(r.signature["x_ptr"], r.capability) for r in in_full(compiler.requests)}
    assert asked == {("*fp32", 80), ("*fp16", 75), ("*bf16", 89), ("*fp32", 90)}


@pytest.mark.parametrize("hurry", [True, False], ids=["in a hurry", "one after another"])
def test_machine_code_that_no_gpu_takes_of_the_largest_tiles_comes_before_wrong_values(hurry, tmp_path):
    verdict = judge(ROW, WRONG, Refusing(tmp_path, lambda request: not request.front_end_only), hurry=hurry)
    assert (verdict.status, verdict.failure.gate) == ("compile_error", "compile")


def test_a_wrong_kernel_ends_what_was_begun_ahead(compiler):
    given = []

    def begun(kernel, requests, *, aside=False):
        results = Refusing.compile(compiler, kernel, requests)
        given.extend([results] * aside)
        return results

    compiler.compile = begun
    assert judge(ROW, WRONG, compiler, diagnose=False).failure.gate == "values"
    (ahead,) = given
    assert ahead.gi_frame is None  # closed


def test_a_dtype_of_which_no_gpu_takes_the_machine_code_fails_a_kernel_that_is_right_otherwise(compiler, tmp_path):
    judge(ROW, solution("row_softmax"), compiler)
    refused = in_full(compiler.requests)[1].signature["x_ptr"]
    refusing = Refusing(tmp_path, lambda r: r.signature["x_ptr"] == refused and not r.front_end_only)
    verdict = judge(ROW, solution("row_softmax"), refusing)
    assert verdict.status == "compile_error"
    assert verdict.failure.gate == "compile"
    statuses = {result.gate: result.status for result in verdict.gates}
    assert [statuses[name] for name in ("values", "memory", "traffic")] == ["passed"] * 3
    assert statuses["gpu"] == "skipped"


def test_no_gpu_can_take_it(tmp_path):
    verdict = judge(ROW, solution("row_softmax"), Refusing(tmp_path, lambda request: True, kind="power_of_two"))
    assert verdict.status == "compile_error"
    failed = gate(verdict)
    assert failed.line == 17
    assert failed.message == "Line 17: no such thing"
    assert failed.detail == "Triton's words"
    assert "power of two" in failed.advice
    assert [g.status for g in verdict.gates[2:]] == ["skipped"] * (len(GATES) - 2)


def test_a_dtype_that_no_gpu_can_take_is_an_error(tmp_path):
    compiler = Refusing(tmp_path, lambda request: any("16" in kind for kind in request.signature.values()))
    assert judge(ROW, solution("row_softmax"), compiler).status == "compile_error"


@pytest.mark.parametrize("status", ["timeout", "resource_limit", "infra_error", "protocol_error"])
def test_how_the_compiler_ended_is_the_status(status, tmp_path):
    verdict = judge(ROW, solution("row_softmax"), Refusing(tmp_path, lambda request: True, status=status))
    assert verdict.status == status
    assert gate(verdict).advice


WARNINGS = {
    "compile_error": "It does not compile for the {} (line 17): no such thing",
    "timeout": "It may or may not compile for the {}: no such thing",
    "resource_limit": "It may or may not compile for the {}: no such thing",
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("status", "words"), WARNINGS.items())
def test_one_gpu_that_cannot_take_it_or_not_in_time_is_a_warning(status, words, name, tmp_path):
    compiler = Refusing(tmp_path, lambda r: r.capability == TARGETS[name], status=status)
    verdict = judge(ROW, solution("row_softmax"), compiler)
    assert verdict.passed
    assert gate(verdict).warnings
    assert all(warning.message.startswith(words.format(name)) for warning in gate(verdict).warnings)
    assert name not in gate(verdict).message


def test_a_compiler_that_ends_for_no_gpu_is_tried_on_one_more_only(tmp_path):
    compiler = Refusing(tmp_path, lambda r: True, status="timeout")
    assert judge(ROW, solution("row_softmax"), compiler).status == "timeout"
    assert [r.capability for r in compiler.requests] == [TARGETS["A100"], TARGETS["H100"]]


def test_a_silent_compiler_is_the_checkers_fault(runner):
    runner.compile = lambda kernel, requests, *, aside=False: iter(())
    assert judge(ROW, solution("row_softmax"), runner).status == "infra_error"


def test_the_real_compiler_takes_the_solution(compiling_runner):
    verdict = judge(ROW, solution("row_softmax"), compiling_runner)
    assert verdict.passed, verdict.failure
    assert not gate(verdict).warnings


@pytest.mark.parametrize(
    "new",
    ["offs_n = tl.arange(0, N)", "offs_n = tl.arange(0, BLOCK_N - 1)"],
    ids=["size not known", "not a power of two"],
)
def test_the_real_compiler_names_the_line(new, compiling_runner):
    source = changed(solution("row_softmax"), "offs_n = tl.arange(0, BLOCK_N)", new)
    verdict = judge(ROW, source, compiling_runner)
    assert verdict.status == "compile_error"
    assert new in source.source.splitlines()[gate(verdict).line - 1]
    assert gate(verdict).detail
