"""Kernels that try to get a grade without solving the puzzle. The rules stop most of them before they run.

Numbers in brackets refer to a catalogue of exploits seen in other graders. tests/submission/test_rules.py covers single
forbidden lines.
"""

from __future__ import annotations

from pathlib import Path

from checker.checking import check_source
from checker.course import PUZZLES
from checker.judge.result import plain
from checker.judge.source_gate import source_gate
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path
from checker.submission.kernel import KernelSource
from tests.classroom.grading.conftest import RIGHT, solution

START = "# your code starts here"
VECTOR_ADD = PUZZLES["vector_add"]
LOAD_X = "tl.load(x_ptr)"


def kernel(tmp_path: Path, text: str, puzzle: str = "vector_add") -> KernelSource:
    (tmp_path / f"{puzzle}.py").write_text(text)
    (submitted,) = from_path(tmp_path / f"{puzzle}.py", [PUZZLES[puzzle]])
    assert submitted.source is not None, submitted.error
    return submitted.source


def with_line(*lines: str, module: str = "") -> str:
    """The right kernel with these lines at the start of its body and `module` above it."""
    at = RIGHT.index("\n", RIGHT.index(f"    {START}")) + 1
    text = RIGHT[:at] + "".join(f"    {line}\n" for line in lines) + RIGHT[at:]
    return text.replace("@triton.jit", f"{module}\n\n\n@triton.jit", 1)


FORBIDDEN: dict[str, str] = {
    "torch in the kernel (1)": with_line(module="import torch").replace("x + y", "torch.add(x, y)"),
    "torch called in the body (1)": with_line("torch.softmax(x_ptr, 0)"),
    "a patched comparison (4)": with_line("torch.allclose = max"),
    "a patched clock (5)": with_line("time.perf_counter = min"),
    "every object of the process (7)": with_line("for o in gc.get_objects():", "    pass"),
    "the caller's frame (8)": with_line("f = sys._getframe(1)"),
    "a cache of outputs (10)": with_line("CACHE[0] = 1", module="CACHE = {}"),
    "a nonlocal name (11)": with_line("nonlocal calls"),
    "os._exit (26)": with_line("os._exit(0)"),
    "a line on stdout (27)": with_line('print("check: pass")'),
    "importlib by a builtin (33)": with_line("m = globals()"),
    "exec (31)": with_line('exec("1")'),
    "pickle by name (31)": with_line("p = pickle.loads(0)"),
    "the handle behind a value (44)": with_line(f"d = {LOAD_X}.handle"),
    "a dunder (44)": with_line(f"d = {LOAD_X}.__class__"),
    "a dunder of a constant (44)": with_line("d = (1).__class__"),
    "a private name of tl (44)": with_line("d = tl._experimental"),
    "tl's own module (44)": with_line("d = tl.core"),
    "the interpreter's builder (44)": with_line("d = tl.semantic"),
    "a helper without jit (44)": with_line("helper()", module="def helper():\n    return open(0)"),
    "a default that runs (44)": RIGHT.replace("BLOCK_N: tl.constexpr", "BLOCK_N: tl.constexpr = open(0)"),
    "an annotation that runs (44)": RIGHT.replace("x_ptr,", "x_ptr: open(0),", 1),
    "a decorator that runs (33)": RIGHT.replace("@triton.jit", "@open\n@triton.jit", 1),
    "jit with arguments (44)": RIGHT.replace("@triton.jit", "@triton.jit(noinline=open(0))", 1),
    "is not on a number": with_line("d = 1000 is not 1000"),
    "an annotated assignment that calls": with_line("d: open(0) = 1"),
    "letters that look alike": with_line("оffs = 1"),
    "a name in full width": with_line("ｅval = 1"),
    "a helper that calls itself": with_line("helper(1)", module="@triton.jit\ndef helper(x):\n    return helper(x)"),
    "200 kB of body": with_line(*["x = 1"] * 30_000),
    "sixty brackets": with_line("x = " + "(" * 90 + "1" + " + 1)" * 90),
    "a thousand operators": with_line("x = 1" + " + 1" * 500),
    "a constant that is a list": with_line("x = TABLE", module="TABLE = [1, 2]"),
}


def test_an_exploit_is_forbidden_and_never_runs(tmp_path: Path) -> None:
    for name, text in FORBIDDEN.items():
        assert text != RIGHT, name
        result = source_gate(VECTOR_ADD, kernel(tmp_path, text))
        assert result.status == "forbidden", (name, result.message)
        assert plain(result.message) == result.message, name
        assert result.line is not None, name
    for honest in (RIGHT, with_line("d = 1.0"), with_line("if x_ptr is None:", "    pass")):
        assert source_gate(VECTOR_ADD, kernel(tmp_path, honest)).status == "passed"


WRONG_VALUES: dict[str, str] = {
    "zeros (14)": RIGHT.replace("x + y", "(x + y) * 0"),
    "the input itself (14)": RIGHT.replace("x + y", "x"),
    "the other input (14)": RIGHT.replace("x + y", "y"),
    "half precision (21)": RIGHT.replace("x + y", "(x.to(tl.float16) + y.to(tl.float16)).to(tl.float32)"),
    "only the first program (23)": with_line("if tl.program_id(0) > 0:", "    return"),
    "no output, in case freed memory holds a reference (3, 6)": with_line("return"),
    "inputs overwritten (13)": RIGHT.replace(
        "x + y, mask=mask)", "x + y, mask=mask)\n    tl.store(x_ptr + offs_n, y, mask=mask)"
    ),
    "a store past the end (24)": RIGHT.replace("x + y, mask=mask)", "x + y)"),
}


def test_a_shortcut_is_caught_when_it_runs(tmp_path: Path, sandbox: Sandbox) -> None:
    for name, text in WRONG_VALUES.items():
        assert text != RIGHT, name
        verdict = check_source(VECTOR_ADD, kernel(tmp_path, text), "cpu", diagnose=False, runner=sandbox)  # type: ignore[arg-type]
        assert verdict.status == "failed", (name, verdict)
        assert verdict.cases_run > 0, name


def test_hard_coded_sizes_fail_on_drawn_cases(tmp_path: Path, sandbox: Sandbox) -> None:
    """(15, 16): right for every published size, wrong for a longer row."""
    text = solution("online_softmax")
    overfitted = text.replace("range(0, N, BLOCK_N)", "range(0, 192, BLOCK_N)")
    assert overfitted != text
    source = kernel(tmp_path, overfitted, "online_softmax")
    verdict = check_source(PUZZLES["online_softmax"], source, "cpu", diagnose=False, runner=sandbox, seed=2718)  # type: ignore[arg-type]
    assert verdict.status == "failed"


def test_messages_cannot_control_a_terminal() -> None:
    for text in (
        "half \ud800 a pair",
        "\x1b[31mred\x1b[0m",
        "\u202egnp.exe",
        "nul\0",
        "bell\a",
        "\x9b31m",
        "\u2066\u2069",
    ):
        shown = plain(text)
        shown.encode()
        assert all(c.isprintable() for c in shown), text
