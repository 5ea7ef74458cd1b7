"""A pack installs the course without a network, and the course then checks a kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checker.api.command_line import UnavailableHere
from classroom import cli
from classroom.workshop import pack
from tests.classroom.workshop.conftest import ROOT

PRESENT = f"{sys.version_info.major}.{sys.version_info.minor}"
NOWHERE = "http://127.0.0.1:9"
OFFLINE = {"PIP_CONFIG_FILE": "/dev/null", "http_proxy": NOWHERE, "https_proxy": NOWHERE, "PIP_FIND_LINKS": ""}
HASTY = {"PIP_COMPILE": "0"}  # the test imports few of the hundred packages


def cut_off() -> list[str]:
    """Runs a command without a network, if namespaces are allowed; otherwise a dead proxy has to do."""
    if shutil.which("unshare") is None:
        return []
    tried = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    return ["unshare", "-rn"] if tried.returncode == 0 else []


def run(*command: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | OFFLINE | HASTY | {"HOME": str(home), "PYTHON": sys._base_executable}  # type: ignore[attr-defined]
    environment.pop("PYTHONPATH", None)
    alone = [*cut_off(), *command]
    return subprocess.run(alone, env=environment, cwd=home, capture_output=True, text=True, check=False)


def test_a_pack_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "course").mkdir()
    assert cli.main(["pack", str(tmp_path)]) == 3
    assert "there is a pack in" in capsys.readouterr().err


def test_the_installer_names_the_pythons_it_supports(tmp_path: Path) -> None:
    installer = tmp_path / "install.sh"
    installer.write_text(pack._installer(["3.97"], "cpu"))
    assert "@" not in installer.read_text().replace('"$@"', "")
    ran = run("sh", str(installer), str(tmp_path / "to"), home=tmp_path)
    assert ran.returncode == 1
    assert "This pack is for Python 3.97" in ran.stderr
    assert not (tmp_path / "to").exists()


def test_a_pack_for_the_cpu_refuses_the_cuda_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fetch(needed: list[str], python: str, wheels: Path, *_: object) -> None:
        (wheels / "nvidia_cublas-13-py3-none-manylinux_2_27_x86_64.whl").touch()

    monkeypatch.setattr(pack, "_download", fetch)
    with pytest.raises(UnavailableHere, match="CUDA build"):
        pack.write(ROOT, tmp_path, [PRESENT], "cpu")
