"""`python -m checker lens`, ``with lens():`` and `pytest --lens` on programs that were written for a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import triton.testing

from checker.cli import main
from checker.lens import lens
from tests.simulator.launching import HEAD, loaded

ROOT = Path(__file__).resolve().parents[2]

KERNEL = """
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    y = tl.load(y_ptr + offs{mask})
    tl.store(out_ptr + offs, x + y, mask=offs < n)
"""
PROGRAM = """
DEVICE = triton.runtime.driver.active.get_active_torch_device()


def add(x, y):
    out = torch.empty_like(x)
    assert x.device == y.device == out.device == DEVICE and out.is_cuda
    n = out.numel()
    with torch.cuda.device(x.device.index):
        add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=64)
    torch.cuda.synchronize()
    return out
"""
MAIN = """
n = int(sys.argv[1])
x, y = torch.rand(n, device=DEVICE), torch.rand(n).cuda()
torch.testing.assert_close(add(x, y), x + y)
print("speed", triton.testing.do_bench(lambda: add(x, y)), torch.cuda.get_device_properties(0).multi_processor_count)
"""


def program(folder: Path, mask: str = ", mask=offs < n", main: str = MAIN, name: str = "script.py") -> str:
    path = folder / name
    path.write_text(f"import sys\nimport torch\n{HEAD}{KERNEL.format(mask=mask)}{PROGRAM}{main}")
    return str(path)


def test_a_clean_program_for_a_gpu_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lens", program(tmp_path), "100"]) == 0
    out, err = capsys.readouterr()
    assert out == "speed 1.0 8\n"
    assert "2 launches, 0 findings" in err
    assert "x (800 B) read 1×; y (800 B) read 1×; out (800 B) written 1×" in " ".join(err.split())
    assert not torch.cuda.is_available() or torch.version.cuda, "the pretence ends with the program"


def test_findings_have_an_exit_status_json_sarif_and_films(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / name for name in ("report.json", "report.sarif", "films")}
    options = ["--json", files["report.json"], "--sarif", files["report.sarif"], "--films", files["films"]]
    script = program(tmp_path, mask="")
    assert main(["lens", *map(str, options), script, "100"]) == 1
    report = json.loads(files["report.json"].read_text())
    (finding,) = report["findings"]
    assert (finding["kind"], finding["line"], finding["tensor"]) == ("out_of_bounds_load", 10, "y")
    assert (finding["program"], finding["element"]) == ([1, 0, 0], [100])
    assert report["kernels"][0]["bytes"]["out"] == {"loaded": 0, "stored": 800, "whole": 800}
    (result,) = json.loads(files["report.sarif"].read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 10}
    film = (files["films"] / "add_kernel.html").read_text()
    assert "add_kernel, grid 2" in film
    assert "out is an input" not in film, "no output is named, so a kernel may store to all tensors"
    assert "Load out of bounds: add_kernel" in capsys.readouterr().err
    assert main(["lens", "--json", "-", script, "100"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["findings"] == [finding], "nothing but the report"
    assert "speed" in err


def test_part_of_a_launch_is_named_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_ = "x = torch.rand(6400, device='cuda')\nadd(x, x)\n"
    assert main(["lens", "--max-programs", "8", program(tmp_path, main=main_)]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "Not every program ran: what the others do is unknown" in err
    assert "8 of 100 (8%)" in err
    assert main(["lens", "--seconds", "1e-9", program(tmp_path, main=main_)]) == 0
    assert "0 of 100 (0%)" in capsys.readouterr().err


def test_the_last_program_runs_even_if_time_is_short(tmp_path: Path) -> None:
    """It tends to be the one with the mistake."""
    kernel = loaded(tmp_path, HEAD + KERNEL.format(mask=""), "add_kernel")
    x = torch.zeros(64 * 20_000 - 1)
    with lens(seconds=0.5, quiet=True) as report:
        kernel[(20_000,)](x, x, x, x.numel(), BLOCK=64)
    (of,) = report.kernels.values()
    assert of.ran < 20_000
    assert [finding.program for finding in report.findings] == [(19_999, 0, 0)]


def test_a_loop_without_end_ends_with_the_time(tmp_path: Path) -> None:
    text = "@triton.jit\ndef kernel(x_ptr):\n    n = tl.program_id(0)\n    while n < 2:\n        n -= 1\n    tl.store(x_ptr, 1.0)\n"
    kernel, x = loaded(tmp_path, HEAD + text), torch.zeros(1)
    with lens(seconds=1, quiet=True) as report:
        kernel[(3,)](x)
    (of,) = report.kernels.values()
    assert (of.ran, of.programs) == (1, 3)
    assert x.item() == 1, "the last program has run"


def test_what_a_program_does_wrong_is_its_own_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for main_, status, words in (
        ("assert False, 'my own'\n", 3, "AssertionError: my own"),
        ("add(torch.rand(8).cuda(), torch.rand(8).cuda())\nsys.exit(5)\n", 3, "The program ended early: 5."),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n", 3, "You interrupted the program."),
        ("print(1)\n", 3, "launched no Triton kernel"),
        ("torch.cuda.CUDAGraph()\n", 3, "asks for something of CUDA that the lens does not serve"),
        ("add_kernel[(2,)](torch.rand(8).cuda())\n", 3, "LaunchError: add_kernel needs y_ptr, out_ptr, n and BLOCK"),
    ):
        assert main(["lens", program(tmp_path, main=main_)]) == status
        err = capsys.readouterr().err
        assert words in err
        assert "runpy" not in err, "the traceback begins in the program"


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        ([], "lens needs a program"),
        (["nothing.py"], "There is no file nothing.py"),
        (["--max-programs", "-1", program(tmp_path)], "--max-programs takes a number from 0"),
        (["--json", str(tmp_path), program(tmp_path)], "is a folder"),
    ):
        assert main(["lens", *arguments]) == 2
        assert words in capsys.readouterr().err


def test_a_kernel_that_cannot_be_simulated_does_not_end_the_program(tmp_path: Path) -> None:
    text = '@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, tl.inline_asm_elementwise("", "=r", [], tl.int32, False, 1))\n'
    kernel = loaded(tmp_path, HEAD + text)
    with lens(patient=True, quiet=True) as report:
        kernel[(1,)](torch.zeros(1, dtype=torch.int32))
    assert "Inline assembly is not simulated" in " ".join(str(report).split())
    assert not report.complete
    assert report.launches == 1


def test_races_nan_and_declared_outputs_are_seen(tmp_path: Path) -> None:
    text = """
@triton.jit
def kernel(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(y_ptr + tl.arange(0, 4), x - x)
    tl.store(x_ptr, 1.0)
"""
    kernel = loaded(tmp_path, HEAD + text)
    x, y = torch.tensor([-torch.inf, 1, 2, 3]), torch.zeros(5)
    with lens(quiet=True) as report:
        kernel[(2,)](x, y)
    assert {finding.kind for finding in report.findings} == {"race", "nan_born"}
    assert "\nNaN: kernel" in str(report)
    with lens(quiet=True, outputs=["y_ptr"]) as report:
        kernel[(1,)](x, y)
    assert {finding.kind for finding in report.findings} == {"modified_input", "unwritten"}
    const = loaded(tmp_path, HEAD + text.replace("x_ptr, y_ptr)", "x_ptr: tl.const, y_ptr)").replace("x - x", "x"))
    with lens(quiet=True) as report:
        const[(1,)](torch.ones(4), y)
    assert [(finding.kind, finding.tensor) for finding in report.findings] == [("modified_input", "x")]


def test_a_nan_that_the_launch_was_given_is_no_finding(tmp_path: Path) -> None:
    text = """
@triton.jit
def kernel(x_ptr, bits_ptr, y_ptr, BITS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    if BITS:
        x = tl.load(bits_ptr + tl.arange(0, 4)).to(tl.float8e5, bitcast=True).to(tl.float32)
    m = tl.maximum(float("-inf"), tl.max(x, 0))  # drops a NaN
    tl.store(y_ptr + tl.arange(0, 4), tl.exp(x - m) + tl.exp(float("-inf") - m))
"""
    kernel, nans = loaded(tmp_path, HEAD + text), torch.full((4,), -1, dtype=torch.int8)
    with lens(quiet=True) as report:
        kernel[(1,)](torch.tensor([torch.inf, -torch.inf, 2, 3]), nans, torch.empty(4), BITS=False)
        kernel[(1,)](torch.full((4,), torch.nan), nans, torch.empty(4), BITS=False)
        kernel[(1,)](torch.ones(4), nans, torch.empty(4), BITS=True)
    assert not report.findings
    with lens(quiet=True) as report:
        kernel[(1,)](torch.full((4,), -torch.inf), nans, torch.empty(4), BITS=False)
    assert {finding.kind for finding in report.findings} == {"nan_born"}


def test_an_offset_that_a_larger_launch_would_wrap_is_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
@triton.jit
def add_kernel(x_ptr, stride, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0){wide} * stride + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=tl.arange(0, BLOCK) < N) + 1, mask=tl.arange(0, BLOCK) < N)


x = torch.zeros(50, 100)
add_kernel[(50,)](x, 100, 100, BLOCK=128)
assert (x == 1).all()
"""
    program, report, found = tmp_path / "rows.py", tmp_path / "report.json", tmp_path / "report.sarif"
    program.write_text("import torch\n" + HEAD + text.format(wide=""))
    assert main(["lens", "--json", str(report), "--sarif", str(found), str(program)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "With 2,147,485,000 elements in x (a grid of 21,474,850), the product at line" in said
    assert [note["kind"] for note in json.loads(report.read_text())["notes"]] == ["wrap"]
    assert [result["level"] for result in json.loads(found.read_text())["runs"][0]["results"]] == ["note"]
    program.write_text("import torch\n" + HEAD + text.format(wide=".to(tl.int64)"))
    assert main(["lens", "--json", str(report), str(program)]) == 0
    assert not json.loads(report.read_text())["notes"]


def test_a_size_that_may_be_another_ones_does_not_grow(tmp_path: Path) -> None:
    text = """
@triton.jit
def heads_kernel(x_ptr, stride_row, stride_head, heads, D, BLOCK: tl.constexpr):
    offs_d = tl.arange(0, BLOCK)
    for head in range(heads):
        at = x_ptr + tl.program_id(0).to(tl.int64) * stride_row + head * stride_head + offs_d
        tl.store(at, tl.load(at, mask=offs_d < D) + 1, mask=offs_d < D)
"""
    kernel = loaded(tmp_path, HEAD + text, "heads_kernel")
    with lens(quiet=True) as report:
        kernel[(4,)](torch.zeros(4, 4, 100).transpose(0, 1), 100, 400, 4, 100, BLOCK=128)  # four rows, and four heads
    assert not report.findings
    assert not report.notes, report


def test_an_index_that_is_loaded_is_followed_to_the_last_row(tmp_path: Path) -> None:
    text = """
@triton.jit
def gather_kernel(x_ptr, rows_ptr, y_ptr, D, BLOCK: tl.constexpr):
    offs_d = tl.arange(0, BLOCK)
    row = tl.load(rows_ptr + tl.program_id(0)){wide}
    x = tl.load(x_ptr + row * D + offs_d, mask=offs_d < D, other=0.0)
    tl.store(y_ptr + tl.program_id(0) * D + offs_d, x, mask=offs_d < D)
"""
    narrow, wide = (HEAD + text.format(wide=to) for to in ("", ".to(tl.int64)"))
    for source, dtype, tensors in ((narrow, torch.int32, ["x"]), (narrow, torch.int64, []), (wide, torch.int32, [])):
        rows = torch.tensor([3, 60, 7], dtype=dtype)
        with lens(quiet=True) as report:
            loaded(tmp_path, source, "gather_kernel")[(3,)](
                torch.zeros(64, 100), rows, torch.zeros(3, 100), 100, BLOCK=128
            )
        assert [note.tensor for note in report.notes.values()] == tensors, (source, dtype)
        assert not tensors or "(and rows up to 42,949,759)" in next(iter(report.notes.values())).what


def test_an_output_that_no_kernel_has_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = program(tmp_path)
    for name, status in (("out", 0), ("out_ptr", 0), ("outt", 2)):
        assert main(["lens", "--output", name, script, "100"]) == status
    assert "No kernel here stores to outt. Their tensors are x, y and out" in " ".join(capsys.readouterr().err.split())


def test_tensors_know_where_they_would_be() -> None:
    with lens(quiet=True):
        here = torch.zeros(3)
        there = here.cuda()
        there += 1
        assert here.sum() == 0, "a copy"
        assert there.cuda() is there
        assert there.to("cuda:0", non_blocking=True) is there
        moved = (there.half(), there[1:], torch.stack([there, there]), there.to(torch.float64), torch.empty_like(there))
        made = (torch.randn(2, device="cuda", generator=torch.Generator("cuda")), here.new_zeros(2, device="cuda"))
        layer = torch.nn.Linear(3, 2).to("cuda")
        layer(there).sum().backward()
        with torch.device("cuda"):
            default = torch.arange(3)
        for tensor in (there, *moved, *made, layer.weight, layer.weight.grad, default):
            assert tensor.is_cuda
            assert tensor.device == torch.device("cuda:0")
        for tensor in (here, there.cpu(), there.to("cpu"), torch.zeros(2)):
            assert not tensor.is_cuda
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream())
        assert triton.testing.do_bench(event.synchronize, quantiles=[0.5, 0.9]) == [1.0, 1.0]
        assert torch.cuda.get_device_capability() == (9, 0)
        with torch.cuda._DeviceGuard(0):  # as in the code that torch.compile writes
            assert torch._C._dynamo.guards._empty_strided_cuda((2, 3), (3, 1), torch.float32).is_cuda
        assert torch._C._cuda_getCurrentRawStream(0) == 0
    assert not there.is_cuda


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x * 1)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (saved,) = ctx.saved_tensors
        assert gradient.is_cuda
        assert saved.device == gradient.device
        return gradient * torch.full((3,), 2.0, device="cuda")


def test_a_program_takes_random_numbers_from_the_generator_of_the_gpu() -> None:
    with lens(quiet=True):
        torch.manual_seed(7)
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        generator.manual_seed(7)
        seed, given = generator.get_state().view(torch.int64)
        assert (int(seed), int(given), generator.initial_seed()) == (7, 0, 7)
        generator.set_state(torch.tensor([7, 12]).view(torch.uint8))
        assert generator.get_state().view(torch.int64).tolist() == [7, 12]
        assert generator.get_offset() == 12
        assert torch.rand(3, device="cuda", generator=generator).is_cuda


def test_a_backward_of_its_own_sees_the_gpu_too() -> None:
    with lens(quiet=True):
        x = torch.ones(3, device="cuda", requires_grad=True)
        Doubled.apply(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0, 2.0]
        assert torch.autograd.grad(Doubled.apply(x).sum(), x)[0].tolist() == [2.0, 2.0, 2.0]


def test_pytest_fails_the_test_whose_kernel_is_wrong(tmp_path: Path) -> None:
    """`skipif` and fixtures see a GPU; a test that takes `lens` judges by itself."""
    tests = """
import pytest
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("n", [64, 100])
def test_add(n):
    x = torch.rand(n, device="cuda")
    torch.testing.assert_close(add(x, x), x + x)
def test_own(lens):
    add(torch.rand(100).cuda(), torch.rand(100).cuda())
    assert [finding.tensor for finding in lens.findings] == ["y"]
"""
    program(tmp_path, mask="", main=tests, name="test_add.py")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "checker.pytest_lens",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [*command, "--lens"], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert "1 failed, 2 passed" in ran.stdout, ran.stdout
    assert "test_add[100]" in ran.stdout
    assert "Load out of bounds: add_kernel, test_add.py:10" in ran.stdout
    inside = [sys.executable, "-m", "checker", "lens", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(
        [*inside, "-k", "not own"], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert "2 passed" in ran.stdout
    assert ran.returncode == 1
    assert "Load out of bounds: add_kernel, test_add.py:10" in ran.stderr
