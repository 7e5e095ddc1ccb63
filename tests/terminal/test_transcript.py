"""An episode as it is printed: `EpisodePrinter`, on a fake page and with a fake model."""

import re

import pytest

from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.chat import Message, ToolCall
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.core.outcome import Outcome, Result, Status
from pytest_miniwob_agent.terminal.transcript import EpisodePrinter

CASE = Case("click-menu-2", "n-screen-n-step", 1)
MENU = Element(1, "button", "Menu")
SCREEN = Observation("Click.", (MENU,))


def outcome(status, **fields):
    played = Episode(CASE, fields.pop("agent", "reflective"), fields.pop("model", "m"), ())
    return Outcome(result=Result.of(fields.get("episode", played), status), **fields)


def printed(capsys, *events, full=False):
    printer = EpisodePrinter(full=full)
    printer.before_episode(CASE)
    for event in events:
        printer.on_event(event)
    return capsys.readouterr().out.removeprefix(f"item: {CASE}\n")


@pytest.mark.parametrize("full", [False, True], ids=["shortened", "full"])
def test_long_texts_are_shortened_unless_they_are_asked_for_in_full(capsys, full):
    text = "\n".join(["x" * 1000, *(f"line {number}" for number in range(1, 50))])
    ended = TrialEnded(Ending.EXCEPTION, "y" * 1000, 1)
    call = Called(1, 0, "plan", "Plan.", Completion(text))
    out = printed(capsys, call, ended, full=full)
    assert ("x" * 1000 in out, "    line 25\n" in out, "y" * 1000 in out) == (full, full, full)
    assert ("  prompt:\n    Plan.\n" in out) == full
    assert ("840 characters" in out, "… 30 more …" in out) == (not full, not full)


def test_errors_remarks_and_reflections_that_can_not_be_read_are_printed(capsys):
    impossible = Acted(1, 0, Click(7), Transition(SCREEN, error="there is no element with id=7"))
    remark = Remark("vote", "id=2\nid=3", 1, 0)
    out = printed(capsys, TrialStarted(1, SCREEN), impossible, remark, Reflected(None, None, (), 1))
    assert out.endswith(
        "\naction 0: click id=7\n  impossible: there is no element with id=7\nscreen: as before\n"
        "\nvote:\n    id=2\n    id=3\nreflection: could not be read\n"
    )


def test_an_item_without_a_result_ends_with_the_reason(capsys):
    printer = EpisodePrinter(full=False)
    printer.before_episode(CASE)
    printer.after_item(outcome(Status.WAITING))
    printer.after_item(outcome(Status.DRIFTED, message="the page\n- old\n+ new"))
    ends = "\nit goes no further: reflective with m\n"
    printed = capsys.readouterr().out
    assert printed == f"item: {CASE}\n{ends}a completion is missing\n{ends}the page\n- old\n+ new\n"
    EpisodePrinter(full=False).after_item(outcome(Status.ERROR, message="no disk"))
    assert capsys.readouterr().out == f"item: {CASE}\n{ends}no disk\n"


def test_an_answer_is_printed_again_only_if_the_agent_changed_it(capsys):
    asked = (Message("user", "Go."),)
    click = ToolCall("c1", "click", "{}")
    first = Called(1, 0, "act", "", Completion("Now.", tool_calls=(click,)), asked, ("click",))
    for arguments, shown in (("{}", ""), ("{1}", "    [assistant]\n    Now.\n    click({1})\n")):
        echo = Message("assistant", "Now.", (ToolCall("c7", "click", arguments),))
        result = Message("tool", "Done.", (), "c7")
        second = Called(1, 0, "act", "", Completion("Yes."), (*asked, echo, result), ("click",))
        out = printed(capsys, first, second, full=True).partition("call 2, act\n")[2]
        earlier = "1 earlier message" if shown else "2 earlier messages"
        assert out == (
            f"  prompt:\n    … {earlier}\n{shown}    [tool]\n    Done.\n  completion:\n    Yes.\n"
        )


def test_no_text_of_a_page_or_a_model_moves_the_cursor(capsys):
    evil = "\x1b[2J\u202e\n::error::x\ud800"
    screen = Observation(evil, (Element(1, "button", evil),))
    calls = (ToolCall(evil, evil, evil),)
    said = Completion(
        evil, tool_calls=calls, finish_reason=evil, reasoning=evil, refusal=evil,
        others=(Completion(evil),),
    )  # fmt: skip
    for full in (False, True):
        out = printed(
            capsys,
            TrialStarted(1, screen),
            Called(1, 0, evil, evil, Completion(evil)),
            Called(1, 0, evil, evil, said, (Message(evil, evil, calls),), (evil,)),
            Acted(1, 0, Click(1), Transition(screen, error=evil)),
            Reflected(0, evil, (), 1),
            Remark(evil, evil, 1, 0),
            TrialEnded(Ending.EXCEPTION, evil, 1),
            full=full,
        )
        EpisodePrinter(full=full).after_item(
            outcome(Status.ERROR, agent=evil, model=evil, message=evil)
        )
        out += capsys.readouterr().out
        assert not re.search("\x1b|\u202e|[\ud800-\udfff]|^ *::", out, re.M)
