"""What several test modules need: a model server over real HTTP, and projects to run pytest in."""

import contextlib
import ctypes
import json
import os
import shutil
import socketserver
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpcore2  # noqa: F401
import pytest
import scipy.stats  # noqa: F401

# Loaded before any inner run, as are httpcore2 and scipy: pytester forgets modules that an inner
# run was first to import, and some can't be loaded twice.
from pytest_miniwob_agent import browser, cassette, llm, screen  # noqa: F401


class ChatServer:
    """An OpenAI-compatible server on loopback whose answers a test decides.

    `reply` maps a prompt to a text, a ready body (dict or bytes), a status code, or a status code
    with a body; `encode` compresses what is sent, and `retry_after` goes with refusals, in seconds.
    """

    def __init__(self):
        self.reply = lambda prompt: "DONE"
        self.encode = None
        self.retry_after = None
        self.requests = []
        self.headers = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.headers.append({k.lower(): v for k, v in self.headers.items()})
                answer = server.reply(body["messages"][0]["content"])
                status = 200
                if isinstance(answer, int):
                    answer = (answer, {"error": {"message": f"status {answer}"}})
                if isinstance(answer, tuple):
                    status, answer = answer
                if isinstance(answer, str):
                    answer = server.completion(answer, body["model"])
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if server.retry_after and status != 200:
                    self.send_header("Retry-After-Ms", str(1000 * server.retry_after))
                if server.encode:
                    data = server.encode(data)
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Set-Cookie", "session=secret-cookie")
                with contextlib.suppress(ConnectionError):  # the client may be gone by now
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def completion(self, text, model="m"):
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "created": 1_700_000_000 + len(self.requests),
            "object": "chat.completion",
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
        }

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class RawServer:
    """A server on loopback that sends the bytes a test gives it, HTTP or not, and hangs up.

    `answer` maps the number of a request, from 1 up, to the pieces that are sent one by one; it may
    wait between them.
    """

    def __init__(self):
        self.answer = lambda number: [b""]
        self.requests = 0
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                length = 0
                while (line := self.rfile.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                self.rfile.read(length)
                server.requests += 1
                with contextlib.suppress(ConnectionError):  # the client may be gone by now
                    for piece in server.answer(server.requests):
                        self.wfile.write(piece)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def raw_server():
    server = RawServer()
    yield server
    server.close()


@pytest.fixture
def chat_server():
    server = ChatServer()
    yield server
    server.close()


SURROUNDINGS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CI", "BUILD_NUMBER", "GITHUB_ACTIONS")
"""Variables that change what an inner run does or shows; a test that wants one sets it."""


@pytest.fixture(autouse=True)
def no_surroundings(request, monkeypatch):
    if request.node.get_closest_marker("miniwob"):  # an item of the shipped suites
        return
    for name in SURROUNDINGS:
        monkeypatch.delenv(name, raising=False)


class Display:
    """A screen that nobody looks at, by Xvfb, with a mouse that a test can move."""

    def __init__(self):
        if shutil.which("Xvfb") is None:
            pytest.fail(
                "no Xvfb on PATH, on which this test opens the browser's window: install it, on "
                "Debian and Ubuntu with `apt-get install xvfb`",
                pytrace=False,
            )
        readable, writable = os.pipe()
        self._server = subprocess.Popen(
            [
                "Xvfb",
                "-displayfd",
                str(writable),
                "-screen",
                "0",
                "1024x768x24",
                "-nolisten",
                "tcp",
            ],
            pass_fds=[writable],
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(writable)
        with open(readable) as number:  # of a free display; written once the server can be used
            self.name = f":{number.read().strip()}"
        if self.name == ":":
            pytest.fail(f"Xvfb did not start: {self._server.communicate()[1]}", pytrace=False)

    def move_mouse(self, x, y):
        """Move the mouse as a hand would, by the library that Chromium itself draws with."""
        x11 = ctypes.CDLL("libX11.so.6")
        x11.XOpenDisplay.restype = ctypes.c_void_p
        connection = ctypes.c_void_p(x11.XOpenDisplay(self.name.encode()))
        x11.XDefaultRootWindow.restype = ctypes.c_ulong
        root = ctypes.c_ulong(x11.XDefaultRootWindow(connection))
        x11.XWarpPointer(connection, ctypes.c_ulong(0), root, 0, 0, 0, 0, x, y)
        x11.XCloseDisplay(connection)  # sends what is waiting

    def close(self):
        self._server.terminate()
        self._server.communicate()


@pytest.fixture
def display():
    server = Display()
    yield server
    server.close()


REPORTING = ("allure_pytest", "html", "html_fixtures", "metadata", "pytest_jsonreport")
"""Plugins that are installed for test_exports.py; pyproject.toml keeps them out of this run."""

OTHERS = ("llmock", "recording", "respx", "vcr", *REPORTING)
"""These, and those that are installed for test_coexistence.py and test_servers.py."""


@pytest.fixture
def pytester(pytester, monkeypatch):
    """Inner runs load what this run loads."""
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-pno:{name}" for name in OTHERS))
    return pytester


FAKE_PAGE = """
    import pytest
    from pytest_miniwob_agent.core import Element
    from pytest_miniwob_agent.testing import FakeEnvironment

    @pytest.fixture
    def miniwob_environment(miniwob_case):
        '''A menu to open, with an entry to click.'''
        menu = Element(1, "button", "Menu")
        return FakeEnvironment(
            f"Open the menu and click Save, for {miniwob_case.task} {miniwob_case.seed}",
            {"start": [menu], "open": [menu, Element(2, "a", "Save"), Element(3, "a", "Quit")]},
            {("start", "click id=1"): "open"},
            {("open", "click id=2"): 1.0, ("open", "click id=3"): -1.0},
        )
"""

TEST_FILE = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", "click-tab*", seeds=[1, 2])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


@pytest.fixture
def project(pytester):
    """A user's project whose pages are fakes, so that no browser is needed."""
    pytester.makeconftest(FAKE_PAGE)
    pytester.makepyfile(TEST_FILE)
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")
    return pytester


@pytest.fixture
def record(project, chat_server):
    """Record the project's items from a model that solves the page; returns the project."""
    chat_server.reply = solve_menu
    result = project.runpytest(
        "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"
    )
    result.assert_outcomes(passed=12)
    return project


def solve_menu(prompt):
    """A model that solves the fake page."""
    if "Say in one short sentence" in prompt:
        return "The menu was opened."
    return "click id=2" if ">Save<" in prompt else "click id=1"
