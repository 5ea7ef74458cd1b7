"""The doctor on other machines, each described by its facts."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace

import pytest

import checker
from checker.verbs import doctor
from checker.verbs.doctor import HealthCheck, examine
from checker.verbs.machine import Gpu, Machine

LAPTOP = Machine(
    python=(3, 12, 4),
    system="Linux",
    torch="2.13.0+cpu",
    triton="3.7.1",
    numpy="2.4.6",
    ml_dtypes="0.6.0",
    nbformat="5.11.1",
    rich="15.0.0",
    c_compiler="/usr/bin/gcc",
    jupyter="4.6.6",
    sandbox="namespaces",
)
GPUS = (Gpu("NVIDIA H100 80GB HBM3", (9, 0), 80 * 2**30),)
H100 = replace(LAPTOP, torch="2.13.0", torch_cuda="13.0", driver="580.65", gpus=GPUS)
T4 = replace(H100, gpus=(Gpu("Tesla T4", (7, 5), 15 * 2**30),), colab=True, jupyter=None)


PAIR = '"torch==2.13.0" "triton==3.7.1"'
INSTALL = f"python -m pip install {PAIR}"


def finding(machine: Machine, what: str) -> HealthCheck:
    (found,) = [f for f in examine(machine) if f.what == what]
    return found


def test_an_h100_is_all_ok() -> None:
    assert {f.level for f in examine(H100)} == {"ok"}
    assert "9.0 (sm_90), 80 GiB" in finding(H100, "GPU").message
    assert examine(H100).summary == "Everything works here: simulator, compiler, GPU and timing."


FINDINGS: dict[str, tuple[Machine, str, str, list[str], str]] = {
    "no GPU": (LAPTOP, "GPU", "note", [], ""),
    "no GPU in Colab": (replace(LAPTOP, colab=True), "GPU", "note", ["Change runtime type"], ""),
    "T4": (
        T4,
        "GPU",
        "warning",
        ["sm_75", "no bfloat16 in hardware", "still run and count", "is_bf16_supported()` says True"],
        "",
    ),
    "Colab's own Jupyter": (T4, "Jupyter", "ok", [], ""),
    "older than a T4": (
        replace(H100, gpus=(Gpu("Tesla P100", (6, 0)),)),
        "GPU",
        "warning",
        ["T4 (sm_75) and newer", "On Kaggle, choose a T4"],
        "",
    ),
    "AMD": (replace(LAPTOP, torch_hip="6.4"), "GPU", "warning", ["AMD"], ""),
    "CPU-only torch beside a GPU": (
        replace(LAPTOP, driver="580.65", driver_gpus=("NVIDIA L4",)),
        "GPU",
        "warning",
        ["CPU-only build", "NVIDIA L4"],
        'python -m pip install --force-reinstall --no-deps "torch==2.13.0"',
    ),
    "a GPU that torch cannot use": (
        replace(H100, gpus=(), driver_gpus=("NVIDIA L4",), cuda_error="CUDA driver version is insufficient"),
        "GPU",
        "warning",
        ["NVIDIA L4 is present", "driver version is insufficient"],
        "nvidia-smi",
    ),
    "no triton": (
        replace(LAPTOP, triton=None),
        "triton",
        "warning",
        ["simulator runs", "no machine code"],
        INSTALL,
    ),
    "Triton 3.5": (replace(LAPTOP, triton="3.5.1"), "triton", "problem", ["too old"], INSTALL),
    "Triton 3.6": (replace(LAPTOP, triton="3.6.0"), "triton", "ok", [], ""),
    "Triton 3.7": (replace(LAPTOP, triton="3.7.1"), "triton", "ok", [], ""),
    "Triton 3.9": (replace(LAPTOP, triton="3.9.0"), "triton", "ok", [], ""),
    "Triton 3.10": (replace(LAPTOP, triton="3.10.0"), "triton", "problem", ["newer than the simulator knows"], INSTALL),
    "Triton 4": (replace(LAPTOP, triton="4.0.0"), "triton", "problem", ["newer"], INSTALL),
    "triton does not import": (
        replace(LAPTOP, triton_error="ImportError: libstdc++.so.6"),
        "triton",
        "problem",
        ["libstdc++"],
        f"python -m pip install --force-reinstall {PAIR}",
    ),
    "Windows": (
        replace(LAPTOP, system="Windows", triton=None, triton_error="ModuleNotFoundError", sandbox="no isolation"),
        "triton",
        "note",
        ["experimental", "no machine code", "WSL"],
        "",
    ),
    "Windows with a Triton": (replace(LAPTOP, system="Windows", triton="3.8.0.post29"), "triton", "ok", [], ""),
    "macOS": (
        replace(LAPTOP, system="Darwin", triton=None, sandbox="no isolation"),
        "triton",
        "note",
        ["experimental", "no machine code", "Colab"],
        "",
    ),
    "no isolation": (
        replace(LAPTOP, system="Darwin", sandbox="no isolation", sandbox_gaps=("network",)),
        "sandbox",
        "note",
        ["your own code", "`grade` refuses"],
        "",
    ),
    "no C compiler": (replace(H100, c_compiler=None), "C compiler", "warning", [], "sudo apt-get install -y gcc"),
    "no Python.h": (
        replace(H100, python_headers=False),
        "C compiler",
        "warning",
        ["Python.h"],
        "sudo apt-get install -y python3.12-dev",
    ),
    "read-only folder": (
        replace(LAPTOP, writable=False, folder="/mnt/a b"),
        "folder",
        "warning",
        ["progress"],
        "chmod u+w '/mnt/a b'",
    ),
    "full disk": (replace(LAPTOP, free=3 * 2**20), "folder", "warning", ["3 MiB"], "du -sh ~/.triton"),
    "noexec cache": (
        replace(LAPTOP, cache_usable=False),
        "Triton's cache",
        "warning",
        [],
        'export TRITON_CACHE_DIR="$PWD/.triton"',
    ),
    "no sandbox": (replace(LAPTOP, sandbox=None, sandbox_error="no fork"), "sandbox", "problem", ["no fork"], ""),
    "a sandbox layer lost": (
        replace(LAPTOP, sandbox_lost=("other_user: cannot read os.py",)),
        "sandbox",
        "note",
        ["cannot read os.py"],
        "",
    ),
    "a sandbox with gaps": (
        replace(LAPTOP, sandbox_gaps=("secrets",), sandbox_lost=("other_user: no",)),
        "sandbox",
        "warning",
        ["secrets", "other_user: no"],
        "",
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_every_finding_has_its_message_and_the_command_that_fixes_it(case: str) -> None:
    machine, what, level, words, command = FINDINGS[case]
    found = finding(machine, what)
    assert (found.level, found.command) == (level, command)
    assert [word for word in words if word not in found.message] == []


@pytest.mark.parametrize(
    ("machine", "summary"),
    [
        (T4, "Everything works here, apart from the remarks above about the GPU."),
        (LAPTOP, "You can solve every puzzle here"),
        (FINDINGS["CPU-only torch beside a GPU"][0], "You can solve every puzzle here"),
        (FINDINGS["Windows"][0], "You can solve every puzzle here"),
        (FINDINGS["macOS"][0], "You can solve every puzzle here"),
    ],
    ids=["T4", "laptop", "CPU-only torch", "Windows", "macOS"],
)
def test_the_summary_says_how_much_works(machine: Machine, summary: str) -> None:
    assert examine(machine).summary.startswith(summary)


def test_xray_is_promised_only_where_there_is_a_compiler() -> None:
    for triton in ("3.7.1", None):
        assert ("`xray`" in finding(replace(LAPTOP, triton=triton), "GPU").message) == bool(triton)


def test_without_a_gpu_no_c_compiler_is_needed() -> None:
    assert "C compiler" not in [f.what for f in examine(replace(LAPTOP, c_compiler=None))]


@pytest.mark.parametrize(
    "change",
    [
        {"python": (3, 10, 9)},
        {"torch": None},
        {"torch": "2.9.1"},
        {"torch_error": "OSError: libcudart"},
        {"numpy": "1.26.4"},
        {"numpy": None},
        {"ml_dtypes": None},
        {"ml_dtypes": "0.4.1"},
        {"nbformat": None},
        {"rich": None},
    ],
    ids=str,
)
def test_each_missing_part_is_a_problem_with_a_command(change: dict[str, object]) -> None:
    ((name, _),) = change.items()
    found = finding(replace(LAPTOP, **change), name.removesuffix("_error").replace("python", "Python"))  # type: ignore[arg-type]
    assert found.level == "problem"
    assert shlex.split(found.command)


def test_the_doctor_needs_neither_torch_nor_triton_nor_numpy() -> None:
    """On a Mac without triton, and before anything is installed, `import checker; checker.doctor()` has to work."""
    block = "import sys\nfor name in ('torch', 'triton', 'numpy', 'ml_dtypes', 'nbformat', 'IPython'): sys.modules[name] = None\n"
    code = block + "import platform; platform.system = lambda: 'Darwin'\nimport checker\nprint(checker.doctor())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "What works on this machine" in run.stdout
    assert "does not support Apple's" in run.stdout


def test_brief_is_one_line_if_nothing_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    checker.doctor(brief=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("Ready: torch ")


def test_the_first_cell_offers_an_older_colab_where_triton_is_too_new(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another torch and Triton, as elsewhere, would cost Colab its GPU."""
    monkeypatch.setattr(doctor.metadata, "version", {"torch": "2.11.0+cu128", "triton": "3.10.0"}.__getitem__)
    monkeypatch.setattr(doctor, "this_machine", lambda: replace(T4, triton="3.10.0"))
    checker.doctor(brief=True)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Ready" not in shown
    assert "newer than the simulator knows" in shown
    assert "Runtime version 2026.07" in shown
    assert "pip install" not in shown
