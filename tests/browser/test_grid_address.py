"""The address of a Grid, and the addresses at which pages are served to its nodes."""

import json

import pytest

from pytest_miniwob_agent.browser.grid import GridLauncher
from pytest_miniwob_agent.browser.grid_address import HostPort, read_grid, shown_capabilities
from pytest_miniwob_agent.browser.grid_status import GridStatus
from pytest_miniwob_agent.core.errors import BrowserError, UsageError


def test_the_user_comes_from_the_address_or_else_from_the_environment(monkeypatch):
    monkeypatch.setenv("MINIWOB_REMOTE_USER", "someone")
    monkeypatch.setenv("MINIWOB_REMOTE_PASSWORD", "their-own-word")
    grid = read_grid("https://grid.example/wd/hub/", {}, None)
    assert (grid.url, grid.user, grid.password) == (
        "https://grid.example/wd/hub", "someone", "their-own-word",
    )  # fmt: skip
    grid = read_grid("http://me:p%40ss-word@[::1]:4444", {}, None)
    assert (grid.url, grid.user, grid.password) == ("http://[::1]:4444", "me", "p@ss-word")
    assert grid.on_loopback
    assert "p@ss-word" not in repr(grid)
    assert grid.secrets == ["me", "p@ss-word"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3", "[::1]"])
def test_pages_for_a_grid_on_loopback_are_served_there(host):
    serving = GridLauncher(read_grid(f"http://{host}:4444", {}, None)).serving()
    assert (serving.listen, serving.port, serving.name) == ("127.0.0.1", 0, "127.0.0.1")


def test_pages_for_another_grid_are_served_by_the_interface_that_leads_there(monkeypatch):
    asked = []

    class Udp:
        """A machine with one interface, to which the test's own need not be like."""

        def __init__(self, *kind): ...
        def __enter__(self):
            return self

        def __exit__(self, *error): ...
        def connect(self, address):
            asked.append(address)

        def getsockname(self):
            return ("10.7.7.7", 50_000)

    monkeypatch.setattr("socket.socket", Udp)
    serving = GridLauncher(read_grid("http://192.0.2.8:4444", {}, None)).serving()
    assert (serving.listen, serving.port, serving.name) == ("10.7.7.7", 0, "10.7.7.7")
    assert asked == [("192.0.2.8", 4444)]


def test_a_name_that_is_not_this_machine_s_does_not_open_other_interfaces():
    """A gateway's, for instance, which passes the port on."""
    grid = read_grid("http://127.0.0.1:4444", {}, HostPort("no-such-host.invalid", 9000))
    serving = GridLauncher(grid).serving()
    assert (serving.listen, serving.name) == ("127.0.0.1", "no-such-host.invalid")
    own = read_grid("http://127.0.0.1:4444", {}, HostPort("127.0.0.1", 9000))
    assert GridLauncher(own).serving().listen == "127.0.0.1"


def test_each_worker_serves_at_the_port_after_the_one_before():
    grid = read_grid("http://127.0.0.1:4444", {}, HostPort("127.0.0.1", 9000))
    assert [grid.for_worker(f"gw{n}").serve.port for n in (0, 1, 31)] == [9000, 9001, 9031]
    assert grid.for_worker("").serve.port == 9000
    with pytest.raises(UsageError, match=r"worker gw9 .* give a lower port"):
        read_grid("http://127.0.0.1", {}, HostPort("localhost", 65530)).for_worker("gw9")


def test_a_grid_whose_name_is_unknown_is_an_error_that_names_it_without_a_user():
    launcher = GridLauncher(read_grid("http://me:secret-word@no-such-host.invalid", {}, None))
    with pytest.raises(BrowserError, match=r"Grid at http://no-such-host\.invalid can't be reac"):
        launcher.serving()


def test_capabilities_are_shown_without_options_of_vendors():
    given = {"platformName": "linux", "sauce:options": {"accessKey": "abc"}}
    assert shown_capabilities(json.dumps({"platformName": "linux"})) == '{"platformName": "linux"}'
    assert json.loads(shown_capabilities(json.dumps(given))) == {
        "platformName": "linux", "sauce:options": "(not shown)",
    }  # fmt: skip
    assert json.loads(shown_capabilities(json.dumps(given), complete=True)) == {
        "platformName": "linux"
    }
    assert shown_capabilities('{"sauce:options": {"accessKey": "abc') == "(not shown)"


def node(*slots, availability="UP"):
    """A node with a slot for each name of a browser; a session has those with a star."""
    return {
        "availability": availability,
        "slots": [
            {
                "stereotype": {"browserName": name.rstrip("*")},
                "session": {"sessionId": "1"} if name.endswith("*") else None,
            }
            for name in slots
        ],
    }


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([], "none of its nodes is up"),
        ([node("chrome", availability="DOWN")], "none of its nodes is up"),
        ([node("firefox", "safari")], "its nodes have no Chrome, but firefox, safari"),
        ([node("chrome*"), node("chrome*")], "it is full, 2 of 2 places for Chrome have a se"),
        ([node("chrome*", "chrome")], "1 of 2 places for Chrome are free, so that a node is slow"),
    ],
)
def test_the_reason_why_a_grid_gives_no_session(nodes, why):
    status = GridStatus.from_data({"value": {"ready": False, "nodes": nodes}})
    assert status.why_none.startswith(why)
