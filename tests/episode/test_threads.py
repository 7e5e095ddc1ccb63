"""Agents whose framework carries out tool calls in threads."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from pytest_miniwob_agent import (
    Acted,
    Case,
    Click,
    Completion,
    Element,
    Limits,
    ToolCall,
    UsageError,
    run_episode,
    tools_of,
)
from pytest_miniwob_agent.testing import FakePage, ScriptedLLM

BUTTONS = [Element(number, "button", str(number)) for number in (1, 2, 3)]
CASE = Case("fake", "other", 0)


def calling(*ids):
    calls = [ToolCall(str(id_), "click", f'{{"element": {id_}}}') for id_ in ids]
    return Completion("", tool_calls=tuple(calls))


class InThreads:
    """Carries out the tool calls of one answer in threads, which begin in reverse order."""

    name = "in-threads"

    def __init__(self, use):
        self.use = use

    def solve(self, env, llm, note):
        env.reset()
        answer = llm.chat([{"role": "user", "content": "go"}], "act", tools=tools_of([Click]))
        with ThreadPoolExecutor() as pool:
            for call in reversed(answer.tool_calls):
                begun = threading.Event()
                pool.submit(self._carry_out, begun, env, call)
                begun.wait()

    def _carry_out(self, begun, env, call):
        begun.set()
        self.use(env, call)


def by_call(env, call):
    env.call(call.name, call.arguments)


def by_step(env, call):
    env.step(Click(int(call.id)))


class SlowPage(FakePage):
    """A page that fails if two threads use it at a time."""

    using = threading.Lock()

    def step(self, action):
        assert self.using.acquire(blocking=False)
        try:
            threading.Event().wait(0.01)
            return super().step(action)
        finally:
            self.using.release()


def clicked(agent, *named):
    page = SlowPage("Click.", {"only": BUTTONS})
    episode = run_episode(CASE, agent, page, ScriptedLLM([calling(*named)]), Limits(), model="m")
    return [event.action.element for event in episode.events if isinstance(event, Acted)]


@pytest.mark.parametrize("use", [by_call, by_step])
def test_actions_are_taken_in_the_order_in_which_the_model_named_them(use):
    assert clicked(InThreads(use), 1, 2, 3) == [1, 2, 3]
    assert clicked(InThreads(use), 3, 1, 3, 2) == [3, 1, 3, 2]


def test_a_call_that_the_framework_leaves_out_does_not_keep_the_others_for_ever():
    def all_but_the_first(env, call):
        if call.id != "1":
            by_call(env, call)

    assert sorted(clicked(InThreads(all_but_the_first), 1, 2)) == [2]


def test_in_the_agents_own_thread_any_order_is_taken_at_once():
    class Backwards(InThreads):
        def solve(self, env, llm, note):
            env.reset()
            answer = llm.chat([{"role": "user", "content": "go"}], "act", tools=tools_of([Click]))
            for call in reversed(answer.tool_calls):
                by_call(env, call)

    assert clicked(Backwards(None), 1, 2) == [2, 1]


def test_a_thread_that_outlives_its_episode_ends_its_action_and_does_no_more():
    under_way, over, refused = threading.Event(), threading.Event(), []

    class Noting(SlowPage):
        def step(self, action):
            under_way.set()
            return super().step(action)

    class Leaving:
        name = "leaving"

        def solve(self, env, llm, note):
            env.reset()
            self.thread = threading.Thread(target=self.go_on, args=(env, llm))
            self.thread.start()
            under_way.wait()

        def go_on(self, env, llm):
            env.step(Click(1))
            over.wait()
            for use in (partial(env.step, Click(2)), env.html, env.look, env.reset, llm.complete):
                with pytest.raises(UsageError, match="the episode is over"):
                    use("prompt", "purpose") if use == llm.complete else use()
                refused.append(use)

    agent, page, llm = Leaving(), Noting("Click.", {"only": BUTTONS}), ScriptedLLM([])
    episode = run_episode(CASE, agent, page, llm, Limits(), model="m")
    assert [event.action for event in episode.events if isinstance(event, Acted)] == [Click(1)]
    over.set()
    agent.thread.join()
    assert len(refused) == 5
