"""An agent that looks at pages, as its users run it: recorded, replayed, and drifted."""

import json

import pytest
from support.made_report import items
from support.projects import FAKE_PAGE

PAGE = FAKE_PAGE.replace("FakePage", "VisibleFakePage")
PARAMS = '--miniwob-agent-params={"screen": "picture"}'
ONE = "n-screen-n-step/click-menu-2/1"


@pytest.fixture
def looking(project, chat_server):
    """A project with one item, recorded from a model that sees the picture of the open menu."""
    project.makeconftest(PAGE)
    calls = iter(["PLAN:\nclick id=1", "The menu was opened.", "PLAN:\nclick id=2"])
    chat_server.reply = lambda prompt: next(calls)
    project.record("-k", ONE, PARAMS).assert_outcomes(passed=1)
    return project


def test_an_item_is_recorded_with_its_pictures_and_replayed(looking):
    assert sorted(path.suffix for path in looking.recorded()) == [".png", ".png", ".yaml"]
    looking.replay("-k", ONE, PARAMS, passed=1)


def test_a_page_that_looks_different_is_drift_shown_in_terminal_and_report(looking):
    looking.makeconftest(PAGE.replace('"Menu"', '"Menus"'))
    result = looking.runpytest("-k", ONE, PARAMS, "--miniwob-report=report")
    result.stdout.fnmatch_lines(
        [
            "*1  the page changed",
            "*the page: picture 1: * pixels differ, by * of 255 at most, in the * pixels at *",
            "  recorded   cassettes/pictures/*.png",
            "  present    .miniwob/pictures/*.png",
            "  difference .miniwob/pictures/*-*.png",
        ]
    )
    [changed] = items(looking.path / "report")[ONE]["changed"]
    shown = {path.name for path in (looking.path / "report" / "pictures").iterdir()}
    assert {changed["recorded"], changed["present"], changed["difference"]} <= shown


def test_deferred_requests_carry_the_picture(looking):
    for path in looking.recorded():
        path.unlink()
    looking.runpytest("-k", ONE, PARAMS, "--miniwob-record=defer")
    [line] = (looking.path / ".miniwob" / "pending.jsonl").read_text("utf-8").splitlines()
    [_, picture, text] = json.loads(line)["body"]["messages"][0]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert "Open the menu and click Save" in text["text"]
    assert looking.recorded() == {}
