"""The compile gate: the front end of every dtype first, machine code for every GPU last; only a kernel that no GPU can take is an error."""

from __future__ import annotations

import pytest

from checker.compiler import TARGETS, CompileResult
from checker.course import PUZZLES
from checker.judge.compile_gate import Compilation
from checker.judge.launches import plan, prepare_all
from checker.judge.verdict import GATES
from tests.judge.helpers import changed, judge, solution

ROW = PUZZLES["row_softmax"]


def refusing(runner, refuses, **more):
    """A runner whose compiler refuses the requests for which `refuses` holds."""

    class Refusing(type(runner)):
        def compile(self, kernel, requests, *, aside=False):
            for request in requests:
                self.requests.append(request)
                ok = not refuses(request)
                yield (
                    CompileResult(request, ok=ok)
                    if ok
                    else CompileResult(
                        request,
                        ok=False,
                        **{
                            "status": "compile_error",
                            "message": "no such thing",
                            "raw": "Triton's words",
                            "line": 17,
                            **more,
                        },
                    )
                )

    made = Refusing(runner.directory, compiles=False)
    made.requests = []
    return made


def gate(verdict):
    return next(g for g in verdict.gates if g.gate == "compile")


def half(request):
    return any("16" in kind for kind in request.signature.values())


def in_full(requests):
    return [request for request in requests if not request.front_end_only]


def test_every_dtype_passes_the_front_end_and_one_becomes_machine_code_before_anything_runs(runner):
    compiler = refusing(runner, lambda request: False)
    wrong = changed(solution("row_softmax"), "p / l_i", "p / l_i + 0.5")
    verdict = judge(ROW, wrong, compiler, diagnose=False)
    assert verdict.failure.gate == "values"
    assert {r.capability for r in compiler.requests} == {TARGETS["A100"]}
    assert {r.signature["x_ptr"] for r in compiler.requests} == {"*fp32", "*fp16", "*bf16"}
    (first,) = in_full(compiler.requests)
    assert first.constexprs["BLOCK_N"] == max(r.constexprs["BLOCK_N"] for r in compiler.requests)
    assert gate(verdict).message == "Compiles for A100; the other GPUs are tried once the kernel is right."


def test_a_right_kernel_is_machine_code_in_every_dtype_and_for_every_gpu(runner):
    compiler = refusing(runner, lambda request: False)
    verdict = judge(ROW, solution("row_softmax"), compiler)
    assert verdict.passed
    assert {r.capability for r in in_full(compiler.requests)} == set(TARGETS.values())
    assert {r.signature["x_ptr"] for r in in_full(compiler.requests)} == {"*fp32", "*fp16", "*bf16"}
    assert gate(verdict).message == "Compiles for T4, A100, L4 and H100."


def test_the_front_end_sees_each_flag_in_each_dtype_and_machine_code_is_made_once_a_dtype_and_gpu(runner):
    heads, compiler = PUZZLES["flash_attention_heads"], refusing(runner, lambda request: False)
    cases = [case for case in heads.cases if "cpu" in case.devices]
    launches = prepare_all(heads, plan(heads, cases, ()))
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
def test_what_is_compiled_does_not_depend_on_when(hurry, runner):
    compiler = refusing(runner, lambda request: False)
    verdict = judge(ROW, solution("row_softmax"), compiler, hurry=hurry)
    assert verdict.passed
    asked = {(r.signature["x_ptr"], r.capability) for r in in_full(compiler.requests)}
    assert asked == {("*fp32", 80), ("*fp16", 75), ("*bf16", 89), ("*fp32", 90)}


@pytest.mark.parametrize("hurry", [True, False], ids=["in a hurry", "one after another"])
def test_machine_code_that_no_gpu_takes_of_the_largest_tiles_comes_before_wrong_values(hurry, runner):
    compiler = refusing(runner, lambda request: not request.front_end_only)
    wrong = changed(solution("row_softmax"), "p / l_i", "p / l_i + 0.5")
    verdict = judge(ROW, wrong, compiler, hurry=hurry)
    assert (verdict.status, verdict.failure.gate) == ("compile_error", "compile")


def test_a_wrong_kernel_ends_what_was_begun_ahead(runner):
    compiler = refusing(runner, lambda request: False)
    given = []

    def begun(kernel, requests, *, aside=False):
        results = type(compiler).compile(compiler, kernel, requests)
        given.extend([results] * aside)
        return results

    compiler.compile = begun
    wrong = changed(solution("row_softmax"), "p / l_i", "p / l_i + 0.5")
    assert judge(ROW, wrong, compiler, diagnose=False).failure.gate == "values"
    (ahead,) = given
    assert ahead.gi_frame is None  # closed


def test_a_dtype_of_which_no_gpu_takes_the_machine_code_fails_a_kernel_that_is_right_otherwise(runner):
    refused = [r for r in asked_of_a_solution(runner) if not r.front_end_only][1].signature["x_ptr"]
    compiler = refusing(runner, lambda r: r.signature["x_ptr"] == refused and not r.front_end_only)
    verdict = judge(ROW, solution("row_softmax"), compiler)
    assert verdict.status == "compile_error"
    assert verdict.failure.gate == "compile"
    statuses = {result.gate: result.status for result in verdict.gates}
    assert (statuses["values"], statuses["memory"], statuses["traffic"], statuses["gpu"]) == (
        "passed",
        "passed",
        "passed",
        "skipped",
    )


def asked_of_a_solution(runner):
    compiler = refusing(runner, lambda request: False)
    judge(ROW, solution("row_softmax"), compiler)
    return compiler.requests


def test_no_gpu_can_take_it(runner):
    verdict = judge(ROW, solution("row_softmax"), refusing(runner, lambda request: True, kind="power_of_two"))
    assert verdict.status == "compile_error"
    failed = gate(verdict)
    assert failed.line == 17
    assert failed.message == "Line 17: no such thing"
    assert failed.detail == "Triton's words"
    assert "power of two" in failed.advice
    assert [g.status for g in verdict.gates[2:]] == ["skipped"] * (len(GATES) - 2)


@pytest.mark.parametrize("name", TARGETS)
def test_one_gpu_that_cannot_is_a_warning(name, runner):
    verdict = judge(ROW, solution("row_softmax"), refusing(runner, lambda request: request.capability == TARGETS[name]))
    assert verdict.passed
    assert gate(verdict).warnings
    assert all(name in warning.message for warning in gate(verdict).warnings)
    assert name not in gate(verdict).message


def test_a_dtype_that_no_gpu_can_take_is_an_error(runner):
    compiler = refusing(runner, half)
    assert judge(ROW, solution("row_softmax"), compiler).status == "compile_error"


@pytest.mark.parametrize("status", ["timeout", "resource_limit", "infra_error", "protocol_error"])
def test_how_the_compiler_ended_is_the_status(status, runner):
    verdict = judge(ROW, solution("row_softmax"), refusing(runner, lambda request: True, status=status))
    assert verdict.status == status
    assert gate(verdict).advice


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("status", ["timeout", "resource_limit"])
def test_a_compiler_that_does_not_end_for_one_gpu_is_a_warning(status, name, runner):
    compiler = refusing(runner, lambda r: r.capability == TARGETS[name], status=status, message="It took too long.")
    verdict = judge(ROW, solution("row_softmax"), compiler)
    assert verdict.passed
    message = gate(verdict).warnings[0].message
    assert message.startswith(f"It is not known whether it compiles for the {name}: It took too long.")
    assert name not in gate(verdict).message


def test_a_compiler_that_ends_for_no_gpu_is_tried_on_one_more_only(runner):
    compiler = refusing(runner, lambda r: True, status="timeout")
    assert judge(ROW, solution("row_softmax"), compiler).status == "timeout"
    assert [r.capability for r in compiler.requests] == [TARGETS["A100"], TARGETS["H100"]]


def test_a_silent_compiler_is_the_checkers_fault(runner):
    class Silent(type(runner)):
        def compile(self, kernel, requests, *, aside=False):
            return iter(())

    assert judge(ROW, solution("row_softmax"), Silent(runner.directory, compiles=False)).status == "infra_error"


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
