"""Episodes of an agent on a fake page with a scripted model, and parts of what happened."""

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.events import Acted, Reflected, TrialEnded
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.testing import FakePage, ScriptedLLM

CASE = Case("fake", "other", 0)


def button(id, text, **more):
    return Element(id, "button", text, **more)


def menu(right, *wrong):
    """A page whose button Menu opens a menu with the entries 3 to 5; one is right."""
    menu = button(1, "Menu")
    screens = {
        "start": [menu, button(2, "Help")],
        "open": [menu, button(3, "Save"), button(4, "Print"), button(5, "Quit")],
    }
    rewards = {("open", f"click id={id}"): -1.0 for id in wrong}
    rewards["open", f"click id={right}"] = 1.0
    return FakePage("Choose", screens, {("start", "click id=1"): "open"}, rewards)


def advice(step, action):
    return f"For action index={step}, you should {action}."


class Solving:
    """An agent that is a function of its environment."""

    name = "solving"

    def __init__(self, function):
        self._function = function

    def solve(self, env, llm, note):
        self._function(env)


def play(agent, env, replies, *, observers=(), raising=False, pace=None, **limits):
    """Play an episode, a program's at a `Pace`; returns it and the model."""
    llm = ScriptedLLM(replies)
    llm.pace = pace or Pace()
    episode = run_episode(
        CASE, agent, env, llm, Limits(**limits), model="scripted", observers=observers,
        raising=raising,
    )  # fmt: skip
    return episode, llm


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
