"""JupyterLab as a person uses it: find a cell by its text, type, run, look at the output."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from checker.workspace import Workspace

RUN_PATIENCE = 180_000  # milliseconds: a cold check on a busy machine of two cores


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab and the folder it serves."""

    address: str
    course: Path


@dataclass(frozen=True)
class Notebook:
    """One notebook in one page. Cells are found by a text in their source."""

    lab: Lab
    page: Page
    path: str

    def open(self) -> None:
        """Open the notebook as a learner who has solved nothing yet."""
        for file in Workspace(self.lab.course).ours.glob("progress.json*"):
            file.unlink()
        # Start its kernel, so that JupyterLab does not ask for one.
        session = {"path": self.path, "name": self.path, "type": "notebook", "kernel": {"name": "python3"}}
        expect(self.page.request.post(self.sessions, data=session, timeout=120_000)).to_be_ok()
        # On a slow machine JupyterLab may still ask; accept its offer.
        accept = self.page.locator(".jp-Dialog .jp-mod-accept")
        self.page.add_locator_handler(accept, lambda button: button.click())
        # A separate workspace, because the shared one would reopen the notebooks of earlier tests.
        workspace = Path(self.path).stem
        address = f"{self.lab.address}/lab/workspaces/{workspace}/tree/{self.path}"
        self.page.goto(address, wait_until="domcontentloaded")
        expect(self.page.locator(".jp-Notebook .jp-Cell").first).to_be_visible(timeout=120_000)
        self.wait_until_idle()

    @property
    def sessions(self) -> str:
        return f"{self.lab.address}/api/sessions"

    def stop_kernels(self) -> None:
        for session in self.page.request.get(self.sessions, timeout=120_000).json():
            self.page.request.delete(f"{self.sessions}/{session['id']}", timeout=120_000)

    def wait_until_idle(self) -> None:
        """Wait until no cell runs or is queued."""
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text("| Idle", timeout=RUN_PATIENCE)

    def cell(self, text: str) -> Locator:
        """The first code cell whose source contains `text`."""
        return self.page.locator(".jp-CodeCell", has=self.page.locator(".jp-InputArea-editor", has_text=text)).first

    def write(self, text: str, source: str) -> None:
        """Replace the source of the cell that contains `text`."""
        self.cell(text).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)

    def type_below(self, text: str, line: str, code: list[str]) -> None:
        """Type `code`, key by key, below `line` in the cell that contains `text`."""
        self.cell(text).locator(".cm-line", has_text=line).first.click()
        self.page.keyboard.press("End")
        for typed in code:
            self.page.keyboard.press("Enter")
            self.page.keyboard.type(typed)

    def run(self, text: str) -> Locator:
        """Run the cell that contains `text` to its end and return its output."""
        self.wait_until_idle()
        cell = self.cell(text)
        prompt = cell.locator(".jp-InputPrompt").first
        before = prompt.inner_text()
        # JupyterLab drops keys while it builds the page, so press until the cell runs.
        for _ in range(10):
            self._choose_kernel()
            cell.locator(".cm-content").click()
            self.page.keyboard.press("Control+Enter")
            with suppress(AssertionError):
                expect(prompt).not_to_have_text(before, timeout=5_000)  # ``[*]`` while the cell runs, its number after
                break
        expect(prompt).to_have_text(re.compile(r"^\[\d+\]:$"), timeout=RUN_PATIENCE)
        return cell.locator(".jp-Cell-outputArea")

    def _choose_kernel(self) -> None:
        """Accept JupyterLab's offer if it asks for a kernel, as it does before it notices the one that was started."""
        asking = self.page.locator(".jp-Dialog", has_text="Select Kernel")
        if asking.count():
            asking.locator("button.jp-mod-accept").click()
            expect(asking).to_have_count(0)
