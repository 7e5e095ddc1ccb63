"""The planners of the reflective agent: staged, and the two that the paper compares it with.

Each returns the actions to take next, none if nothing is left to do. A line that can't be read ends
a plan. They raise `Unreadable` if a reply has no action.
"""

from __future__ import annotations

from pytest_miniwob_agent.agents.reflective.dialogue import Dialogue
from pytest_miniwob_agent.agents.reflective.memory import Trial
from pytest_miniwob_agent.agents.reflective.replies import parse_plan, without_thoughts
from pytest_miniwob_agent.core.parsing import Command, Unreadable

Plan = list[Command | Unreadable]


def staged(dialogue: Dialogue, trial: Trial) -> Plan:
    """Plan all actions that the present screen allows (4.3)."""
    history = _with_notes(dialogue, trial, dialogue.history(trial))
    reply = _ask(dialogue, trial, "plan", history=history, screen=dialogue.screen(trial))
    return _read(dialogue, reply)


def iterative(dialogue: Dialogue, trial: Trial) -> Plan:
    """Plan one action (4.1)."""
    trajectory = _with_notes(dialogue, trial, dialogue.trajectory(trial))
    return _read(dialogue, _ask(dialogue, trial, "next", trajectory=trajectory))[:1]


def plan_then_adapt(dialogue: Dialogue, trial: Trial) -> Plan:
    """Sketch the whole way on the first screen, then adapt it action by action (4.2)."""
    trajectory = _with_notes(dialogue, trial, dialogue.trajectory(trial))
    if not dialogue.sketch:
        sketch = _ask(dialogue, trial, "rough-plan", screen=dialogue.screen(trial))
        dialogue.sketch = sketch.strip() or "(none)"
    reply = _ask(dialogue, trial, "adapt", "adapt", plan=dialogue.sketch, trajectory=trajectory)
    return _read(dialogue, reply)[:1]


PLANNERS = {"staged": staged, "iterative": iterative, "plan-then-adapt": plan_then_adapt}
"""The values of the parameter `planning`."""


def _ask(dialogue: Dialogue, trial: Trial, name: str, purpose: str = "plan", **values: str) -> str:
    prompt = dialogue.fill(name, actions=dialogue.actions(), goal=trial.goal, **values)
    return dialogue.ask(prompt, purpose)


def _read(dialogue: Dialogue, reply: str) -> Plan:
    return parse_plan(
        without_thoughts(reply) if dialogue.style.full else reply, dialogue.all_actions
    )


def _with_notes(dialogue: Dialogue, trial: Trial, done: str) -> str:
    """Add the notes of earlier trials to what was done in this one (Eq. 5)."""
    if not dialogue.memory.notes:
        return done
    notes = "\n".join(dialogue.memory.notes)
    return dialogue.fill("reflections", done=done, notes=notes, step=str(len(trial.actions)))
