"""Puts the course's files into the package, where they are found once it is installed: `checker.workspace.COURSE`."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
MATERIAL = ("notebooks/*.ipynb", "puzzles/*.py", "solutions/**/*.py")


class WithMaterial(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the course is the checkout itself
        for path in (path for pattern in MATERIAL for path in ROOT.glob(pattern)):
            target = Path(self.build_lib) / "checker" / "material" / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


setup(cmdclass={"build_py": WithMaterial})
