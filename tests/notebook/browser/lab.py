"""A JupyterLab of its own, started by ``serq lab``, and a browser on it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.request import Request, urlopen

from playwright.sync_api import Locator, Page, sync_playwright

from tests.notebook.programs import ROOT

PATIENCE = 60_000  # milliseconds; a busy machine takes its time to start a kernel
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SETTINGS = "@jupyterlab/apputils-extension"


def browser_path() -> str | None:
    """A browser of the system: Playwright's own would be a download."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


class Lab:
    """A running JupyterLab with a folder of notebooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = folder.parent / "state"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        options = [
            "--no-browser", "--allow-root", f"--port={self._port}", "--ServerApp.port_retries=0",
            "--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True",
        ]  # fmt: skip
        self.set("notification", {"fetchNews": "false", "checkForUpdates": False})
        with (folder.parent / "server.log").open("w") as log:
            command = [sys.executable, "-m", "serq_lab.cli", "lab", str(folder), "--", *options]
            self._server = subprocess.Popen(command, env=self._environment(), stdout=log, stderr=subprocess.STDOUT)

    def _environment(self) -> dict[str, str]:
        folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR")
        own = {name: str(self._state / name.lower()) for name in folders}
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        return {**os.environ, **own, "JUPYTERLAB_SETTINGS_DIR": str(self._state / "settings"), "PYTHONPATH": path}

    def set(self, what: str, values: dict[str, object]) -> None:
        """Change a user's settings, for pages that are opened later."""
        file = self._state / "settings" / SETTINGS / f"{what}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")

    def url(self, notebook: str) -> str:
        return f"http://127.0.0.1:{self._port}/lab/tree/{notebook}?reset"

    def wait(self) -> None:
        """Until the server answers."""
        stop_at = monotonic() + PATIENCE / 1000
        while monotonic() < stop_at:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            sleep(0.2)
        raise TimeoutError((self.folder.parent / "server.log").read_text())

    @property
    def pid(self) -> int:
        """Of ``serq lab``."""
        return self._server.pid

    def start_kernel(self) -> None:
        """A kernel that no page has asked for."""
        with urlopen(Request(f"http://127.0.0.1:{self._port}/api/kernels", data=b'{"name": "python3"}')):
            pass

    def close(self) -> None:
        """End the lab, its server and its kernels."""
        self._server.terminate()
        self._server.wait(30)


@contextmanager
def open_page(lab: Lab, notebook: str) -> Iterator[Page]:
    """The notebook in a browser, all its cells run."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1500, "height": 1100})
        page.set_default_timeout(PATIENCE)
        page.goto(lab.url(notebook))
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        page.get_by_role("button", name="| Idle").wait_for()  # before that, cells are not run
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        yield page
        browser.close()


def drag(page: Page, slider: Locator, share: float) -> None:
    """Move a slider with the mouse to a share of its way, as a hand does: in small steps."""
    slider.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # the notebook may still be scrolling to a cell that has run
    handle = slider.locator(".noUi-handle").bounding_box()
    track = slider.locator(".noUi-base").bounding_box()
    assert handle is not None
    assert track is not None
    y = handle["y"] + handle["height"] / 2
    page.mouse.move(handle["x"] + handle["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(track["x"] + share * track["width"], y, steps=12)
    page.mouse.up()
