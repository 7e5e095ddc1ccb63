"""The app of an item, without a browser: when its messages come."""

import re

import pytest

from pytest_miniwob_agent import AppTask
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.plugins.apps.recorded_app import RecordedApp


class Sending:
    """A live app that sends these messages, for each time that it is asked."""

    origins = ("http://app.localhost",)

    def __init__(self, sent):
        self.sent = iter(sent)

    def begin_trial(self, clock):
        pass

    def messages(self, now, *, at_once):
        return next(self.sent)


@pytest.fixture
def play(tmp_path):
    task = AppTask("task", app="app", goal="Do it.", solved_when=lambda trial: None)

    def play(asked, sent=None):
        """Record what an app sends, or replay it; what comes as the page asks at these times."""
        start = sent and (lambda: (None, Sending(sent)))
        app = RecordedApp(task, 1, Limits(), tmp_path, "a/m/task/1", start)
        app.begin_trial()
        came = [app.messages(now) for now in asked]
        app.finish(0, solved=True)
        return [each and [message["data"] for message in each] for each in came]

    return play


def test_a_message_comes_when_the_page_asks_as_often_at_the_same_time(play, tmp_path):
    def say(text):
        return [{"socket": 1, "type": "message", "data": text}]

    asked = [100, 100, 150, 150, 150, 150]
    came = [[], say("first"), None, [], say("second"), []]
    assert play(asked, came) == [[], ["first"], None, [], ["second"], []]
    assert play([100, 100, 150, 150, 150]) == [[], ["first"], [], ["second"], []]
    assert play([100, 150, 200]) == [[], ["first"], ["second"]]
    [tape] = tmp_path.glob("**/*.traffic.jsonl")
    tape.write_text(re.sub(', "turn": 1', "", tape.read_text()))  # as early recordings
    assert play([100, 100, 150, 150, 150]) == [["first"], [], ["second"], [], []]
