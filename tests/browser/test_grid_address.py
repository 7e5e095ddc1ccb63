"""The address of a Grid, and the addresses at which pages are served to its nodes."""

import pytest

from pytest_miniwob_agent.browser import grid as grid_module
from pytest_miniwob_agent.browser.grid import GridLauncher, GridStatus
from pytest_miniwob_agent.browser.grid_address import HostPort, read_grid
from pytest_miniwob_agent.core.errors import UsageError


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


@pytest.mark.parametrize(
    ("address", "serve", "expected"),
    [
        ("127.0.0.1", None, ("127.0.0.1", 0, "127.0.0.1")),
        ("localhost", None, ("127.0.0.1", 0, "127.0.0.1")),
        ("[::1]", None, ("::1", 0, "[::1]")),
        # A gateway's name, which passes the port on; no other interface is opened for it.
        ("127.0.0.1", HostPort("no-such-host.invalid", 9000),
         ("127.0.0.1", 9000, "no-such-host.invalid")),
        ("127.0.0.1", HostPort("127.0.0.1", 9000), ("127.0.0.1", 9000, "127.0.0.1")),
    ],
)  # fmt: skip
def test_pages_are_served_at_the_interface_that_leads_to_the_nodes(address, serve, expected):
    assert GridLauncher(read_grid(f"http://{address}:4444", {}, serve)).serving()[:3] == expected


def test_pages_for_another_machine_are_served_by_the_interface_that_leads_there(monkeypatch):
    monkeypatch.setattr(grid_module, "_interface_to", {"192.0.2.8": "10.7.7.7"}.get)
    serving = GridLauncher(read_grid("http://192.0.2.8:4444", {}, None)).serving()
    assert serving[:3] == ("10.7.7.7", 0, "10.7.7.7")


def test_each_worker_serves_at_the_port_after_the_one_before():
    grid = read_grid("http://127.0.0.1:4444", {}, HostPort("127.0.0.1", 9000))
    assert [grid.for_worker(f"gw{n}").serve.port for n in (0, 1, 31)] == [9000, 9001, 9031]
    assert grid.for_worker("").serve.port == 9000
    with pytest.raises(UsageError, match=r"worker gw9 .* give a lower port"):
        read_grid("http://127.0.0.1", {}, HostPort("localhost", 65530)).for_worker("gw9")


def test_the_status_of_a_grid_counts_the_slots_of_nodes_that_are_up():
    chrome, firefox = {"browserName": "chrome"}, {"browserName": "firefox"}
    slots = [{"stereotype": chrome, "session": {"sessionId": "1"}}, {"stereotype": chrome}]
    nodes = [
        {"availability": "UP", "version": "4.48.0 (revision 1)", "slots": slots},
        {"availability": "UP", "version": "4.48.0", "slots": [{"stereotype": firefox}]},
        {"availability": "DOWN", "slots": slots},
    ]
    status = GridStatus.from_data({"ready": True, "nodes": nodes})
    assert status == (["4.48.0"], "chrome, firefox", 2, 1)
    assert GridStatus.from_data({"ready": False}) == ([], "nothing", 0, 0)
