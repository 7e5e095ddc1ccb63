"""Certification, on real pages and on fakes that cheat."""

import json

from pytest_miniwob_agent.browser.certification import certify, explore
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.testing import FakeEnvironment

CASES = [Case("one", "other", 1), Case("two", "other", 1)]


class FakeBrowser:
    """A browser whose page says how many pages it has shown before."""

    def __init__(self, honest=True):
        self.honest = honest
        self.shown = 0
        self.closed = False

    def environment(self, case):
        self.shown += 1
        text = "Submit" if self.honest else f"Submit {self.shown}"
        return FakeEnvironment(case.task, {"start": [Element(1, "button", text)]})

    def close(self):
        self.closed = True


def run(honest):
    browsers = []

    def browser():
        browsers.append(FakeBrowser(honest))
        return browsers[-1]

    verdicts = list(certify(CASES, browser))
    assert len(browsers) == 3
    assert all(one.closed for one in browsers)
    return verdicts


def test_pages_that_keep_still_are_the_same():
    assert [verdict.difference for verdict in run(honest=True)] == ["", ""]


def test_what_differs_is_shown():
    first, second = run(honest=False)
    assert "+++ another browser and order" in first.difference
    assert "-Element(id=1, tag='button', text='Submit 1'" in first.difference
    assert "+Element(id=1, tag='button', text='Submit 2'" in first.difference
    assert second.difference


def test_everything_is_used_once_and_fields_are_written_to():
    env = FakeEnvironment(
        "g",
        {"start": [Element(1, "button", "a"), Element(2, "input_text", value=""), Element(3, "b")]},
        rewards={("start", "click id=3"): 1.0},
    )
    explore(env)
    first, second, further = ([str(action) for action in trial] for trial in env.actions)
    assert first == ["click id=1", 'enter "a1 B" to id=2', "click id=3"]
    assert second == ["press TAB"]  # the page ended the first trial
    assert [action.split()[0] for action in further] == [
        "hover", "drag", "select", "copy", "click", "paste", "scroll", "drag", "double", "hover",
    ]  # fmt: skip
    assert further[:3] == ["hover id=1", "drag id=2 to id=3", "select id=3"]


def test_a_page_without_elements_is_only_loaded():
    env = FakeEnvironment("g", {"start": []})
    assert [seen.action for seen in explore(env)] == ["loading", "loading"]


def test_the_command(tmp_path, capsys):
    output = tmp_path / "verdicts.json"
    assert main(["certify", "click-test-2", "--seeds", "1", "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "same    1-screen-1-step/click-test-2/1" in printed
    assert "1 of 1 cases are deterministic" in printed
    verdict = json.loads(output.read_text())["1-screen-1-step/click-test-2/1"]
    assert verdict["difference"] == ""
    assert verdict["observations"] > 3


def test_a_wrong_call(capsys):
    assert main(["certify", "clik-pie"]) == 2
    assert "did you mean click-pie" in capsys.readouterr().err
