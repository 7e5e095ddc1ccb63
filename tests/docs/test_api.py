"""The public API: docs/api.md lists it, and importing it is cheap."""

import re
import subprocess
import sys

from support.projects import ROOT

import pytest_miniwob_agent
from pytest_miniwob_agent import testing
from pytest_miniwob_agent.plugin import fixtures

PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")
PUBLIC, _, TESTING = PAGE.partition("## Testing\n")


def check_listed(text, names):
    """Each name is there, and has an entry or is named in one: the actions share theirs."""
    assert set(re.findall(r"^- `(\w+)`: \S", text, re.M)) <= set(names)
    assert set(names) <= set(re.findall(r"`(\w+)`", text))


def test_the_page_lists_the_names_of_the_package():
    check_listed(PUBLIC, pytest_miniwob_agent.__all__)


def test_the_page_lists_the_names_for_tests():
    check_listed(TESTING, testing.__all__)


def test_the_page_of_fixtures_lists_them_all():
    page = (ROOT / "docs" / "fixtures.md").read_text("utf-8")
    names = [name for name in vars(fixtures) if name.startswith("miniwob_")]
    assert sorted(re.findall(r"^\| `(miniwob_\w+)` \| \S", page, re.M)) == sorted(names)


def test_every_name_can_be_imported():
    for name in pytest_miniwob_agent.__all__:
        assert getattr(pytest_miniwob_agent, name) is not None


def test_importing_the_package_loads_no_large_library():
    code = (
        "import sys, pytest_miniwob_agent\n"
        "large = {'selenium', 'openai', 'lxml', 'yaml', 'vcr'}\n"
        "print(sorted(large & sys.modules.keys()))\n"
        "pytest_miniwob_agent.render\n"
        "print('lxml' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["[]", "True"]


def test_documents_import_from_the_package_and_its_public_modules_alone():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    modules = {
        module
        for page in pages
        for module in re.findall(
            r"^\s*from (pytest_miniwob_agent[\w.]*) import", page.read_text(), re.M
        )
    }
    public = {"pytest_miniwob_agent", "pytest_miniwob_agent.browsergym"}
    assert modules == public | {"pytest_miniwob_agent.testing"}
