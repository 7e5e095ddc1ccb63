"""Beside plugins that record or mock HTTP too: pytest-recording, pytest-vcr and respx.

The first two refuse to run together, so that each has runs of its own. They are loaded in inner
runs only, each in a process of its own, as they patch HTTP clients.
"""

import pytest
from projects import OTHERS, ROOT, solve_menu

# A user's own tests. Theirs go to /weather of the server that is named in the environment, and to a
# host that does not exist; the items stand between them.
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
    def test_mocked(respx_mock):
        respx_mock.get("/today").respond(text="rainy")
        assert httpx.get("https://weather.invalid/today").text == "rainy"
        assert len(respx_mock.calls) == 1

    @pytest.mark.respx(base_url="https://weather.invalid", assert_all_called=False)
    @pytest.mark.miniwob("click-menu-2", seeds=[4])
    def test_mocked_too(respx_mock, miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
        assert len(respx_mock.calls) == 0
"""
TESTS = 7
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
"""The option of each plugin that says what may be recorded."""


class Session:
    """Runs of a user's tests with ours, respx and one plugin that records."""

    def __init__(self, project, server, plugin, monkeypatch):
        self.project = project
        self.server = server
        self.plugin = plugin
        out = [name for name in OTHERS if name not in (plugin, "respx")]
        monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-pno:{name}" for name in out))
        monkeypatch.setenv("WEATHER", f"{server.url}/weather")
        server.reply = lambda prompt: "sunny" if prompt == "weather?" else solve_menu(prompt)

    def run(self, *args, ours, theirs):
        return self.project.runpytest_subprocess(
            f"--miniwob-record={ours}",
            f"--miniwob-base-url={self.server.url}",
            f"{RECORD[self.plugin]}={theirs}",
            *args,
        )

    def cassettes(self):
        """The files of ours, and those of theirs."""
        files = list(self.project.path.glob("**/*.yaml"))
        ours = {path: path.read_bytes() for path in files if "reflective" in path.parts}
        return ours, {path: path.read_bytes() for path in files if path not in ours}

    def asked(self):
        """Which models the server was asked for, in any order, since the last time."""
        models = sorted(request["model"] for request in self.server.requests)
        self.server.requests.clear()
        return models


@pytest.fixture(params=RECORD)
def together(request, project, chat_server, monkeypatch):
    project.makepyfile(THEIRS)
    return Session(project, chat_server, request.param, monkeypatch)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_each_records_its_own_calls(together, workers):
    result = together.run(workers, ours="new_episodes", theirs="once")
    result.assert_outcomes(passed=TESTS)
    assert together.asked() == ["m"] * 3 * ITEMS + ["theirs"] * 3
    ours, theirs = together.cassettes()
    assert (len(ours), len(theirs)) == (ITEMS, 3)
    assert not [text for text in ours.values() if b"weather" in text]
    assert not [text for text in theirs.values() if b"Plan all" in text]

    result = together.run(workers, ours="none", theirs="none")
    result.assert_outcomes(passed=TESTS)
    assert together.asked() == []
    assert together.cassettes() == (ours, theirs)

    result = together.run(workers, ours="all", theirs="none")
    result.assert_outcomes(passed=TESTS)
    assert together.asked() == ["m"] * 3 * ITEMS
    assert together.cassettes() == (ours, theirs)


@pytest.mark.parametrize("together", ["recording"], indirect=True)
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_where_the_network_is_blocked(together, workers):
    """Ours replay; what is not recorded is an error, and stays one."""
    together.project.makepyfile(THEIRS + BLOCKED)
    result = together.run("-k", "not without_network", ours="new_episodes", theirs="once")
    result.assert_outcomes(passed=TESTS, deselected=2)
    before = together.cassettes()
    together.asked()
    result = together.run(workers, "--block-network", ours="none", theirs="none")
    result.assert_outcomes(passed=TESTS + 1, errors=1)
    result.stdout.fnmatch_lines(["there is no cassette *5.yaml"])
    assert together.asked() == []
    assert together.cassettes() == before


@pytest.mark.parametrize("together", ["recording"], indirect=True)
def test_recording_where_the_network_is_blocked(together):
    """The plugin that blocks raises an error of its own at the call; it is told of as such."""
    together.project.makepyfile(THEIRS + BLOCKED)
    result = together.run("-k", "ours_without_network", ours="new_episodes", theirs="none")
    result.assert_outcomes(errors=1, deselected=8)
    result.stdout.fnmatch_lines(["*Network is disabled for host '127.0.0.1'"])
    assert together.asked() == []
    assert together.cassettes() == ({}, {})


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        ("recording", ["--record-mode=once"]),
        ("recording", ["--block-network", "--allowed-hosts=127.0.0.1,localhost"]),
        ("vcr", ["--vcr-record=once"]),
    ],
)
def test_the_browser(pytester, monkeypatch, plugin, args):
    """Its driver is spoken to over HTTP, which is no business of the user's cassette either."""
    out = [name for name in OTHERS if name != plugin]
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-pno:{name}" for name in out))
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.vcr
        @pytest.mark.miniwob("click-tab-2", seeds=[1000])
        def test_both(miniwob_episode):
            assert miniwob_episode.solved, miniwob_episode.explain()
        """
    )
    shipped = ROOT / "cassettes"
    result = pytester.runpytest_subprocess(
        f"--miniwob-cassettes={shipped}", "--miniwob-model=claude", *args
    )
    result.assert_outcomes(passed=1)
    assert not list(pytester.path.rglob("*.yaml"))
