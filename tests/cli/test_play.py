"""`miniwob-agent play`: waits before each action, and can be left."""

import io

import pytest
from support.projects import FAKE_PAGE, ROOT

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.cli.episodes import wait

PROMPT = "[Enter continues, q quits] "


class Keys(io.StringIO):
    """A terminal's keys, pressed beforehand."""

    def isatty(self):
        return True


@pytest.fixture
def watched(recorded):
    recorded.makeconftest(FAKE_PAGE.replace("FakePage", "VisibleFakePage"))
    return recorded


@pytest.mark.sweep
def test_a_shipped_item_is_shown_in_chromiums_window(display, monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", display.name)
    monkeypatch.chdir(ROOT)
    assert main(["play", "click-menu-2/1000", "--auto=1", "--", "tests/test_suite.py"]) == 0
    ending = "\nsolved in trial 1, best reward 1: reflective with claude\n"
    assert capsys.readouterr().out.endswith(ending)


def test_each_action_waits_for_enter_and_q_quits(watched, call, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.stdin", Keys("\nq\n"))
    status, out, err = call("play", "click-menu-2/1")
    assert (status, err) == (0, "")
    first, second, end = out.split(PROMPT)
    assert first.startswith("item: n-screen-n-step/click-menu-2/1\ngoal: Open the menu")
    assert first.endswith("    click id=1\n\nnext: click id=1  ")
    assert second.count("\naction 0: click id=1\n") == 1
    assert second.endswith("next: click id=3  ")
    assert end == ""


def test_auto_continues_without_keys_until_ctrl_c(watched, call, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    play = ("play", "click-menu-2/1", "--slowmo=2", "--auto=1", "--", "-k", "menu")
    status, out, err = call(*play)
    assert (status, err) == (0, "")
    assert "\nnext: click id=1\n\naction 0: click id=1\n" in out
    assert "\nthe episode ends here\n" in out
    assert out.endswith("\nsolved in trial 2, best reward 1: reflective with m\n")

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_miniwob_agent.cli.episodes.time.sleep", interrupt)
    status, out, err = call(*play)
    assert (status, err) == (130, "")
    assert out.endswith("\nnext: click id=1\n\n")


@pytest.mark.parametrize(("answer", "goes_on"), [("yes", True), (" Quit ", False), (None, False)])
def test_only_q_quit_and_the_end_of_input_end_the_replay(monkeypatch, capsys, answer, goes_on):
    monkeypatch.setattr("sys.stdin", io.StringIO("" if answer is None else f"{answer}\n"))
    assert wait(None, "trial") == goes_on
    assert capsys.readouterr().out == f"\nthe trial ends here  {PROMPT}"


@pytest.mark.parametrize(
    ("display", "args", "message"),
    [
        (":0", [], "needs a terminal; use --auto MS to continue without keys"),
        ("", ["--auto=1"], "there is no display (DISPLAY is not set)"),
        (":0", ["--auto=1"], "is not in a browser, so there is nothing to see: `miniwob-agent sh"),
    ],
)
def test_what_it_needs_is_an_error_that_names_it(
    recorded, call, monkeypatch, display, args, message
):
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    status, _, err = call("play", "click-menu-2/1", *args)
    assert status == 2
    assert message in err
