"""Runs beside other plugins that record or mock HTTP: pytest-recording, pytest-vcr and respx.

The first two refuse to run together, so each has separate runs. All are loaded in inner runs only.
"""

import pytest
from support.projects import OTHERS, ROOT, solve_menu

pytestmark = pytest.mark.integration

# A user's tests. Their calls go to /weather of the server that is named in the environment, and to
# a host that does not exist; the items are between them.
THEIRS = """
    import json
    import os
    import urllib.request

    import httpx
    import httpx2
    import pytest

    WEATHER = os.environ["WEATHER"]

    def ask(question):
        request = urllib.request.Request(WEATHER, json.dumps(question).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]

    def question(text):
        return {"model": "theirs", "messages": [{"role": "user", "content": text}]}

    @pytest.mark.vcr
    def test_with_urllib():
        assert ask(question("weather?")) == "sunny"

    @pytest.mark.vcr
    def test_with_the_client_that_ours_has_too():
        answer = httpx2.post(WEATHER, json=question("weather?"), timeout=30)
        assert answer.json()["choices"][0]["message"]["content"] == "sunny"

    @pytest.mark.miniwob("click-menu-2", seeds=[1, 2])
    def test_ours(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()

    @pytest.mark.vcr
    @pytest.mark.miniwob("click-menu-2", seeds=[3])
    def test_both(miniwob_episode):
        assert ask(question("weather?")) == "sunny"
        assert miniwob_episode.solved, miniwob_episode.explain()

    @pytest.mark.respx(base_url="https://weather.invalid")
    @pytest.mark.miniwob("click-menu-2", seeds=[4])
    def test_mocked(respx_mock, miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
        respx_mock.get("/today").respond(text="rainy")
        assert httpx.get("https://weather.invalid/today").text == "rainy"
        assert len(respx_mock.calls) == 1
"""
TESTS = 6
ITEMS = 4

BLOCKED = """

    @pytest.mark.block_network
    def test_theirs_without_network():
        with pytest.raises(RuntimeError, match="Network is disabled"):
            ask(question("weather?"))

    @pytest.mark.block_network
    @pytest.mark.miniwob("click-menu-2", seeds=[5])
    def test_ours_without_network(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

RECORD = {"recording": "--record-mode", "vcr": "--vcr-record"}
"""The option of each plugin for what may be recorded."""


class Session:
    """Runs of a user's tests with ours, respx and one plugin that records."""

    def __init__(self, project, server, plugin, monkeypatch):
        self.project = project
        self.server = server
        self.plugin = plugin
        load_only(monkeypatch, plugin, "respx")
        monkeypatch.setenv("WEATHER", f"{server.url}/weather")
        server.reply = lambda prompt: "sunny" if prompt == "weather?" else solve_menu(prompt)
        project.write(THEIRS + BLOCKED * (plugin == "recording"))

    def run(self, *args, ours, theirs):
        self.result = self.project.runpytest_subprocess(
            f"--miniwob-record={ours}",
            f"--miniwob-base-url={self.server.url}",
            f"{RECORD[self.plugin]}={theirs}",
            *args,
        )
        return self.result.parseoutcomes()

    def cassettes(self):
        files = list(self.project.path.glob("**/*.yaml"))
        ours = {path: path.read_bytes() for path in files if "reflective" in path.parts}
        return ours, {path: path.read_bytes() for path in files if path not in ours}

    def asked(self):
        models = sorted(request["model"] for request in self.server.requests)
        self.server.requests.clear()
        return models


def load_only(monkeypatch, *plugins):
    out = [name for name in OTHERS if name not in plugins]
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-pno:{name}" for name in out))


@pytest.mark.sweep
@pytest.mark.parametrize(("plugin", "workers"), [("recording", "-n0"), ("vcr", "-n1")])
def test_each_plugin_records_and_replays_its_own_calls(
    project, chat_server, monkeypatch, plugin, workers
):
    session = Session(project, chat_server, plugin, monkeypatch)
    select = [workers, "-k", "not without_network"]
    assert session.run(*select, ours="new_episodes", theirs="once")["passed"] == TESTS
    assert session.asked() == ["m"] * 3 * ITEMS + ["theirs"] * 3
    ours, theirs = before = session.cassettes()
    assert (len(ours), len(theirs)) == (ITEMS, 3)
    assert not [text for text in ours.values() if b"weather" in text]
    assert not [text for text in theirs.values() if b"Plan all" in text]

    assert session.run(*select, ours="none", theirs="none")["passed"] == TESTS
    assert (session.asked(), session.cassettes()) == ([], before)

    assert session.run(*select, ours="all", theirs="none")["passed"] == TESTS
    assert (session.asked(), session.cassettes()) == (["m"] * 3 * ITEMS, before)

    if plugin == "recording":  # an item without a cassette is an error, and nothing is asked
        found = session.run(workers, "--block-network", ours="none", theirs="none")
        assert found == {"passed": TESTS + 1, "errors": 1}
        session.result.stdout.fnmatch_lines(["there is no cassette *5.yaml"])
        found = session.run("-k", "ours_without_network", ours="new_episodes", theirs="none")
        assert found == {"errors": 1, "deselected": 7}
        session.result.stdout.fnmatch_lines(["*Network is disabled for host '127.0.0.1'"])
        assert (session.asked(), session.cassettes()) == ([], before)


SHIPPED = (
    f"--miniwob-cassettes={ROOT / 'cassettes'}", "--miniwob-model=claude",
    '--miniwob-llm-params={"temperature": 0}', "--block-network",
)  # fmt: skip
"""What replays an item of the shipped cassettes, whose browser starts without a network."""

SHIPPED_ITEM = """
    import pytest

    @pytest.mark.miniwob("click-tab-2", seeds=[1000])
    def test_item(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


@pytest.mark.own_browser
def test_requests_to_the_browsers_driver_are_neither_recorded_nor_blocked(pytester, monkeypatch):
    load_only(monkeypatch, "recording")
    pytester.makepyfile(SHIPPED_ITEM + "    test_item = pytest.mark.vcr(test_item)\n")
    allowed = "--allowed-hosts=127.0.0.1,localhost"
    pytester.runpytest(*SHIPPED, "--record-mode=once", allowed).assert_outcomes(passed=1)
    assert not list(pytester.path.rglob("*.yaml"))


MOCKED = """
    import httpcore2
    import httpx2
    import pytest

    def weather():
        return httpx2.get("https://weather.invalid/today").text

    # What pytest-httpx replaces, respx, and respx with using="httpx".
    MOCKS = {
        1: (httpx2.HTTPTransport, "handle_request", lambda *_: httpx2.Response(200, text="rainy")),
        2: (httpcore2.ConnectionPool, "handle_request",
            lambda *_: httpcore2.Response(200, content=b"rainy")),
        3: (httpx2.Client, "_transport_for_url",
            lambda *_: httpx2.MockTransport(lambda _: httpx2.Response(200, text="rainy"))),
    }
    REAL = {number: getattr(*mock[:2]) for number, mock in MOCKS.items()}

    @pytest.fixture
    def mock(miniwob_case, monkeypatch):
        monkeypatch.setattr(*MOCKS[miniwob_case.seed])

    @pytest.mark.miniwob("click-menu-2", seeds=[1, 2, 3])
    def test_mocked(mock, miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
        assert weather() == "rainy"

    def test_after_them():
        assert REAL == {number: getattr(*mock[:2]) for number, mock in MOCKS.items()}
"""


@pytest.mark.sweep
def test_mocks_of_the_clients_http_library_do_not_take_the_recordings_calls(project):
    """The worker is a process in which nothing has imported the client yet."""
    project.server.reply = solve_menu
    project.write(MOCKED)
    for args, mode in (([], "new_episodes"), (["-n1"], "all")):
        project.record(*args, mode=mode).assert_outcomes(passed=4)
        assert len(project.server.requests) == 9
        project.server.requests.clear()
    project.replay(passed=4)


GUARD = """
    import socket

    import pytest

    @pytest.fixture(autouse=True)
    def no_sockets(monkeypatch):
        class Guarded(socket.socket):
            def __new__(cls, *args, **kwargs):
                raise RuntimeError("sockets are off")

        monkeypatch.setattr(socket, "socket", Guarded)
"""


@pytest.mark.own_browser
@pytest.mark.parametrize("blocker", ["pytest-recording", "conftest"])
def test_what_blocks_loopback_before_the_browser_is_up_is_named(pytester, monkeypatch, blocker):
    pytester.makepyfile(SHIPPED_ITEM)
    if blocker == "conftest":
        said = "sockets are off"
        pytester.makeconftest(GUARD)
        result = pytester.runpytest(*SHIPPED[:-1])
    else:  # a process, as a socket whose connection it refuses is closed by nobody
        said = "Network is disabled for host '127.0.0.1'"
        load_only(monkeypatch, "recording")
        result = pytester.runpytest_subprocess(*SHIPPED)
    result.assert_outcomes(errors=1)
    output = result.stdout.str()
    assert f"connections to 127.0.0.1 are blocked by {blocker} ({said})" in output
    assert ("--allowed-hosts=127.0.0.1,localhost" in output) == (blocker == "pytest-recording")
    assert "same version" not in output
    assert "waitress" not in output
