"""The version of screens that an item was recorded with, which its cassette notes."""

import re

import pytest
from support.projects import FAKE_PAGE, solve_menu, suite_source

from pytest_miniwob_agent.core.observations import SCREEN_VERSION

VERSIONED = (
    FAKE_PAGE.replace("def miniwob_page", "def page")
    + """
    @pytest.fixture
    def miniwob_page(page):
        page.screen_version = 0
        yield page
        print("shown:", page.screen_version)
"""
)
NEWEST = f"screens: {SCREEN_VERSION}\n"


@pytest.fixture
def item(project, chat_server):
    """A project with one recorded item, whose page prints the version that it was told to show."""
    project.write(suite_source('"click-menu-2", seeds=[1]'), VERSIONED)
    chat_server.reply = solve_menu
    project.record().assert_outcomes(passed=1)
    [project.cassette] = project.recorded()
    return project


def shown(result):
    [version] = re.findall("shown: ([0-9]+)", result.stdout.str())
    return int(version)


def test_the_newest_version_is_noted_and_one_without_it_is_the_first_until_all_is_recorded(item):
    assert NEWEST in item.cassette.read_text()
    item.cassette.write_text(item.cassette.read_text().replace(NEWEST, ""))
    assert shown(item.replay("-s", passed=1)) == 1
    assert shown(item.record("-s")) == 1
    assert "screens" not in item.cassette.read_text()
    assert shown(item.record("-s", mode="all")) == SCREEN_VERSION
    assert NEWEST in item.cassette.read_text()
    assert shown(item.replay("-s", passed=1)) == SCREEN_VERSION


def test_a_version_that_is_not_known_is_an_error(item):
    text, newer = item.cassette.read_text(), SCREEN_VERSION + 1
    for version, said in (
        (0, "its version of screens is 0*knows 1 to"),
        (newer, f"its version of screens is {newer}*knows 1 to"),
        (True, "`screens` can't be true"),
    ):
        item.cassette.write_text(text.replace(NEWEST, f"screens: {version}\n"))
        result = item.runpytest()
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([f"*{said}*"])
