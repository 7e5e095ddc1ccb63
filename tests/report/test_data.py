"""The data of a report: rows, pages and frames of made-up outcomes."""

from dataclasses import replace

from made_report import HOSTILE, items, made_up, without_result

from pytest_miniwob_agent.core.actions import Copy, Enter
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.events import Acted, Remark, TrialStarted
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.report.data import item_page, overview_row
from pytest_miniwob_agent.report.folder import Report

CASE = Case("click-test", "1-screen-1-step", 1)


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
