"""A real JupyterLab over a copy of the course, and a real Chromium to open it in."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.chromium import OPTIONS, chromium
from tests.browser.lab import Lab, Notebook

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("checker", "notebooks", "puzzles", "solutions", "tools", "pyproject.toml")
PATIENCE = 120  # seconds for JupyterLab to come up, or for one click: a busy machine of two cores is slow
expect.set_options(timeout=30_000)
QUIET = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # every cell stays in the page, wherever it is scrolled to
}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a free port, without a token, over a copy of the course."""
    home = tmp_path_factory.mktemp("lab")
    course = home / "course"
    course.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, course / part)
    for name, settings in QUIET.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = home / "lab.log"
    with log.open("w") as output:
        server = subprocess.Popen(command(course, port), env=environment(home), stdout=output, stderr=output)
    try:
        wait_for(f"http://127.0.0.1:{port}/api/status", server, log)
        yield Lab(f"http://127.0.0.1:{port}", course)
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def command(course: Path, port: int) -> list[str]:
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    options += [f"--ServerApp.root_dir={course}", "--ServerApp.disable_check_xsrf=True", "--IdentityProvider.token="]
    return [sys.executable, "-m", "jupyterlab", *options, "--PasswordIdentityProvider.password_required=False"]


def environment(home: Path) -> dict[str, str]:
    """The machine's environment without its Jupyter settings, which could change the test."""
    foreign = ("JUPYTER", "IPYTHON", "TILE_BY_TILE")
    own = {f"JUPYTER_{name.upper()}_DIR": str(home / name) for name in ("config", "data", "runtime")}
    own |= {f"JUPYTERLAB_{name.upper()}_DIR": str(home / name) for name in ("settings", "workspaces")}
    own |= {"IPYTHONDIR": str(home / "ipython"), "PYTHONPATH": str(home / "course")}
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | own


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not come up:\n{log.read_text()[-4000:]}")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in its own window."""
    context = browser.new_context(viewport={"width": 1280, "height": 1400})
    context.set_default_timeout(PATIENCE * 1000)
    yield context.new_page()
    context.close()


@pytest.fixture
def notebook(lab: Lab, page: Page, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    """A fresh copy of the notebook in the module's STEM, with its own kernel and its first cell run."""
    stem = request.module.STEM
    name = f"{stem}-{request.node.name.replace('test_', '')}.ipynb"
    shutil.copy(ROOT / "notebooks" / f"{stem}.ipynb", lab.course / "notebooks" / name)
    opened = Notebook(lab, page, f"notebooks/{name}")
    opened.open()
    opened.run("from checker import check")
    yield opened
    opened.stop_kernels()
