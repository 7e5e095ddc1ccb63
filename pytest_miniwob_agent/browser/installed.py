"""Chromium and its driver on this machine: where they are found, and how to install them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pytest_miniwob_agent.core.errors import BrowserError

SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
"""Names of Chromium's headless shell: the same engine without the parts of a window. It replays in
about half the processor time."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names of whole browsers."""

DRIVER_HINT = (
    "on Debian and Ubuntu with `apt-get install chromium-driver`, elsewhere the chromedriver of "
    "the browser's version beside the browser or on PATH"
)

SHELL_HINT = (
    "on Debian with `apt-get install chromium-headless-shell`, elsewhere the "
    "chrome-headless-shell of chromedriver's version on PATH"
)


def is_shell(path: str) -> bool:
    """True if a browser is a headless shell, by its name or that of the file it links to."""
    names = {Path(path).name, Path(path).resolve().name}
    return any("headless-shell" in name or "headless_shell" in name for name in names)


def find_browser(path: str | None = None, *, headed: bool = False) -> str:
    """The executable to start: `path`, `$MINIWOB_BROWSER`, or the first of `SHELLS` and `BROWSERS`.

    For a window (`headed`) only the latter.

    Raises:
        BrowserError: there is none, or it has no window.
    """
    if path := path or os.environ.get("MINIWOB_BROWSER"):
        found = shutil.which(path)
        if found is None:
            raise BrowserError(f"no browser at {path!r} (--miniwob-browser or MINIWOB_BROWSER)")
        if headed and is_shell(found):
            raise BrowserError(
                f"{found} has no window, which --miniwob-headed shows: name a whole Chromium or "
                "Chrome with --miniwob-browser, or leave that and MINIWOB_BROWSER out"
            )
        return found
    names = BROWSERS if headed else (*SHELLS, *BROWSERS)
    for name in names:
        if found := shutil.which(name):
            return found
    app = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    if Path(app).exists():
        return app
    raise BrowserError(
        f"no Chromium or Chrome found (looked for {', '.join(names)}): install one, on Debian "
        "and Ubuntu with `apt-get install chromium chromium-driver`, or name it with "
        "--miniwob-browser PATH"
    )


def find_driver(browser: str) -> str:
    """The chromedriver to start: `$SE_CHROMEDRIVER`, the browser's neighbour, or one on the path.

    Without one Selenium would download it, but no run asks the network.

    Raises:
        BrowserError: there is none.
    """
    if path := os.environ.get("SE_CHROMEDRIVER"):
        return path
    folders = (Path(browser).parent, Path(browser).resolve().parent, os.environ.get("PATH", ""))
    if found := shutil.which("chromedriver", path=os.pathsep.join(map(str, folders))):
        return found
    raise BrowserError(
        f"no chromedriver found beside {browser} or on PATH: install it, {DRIVER_HINT}"
    )
