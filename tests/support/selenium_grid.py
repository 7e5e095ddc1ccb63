"""A Selenium Grid on loopback, in a process of its own."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from base64 import b64encode
from pathlib import Path

import pytest

from pytest_miniwob_agent.browser.local import find_browser, find_driver
from support.projects import ROOT, mortal

USER, PASSWORD = "grid-user", "pwd-grey-goose"

JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Java as it starts fastest."""


def server():
    """The path of Selenium's server; the test is skipped where it can't be run."""
    paths = [os.environ.get("MINIWOB_SELENIUM_SERVER")]
    paths += sorted(map(str, ROOT.glob(".cache/selenium-server-*.jar")))
    if shutil.which("java") is None or not any(paths):
        pytest.skip("no Java or no Selenium server: bash .ci/install-grid brings them")
    return next(filter(None, paths))


def free_port(following=0):
    """A port of loopback that nothing listens at, nor at so many ports that follow it.

    It is below those that the system gives to clients and servers which name no port.
    """
    while True:
        first = random.SystemRandom().randrange(20_000, 30_000)  # `random` has the run's seed
        with contextlib.suppress(OSError):
            for port in range(first, first + following + 1):
                socket.create_server(("127.0.0.1", port)).close()
            return first


class SeleniumGrid:
    """A Grid with a user and a password, and slots for two browsers."""

    def __init__(self, folder):
        jar, port, browser = server(), free_port(), find_browser()
        self.host = f"127.0.0.1:{port}"
        self.url = f"http://{self.host}"
        self.with_user = f"http://{USER}:{PASSWORD}@{self.host}"
        # Debian's is a script: the driver would end it, and leave its browser running.
        program = Path("/usr/lib/chromium", Path(browser).name)
        self.dies = folder / "dies"
        binary = mortal(folder, program if program.exists() else browser)
        options = {"binary": binary, "args": ["--no-sandbox"]}
        stereotype = {"browserName": "chrome", "goog:chromeOptions": options}
        self._log = folder / "grid.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *JAVA, "-jar", jar, "standalone", "--host", "127.0.0.1", "--port", str(port),
                    "--tracing", "false", "--username", USER, "--password", PASSWORD,
                    "--reject-unsupported-caps", "true", "--session-request-timeout", "20",
                    "--detect-drivers", "false", "--max-sessions", "2",
                    "--selenium-manager", "false",
                    "--driver-configuration", "display-name=Chromium", "max-sessions=2",
                    f"webdriver-executable={find_driver(browser)}",
                    f"stereotype={json.dumps(stereotype)}",
                ],
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.wait()

    def _ask(self, method, path):
        user = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request = urllib.request.Request(
            self.url + path, headers={"Authorization": f"Basic {user}"}, method=method
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def sessions(self):
        """The sessions that there are."""
        nodes = self._ask("GET", "/status")["nodes"]
        found = [slot["session"] for node in nodes for slot in node["slots"]]
        return [session for session in found if session]

    def end(self, session):
        """End a session, as its node does where it has been idle."""
        self._ask("DELETE", f"/session/{session}")

    def wait(self, seconds=300):
        """Wait until the Grid is up and nobody has a session, of which it is told a little later.

        A node ends an idle session after 300 seconds.
        """
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                if self._ask("GET", "/status")["ready"] and not self.sessions():
                    return
            assert self._process.poll() is None, self._log.read_text(errors="replace")
            assert time.monotonic() < end, self._log.read_text(errors="replace")
            time.sleep(0.1)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
