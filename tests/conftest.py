"""Fixtures of several test modules: model servers over real HTTP, and projects to run pytest in."""

import ctypes
import functools
import gc
import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
import shutil
import signal
import subprocess
import time

import pytest
from _pytest.fixtures import FixtureManager
from _pytest.pytester import SysModulesSnapshot, SysPathsSnapshot
from support.projects import FAKE_PAGE, INNER_RUNS, ROOT, SUITE_RUNS, TEST_FILE, Project, solve_menu
from support.selenium_grid import SeleniumGrid
from support.servers import ChatServer, RawServer
from support.shared_browser import SharedBrowser

import pytest_miniwob_agent
from pytest_miniwob_agent.browser.local import find_browser
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.cassettes.recording import bypass_vcr
from pytest_miniwob_agent.cli import main

SHIPPED = ("suites", "test_suite.py")
"""Suites that need nothing but the package."""

DEVELOPMENT = ("axe_core_python", "hypothesis", "respx")
"""Some of what the extra `dev` installs; the package's own tests can't be collected without."""


def _missing():
    return [name for name in DEVELOPMENT if importlib.util.find_spec(name) is None]


def pytest_sessionstart():
    """Take SIGINT even if the shell lets it be ignored, as it does in `make test &`.

    Search for garbage less often: among what all tests hold it took a tenth of inner runs, and a
    sixth of the time in which tests are collected.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(20_000, 20, 20)


def pytest_ignore_collect(collection_path):
    """Without the extra `dev`, leave out the package's own tests, with their conftest files."""
    if collection_path.parent == ROOT / "tests" and collection_path.name not in SHIPPED:
        return bool(_missing()) or None
    return None


def pytest_report_header():
    if _missing():
        return "tests: only the shipped suite; the package's own tests need pip install -e '.[dev]'"
    return None


CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
"""Where the browser keeps what it has read of the fonts; runs by `pytester` have another home."""

STARTING = {"browser", "display", "grid", "miniwob_browser", "pytester"}
"""Fixtures that start a browser, a Grid or an inner pytest run."""

SHARED = {"grid", "scipy", "window"}
"""Fixtures that take so long to start that one worker runs all tests that need one."""

LONGEST = (
    "test_apps.py", "test_gateway.py", "test_replay.py", "test_shipped.py", "test_widgets.py"
)  # fmt: skip
"""Begun first: some of their tests take minutes, in which the other workers would have no work."""


@pytest.hookimpl(wrapper=True, tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    """Mark what `make test-unit` leaves out, sweeps, and what one worker runs alone.

    Sweeps are further seeds, and all on a Grid, whose server works as long as fifty tests.

    pytest-xdist 3.8 adds the group to an id that pytest 9.2 does not read any more, so that each
    worker ran tests of a group (https://github.com/pytest-dev/pytest-xdist/issues/1386).
    """
    for test in items:
        fixtures = getattr(test, "fixturenames", ())
        seed = test.path.name == "test_suite.py" and not test.name.endswith("/1000]")
        if seed or "grid" in fixtures:
            test.add_marker("sweep")
        if not STARTING.isdisjoint(fixtures):
            test.add_marker("integration")
        for shared in SHARED.intersection(fixtures):
            test.add_marker(pytest.mark.xdist_group(shared))
    result = yield
    for test in items:
        if grouped := vars(test).get("_nodeid"):
            test._id = type(test._id).parse(grouped)
    items.sort(key=lambda test: test.path.name not in LONGEST)
    return result


def pytest_runtest_setup(item):
    """Begin no sweep after `SWEEPS_UNTIL`, seconds since 1970: CI says then what it left out."""
    until = float(os.environ.get("SWEEPS_UNTIL", "inf"))
    if time.time() > until and item.get_closest_marker("sweep"):
        pytest.skip("CI's time is over")


@pytest.fixture(scope="session")
def loaded_modules():
    """All modules that inner runs use.

    Pytester unloads what an inner run imports first, and loading it again takes longer than a run.
    """
    lazy = ("httpcore2", "openai.resources.chat.completions.completions")
    ours = pkgutil.walk_packages(pytest_miniwob_agent.__path__, "pytest_miniwob_agent.")
    for name in (*lazy, *(module.name for module in ours if not module.name.endswith("__main__"))):
        importlib.import_module(name)


@pytest.fixture(scope="session")
def installed():
    """Have what is installed read once: to read it twice takes a tenth of a small inner run."""

    def once(read):
        found = {}

        def get(package):
            if package._path not in found:
                found[package._path] = read(package)
            return found[package._path]

        return property(get)

    package = importlib.metadata.Distribution
    return {
        name: once(getattr(package, name).fget) for name in ("entry_points", "files", "metadata")
    }


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests that do not need a fresh one."""
    browser = Browser(bypass_vcr=bypass_vcr)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def started_grid(tmp_path_factory):
    """One Grid for all tests that need one; they are of one group, so that one worker has it."""
    grid = SeleniumGrid(tmp_path_factory.mktemp("grid"))
    yield grid
    grid.close()


@pytest.fixture
def grid(started_grid):
    """A Grid with two slots that are free."""
    started_grid.wait()
    return started_grid


@pytest.fixture(scope="session")
def scipy():
    """SciPy, whose import takes a second."""
    import scipy.optimize
    import scipy.stats

    return scipy


@pytest.fixture
def browser_without(tmp_path):
    """Make a browser that does not know some switches; it has no driver beside it."""

    def make(text):
        path = tmp_path / "browsers" / "chromium"
        path.parent.mkdir()
        path.write_text(
            f"""#!/bin/bash
            for argument; do
                [[ $argument == *"{text}"* ]] || arguments+=("$argument")
            done
            exec {find_browser()} "${{arguments[@]}}"
            """
        )
        path.chmod(0o755)
        return str(path)

    return make


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


SURROUNDINGS = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy", "SSL_CERT_DIR",
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_BASE_URL",
    "CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "MINIWOB_KEY_VARIABLE", "MINIWOB_REMOTE_USER",
    "MINIWOB_REMOTE_PASSWORD",
    "PYTEST_XDIST_WORKER", "PYTHONDONTWRITEBYTECODE",
)  # fmt: skip
"""Variables that change an inner run, its output or its speed; a test that wants one sets it."""


AUTHORITY = ROOT / "tests" / "authority.pem"
"""The certificate of an authority that has signed no other one."""


@pytest.fixture(autouse=True)
def no_surroundings(request, monkeypatch):
    if request.node.get_closest_marker("miniwob"):  # an item of the shipped suites
        return
    for name in SURROUNDINGS:
        monkeypatch.delenv(name, raising=False)
    # Each client of a model reads all authorities; those of a system take longer than an item does.
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))


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
        command = f"Xvfb -displayfd {writable} -screen 0 1024x768x24 -nolisten tcp"
        self._server = subprocess.Popen(
            command.split(), pass_fds=[writable], stderr=subprocess.PIPE, text=True
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


@pytest.fixture
def pytester(loaded_modules, installed, request, pytester, monkeypatch):
    """Pytest runs in a folder of their own, with the plugins that the tests need.

    Those in this process have the shared browser. A test whose runs start one of their own says so
    with the marker `own_browser`.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", INNER_RUNS)
    monkeypatch.setenv("XDG_CACHE_HOME", CACHE)  # or each browser would read all fonts
    for name, kept in installed.items():
        monkeypatch.setattr(importlib.metadata.Distribution, name, kept)
    # It looks at all names of all plugins for a mistake of theirs: a quarter of a small run.
    monkeypatch.setattr(
        FixtureManager, "_check_for_wrapped_fixture", lambda *_: None, raising=False
    )
    if request.node.get_closest_marker("own_browser"):
        return pytester
    shared = SharedBrowser(lambda: request.getfixturevalue("browser"))
    in_process = functools.partial(pytester.runpytest_inprocess, plugins=[shared])
    monkeypatch.setattr(pytester, "runpytest_inprocess", in_process)
    return pytester


@pytest.fixture
def shipped(pytester, monkeypatch):
    """Run a shipped suite, by the name of its file."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTEST_ADDOPTS", SUITE_RUNS)
    return lambda suite, *args: pytester.runpytest_inprocess(f"tests/suites/{suite}", *args)


@pytest.fixture
def project(pytester, chat_server):
    """A user's project whose pages are fakes, so that no browser is needed."""
    project = Project(pytester, chat_server)
    project.write(TEST_FILE, FAKE_PAGE)
    return project


@pytest.fixture(scope="session")
def recordings(request, tmp_path_factory):
    """The folder, for all workers, of recordings that several tests begin with."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if hasattr(request.config, "workerinput") else folder
    (folder / "recordings").mkdir(exist_ok=True)
    return folder / "recordings"


@pytest.fixture
def record(project, recordings):
    """A project whose items are recorded, from a model that solves the page."""
    project.use_recordings(recordings / "solved", solve_menu)
    return project


@pytest.fixture
def call(project, capsys, monkeypatch, loaded_modules, request):
    """Call `miniwob-agent` in the project's folder; returns its status and output.

    Its runs of pytest have the shared browser.
    """
    monkeypatch.chdir(project.path)
    run, shared = pytest.main, SharedBrowser(lambda: request.getfixturevalue("browser"))
    monkeypatch.setattr(pytest, "main", lambda args, plugins: run(args, [*plugins, shared]))

    def call(*args):
        capsys.readouterr()
        modules, paths = SysModulesSnapshot(), SysPathsSnapshot()
        try:
            status = main(args)
        finally:
            modules.restore()
            paths.restore()
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call
