"""Runs beside other plugins that record or mock HTTP: pytest-recording, pytest-vcr and respx.

The first two refuse to run together, so each has separate runs. All are loaded in inner runs only,
and these are processes, since the plugins patch HTTP clients.
"""

import shutil
from collections import namedtuple

import pytest
from projects import OTHERS, ROOT, solve_menu
from servers import ChatServer

# One worker makes the recordings that the tests share.
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("coexistence")]

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
"""The option of each plugin for what may be recorded."""


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
        """Run the tests with what may be recorded by each."""
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
        """The models of the requests since the last call, sorted."""
        models = sorted(request["model"] for request in self.server.requests)
        self.server.requests.clear()
        return models


@pytest.fixture(scope="module")
def server():
    """One server for all tests, as cassettes of theirs have its address."""
    server = ChatServer()
    yield server
    server.close()


Recording = namedtuple("Recording", "folder asked")


@pytest.fixture(scope="module")
def recordings():
    """The projects recorded so far, by plugin and number of workers."""
    return {}


@pytest.fixture
def together(variant, project, server, monkeypatch):
    """A user's project in which nothing is recorded."""
    plugin, _ = variant
    for path in project.path.glob("test_*.py"):
        path.unlink()
    project.makepyfile(test_theirs=THEIRS + BLOCKED * (plugin == "recording"))
    server.requests.clear()
    return Session(project, server, plugin, monkeypatch)


@pytest.fixture
def recorded(together, variant, recordings, tmp_path_factory):
    """The project with all calls recorded, which is done once for each variant."""
    if variant not in recordings:
        select = "not without_network"
        result = together.run(variant[1], "-k", select, ours="new_episodes", theirs="once")
        assert result.parseoutcomes()["passed"] == TESTS
        folder = tmp_path_factory.mktemp("recorded") / "project"
        shutil.copytree(together.project.path, folder)
        recordings[variant] = Recording(folder, together.asked())
    else:
        shutil.copytree(recordings[variant].folder, together.project.path, dirs_exist_ok=True)
    return together


def variants(*default):
    """Parametrize a test with these plugins and workers, and with all others in the sweep."""
    every = [(plugin, workers) for plugin in RECORD for workers in ("-n0", "-n2")]
    return pytest.mark.parametrize(
        "variant",
        [
            pytest.param(
                variant, id="".join(variant), marks=[pytest.mark.sweep] * (variant not in default)
            )
            for variant in every
        ],
    )


@variants(("recording", "-n0"), ("vcr", "-n0"))
def test_each_plugin_records_its_own_calls(recorded, variant, recordings):
    assert recordings[variant].asked == ["m"] * 3 * ITEMS + ["theirs"] * 3
    ours, theirs = recorded.cassettes()
    assert (len(ours), len(theirs)) == (ITEMS, 3)
    assert not [text for text in ours.values() if b"weather" in text]
    assert not [text for text in theirs.values() if b"Plan all" in text]


@pytest.mark.parametrize(
    ("variant", "workers"),
    [
        pytest.param(("recording", "-n0"), "-n0", id="recording-n0"),
        pytest.param(("vcr", "-n0"), "-n2", id="vcr-n2"),
        pytest.param(("recording", "-n0"), "-n2", id="recording-n2", marks=pytest.mark.sweep),
        pytest.param(("vcr", "-n0"), "-n0", id="vcr-n0", marks=pytest.mark.sweep),
    ],
)
def test_both_replay_without_a_call_and_write_nothing(recorded, workers):
    before = recorded.cassettes()
    result = recorded.run(workers, "-k", "not without_network", ours="none", theirs="none")
    assert result.parseoutcomes()["passed"] == TESTS
    assert recorded.asked() == []
    assert recorded.cassettes() == before


@variants(("recording", "-n0"))
def test_ours_are_recorded_again_while_theirs_replay(recorded, variant):
    before = recorded.cassettes()
    result = recorded.run(variant[1], "-k", "not without_network", ours="all", theirs="none")
    assert result.parseoutcomes()["passed"] == TESTS
    assert recorded.asked() == ["m"] * 3 * ITEMS
    assert recorded.cassettes() == before


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(("recording", "-n0"), id="recording-n0"),
        pytest.param(("recording", "-n2"), id="recording-n2", marks=pytest.mark.sweep),
    ],
)
def test_ours_replay_where_the_network_is_blocked(recorded, variant):
    """An item that is not recorded is an error, and is not asked for."""
    before = recorded.cassettes()
    result = recorded.run(variant[1], "--block-network", ours="none", theirs="none")
    result.assert_outcomes(passed=TESTS + 1, errors=1)
    result.stdout.fnmatch_lines(["there is no cassette *5.yaml"])
    assert recorded.asked() == []
    assert recorded.cassettes() == before


@pytest.mark.parametrize("variant", [("recording", "-n0")], ids=["recording-n0"])
def test_recording_ours_where_the_network_is_blocked_shows_the_plugins_error(together):
    result = together.run("-k", "ours_without_network", ours="new_episodes", theirs="none")
    result.assert_outcomes(errors=1, deselected=8)
    result.stdout.fnmatch_lines(["*Network is disabled for host '127.0.0.1'"])
    assert together.asked() == []
    assert together.cassettes() == ({}, {})


ONCE = ["--record-mode=once"]
BLOCK = ["--block-network", "--allowed-hosts=127.0.0.1,localhost"]


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        pytest.param("recording", ONCE + BLOCK, id="recording-once-blocked"),
        pytest.param("recording", ONCE, id="recording-once", marks=pytest.mark.sweep),
        pytest.param("recording", BLOCK, id="recording-blocked", marks=pytest.mark.sweep),
        pytest.param("vcr", ["--vcr-record=once"], id="vcr-once", marks=pytest.mark.sweep),
    ],
)
def test_requests_to_the_browsers_driver_are_neither_recorded_nor_blocked(
    pytester, monkeypatch, plugin, args
):
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
        f"--miniwob-cassettes={shipped}",
        "--miniwob-model=claude",
        '--miniwob-llm-params={"temperature": 0}',
        *args,
    )
    result.assert_outcomes(passed=1)
    assert not list(pytester.path.rglob("*.yaml"))
