"""Episodes of an agent on a fake page with a scripted model, and parts of what happened."""

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.events import Acted, Reflected, TrialEnded
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.testing import ScriptedLLM

CASE = Case("fake", "other", 0)


def button(id, text, **more):
    return Element(id, "button", text, **more)


def play(agent, env, replies, **limits):
    """Play an episode; returns it and the model."""
    llm = ScriptedLLM(replies)
    return run_episode(CASE, agent, env, llm, Limits(**limits), model="scripted"), llm


def actions(episode, trial=1):
    return [str(e.action) for e in episode.events if isinstance(e, Acted) and e.trial == trial]


def reflections(episode):
    return [(e.step, e.action, e.disabled) for e in episode.events if isinstance(e, Reflected)]


def ending(episode):
    """How the only trial ended, and why."""
    [end] = [event for event in episode.events if isinstance(event, TrialEnded)]
    return end.ending, end.detail


def prompts(llm, purpose):
    return [prompt for kind, prompt in llm.prompts if kind == purpose]
