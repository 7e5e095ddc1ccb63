"""Projects to run pytest in: a fake page, a test file, and a model that solves the page."""

import shutil
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).parents[2]
"""The folder of this repository."""

REFLECTIVE_PROMPTS = ROOT / "pytest_miniwob_agent" / "agents" / "reflective" / "prompts"
"""The built-in prompts of the default agent."""

REPORTING = ("allure_pytest", "html", "html_fixtures", "metadata", "pytest_jsonreport")
"""Plugins that are installed for test_transcripts.py; pyproject.toml keeps them out of this run."""

OF_APPS = ("django", "flask")
"""Plugins that are installed for tests/apps."""

OTHERS = ("hypothesispytest", "recording", "rerunfailures", "respx", "vcr", *REPORTING, *OF_APPS)
"""Plugins that inner runs do without: these, and those of test_coexistence.py. The plugin of
Hypothesis imports it at the end of a run, which takes a second."""

SLOW = ("anyio", "hypothesispytest", "randomly", "unraisableexception")
"""Plugins that take longer than the rest of a small run: by imports, and by a search for garbage
among all that the outer run holds."""

INNER_RUNS = " ".join(f"-pno:{name}" for name in (*OTHERS, *SLOW))
"""The options of pytest runs within a test."""

RUNS_OF_APPS = " ".join(
    f"-pno:{name}" for name in (*OTHERS, *SLOW) if name not in (*OF_APPS, "randomly")
)
"""The same with the plugins that run apps, and in any order."""

SUITE_RUNS = f"{INNER_RUNS} --noconftest"
"""The same for runs of the shipped suites in processes of their own, which need nothing of
conftest.py: it imports what all runs within this process use."""


FAKE_PAGE = """
    import pytest
    from pytest_miniwob_agent import Element
    from pytest_miniwob_agent.testing import FakePage

    @pytest.fixture
    def miniwob_page(miniwob_case):
        '''A menu to open, with an entry to click.'''
        menu = Element(1, "button", "Menu")
        return FakePage(
            f"Open the menu and click Save, for {miniwob_case.task} {miniwob_case.seed}",
            {"start": [menu], "open": [menu, Element(2, "a", "Save"), Element(3, "a", "Quit")]},
            {("start", "click id=1"): "open"},
            {("open", "click id=2"): 1.0, ("open", "click id=3"): -1.0},
        )
"""


def suite_source(arguments):
    """Return a test file whose marker has these arguments."""
    return f"""\
import pytest

@pytest.mark.miniwob({arguments})
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
"""


TEST_FILE = suite_source('"click-menu-2", "click-tab*", seeds=[1, 2]')


INI = "[pytest]\nminiwob_model = m\npythonpath = .\n"
"""The ini file of a project; its own modules can be imported, also by workers."""


class Project:
    """A pytester whose folder is a user's project, with a model that can be recorded.

    Args:
        pytester: pytest's, for everything else.
        server: the model's `ChatServer`.
    """

    def __init__(self, pytester, server):
        self._pytester = pytester
        self.server = server

    def __getattr__(self, name):
        return getattr(self._pytester, name)

    def write(self, test=None, conftest=None, ini="", **modules):
        """Write tests, `conftest.py`, further lines of the ini file, and modules by their names."""
        self.makeini(INI + ini)
        if conftest is not None:
            self.makeconftest(conftest)
        if test is not None or modules:
            self.makepyfile(test, **modules)

    def makepyfile(self, test=None, **modules):
        """Write tests, which are in `test_x.py`, and modules by their names."""
        if test is not None:
            modules["test_x"] = test
        self._pytester.makepyfile(**modules)

    @property
    def test_file(self):
        return self.path / "test_x.py"

    def record(self, *args, mode="new_episodes", **options):
        """Run pytest against the server, and record; the options are those of pytester."""
        url = f"--miniwob-base-url={self.server.url}"
        return self.runpytest(f"--miniwob-record={mode}", url, *args, **options)

    def use_recordings(self, kept, reply, *args):
        """Let a model reply so, and have its recordings, which the first test keeps in a folder."""
        self.server.reply = reply
        cassettes = self.path / "cassettes"
        shutil.rmtree(cassettes, ignore_errors=True)
        with FileLock(f"{kept}.lock"):
            if not kept.exists():
                self.record(*args)
                self.server.requests.clear()
                shutil.move(cassettes, kept)
        shutil.copytree(kept, cassettes)

    def replay(self, *args, **outcomes):
        """Run pytest without the server: with these outcomes, and no cassette changes."""
        before, asked = self.recorded(), len(self.server.requests)
        result = self.runpytest(*args)
        result.assert_outcomes(**outcomes)
        assert (self.recorded(), len(self.server.requests)) == (before, asked)
        return result

    def record_and_replay(self, *args, **outcomes):
        """Record, and replay: with these outcomes both times."""
        self.record(*args).assert_outcomes(**outcomes)
        return self.replay(*args, **outcomes)

    def recorded(self):
        """Return the bytes of each file in the folder of cassettes."""
        files = (path for path in self.path.glob("cassettes/**/*") if path.is_file())
        return {path: path.read_bytes() for path in files}


def solve_menu(prompt):
    """A model that solves the fake page."""
    if "Say in one short sentence" in prompt:
        return "The menu was opened."
    return "click id=2" if ">Save<" in prompt else "click id=1"


def mortal(folder, browser):
    """Write a program that is a browser, but dies once where there is a file `dies` beside it."""
    path = folder / "chromium-headless-shell"
    path.write_text(f'#!/bin/sh\nrm {folder}/dies 2>/dev/null && exit 1\nexec {browser} "$@"\n')
    path.chmod(0o755)
    return str(path)
