"""The data of a report: rows, pages and frames of made-up outcomes."""

from dataclasses import replace

import pytest
from support.drawn_pictures import page_with_button
from support.made_report import HOSTILE, items, made_up, without_result

from pytest_miniwob_agent.core.actions import Copy, Enter
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import Cause, ChangedPicture
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Episode,
    Remark,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.core.outcome import DriftDetails, Outcome, Result, Status
from pytest_miniwob_agent.plugins.report.folder import Report, item_page, overview_row

CASE = Case("click-test", "1-screen-1-step", 1)
RECORDED, PRESENT, GONE = (f"{digit * 16}.png" for digit in "123")
DIFFERENCE = f"{'1' * 16}-{'2' * 16}.png"


def test_an_action_is_shown_as_an_agent_writes_it_with_the_text_that_is_typed():
    page = Transition(Observation("", ()))
    outcome = without_result(CASE, Status.ERROR)
    events = (
        TrialStarted(1, Observation("", (Element(3, "input_text", value="old"),))),
        Acted(1, 0, Enter("a b", 3), page),
        Acted(1, 1, Copy(), page),
    )
    frames = item_page(replace(outcome, events=events))["frames"]
    names = ("text", "typed", "labelled")
    assert [tuple(frame["action"][name] for name in names) for frame in frames[:2]] == [
        ('enter "a b" to id=3', "a b", True),
        (str(Copy()), "", False),
    ]


def test_a_remark_is_in_its_frame():
    outcome = without_result(CASE, Status.ERROR)
    first, *rest = outcome.history
    page = item_page(replace(outcome, events=(first, Remark("vote", "id=2", 1, 0), *rest)))
    assert page["frames"][0]["other"] == [
        {"kind": "remark", "what": "vote", "text": "id=2", "trial": 1, "step": 0}
    ]


def test_tokens_are_unknown_if_any_call_has_none():
    outcome = made_up(CASE)
    assert overview_row(CASE.id, outcome)["tokens"] == 45
    first, call, *rest = outcome.history
    uncounted = replace(call, completion=replace(call.completion, prompt_tokens=None))
    episode = replace(outcome.episode, events=(first, uncounted, *rest))
    assert overview_row(CASE.id, replace(outcome, episode=episode))["tokens"] is None


def test_an_item_that_ran_twice_has_two_pages(tmp_path):
    Report(tmp_path).write([made_up(CASE), made_up(CASE, solved_at=None)], judged=False)
    assert set(items(tmp_path)) == {CASE.id, f"{CASE.id}~2"}


def test_no_text_of_a_page_can_end_a_script(tmp_path):
    outcome = made_up(CASE, goal=HOSTILE)
    Report(tmp_path).write([outcome], judged=False)
    for path in tmp_path.rglob("*.js"):
        if path.parent.name != "scripts":
            text = path.read_text("ascii")
            assert "<" not in text
            assert text.count("\n") == 1
    [item] = items(tmp_path).values()
    assert item["goal"] == HOSTILE


@pytest.fixture
def folder(tmp_path):
    """A report on an item that was sent two pictures, one without a file, and then drifted."""
    cassettes, kept = tmp_path / "cassettes" / "pictures", tmp_path / ".miniwob" / "pictures"
    for parent, name in ((cassettes, RECORDED), (kept, PRESENT), (kept, DIFFERENCE)):
        parent.mkdir(parents=True, exist_ok=True)
        (parent / name).write_bytes(page_with_button())
    paths = (f"cassettes/pictures/{RECORDED}", *(f".miniwob/{n}" for n in (PRESENT, DIFFERENCE)))
    changed = ChangedPicture(1, "8 pixels differ", *paths)
    added = ChangedPicture(2, "added", None, "../../../etc/passwd")
    prompt = f"[user]\n[picture pictures/{RECORDED}]\n[picture pictures/{GONE}]\nWhat is this?"
    outcome = Outcome(
        result=Result.of(Episode(CASE, "looker", "m", ()), Status.DRIFTED),
        events=(Called(1, 0, "look", prompt, Completion("A button")),),
        drift=DriftDetails("report", (Cause("page", "picture 1"),), (), (changed, added)),
    )
    report = Report(tmp_path / "report")
    report.write([outcome], judged=False, sent=[cassettes, kept])
    return tmp_path / "report"


def test_an_item_has_the_pictures_that_it_sent_and_those_that_drifted_until_the_next_report(folder):
    item = items(folder)[CASE.id]
    assert item["sent"] == [RECORDED]
    names = {"recorded": RECORDED, "present": PRESENT, "difference": DIFFERENCE}
    assert item["changed"] == [
        {"what": "picture 1: 8 pixels differ", **names},
        {"what": "picture 2: added"},
    ]
    assert {path.name for path in (folder / "pictures").iterdir()} == set(names.values())
    Report(folder).write([], judged=False)
    assert not list((folder / "pictures").iterdir())
