"""The function around kernels: its verdict, what its card says, and what the wrong versions of it are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.sandbox import Sandbox
from tests.judge.launchers import ABOVE, MERGE, RIGHT, SOLUTION, TEXT, TILE, WRONG, WrongLauncher, verdict


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def test_the_course_own_passes_every_gate_that_runs_here(tmp_path: Path, sandbox: Sandbox) -> None:
    passed = verdict(TEXT, (1, 5, 6, 8), tmp_path, sandbox)
    assert passed.passed, passed.failure
    assert passed.cases_right == passed.cases_run == 4
    assert [gate.gate for gate in passed.gates if gate.status == "passed"] == [
        *("source", "compile", "values", "memory", "traffic"),
    ]
    traffic = next(gate for gate in passed.gates if gate.gate == "traffic")
    assert "decode_attention_paged_kernel[(9, 8)]" in traffic.message


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.belief)
def test_a_wrong_launcher_is_caught_and_told_why(wrong: WrongLauncher, tmp_path: Path, sandbox: Sandbox) -> None:
    assert TEXT.count(wrong.old) == 1, wrong.belief
    text = TEXT.replace(wrong.old, wrong.new).replace(ABOVE, f"KEPT = {{}}\n\n\n{ABOVE}", 1)
    failure = verdict(text, wrong.cases, tmp_path, sandbox).failure
    assert failure is not None, wrong.belief
    assert failure.gate == wrong.gate, failure.message
    assert wrong.says in f"{failure.message} {failure.advice}"


@pytest.mark.parametrize("style", RIGHT)
def test_a_right_launcher_in_another_style_passes(style: str, tmp_path: Path, sandbox: Sandbox) -> None:
    text = TEXT
    for old, new in RIGHT[style]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    judged = verdict(text, (0, 1, 4), tmp_path, sandbox)
    assert judged.passed, judged.failure


def test_what_held_by_luck_is_said_with_the_numbers_and_the_line(tmp_path: Path, sandbox: Sandbox) -> None:
    """A launch that is right in all cases, whose tile is too small for what other inputs ask for."""
    failure = verdict(TEXT.replace(TILE, "BLOCK_S = 32"), (1, 8), tmp_path, sandbox).failure
    assert failure is not None
    assert failure.line == 1 + TEXT[: TEXT.index(MERGE)].count("\n")
    assert "BLOCK_S is 32 and SPLITS is " in failure.message
    assert "which may assume: BLOCK_S is at least SPLITS." in failure.message
    assert "BLOCK_S was 32 and SPLITS was 1 to 9, so they were right by luck." in failure.message


def test_a_graded_run_also_looks_at_shapes_that_nobody_has_seen(tmp_path: Path, sandbox: Sandbox) -> None:
    """The launch is right in every fixed shape, where 1, 4 or 128 query heads share a key head."""
    tile = "max(16, triton.next_power_of_2(H_Q // H_KV))"
    bounded = TEXT.replace(tile, "16 if H_Q // H_KV < 16 else 128 if H_Q == 128 else 8")
    assert verdict(bounded, (0, 1), tmp_path, sandbox).passed
    assert verdict(TEXT, (0, 1), tmp_path, sandbox, seed=0).passed
    failure = verdict(bounded, (0, 1), tmp_path, sandbox, seed=0).failure
    assert failure is not None
    assert "BLOCK_G is 8 in decode_attention_paged_kernel" in failure.message


def test_a_line_is_the_learners_own(tmp_path: Path, sandbox: Sandbox) -> None:
    """The function runs in a module that is made for it, with other lines above."""
    failure = verdict(TEXT.replace("q, block_table = q", "q, block_table = missing"), (0, 1), tmp_path, sandbox).failure
    line = 1 + TEXT[: TEXT.index("q, block_table = q")].count("\n")
    assert failure is not None
    assert failure.line == line
    assert f"at line {line} " in failure.message


def test_a_plain_function_and_a_wrong_fake_are_no_operator(tmp_path: Path, sandbox: Sandbox) -> None:
    plain = "\n".join(line for line in TEXT.split("\n") if not line.startswith((ABOVE, "@paged_decode")))
    for text in (plain, TEXT.replace("q.new_empty(q.shape)", "q.new_empty(q.shape[:2])")):
        failure = verdict(text, (0, 1), tmp_path, sandbox).failure
        assert failure is not None
        assert (failure.gate, failure.status) == ("compile", "compile_error")


def test_a_report_of_right_launches_does_not_make_zeros_right(tmp_path: Path, sandbox: Sandbox) -> None:
    """The function runs beside the code that reports on it, and may replace it."""
    forged = """
    import gc
    from checker.judge.runner import CallReport
    from checker.lens.calls import Caller

    def forged(self, launch):
        for name in launch.outputs:
            launch.arguments[name].zero_()
        return CallReport()

    Caller.__call__ = forged
    (B, H_Q, D), (H_KV"""
    failure = verdict(TEXT.replace("\n    (B, H_Q, D), (H_KV", forged), (0, 1, 2), tmp_path, sandbox).failure
    assert failure is not None
    assert failure.gate == "values"
    assert failure.mismatch is not None


def test_helpers_constants_and_kernels_come_from_wherever_they_are(tmp_path: Path, sandbox: Sandbox) -> None:
    """A kernel of the learner's own replaces the course's, and its lines are counted in the file."""
    solution = SOLUTION.parents[1] / "merge_attention_splits.py"
    merge = solution.read_text("utf-8").replace(
        "tl.sum(w[:, None] * o_part, axis=0) / l_safe", "tl.sum(w[:, None] * o_part, axis=0)"
    )
    imports, function = TEXT.replace("cores = torch.cuda", "cores = CORES or torch.cuda").split(ABOVE)
    imports = imports.replace("from solutions.merge_attention_splits import merge_attention_splits_kernel\n", "")
    failure = verdict(f"{imports}CORES = 132\n{ABOVE}{function}\n\n{merge}", (1, 8), tmp_path, sandbox).failure
    assert failure is not None
    assert failure.gate == "values", failure.message
    assert failure.case is not None
    assert failure.case.sizes["N_KV"] == 2000, "one split alone is divided by 1"


def test_the_stub_waits_for_its_learner_and_other_parameters_are_named(tmp_path: Path, sandbox: Sandbox) -> None:
    start, end = TEXT.index("    # your code starts"), TEXT.index("    # your code ends")
    stub = TEXT[:start] + TEXT[end:]
    assert verdict(stub, (0, 1), tmp_path, sandbox).status == "not_attempted"
    failure = verdict(TEXT.replace("    lengths: torch", "    sizes: torch"), (0, 1), tmp_path, sandbox).failure
    assert failure is not None
    assert "should take q, k_cache, v_cache, block_table and lengths" in failure.message
