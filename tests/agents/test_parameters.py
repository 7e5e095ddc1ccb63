"""Parameters of the built-in agents: the names of variants, and values that are refused."""

import inspect

import pytest

from pytest_miniwob_agent.agents.registry import load_agent, named_agents
from pytest_miniwob_agent.core.errors import UsageError

NAMED = [name for name in named_agents() if name != "program"]  # which needs a command

NAMES = {
    "rci": {"critiques": 1, "exemplars": "none"},
    "rci-critiques-0": {"critiques": 0},
    "rci-whole-html": {"html": "whole", "critique": "checklist"},
    "rci-question-critique": {"critique": "question", "html": "visible"},
    "rci-as-published": {"as_published": True, "html": "whole"},
    "rci-without-agent-as-published": {"as_published": True, "without": "agent"},
    "rci-few-shot-without-state": {"exemplars": "built-in", "without": "state"},
    "webwise": {},
    "webwise-single-step": {"steps": "single"},
    "webwise-single-step-1-shot": {"steps": "single", "examples": "built-in"},
    "webwise-single-step-instruction-only": {"steps": "single", "objects": "none"},
    "webwise-task-message-4-1-shot": {"task_message": 4, "examples": "built-in"},
    "webwise-no-history": {"history": "none"},
    "webwise-no-history-three-messages": {"messages": "three", "history": "none"},
    "webwise-as-published": {"as_published": True, "history": "none"},
    "reflective": {"as_published": False},
    "reflective-iterative": {"planning": "iterative"},
    "reflective-plan-then-adapt": {"planning": "plan-then-adapt"},
    "reflective-plain-memory": {"memory": "plain"},
    "reflective-unconstrained-memory": {"memory": "unconstrained"},
    "reflective-retry-then-plan-memory": {"memory": "retry-then-plan"},
    "reflective-retry-memory": {"memory": "retry"},
    "reflective-picture-screen": {"screen": "picture"},
    "reflective-both-screen-all-actions": {"screen": "both", "actions": "all"},
    "reflective-action-endings": {"endings": "action", "disabling": "at-once"},
    "reflective-later-disabling-no-grounding": {"disabling": "later", "grounding": "none"},
    "reflective-plain-memory-as-published": {"as_published": True, "memory": "plain"},
    "reflective-as-published": {"as_published": True, "endings": "action"},
    "reflective-plain-memory-own-step-notes": {"memory": "plain", "notes": "own-step"},
    "reflective-stuck-replan": {"stuck": "replan"},
    "reflective-full-screen": {"screen": "full", "stuck": "replan"},
    "reflective-tree-screen-stuck-end": {"screen": "tree", "stuck": "end"},
}


def test_the_name_of_each_variant_differs():
    for name, params in NAMES.items():
        assert load_agent(name.partition("-")[0], params=params).name == name


@pytest.mark.parametrize(
    ("agent", "params", "message"),
    [
        ("rci", {"critiques": -1}, "critiques must be an integer from 0 to 9, not -1"),
        ("rci", {"without": "plans"}, "(did you mean plan"),
        ("rci", {"exemplars": "nowhere"}, "exemplars 'nowhere' is not none, built-in, or a folder"),
        ("webwise", {"programs": True}, "programs must be an integer from 1 to 1000, not True"),
        ("webwise", {"task_message": 14}, "task_message must be an integer from 0 to 13, not 14"),
        ("webwise", {"examples": "all"}, "is not one of none, built-in, nor a file of"),
        ("webwise", {"objects": "none"}, 'give "steps": "single" too'),
        ("webwise", {"task_message": 1, "steps": "single"}, 'so leave out "steps": "single"'),
        (
            "webwise", {"steps": "single", "objects": "none", "messages": "three"},
            "objects 'none' has one message, so leave out messages",
        ),
        ("reflective", {"memory": None}, "memory None is not one of structured, unconstrained"),
        ("reflective", {"actions": ["all"]}, "actions ['all'] is not one of paper, all"),
        ("reflective", {"as_published": "no"}, "as_published must be true or false, not 'no'"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_refused(agent, params, message):
    with pytest.raises(UsageError) as caught:
        load_agent(agent, params=params)
    assert message in str(caught.value)


PARAMETERS = [
    (agent, name)
    for agent in NAMED
    for name in inspect.signature(type(load_agent(agent))).parameters
    if name not in ("prompts", "task", "save_examples")  # a folder, the item's task, any file
]


@pytest.mark.parametrize(("agent", "name"), PARAMETERS)
def test_any_other_text_is_refused_with_the_parameters_name(agent, name):
    with pytest.raises(UsageError, match=name):
        load_agent(agent, params={name: "no {}%s\n\ud800"})
