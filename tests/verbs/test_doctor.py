"""The doctor on machines this one is not: each is described by its facts."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace

import pytest

import checker
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
H100 = replace(
    LAPTOP,
    torch="2.13.0",
    torch_cuda="13.0",
    driver="580.65",
    gpus=(Gpu("NVIDIA H100 80GB HBM3", (9, 0), 80 * 2**30),),
)
T4 = replace(H100, gpus=(Gpu("Tesla T4", (7, 5), 15 * 2**30),), colab=True, jupyter=None)


def finding(machine: Machine, what: str) -> HealthCheck:
    (found,) = [f for f in examine(machine) if f.what == what]
    return found


def levels(machine: Machine) -> dict[str, str]:
    return {f.what: f.level for f in examine(machine)}


def test_an_h100_is_all_ok() -> None:
    assert set(levels(H100).values()) == {"ok"}
    assert "9.0 (sm_90), 80 GiB" in finding(H100, "GPU").message
    assert examine(H100).summary == "Everything works here: simulator, compiler, GPU and timing."


def test_no_gpu_is_no_warning_and_says_what_works_and_what_does_not() -> None:
    found = finding(LAPTOP, "GPU")
    assert found.level == "note"
    assert not found.command, "there is nothing to mend"
    works_here, needs_one = found.message.split("What needs one:")
    assert "every puzzle can be passed" in works_here
    assert "`bench`" in needs_one
    assert "speed medals" in needs_one
    assert [f.what for f in examine(LAPTOP) if f.level != "ok"] == ["GPU"]
    assert examine(LAPTOP).summary.startswith("Every puzzle can be solved here")


def test_a_note_is_shown_without_the_sign_of_a_warning() -> None:
    page = examine(LAPTOP).panel.html()
    assert "· note" in page
    assert "! " not in page
    warned = replace(LAPTOP, jupyter=None)
    assert "! warning" in examine(warned).panel.html()


def test_no_gpu_in_colab_says_where_to_switch_one_on() -> None:
    assert "Change runtime type" in finding(replace(LAPTOP, colab=True), "GPU").message


def test_a_t4_has_no_bfloat16_in_hardware_and_still_works() -> None:
    found = finding(T4, "GPU")
    assert found.level == "warning"
    assert "sm_75" in found.message
    assert "no bfloat16 in hardware" in found.message
    assert "still run and count" in found.message
    assert finding(T4, "Jupyter").level == "ok"
    assert examine(T4).summary == "Everything works here, with the remarks above about the GPU."


def test_a_gpu_older_than_a_t4_is_called_so() -> None:
    p100 = replace(H100, gpus=(Gpu("Tesla P100", (6, 0)),))
    assert "older than any GPU" in finding(p100, "GPU").message


@pytest.mark.parametrize(
    ("triton", "level", "word"),
    [
        ("3.5.1", "problem", "too old"),
        ("3.6.0", "ok", ""),
        ("3.7.1", "ok", ""),
        ("3.9.0", "ok", ""),
        ("3.10.0", "problem", "newer than the simulator knows"),
        ("4.0.0", "problem", "newer"),
    ],
)
def test_triton_is_judged_by_its_version(triton: str, level: str, word: str) -> None:
    found = finding(replace(LAPTOP, triton=triton, numpy="2.3.5"), "triton")
    assert (found.level, word in found.message) == (level, True)
    if level == "problem":
        assert found.command == 'python -m pip install "torch==2.13.0" "triton==3.7.1"'


def test_a_missing_triton_on_linux_is_installed_with_its_torch() -> None:
    found = finding(replace(LAPTOP, triton=None), "triton")
    assert found.level == "problem"
    assert found.command.endswith('"torch==2.13.0" "triton==3.7.1"')


def test_a_triton_that_does_not_import_is_told_with_its_error() -> None:
    found = finding(replace(LAPTOP, triton_error="ImportError: libstdc++.so.6"), "triton")
    assert found.level == "problem"
    assert "libstdc++" in found.message
    assert "--force-reinstall" in found.command


@pytest.mark.parametrize(
    ("triton", "numpy", "level"),
    [("3.6.0", "2.4.6", "warning"), ("3.6.0", "2.3.5", "ok"), ("3.7.1", "2.4.6", "ok"), ("3.6.0", "2.10.0", "warning")],
)
def test_numpy_2_4_breaks_only_tritons_own_interpreter_of_3_6(triton: str, numpy: str, level: str) -> None:
    found = finding(replace(LAPTOP, triton=triton, numpy=numpy), "numpy")
    assert found.level == level
    if level == "warning":
        assert "this course's simulator works with the pair" in found.message
        assert "TRITON_INTERPRET=1" in found.message
        assert found.command == 'python -m pip install "numpy<2.4"'


@pytest.mark.parametrize(
    ("system", "way_out", "command"),
    [("Windows", "WSL", "wsl --install"), ("Darwin", "Colab", "")],
)
def test_without_triton_for_the_system_a_way_out_is_named(system: str, way_out: str, command: str) -> None:
    machine = replace(LAPTOP, system=system, triton=None, sandbox=None)
    found = finding(machine, "triton")
    assert found.level == "problem"
    assert way_out in found.message
    assert found.command == command
    assert examine(machine).summary.startswith("Mend the problems")


def test_a_cpu_only_torch_beside_a_gpu_gets_the_command_for_the_same_torch_with_cuda() -> None:
    machine = replace(LAPTOP, driver="580.65", driver_gpus=("NVIDIA L4",))
    found = finding(machine, "GPU")
    assert "CPU-only build" in found.message
    assert "NVIDIA L4" in found.message
    assert found.command == 'python -m pip install --force-reinstall --no-deps "torch==2.13.0"'
    assert examine(machine).summary.startswith("Every puzzle can be solved here")


def test_a_driver_whose_gpu_torch_cannot_use_is_not_called_no_gpu() -> None:
    machine = replace(H100, gpus=(), driver_gpus=("NVIDIA L4",), cuda_error="CUDA driver version is insufficient")
    found = finding(machine, "GPU")
    assert "driver version is insufficient" in found.message
    assert "No GPU found" not in found.message
    assert found.command == "nvidia-smi"


def test_amd_is_said_to_be_untested() -> None:
    assert "AMD" in finding(replace(LAPTOP, torch_hip="6.4"), "GPU").message


def test_a_c_compiler_is_asked_for_only_where_a_gpu_needs_it() -> None:
    assert "C compiler" not in levels(replace(LAPTOP, c_compiler=None))
    assert finding(replace(H100, c_compiler=None), "C compiler").command == "sudo apt-get install -y gcc"
    assert "Python.h" in finding(replace(H100, python_headers=False), "C compiler").message


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"python": (3, 10, 9)}, "Python"),
        ({"torch": None}, "torch"),
        ({"torch": "2.9.1"}, "torch"),
        ({"torch_error": "OSError: libcudart"}, "torch"),
        ({"numpy": "1.26.4"}, "numpy"),
        ({"numpy": None}, "numpy"),
        ({"ml_dtypes": None}, "ml_dtypes"),
        ({"ml_dtypes": "0.4.1"}, "ml_dtypes"),
        ({"nbformat": None}, "nbformat"),
        ({"rich": None}, "rich"),
    ],
    ids=lambda value: str(value) if not isinstance(value, dict) else "-".join(f"{k}={v}" for k, v in value.items()),
)
def test_each_missing_part_is_a_problem_with_a_command(change: dict[str, object], what: str) -> None:
    found = finding(replace(LAPTOP, **change), what)  # type: ignore[arg-type]
    assert found.level == "problem"
    assert found.command
    assert shlex.split(found.command)


def test_a_folder_that_cannot_be_written_or_is_full_is_a_warning() -> None:
    assert "progress" in finding(replace(LAPTOP, writable=False, folder="/mnt/a b"), "folder").message
    assert finding(replace(LAPTOP, writable=False, folder="/mnt/a b"), "folder").command == "chmod u+w '/mnt/a b'"
    assert "3 MiB" in finding(replace(LAPTOP, free=3 * 2**20), "folder").message
    assert finding(replace(LAPTOP, cache_usable=False), "Triton's cache").level == "warning"


def test_a_sandbox_that_does_not_start_is_a_problem() -> None:
    assert finding(replace(LAPTOP, sandbox=None, sandbox_error="no fork"), "sandbox").level == "problem"
    lost = finding(replace(LAPTOP, sandbox_lost=("other_user: the user nobody cannot read os.py",)), "sandbox")
    assert (lost.level, "cannot read os.py" in lost.message) == ("note", True)
    leaky = finding(replace(LAPTOP, sandbox_gaps=("secrets",), sandbox_lost=("other_user: no",)), "sandbox")
    assert (leaky.level, "secrets" in leaky.message, "other_user: no" in leaky.message) == ("warning", True, True)


def test_the_doctor_needs_neither_torch_nor_triton_nor_numpy() -> None:
    """On a Mac without triton, and before anything is installed, `import checker; checker.doctor()` has to work."""
    block = "import sys\nfor name in ('torch', 'triton', 'numpy', 'ml_dtypes', 'nbformat', 'IPython'): sys.modules[name] = None\n"
    code = block + "import platform; platform.system = lambda: 'Darwin'\nimport checker\nprint(checker.doctor())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "Colab" in run.stdout
    assert "macOS" in run.stdout


def test_brief_is_one_line_where_nothing_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    checker.doctor(brief=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("Ready: torch ")
