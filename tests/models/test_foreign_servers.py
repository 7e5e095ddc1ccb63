"""Recording from model servers of other projects, fakellm and llmock, in processes of their own."""

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from pytest_miniwob_agent.cassettes.format.file import read_cassette

# One worker starts the servers, which takes long.
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("foreign-servers")]

# The rules of fakellm, by which it solves the fake page.
RULES = """
rules:
  - name: summarise
    when: {messages_contain: "Say in one short sentence"}
    respond: {content: "The menu was opened."}
  - name: the menu is open
    when: {messages_contain: ">Save<"}
    respond: {content: "click id=2"}
  - name: the menu is closed
    respond: {content: "click id=1"}
"""


class Server:
    """fakellm or llmock, as installed, in a process of its own."""

    def __init__(self, name, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        rules = folder / "rules.yaml"
        rules.write_text(RULES)
        args = {
            "fakellm": ["--config", str(rules)],
            "llmock": ["--response-style", "echo", "--log-level", "warning"],
        }
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.root}/v1"
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(Path(sys.executable).with_name(name)),
                    *["serve", "--host", "127.0.0.1", "--port", str(self.port)],
                    *args[name],
                ],
                stdout=log,
                stderr=log,
            )
        try:
            self._wait(folder / "log")
        except BaseException:
            self.stop()
            raise

    def _wait(self, log):
        deadline = time.monotonic() + 60
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{log.read_text()}")

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.root + path, data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self):
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Start a server by its name; each is started once for all tests."""
    started = {}

    def start(name):
        if name not in started:
            started[name] = Server(name, tmp_path_factory.mktemp(name))
        return started[name]

    yield start
    for server in started.values():
        server.stop()


@pytest.fixture
def fakellm(servers):
    return servers("fakellm")


@pytest.fixture
def llmock(servers):
    server = servers("llmock")
    server.ask("/_llmock/reset", {})
    return server


@pytest.fixture(params=["fakellm", "llmock"])
def server(request):
    return request.getfixturevalue(request.param)


def test_a_cassette_holds_the_completion_and_nothing_else_of_the_server(
    one_item, server, closed_url
):
    """llmock echoes the prompt, which does not solve the page: the replay fails like the run."""
    one_item.run_item(server.url, record="once")
    calls = read_cassette(one_item.cassette)
    body = json.loads(json.dumps(calls[0].body))
    answer = server.ask("/v1/chat/completions", body)
    assert calls[0].completion.text == answer["choices"][0]["message"]["content"]
    counts = (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"])
    assert calls[0].tokens == counts
    assert min(counts) > 0
    text = one_item.cassette.read_text()
    for trace in ("127.0.0.1", str(server.port), "chatcmpl", "created", "uvicorn", "system_f"):
        assert trace not in text

    before = one_item.cassette.read_bytes()
    result = one_item.run_item(closed_url, record="none")
    result.stdout.fnmatch_lines([f"model calls: {len(calls)} replayed, 0 recorded"])
    assert result.parseoutcomes().keys() <= {"passed", "failed"}
    assert one_item.cassette.read_bytes() == before


def test_passing_faults_are_retried_as_the_server_demands(one_item, llmock):
    """llmock judges how its client reacts to them."""
    faults = [
        {"type": "fail", "status": 429, "times": 2, "retry_after": 0.2},
        {"type": "fail", "status": 503, "times": 1},
    ]
    llmock.ask("/_llmock/scenario", {"behaviors": faults})
    one_item.run_item(llmock.url).assert_outcomes(failed=1)
    verdict = llmock.ask("/_llmock/verdict")
    assert verdict["findings"] == []
    assert verdict["faults_injected"] == 3
    assert verdict["attempts"] == len(read_cassette(one_item.cassette)) + 3
