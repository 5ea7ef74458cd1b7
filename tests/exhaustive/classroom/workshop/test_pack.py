"""A pack installs the course without a network, and the installed course checks a kernel."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

from classroom import cli
from tests.classroom.workshop.test_pack import run


def test_installs_without_a_network(tmp_path: Path) -> None:
    """Without torch, because it is large; the test links the environment's own afterwards."""
    made, course = tmp_path / "pack", tmp_path / "course"
    assert cli.main(["pack", str(made), "--torch", "none"]) == 0
    assert list((made / "wheels").glob("jupyterlab-*.whl"))
    assert not list((made / "wheels").glob("torch-*"))

    (course / "puzzles").mkdir(parents=True)
    mine = course / "puzzles" / "row_softmax.py"
    mine.write_text("# my work\n")
    installed = run("sh", str(made / "install.sh"), str(course), home=tmp_path)
    assert "torch is not installed" in " ".join(installed.stdout.split()), installed.stderr
    assert installed.stdout.count("✗ problem") == 2, "torch and Triton are all that is missing"
    assert mine.read_text() == "# my work\n"

    (site,) = (course / ".venv" / "lib").glob("python*/site-packages")
    (site / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = str(course / ".venv" / "bin" / "python")
    shutil.copy(course / "solutions" / "vector_add.py", course / "puzzles" / "vector_add.py")
    lab = run(python, "-c", "import jupyterlab; print(jupyterlab.__file__)", home=tmp_path)
    assert lab.stdout.startswith(str(course)), lab.stderr
    checked = run("sh", "-c", f"cd {course} && {python} -m checker check vector_add --device cpu", home=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
