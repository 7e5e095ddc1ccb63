"""The contract of agents for every built-in agent, and generated replies and pages."""

import functools
import re
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pytest_miniwob_agent
from pytest_miniwob_agent import Completion, Element, ToolCall
from pytest_miniwob_agent.agents.registry import load_agent, named_agents
from pytest_miniwob_agent.testing import ScriptedLLM, agent_contract
from pytest_miniwob_agent.testing.contract import ContractPage, play
from pytest_miniwob_agent.testing.fakes import HOSTILE

PIECES = (
    "click id=", 'enter "', '" to id=', "press ", "For action index=", "clickxpath //", "[@id=",
    "import os", "for each in ", "def ", "```", "```python\n", *"{}()[]\"'`\n\t:.,=$%\\#012",
    "9" * 30, "-1", "1e9", "None", "DONE", "\x00", "\ud800", "\u6f22", "\U0001f600",
)  # fmt: skip

NAMED = [name for name in named_agents() if name != "program"]  # which needs a command
"""Pieces of generated replies, besides those of prompts."""

REPLIES = ['click id=1\nclickxpath //*[@data-ref="1"]']
"""Replies that make most agents act."""

CLICK = Completion("", tool_calls=(ToolCall("1", "click", '{"element": 1}'),))

REPLIES_OF = {"webwise": ['```python\nclick("button", "ONE")\n```'], "tools": [CLICK]}
"""Replies that make other agents act."""

PARAMS = {
    "reflective-iterative": {"planning": "iterative", "memory": "plain"},
    "reflective-plan-then-adapt": {"planning": "plan-then-adapt", "memory": "plain"},
    "reflective-full-screen": {"screen": "full", "actions": "all", "memory": "unconstrained"},
    "tools": {"screen": "full", "actions": "all"},
    # Fewer programs per trial than by default, as it takes long to stop an endless one.
    "webwise": {"programs": 2},
}

AGENTS = {
    name: functools.partial(load_agent, name.partition("-")[0], params=PARAMS.get(name))
    for name in (
        *NAMED,
        "reflective-iterative",
        "reflective-plan-then-adapt",
        "reflective-full-screen",
    )
}
"""Makers of each built-in agent, and of variants that cover the parameters' values."""


def replies_for(name):
    return REPLIES_OF.get(name.partition("-")[0], REPLIES)


class Contract:
    """Goes through all that is hostile in the sweep only; make test generates some of it, below."""

    @pytest.mark.sweep
    def test_no_page_breaks_it(self):
        super().test_no_page_breaks_it()

    @pytest.mark.sweep
    def test_no_reply_breaks_it(self):
        super().test_no_reply_breaks_it()

    @pytest.mark.sweep
    def test_no_tool_call_breaks_it(self):
        super().test_no_tool_call_breaks_it()


for _name, _make in AGENTS.items():  # a class such as TestReflective, as a user's module has one
    _class = "Test" + _name.title().replace("-", "")
    _bases = (Contract, agent_contract(_make, replies_for(_name)))
    _variant = [] if _name in NAMED else [pytest.mark.sweep]
    globals()[_class] = type(_class, _bases, {"pytestmark": _variant})


def phrases():
    texts = [
        path.read_text()
        for path in Path(pytest_miniwob_agent.__file__).parent.glob("agents/*/prompts/*.txt")
    ]
    shown = {piece for text in texts for piece in re.findall(r"`[^`\n]+`|\S+|\n", text)}
    return sorted(shown | {piece.strip("`") for piece in shown} | set(PIECES))


numbers = st.one_of(st.integers().map(str), st.floats().map(str), st.text("0123456789"))
junk = st.text(st.characters(exclude_categories=()), max_size=20)
pieces = st.lists(st.one_of(st.sampled_from(phrases()), numbers, junk), max_size=25)
programs = st.lists(st.sampled_from(phrases()), max_size=25).map(" ".join)
texts = st.one_of(
    junk,
    st.sampled_from(list(HOSTILE.values())),
    pieces.map(" ".join),
    pieces.map("".join),
    programs.map("```python\n{}\n```".format),
)


any_episode = given(
    script=st.lists(texts, min_size=1, max_size=6),
    written=st.one_of(st.just("ONE"), texts),
    reward=st.sampled_from([None, -1.0, 1.0]),
)


@pytest.mark.parametrize("name", AGENTS)
@any_episode
@settings(max_examples=8, deadline=None)  # a busy machine is not a failure
def test_any_replies_and_any_page_lead_to_endings_of_trials(name, script, written, reward):
    check_endings(name, script, written, reward)


@pytest.mark.sweep
@pytest.mark.parametrize("name", AGENTS)
@any_episode
@settings(max_examples=30, deadline=None)
def test_many_replies_and_pages_lead_to_endings_of_trials(name, script, written, reward):
    check_endings(name, script, written, reward)


def check_endings(name, script, written, reward):
    """Good replies follow the generated ones, so that the agent gets further."""
    fields = {"text": written, "classes": written, "placeholder": written, "value": written}
    page = ContractPage(
        reward, 2, written, [Element(1, "input", **fields), Element(2, "button", written)]
    )
    episode = play(AGENTS[name](), page, ScriptedLLM(cycle([*script, *replies_for(name)])))
    assert len(episode.endings) == episode.trials
