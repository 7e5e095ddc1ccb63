"""A Selenium Grid on loopback: a hub and nodes in processes that tests kill and start."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from base64 import b64encode
from pathlib import Path

import pytest
from projects import ROOT

from pytest_miniwob_agent.browser.installed import find_browser, find_driver

USER, PASSWORD = "grid-user", "pwd-grey-goose"

QUEUE_SECONDS = 20
"""The hub's --session-request-timeout."""

JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Java as it starts fastest."""


def server():
    """The path of Selenium's server; the test is skipped where it can't be run."""
    if shutil.which("java") is None:
        pytest.skip("no Java on PATH: bash .ci/install-grid installs it")
    if path := os.environ.get("MINIWOB_SELENIUM_SERVER"):
        return path
    for path in sorted(ROOT.glob(".cache/selenium-server-*.jar")):
        return str(path)
    pytest.skip("no Selenium server in .cache/: bash .ci/install-grid brings it")


def free_ports(count):
    """Ports of loopback that nothing listens at."""
    with contextlib.ExitStack() as stack:
        tried = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in tried]


STANDARD = ("--host", "127.0.0.1", "--tracing", "false")


class SeleniumGrid:
    """A hub with a user and a password, and nodes with a place for one browser each."""

    def __init__(self, folder, nodes=2):
        self._folder = folder
        self._jar = server()
        self._port, *bus = free_ports(3)
        self._bus = [
            *("--publish-events", f"tcp://127.0.0.1:{bus[0]}"),
            *("--subscribe-events", f"tcp://127.0.0.1:{bus[1]}"),
        ]
        self.host = f"127.0.0.1:{self._port}"
        self.url = f"http://{self.host}"
        self.with_user = f"http://{USER}:{PASSWORD}@{self.host}"
        self.hub = None
        self.nodes = {}
        """The processes of the nodes, by their ports."""
        self.start_hub(wait=False)
        for _ in range(nodes):
            self.start_node(wait=False)
        self.wait()

    def start_hub(self, wait=True):
        self.hub = self._java(
            "hub", *self._bus, "--port", str(self._port),
            "--username", USER, "--password", PASSWORD, "--reject-unsupported-caps", "true",
            "--session-request-timeout", str(QUEUE_SECONDS), "--healthcheck-interval", "5",
        )  # fmt: skip
        if wait:
            self.wait()

    def start_node(self, wait=True):
        browser = find_browser()
        # Debian's is a script, of which the driver would leave the browser behind.
        program = Path("/usr/lib/chromium", Path(browser).name)
        binary = str(program) if program.exists() else browser
        stereotype = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": binary, "args": ["--no-sandbox"]},
        }
        [port] = free_ports(1)
        self.nodes[port] = self._java(
            "node", "--hub", self.url, *self._bus,
            "--port", str(port), "--detect-drivers", "false", "--max-sessions", "1",
            "--selenium-manager", "false", "--heartbeat-period", "2", "--register-cycle", "1",
            "--driver-configuration", "display-name=Chromium", "max-sessions=1",
            f"webdriver-executable={find_driver(browser)}",
            f"stereotype={json.dumps(stereotype)}",
        )  # fmt: skip
        if wait:
            self.wait()
        return port

    def _java(self, role, *args):
        log = open(self._folder / f"{role}-{time.monotonic_ns()}.log", "wb")  # noqa: SIM115
        with log:
            return subprocess.Popen(
                [*JAVA, "-jar", self._jar, role, *STANDARD, *args],
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def repair(self, nodes=2):
        """Start what a test has killed, and wait until everything is up and free."""
        if self.hub.poll() is not None:
            self.start_hub(wait=False)
        for node in self.sessions():  # of a hub that was killed
            self.kill_node(node)
        while len(self.nodes) < nodes:
            self.start_node(wait=False)
        self.wait()

    def kill_node(self, port):
        """Kill a node with all that it has started."""
        self._kill(self.nodes.pop(port))

    def kill_hub(self):
        self._kill(self.hub)

    def _kill(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def status(self):
        """The Grid's own account of its nodes; None where there is none."""
        user = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request = urllib.request.Request(
            f"{self.url}/status", headers={"Authorization": f"Basic {user}"}
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with contextlib.suppress(OSError), direct.open(request, timeout=10) as answer:
            return json.load(answer)["value"]
        return None

    def wait(self, seconds=90):
        """Wait until the nodes that run are up and free, and the Grid knows of no others."""
        end = time.monotonic() + seconds
        while self.up() != {port: [] for port in self.nodes}:
            ended = [each for each in (self.hub, *self.nodes.values()) if each.poll() is not None]
            assert not ended, self.logs()
            assert time.monotonic() < end, self.logs()
            time.sleep(0.1)

    def up(self):
        """The sessions of the nodes that are up, by their ports."""
        return {
            int(node["uri"].rpartition(":")[2]): [
                slot["session"] for slot in node["slots"] if slot["session"]
            ]
            for node in (self.status() or {}).get("nodes", ())
            if node["availability"] == "UP"
        }

    def sessions(self):
        """The session of each node that has one, by the node's port."""
        return {port: sessions[0] for port, sessions in self.up().items() if sessions}

    def logs(self):
        return "\n".join(
            f"{log.name}:\n{log.read_text(errors='replace')[-2000:]}"
            for log in sorted(self._folder.glob("*.log"))
        )

    def close(self):
        for process in (*self.nodes.values(), self.hub):
            self._kill(process)
