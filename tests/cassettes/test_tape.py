"""The tape of an item, with lists of calls alone."""

import pytest
from support.answers import completion

from pytest_miniwob_agent.cassettes.tape import Call, Request, Tape
from pytest_miniwob_agent.core.events import OF_TEST, Origin
from pytest_miniwob_agent.models.apis import CHAT


def request(text):
    return Request(CHAT, {"messages": [{"role": "user", "content": text}]})


def origin(step):
    return Origin("plan", 1, step, {}, "a", "b")


def calls(*texts, at=None):
    return [Call(request(text), completion(text), at or origin(0)) for text in texts]


def texts(found):
    return [call.request.text for call in found]


def make(tape, text):
    number = tape.begin(origin(0))
    call = tape.play(request(text), number)
    tape.end(number)
    return call


def test_each_call_is_played_once_to_an_equal_request_in_order():
    first, second, other = recorded = calls("p", "p", "q")
    tape = Tape(recorded)
    assert make(tape, "q") is other
    assert make(tape, "p") is first
    assert tape.left == [second]
    assert make(tape, "x") is None
    assert make(tape, "p") is second
    assert make(tape, "p") is None
    assert texts(tape.calls) == ["q", "p", "p"]


def test_equal_calls_come_before_alike_ones_and_recorded_ones_before_spare_ones():
    tape = Tape(
        calls("aa", "b"), calls("a", "b", "c"), lambda then, now: then.text[0] == now.text[0]
    )
    assert texts([make(tape, "a"), make(tape, "b"), make(tape, "c"), make(tape, "ax")]) == [
        "a", "b", "c", "aa",
    ]  # fmt: skip
    assert texts(tape.spare) == ["b"]


def test_after_a_rewind_the_episode_is_played_again_and_calls_of_the_test_are_not():
    tape = Tape(calls("before", at=OF_TEST) + calls("p", "q"))
    for text in ("before", "p"):
        make(tape, text)
    tape.rewind()
    assert texts(tape.made) == ["before"]
    assert texts(tape.left) == ["p", "q"]


@pytest.mark.parametrize("ends", [(0, 1, 2), (2, 1, 0)])
def test_calls_of_a_step_that_overlapped_are_sorted_whatever_ended_first(ends):
    tape = Tape([])
    make_and_add(tape, ["z", "y"], origin(0))
    numbers = [tape.begin(origin(1)) for _ in "cab"]
    for index in ends:
        tape.add(calls("cab"[index], at=origin(1))[0], numbers[index])
        tape.end(numbers[index])
    make_and_add(tape, ["x"], origin(2))
    assert texts(tape.in_stable_order()) == ["z", "y", "a", "b", "c", "x"]


def make_and_add(tape, new, at):
    for call in calls(*new, at=at):
        number = tape.begin(at)
        tape.add(call, number)
        tape.end(number)
