"""Browsers on a real Selenium Grid, and what its address says."""

import json
import socket
import threading

import pytest
from support.apps import APP
from support.driving import Driving
from support.in_browser import answers
from support.selenium_grid import PASSWORD, USER

from pytest_miniwob_agent import Limits, run_episode
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.browser.server import PageServer
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError, BrowserLost
from pytest_miniwob_agent.plugins.grid import launcher as launcher_module
from pytest_miniwob_agent.plugins.grid.address import HostPort, read_grid
from pytest_miniwob_agent.plugins.grid.launcher import GridLauncher
from pytest_miniwob_agent.testing import ScriptedLLM

CASE = Case("click-menu-2", "other", 1)

REMOTE = "--miniwob-remote=http://127.0.0.1:4444"

RUN = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", seeds=[1, 2], trials=1)
    def test_runs(miniwob_episode): pass
"""


@pytest.fixture
def on_grid(grid):
    made = []

    def make(worker="", capabilities=(), serve=None, url=grid.with_user):
        found = read_grid(url, dict(capabilities), serve).for_worker(worker)
        made.append(Browser(launcher=GridLauncher(found)))
        return made[-1]

    yield make
    for browser in made:
        browser.close()


def test_a_full_grid_is_waited_for_and_one_that_stays_full_says_what_to_do(on_grid, grid):
    first, second = on_grid("gw0"), on_grid("gw1", {"se:name": "nightly"})
    assert first.driver.session_id != second.driver.session_id
    names = {session["capabilities"]["se:name"] for session in grid.sessions()}
    assert names == {"miniwob gw0", "nightly gw1"}
    threading.Timer(1, first.close).start()
    assert MiniwobPage(on_grid("gw2"), CASE).reset().elements
    check = GridLauncher(read_grid(grid.with_user, {}, None)).check()
    assert str(check).startswith("note  Grid ")
    assert "2 slots for Chrome, 0 free\n" in str(check)
    with pytest.raises(BrowserError, match=r"session: .* 0 of 2 slots .* fewer workers"):
        _ = on_grid().driver


def test_pages_come_from_this_machine_alone(on_grid, grid, raw_server, monkeypatch):
    monkeypatch.setenv("http_proxy", raw_server.url)
    browser = on_grid()
    env = MiniwobPage(browser, CASE)
    assert env.reset().elements
    assert answers(browser, "http://example.org/", "https://example.org/", raw_server.url) == 0
    assert raw_server.requests == 0
    lost = MiniwobPage(on_grid(serve=HostPort("no-such-host.invalid", 0)), CASE)
    with pytest.raises(BrowserLost, match=r"net::ERR_NAME_NOT_RESOLVED.* --miniwob-serve$"):
        lost.reset()
    grid.end(browser.driver.session_id)
    with pytest.raises(BrowserLost, match="The session on the Grid is gone: its node or the"):
        env.step(Click(1))


def test_a_browser_that_dies_while_its_session_opens_is_started_again(on_grid, grid):
    grid.dies.touch()
    assert MiniwobPage(on_grid(), CASE).reset().elements
    assert not grid.dies.exists()


def test_a_page_on_a_grid_is_handed_over_to_a_program(on_grid):
    def work(program, page, llm):
        program.click("#subbtn")
        assert page.done

    case = Case("click-test", "other", 1)
    env = MiniwobPage(on_grid(), case)
    model = ScriptedLLM([])
    for _ in range(2):
        assert run_episode(case, Driving(work), env, model, Limits(), model="m").solved


def test_an_item_is_begun_again_in_a_new_session_where_its_own_is_gone(grid, project, monkeypatch):
    monkeypatch.setenv("MINIWOB_REMOTE_USER", USER)
    monkeypatch.setenv("MINIWOB_REMOTE_PASSWORD", PASSWORD)
    project.write(RUN, "")
    plans = []

    def reply(prompt):
        if "Say in one short sentence" in prompt:
            return "The menu was opened."
        if "The menu was opened." in prompt:
            return "done"  # which is not an action
        plans.append(prompt)
        if len(plans) == 1:  # the action of this answer will not reach the browser
            [session] = grid.sessions()
            grid.end(session["sessionId"])
        return "click id=1"

    project.server.reply = reply
    project.record(f"--miniwob-remote={grid.url}").assert_outcomes(passed=2)
    assert len(plans) == 2  # the first was replayed when its item began again
    assert len(project.server.requests) == 6
    grid.wait(60)


@pytest.mark.parametrize(
    ("url", "capabilities", "message"),
    [
        ("http://127.0.0.1:1", {}, r"can't be reached: .*Connection refused.*\. Does it run, "),
        ("http://no-such-host.invalid", {}, r"can't be reached: .* --miniwob-serve names"),
        ("http://{host}", {}, "asks for a user and a password: set MINIWOB_REMOTE_USER and M"),
        ("http://{user}:wrong-password@{host}", {}, "refuses the user and the password: cor"),
        (
            "http://{user}:{password}@{host}",
            {"platformName": "windows", "vendor:options": {"accessKey": "key-lazy-lion"}},
            r"opened no session: .*No nodes support.*\. Its nodes offer chrome: correct "
            "--miniwob-capabilities, or add a node with Chrome$",
        ),
        (
            "http://{user}:{password}@{host}",
            {"goog:chromeOptions": {"args": ["--user-data-dir=/proc/no"]}},
            "opened no session: session not created",
        ),
    ],
    ids=["nothing there", "unknown host", "no user", "password", "capabilities", "no start"],
)
def test_a_session_that_is_not_opened_says_why(grid, on_grid, url, capabilities, message):
    address = url.format(host=grid.host, user=USER, password=PASSWORD)
    with pytest.raises(BrowserError, match=message) as info:
        _ = on_grid(capabilities=capabilities, url=address).driver
    for secret in (PASSWORD, "wrong-password", "key-lazy-lion"):
        assert secret not in str(info.value)


def test_something_else_than_a_grid_and_one_without_websockets_are_errors(on_grid, raw_server):
    raw_server.answer = lambda number: [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]
    with pytest.raises(BrowserError, match=r"^what answers at http://127.* is not a Selenium Grid"):
        _ = on_grid(url=raw_server.url).driver
    gateway = GridLauncher(read_grid(raw_server.url, {}, None))
    message = "opened a session, but no WebSocket to its browser: .*404.*must pass WebSockets"
    with pytest.raises(BrowserError, match=message):
        gateway.connect(on_grid().driver)


def test_neither_password_nor_options_of_vendors_are_stored_or_shown(grid, project):
    project.write(
        """
        import pytest

        @pytest.mark.miniwob("click-menu-2", seeds=[1], trials=1)
        def test_solves(miniwob_episode):
            assert miniwob_episode.solved

        @pytest.fixture
        def settings(pytestconfig):
            from pytest_miniwob_agent.plugin.reading import get_settings
            return get_settings(pytestconfig)

        def test_fails(settings, miniwob_browser):
            assert settings is miniwob_browser
        """,
        "",
    )
    project.server.reply = lambda prompt: "done"  # which is not an action
    key = "key-lazy-lion"
    results = [
        project.record(
            "-rA", "--showlocals", "--log-level=DEBUG", "--miniwob-results=results.jsonl",
            "--miniwob-report=report",
            f"--miniwob-remote={address}", "--junitxml=junit.xml",
            "--miniwob-capabilities", json.dumps({"vendor:options": {"accessKey": key}}),
        )
        for address in (grid.with_user, grid.with_user.replace(grid.host, "127.0.0.1:1"))
    ]  # fmt: skip
    results[0].assert_outcomes(failed=2)
    results[1].assert_outcomes(failed=1, errors=1)
    everything = "".join(
        path.read_bytes().decode("utf-8", "replace")
        for path in project.path.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ) + "".join(str(result.stdout) + str(result.stderr) for result in results)
    assert "can't be reached" in everything
    for secret in (PASSWORD, key):
        assert secret not in everything, secret


def test_doctor_checks_a_grid_and_that_pages_load_there(grid, project, monkeypatch, capsys):
    monkeypatch.chdir(project.path)
    main(["doctor", "--", f"--miniwob-remote={grid.with_user}"])
    out = capsys.readouterr().out
    assert f"\nok    {'Grid':<22}answers at {grid.url}, 2 slots for Chrome, 2 free\n" in out
    assert "\nok    page                  click-button loads" in out
    assert "Chromium  " not in out
    assert PASSWORD not in out
    assert main(["doctor", "--", "--miniwob-remote=http://127.0.0.1:1"]) == 1
    out = capsys.readouterr().out
    assert "\nWRONG Grid                  the Grid at http://127.0.0.1:1 can't be reached: " in out
    assert "\n                            -> Does it run, and is --miniwob-remote right?\n" in out
    assert "page  " not in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--miniwob-remote=grid:4444"], "--miniwob-remote: give the whole address of a Selenium"),
        (["--miniwob-serve=10.0.0.5"], "--miniwob-serve goes with --miniwob-remote=URL, the addr"),
        (["--miniwob-capabilities={}"], "--miniwob-capabilities goes with --miniwob-remote=URL"),
        ([REMOTE, "--miniwob-serve=:9000"], "--miniwob-serve: ':9000' must be HOST or HOST:PORT"),
        ([REMOTE, "--miniwob-serve=h:65536"], "--miniwob-serve: 'h:65536' must be HOST or HO"),
        ([REMOTE, "--miniwob-browser=chrome"], "--miniwob-browser names a browser of this mach"),
        (
            [REMOTE, '--miniwob-capabilities={"browserName": "firefox"}'],
            "--miniwob-capabilities: can't set browserName: pages are certified for Chrome",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(project, args, message):
    result = project.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}*"])


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
        ("[::1]", None, ("::1", 0, "[::1]")),
        ("192.0.2.8", None, ("10.7.7.7", 0, "10.7.7.7")),
        # A gateway's name, which passes the port on; no other interface is opened for it.
        ("127.0.0.1", HostPort("no-such-host.invalid", 9000),
         ("127.0.0.1", 9000, "no-such-host.invalid")),
    ],
)  # fmt: skip
def test_pages_are_served_at_the_interface_that_leads_to_the_nodes(
    monkeypatch, address, serve, expected
):
    found = launcher_module._interface_to
    to = {"192.0.2.8": "10.7.7.7"}
    monkeypatch.setattr(launcher_module, "_interface_to", lambda host: to.get(host) or found(host))
    assert GridLauncher(read_grid(f"http://{address}:4444", {}, serve)).serving()[:3] == expected


def test_a_port_that_is_taken_names_the_option_for_another():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        serve = HostPort("127.0.0.1", taken.getsockname()[1])
        launcher = GridLauncher(read_grid("http://127.0.0.1:4444", {}, serve))
        with pytest.raises(BrowserError, match=r"can't be served on .*; --miniwob-serve HOST"):
            PageServer(launcher.serving())


def test_each_worker_serves_at_the_port_after_the_one_before():
    grid = read_grid("http://127.0.0.1:4444", {}, HostPort("127.0.0.1", 9000))
    assert [grid.for_worker(f"gw{n}").serve.port for n in (0, 1, 31)] == [9000, 9001, 9031]
    assert grid.for_worker("").serve.port == 9000


SHOP = """
    class Handler(AppHandler):
        def do_GET(self):
            match self.path:
                case "/":
                    link = "<a href=/basket target=_blank>Basket</a>"
                    self.answer(f"{link}<script src=/app.js></script>")
                case "/app.js":
                    self.answer("document.title = 'Shop';" + " " * 5_000_000, "text/javascript")
                case "/basket":
                    user = self.headers["Cookie"] or "nobody"
                    buy = "<form method=post><button>Buy</button></form>"
                    self.answer(f"<h1>Basket of {user}</h1>{buy}")

        def do_POST(self):
            self.answer(status=303, Location="/basket", Set_Cookie="user=bob; HttpOnly")
"""

BUY = """
    import pytest
    from pytest_miniwob_agent import AppTask

    TASK = AppTask("buy", app="app", goal="g", reward=lambda app, trial: trial.answer == "bob")

    @pytest.mark.miniwob(TASK, seeds=[1], trials=1)
    def test_buys(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


def test_an_app_is_recorded_and_replayed_on_a_grid(grid, project):
    project.write(BUY, APP + SHOP)

    def reply(prompt):
        if "Basket of user=bob" in prompt:
            return 'PLAN:\nanswer "bob"'
        return "PLAN:\nclick id=3" if "Basket of nobody" in prompt else "PLAN:\nclick id=1"

    project.server.reply = reply
    remote = f"--miniwob-remote={grid.with_user}"
    project.record(remote).assert_outcomes(passed=1)
    for where in ([remote], []):
        project.replay(*where, passed=1)
    assert project.path.joinpath("starts").read_text() == "started\n"
    grid.wait(60)
