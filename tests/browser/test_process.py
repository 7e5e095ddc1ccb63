"""The browser process: its window, its failures, and processes that it leaves behind."""

import base64
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import WebDriverException
from support.drawn_pictures import opened
from support.in_browser import answers
from support.projects import ROOT, mortal, suite_source
from support.servers import wait_until

from pytest_miniwob_agent.browser.local import LocalLauncher, find_browser, find_driver
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.errors import BrowserError

pytestmark = pytest.mark.integration


@pytest.fixture
def start_browser():
    started = []

    def start(**options):
        started.append(Browser(**options))
        return started[-1]

    yield start
    for browser in started:
        browser.close()


def shows_pointer(window):
    """True if the pointer of `slowmo` is painted in the window."""
    png = window.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    colours = opened(base64.b64decode(png)).getcolors(100_000)
    return dict(map(reversed, colours)).get((0xEE, 0x11, 0x11), 0) > 50


def test_a_window_ignores_the_mouse_and_shows_the_pointer_of_actions_but_in_no_picture(
    page, display, monkeypatch, start_browser
):
    headless = page("click-menu-2")
    expected = [headless.reset(), headless.step(Click(1))]
    monkeypatch.setenv("DISPLAY", display.name)
    window = start_browser(headed=True, slowmo=1)
    env = page("click-menu-2", browser=window)
    seen = [env.reset()]
    window.driver.execute_script(
        "window.moves = 0; addEventListener('mousemove', () => moves++, true)"
    )
    for y in range(100, 600, 10):  # wherever below the tabs the page begins
        display.move_mouse(60, y)
    time.sleep(0.3)  # for events on their way to the browser
    assert window.driver.execute_script("return moves") == 0
    plain = env.look()
    assert not shows_pointer(window)
    action = Click(1)
    shot = env.look(action)
    assert shot.png == plain.png
    assert shows_pointer(window)
    place = window.driver.execute_script(
        "const box = document.querySelector('miniwob-pointer').getBoundingClientRect();"
        "return [box.left + 1, box.top + 1]"
    )
    assert tuple(place) == shot.points[0]
    seen.append(env.step(action))
    assert seen == expected


def test_a_headless_shell_is_preferred_but_not_for_a_window(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("MINIWOB_BROWSER", raising=False)
    with pytest.raises(BrowserError, match="apt-get install chromium chromium-driver"):
        find_browser()
    with pytest.raises(BrowserError, match=r"no browser at '/no/such/chrome'"):
        find_browser("/no/such/chrome")
    for name in ("chromium", "chromium-headless-shell"):
        tmp_path.joinpath(name).write_text("#!/bin/sh\n")
        tmp_path.joinpath(name).chmod(0o755)
    assert find_browser() == str(tmp_path / "chromium-headless-shell")
    assert find_browser("chromium") == str(tmp_path / "chromium")
    assert find_browser(headed=True) == str(tmp_path / "chromium")
    with pytest.raises(BrowserError, match="shell can't open a window, which --miniwob-headed"):
        find_browser("chromium-headless-shell", headed=True)


def test_a_browser_that_does_not_start_or_can_not_be_reached_is_an_error(
    page, start_browser, raw_server
):
    broken = start_browser(path="/bin/false")
    with pytest.raises(BrowserError, match=r"/bin/false did not start: .* by hand: /bin/false --h"):
        page("click-button", browser=broken).reset()
    options = {"debuggerAddress": urlsplit(raw_server.url).netloc}
    driver = SimpleNamespace(capabilities={"browserName": "chrome", "goog:chromeOptions": options})
    with pytest.raises(BrowserError, match=r"chrome started, but can't be reached at 127\."):
        LocalLauncher().connect(driver)


def test_a_screen_that_is_gone_does_not_matter_without_a_window(page, start_browser, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"):
        monkeypatch.setenv(name, ":77")
    assert page("click-test", browser=start_browser()).reset().elements


def test_a_browser_that_dies_while_it_starts_is_started_again(page, start_browser, tmp_path):
    browser = start_browser(path=mortal(tmp_path, find_browser()))
    tmp_path.joinpath("dies").touch()
    assert page("click-test", browser=browser).reset().elements
    assert not tmp_path.joinpath("dies").exists()


def test_a_browser_without_room_for_its_files_says_so_at_once(page, start_browser, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1 << 20))
    with pytest.raises(
        BrowserError, match=r"was not started: .* no space .* name another .* TMPDI"
    ):
        page("click-test", browser=start_browser()).reset()


def test_no_proxy_is_asked_where_a_browser_starts_and_ends(
    page, start_browser, raw_server, monkeypatch
):
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, raw_server.url)
    browser = start_browser()
    page("click-test", browser=browser).reset()
    browser.close()
    assert raw_server.requests == 0


def test_after_a_failure_the_next_page_gets_a_new_browser(page, start_browser):
    """What happens where browser or driver are killed is tested with items."""
    browser = start_browser()

    def crash():
        with pytest.raises(WebDriverException):
            browser.driver.execute_cdp_cmd("Page.crash", {})

    def hang():
        client = browser.driver.command_executor.client_config
        assert client.timeout == browser.timeout + 5  # after the driver's own, if it hangs too
        browser.driver.execute_script("setTimeout(() => { for (;;); }, 10)")
        # Of this browser from here on: a page that loads may take longer.
        client.timeout = browser.devtools.timeout = 1

    env = page("click-menu-2", browser=browser)
    before = env.reset()
    for fail, message in (
        (crash, "the page crashed"),
        (hang, "timed out after 1 seconds; a script of the page may"),
    ):
        driver = browser.driver
        fail()
        with pytest.raises(BrowserError, match=f"failed while doing click id=1: {message}"):
            env.step(Click(1))
        assert env.reset() == before
        assert browser.driver is not driver


@pytest.fixture
def proxy(raw_server, monkeypatch):
    """A server on loopback that every program which heeds the environment takes for its proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, raw_server.url)
        monkeypatch.setenv(name.upper(), raw_server.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return raw_server


def test_the_driver_is_looked_for_beside_the_browser_and_never_downloaded(
    browser_without, proxy, monkeypatch, tmp_path
):
    browser, installed = browser_without("no such switch"), shutil.which("chromedriver")
    assert find_driver(browser) == installed
    monkeypatch.setenv("PATH", "/no/such/folder")
    monkeypatch.setenv("SE_CACHE_PATH", str(tmp_path / "cache"))  # so that nothing is cached
    with pytest.raises(BrowserError, match=r"no chromedriver found beside .* install it, on "):
        Browser(browser).driver  # noqa: B018
    assert proxy.requests == 0
    beside = Path(browser).with_name("chromedriver")
    beside.symlink_to(installed)
    assert find_driver(browser) == str(beside)


def test_the_browser_and_its_pages_reach_nobody(page, start_browser, proxy):
    browser = start_browser()
    page("click-button", browser=browser).reset()
    assert answers(browser, "http://example.org/", "https://example.org/", proxy.url) == 0
    assert proxy.requests == 0
    with socket.socket(type=socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0)
        url = f"turn:127.0.0.1:{server.getsockname()[1]}?transport=udp"
        browser.driver.execute_async_script(
            """
            const credentials = { username: "text of the page", credential: "text" };
            const server = { urls: arguments[0], ...credentials };
            const peer = new RTCPeerConnection({ iceServers: [server] });
            peer.onicegatheringstatechange = () =>
              peer.iceGatheringState === "complete" && arguments[1]();
            peer.createDataChannel("way out");
            peer.setLocalDescription();
            """,
            url,
        )
        with pytest.raises(BlockingIOError):
            server.recv(1000)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
@pytest.mark.sweep
def test_many_episodes_leave_no_process_no_open_file_and_no_memory():
    """As the benchmark defines it."""
    result = subprocess.run(
        [sys.executable, "benchmarks/endurance.py", "--episodes", "60"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr


def processes_with(mark):
    """Ids and commands of the processes that inherited the environment variable MARK=mark."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"MARK={mark}".encode() in (entry / "environ").read_bytes():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = command[:80]
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    ("signal_", "workers"),
    [
        (signal.SIGKILL, "-n0"),
        pytest.param(signal.SIGINT, "-n2", marks=pytest.mark.sweep),
        pytest.param(signal.SIGKILL, "-n2", marks=pytest.mark.sweep),
    ],
)
def test_a_run_that_is_ended_leaves_no_process_and_no_file_and_keeps_what_is_recorded(
    pytester, chat_server, request, signal_, workers
):
    pytester.makepyfile(suite_source('"click-menu-2", seeds=[1, 2]'))
    mark, released = uuid.uuid4().hex, threading.Event()
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))  # short; see LONGEST_PARENT
    request.addfinalizer(lambda: shutil.rmtree(temporary))

    def reply(prompt):
        if "Say in one short sentence" not in prompt:
            return "click id=1"
        released.wait(300)  # the run is in the middle of a call when it is interrupted
        return "The menu was opened."

    chat_server.reply = reply
    log = pytester.path / "output.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "pytest", workers, "-p", "no:randomly", "-rA",
                "--miniwob-record=new_episodes", "--miniwob-model=m",
                f"--miniwob-base-url={chat_server.url}",
            ],
            cwd=pytester.path, env={**os.environ, "MARK": mark, "TMPDIR": str(temporary)},
            start_new_session=True, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    request.addfinalizer(process.kill)

    def is_in_the_middle():
        assert process.poll() is None, log.read_text()  # it ended before, and says why
        return len(chat_server.requests) >= (2 if workers == "-n0" else 4)

    wait_until(is_in_the_middle, say=log.read_text)
    [driver] = [pid for pid, command in processes_with(mark).items() if b"driver" in command][:1]
    assert list(temporary.glob("chromium-*"))
    if signal_ == signal.SIGINT:
        os.killpg(process.pid, signal_)
    else:
        os.kill(driver, signal.SIGSTOP)  # so that its group is hung up
        process.kill()  # the controller alone; the others have to notice
    process.wait(timeout=300)
    wait_until(lambda: not processes_with(mark))
    released.set()
    wait_until(lambda: not list(temporary.glob("*chromium*")))
    cassettes = list(pytester.path.glob("cassettes/reflective/m/click-menu-2/*.yaml"))
    assert len(cassettes) == (1 if workers == "-n0" else 2), log.read_text()
    assert "click id=1" in cassettes[0].read_text(encoding="utf-8")
