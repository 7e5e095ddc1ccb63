"""An agent that looks at pages, as its users run it: recorded, replayed, and drifted."""

import json

import pytest
from made_report import items
from projects import FAKE_PAGE, recorded_files

PAGE = FAKE_PAGE.replace("FakePage", "VisibleFakePage")
PARAMS = '--miniwob-agent-params={"screen": "picture"}'
ONE = "n-screen-n-step/click-menu-2/1"


@pytest.fixture
def looking(project, chat_server):
    """A project with one item, recorded from a model that sees the picture of the open menu."""
    project.makeconftest(PAGE)
    calls = iter(["PLAN:\nclick id=1", "The menu was opened.", "PLAN:\nclick id=2"])
    chat_server.reply = lambda prompt: next(calls)
    server = f"--miniwob-base-url={chat_server.url}"
    run = project.runpytest("-k", ONE, PARAMS, "--miniwob-record=new_episodes", server)
    run.assert_outcomes(passed=1)
    return project


def test_an_item_is_recorded_with_its_pictures_and_replayed(looking):
    names = sorted(path.name for path in recorded_files(looking))
    assert [name.rpartition(".")[2] for name in names] == ["yaml", "png", "png"]
    before = {path: path.read_bytes() for path in recorded_files(looking)}
    looking.runpytest("-k", ONE, PARAMS).assert_outcomes(passed=1)
    assert {path: path.read_bytes() for path in recorded_files(looking)} == before


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
    for path in recorded_files(looking):
        path.unlink()
    looking.runpytest("-k", ONE, PARAMS, "--miniwob-record=defer")
    [line] = (looking.path / ".miniwob" / "pending.jsonl").read_text("utf-8").splitlines()
    [_, picture, text] = json.loads(line)["body"]["messages"][0]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert "Open the menu and click Save" in text["text"]
    assert not recorded_files(looking)
