"""What agents do once the page has judged."""

import json
import re

import openai
import pytest
from support.scripted import Solving
from support.scripted import play as play_episode

from pytest_miniwob_agent import (
    CallLimit,
    Case,
    Click,
    Completion,
    Element,
    Ending,
    Limits,
    Remark,
    TrialEnded,
    UsageError,
    run_episode,
)
from pytest_miniwob_agent.models.http import httpx
from pytest_miniwob_agent.testing import FakePage, ScriptedLLM

CASE = Case("fake", "other", 0)
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "go on"}]}
BODIES = {
    "/chat/completions": REQUEST,
    "/responses": {"model": "m", "input": "go on"},
    "/messages": REQUEST | {"max_tokens": 9},
}


class GoesOn:
    """Solves the page, or fails on it, and does something more."""

    name = "goes-on"

    def __init__(self, more):
        self.more = more

    def solve(self, env, llm, note):
        env.reset()
        env.step(Click(1))
        self.more(llm)


def play(more, reward=1.0, trials=1):
    page = FakePage(
        "Click.", {"only": [Element(1, "button", "ONE")]}, rewards={("only", "click id=1"): reward}
    )
    model = ScriptedLLM(["an answer"] * 9)
    limits = Limits(trials=trials, calls=5)
    return run_episode(CASE, GoesOn(more), page, model, limits, model="m"), model


@pytest.mark.parametrize("reward", [1.0, -1.0])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_a_further_call_is_answered_without_the_model(path, stream, reward):
    answers = []

    def more(llm):
        body = BODIES[path] | ({"stream": True} if stream else {})
        with httpx.Client() as client:
            answers.append(client.post(llm.base_url + path, json=body))

    episode, model = play(more, reward)
    assert "The task is over." in answers[0].text
    assert answers[0].status_code == 200
    assert model.prompts == []
    assert episode.calls == 0
    assert episode.endings == (Ending.CORRECT if reward == 1 else Ending.FAILED,)


def test_an_agent_that_asks_without_end_is_stopped_by_the_limit_of_calls():
    asked = []

    def more(llm):
        while True:
            asked.append(llm.complete("more", "ask"))

    episode, _ = play(more)
    assert len(asked) == 5
    assert episode.solved


def test_while_trials_are_left_a_failed_one_is_followed_by_real_calls():
    said = []
    play(lambda llm: said.append(llm.complete("Reflect.", "reflect").text), -1.0, trials=2)
    assert said == ["an answer"]


def test_an_exception_after_the_verdict_is_a_remark():
    def more(llm):
        raise openai.OpenAIError("too late")

    episode, _ = play(more)
    assert episode.solved
    [remark] = [event for event in episode.events if isinstance(event, Remark)]
    assert remark.text.startswith("the agent failed after the end: OpenAIError: too late\n")


def test_an_exception_while_trials_are_left_ends_the_trial_and_is_told_from_the_agents_file_on():
    def more(llm):
        llm.complete("Go on.", "ask")
        raise ValueError("no\nnumber")

    episode, _ = play(more, -1.0, trials=2)
    assert episode.endings == (Ending.EXCEPTION,)
    lines = episode.explain().splitlines()
    assert lines[0] == "EXCEPTION in trial 1, best reward -1"
    start = lines.index("exception: the agent failed: ValueError: no number")
    assert re.search(r"test_end\.py:\d+: in solve$", lines[start + 1])
    assert lines[start + 2] == "    self.more(llm)"
    assert not [line for line in lines if "episode/__init__.py" in line]


def test_files_outside_the_project_are_named_as_on_every_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def more(llm):
        llm.complete("Go on.", "ask")
        json.loads("no")

    episode, _ = play(more, -1.0, trials=2)
    lines = [line for line in episode.explain().splitlines() if ": in " in line]
    assert lines[0].startswith("test_end.py:")
    assert lines[-1].startswith("json/decoder.py:")


def test_a_text_noted_as_an_ending_is_the_agents_exception():
    class Notes:
        name = "notes"

        def solve(self, env, llm, note):
            env.reset()
            note(TrialEnded("cycle"))

    page = FakePage("Click.", {"only": []})
    episode = run_episode(CASE, Notes(), page, ScriptedLLM([]), Limits(), model="m")
    assert episode.endings == (Ending.EXCEPTION,)
    assert "'cycle' is not an Ending, such as Ending.INCOMPLETE" in episode.explain()


def test_what_is_not_the_agents_doing_is_raised():
    @Solving
    def never(env):
        raise ValueError("before the first trial")

    with pytest.raises(ValueError, match="before the first trial"):
        play_episode(never, FakePage("Click.", {"only": []}), [])

    class Broken(ScriptedLLM):
        def post(self, request, origin):
            raise ValueError("of the model")

    page = FakePage("Click.", {"only": [Element(1, "button", "ONE")]})
    agent = GoesOn(lambda llm: llm.complete("Go on.", "ask"))
    with pytest.raises(ValueError, match="of the model"):
        run_episode(CASE, agent, page, Broken([]), Limits(), model="m")

    def missing(llm):
        raise ModuleNotFoundError("no module named x")

    with pytest.raises(ModuleNotFoundError):
        play(missing, -1.0, trials=2)


def test_a_limit_is_found_among_errors_that_name_each_other():
    def more(llm):
        closed = OSError("closed")
        group = ExceptionGroup("of a task group", [closed, limit_of(llm)])
        closed.__context__ = group  # as where a task ends while its group does
        raise group

    def limit_of(llm):
        try:
            while True:
                llm.complete("more", "ask")
        except CallLimit as limit:
            return limit

    episode, _ = play(more, -1.0, trials=2)
    assert episode.endings == (Ending.FAILED,)
    assert episode.calls == 5


def test_there_are_three_screens():
    @Solving
    def agent(env):
        for screen in ("compact", "full", "tree"):
            env.reset(screen=screen)
        with pytest.raises(UsageError, match="no screen 'trees': it is one of compact, full, t"):
            env.reset(screen="trees")

    page = FakePage("Click.", {"only": [Element(1, "button", "ONE")]})
    play_episode(agent, page, [], trials=4, raising=True)


def test_a_failure_says_what_was_wrong_with_the_models_answers_and_calls():
    class Calls:
        name = "calls"

        def solve(self, env, llm, note):
            env.reset()
            for _ in range(2):
                llm.chat([{"role": "user", "content": "Act."}], "act")
                env.call("press", "{}")
            env.call("click", {"element": 1})
            env.call("click", "")  # the page has judged

    page = FakePage(
        "Click.", {"only": [Element(1, "button", "ONE")]}, rewards={("only", "click id=1"): -1}
    )
    said = [Completion("", refusal="I can't."), Completion("Well", finish_reason="length")]
    episode = run_episode(CASE, Calls(), page, ScriptedLLM(said), Limits(), model="m")
    *_, refusal, call, reason = episode.explain().splitlines()
    assert refusal == "  act call, refusal: I can't."
    assert re.fullmatch(
        r"  refused call: press: press lacks its argument key: .* \(2 times\)", call
    )
    assert reason == "  act call, finish reason: length"
