"""What the reflective agent shows and asks the model in an episode, and its three planners."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.reflective.memory import Memory, Trial
from pytest_miniwob_agent.agents.reflective.replies import Plan, parse_plan
from pytest_miniwob_agent.agents.reflective.screens import ScreenStyle
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.protocols import LLM

TRAJECTORY_LIMIT = 16_000
"""Characters of a trajectory; a longer one shows its first and last screen, and all actions."""

MOST_PICTURES = 10
"""Pictures of a trajectory; one with more shows its first and last screen, and all actions."""


@dataclass(slots=True)
class Dialogue:
    """The prompts about a trial, and the model's replies.

    A planner returns the actions to take next, none if nothing is left to do; it raises
    `Unreadable` if a reply has no action. `sketch` is the rough plan of `plan_then_adapt`.
    """

    llm: LLM
    prompts: Prompts
    style: ScreenStyle
    all_actions: bool
    memory: Memory
    sketch: str = ""
    _sentences: dict[tuple[object, ...], str] = field(default_factory=dict)

    def staged(self, trial: Trial) -> Plan:
        """Plan all actions that the present screen allows (4.3)."""
        history = self._with_notes(trial, self._history(trial))
        return self._plan("plan", trial, history=history, screen=self.screen(trial))

    def iterative(self, trial: Trial) -> Plan:
        """Plan one action (4.1)."""
        trajectory = self._with_notes(trial, self._trajectory(trial))
        return self._plan("next", trial, trajectory=trajectory)[:1]

    def plan_then_adapt(self, trial: Trial) -> Plan:
        """Sketch the whole way on the first screen, then adapt it action by action (4.2)."""
        task = {"actions": self._actions(), "goal": trial.goal}
        if not self.sketch:
            sketch = self.fill("rough-plan", screen=self.screen(trial), **task)
            self.sketch = self.ask(sketch, "plan").strip() or "(none)"
        trajectory = self._with_notes(trial, self._trajectory(trial))
        return self._plan("adapt", trial, plan=self.sketch, trajectory=trajectory)[:1]

    def reflection(self, trial: Trial) -> Prompt:
        """The question for the earliest mistake of a trial."""
        trajectory = self._trajectory(trial)
        if notes := "\n".join(self.memory.notes):  # Eq. 6
            trajectory = self.fill("noted", notes=notes, trajectory=trajectory)
        why = {"detail": trial.detail} if trial.ending is Ending.EXCEPTION else {}
        ending = self.fill(f"ending-{trial.ending}", **why)
        task = {"actions": self._actions(), "goal": trial.goal}
        return self.fill("reflect", **task, trajectory=trajectory, ending=ending)

    def fill(self, name: str, **values: str) -> Prompt:
        """Fill in a prompt: the one of the screen's style if there is one."""
        return self.prompts.fill(self.style.prompts.get(name, name), **values)

    def ask(self, prompt: Prompt, purpose: str) -> str:
        """Return the model's reply to a prompt."""
        if prompt.pictures:
            return self.llm.chat([{"role": "user", "content": prompt.content}], purpose).text
        return self.llm.complete(prompt, purpose).text

    def screen(self, trial: Trial) -> Prompt:
        """Show the present screen."""
        return self.style.show(trial.screens[-1], self.memory.disabled(len(trial.actions)))

    def _plan(self, name: str, trial: Trial, **values: str) -> Plan:
        prompt = self.fill(name, actions=self._actions(), goal=trial.goal, **values)
        reply = self.ask(prompt, "adapt" if name == "adapt" else "plan")
        return parse_plan(reply, self.all_actions)

    def _with_notes(self, trial: Trial, done: str) -> str:
        """Add the notes of earlier trials to what was done in this one (Eq. 5)."""
        if notes := "\n".join(self.memory.notes):
            return self.fill("reflections", done=done, notes=notes, step=str(len(trial.actions)))
        return done

    def _actions(self) -> Prompt:
        """Explain the actions, and the screen if it is not the paper's."""
        name = "actions-all" if self.all_actions else "actions"
        if not self.style.explained_by:
            return self.fill(name)
        return self.fill(name, screen=Prompt.joined(map(self.fill, self.style.explained_by)))

    def _history(self, trial: Trial) -> str:
        """Tell each action so far in a sentence, which the model is asked for once."""
        lines = []
        goal = {"goal": trial.goal} if self.style.asked != "compact" else {}
        for step, action in enumerate(trial.actions):
            shown = self.style.show(trial.screens[step])
            key = (str(shown), str(action), *shown.pictures)
            if key not in self._sentences:
                prompt = self.fill("summarise", screen=shown, action=str(action), **goal)
                self._sentences[key] = " ".join(self.ask(prompt, "summarise").split())
            lines.append(f"{step + 1}. {self._sentences[key]}")
        return "\n".join(lines) or "Nothing yet."

    def _trajectory(self, trial: Trial) -> Prompt:
        """Show screens and actions in turn."""
        steps = range(len(trial.screens))
        parts, pictures = self._turns(trial, steps)
        if sum(map(len, parts)) > TRAJECTORY_LIMIT or len(pictures) > MOST_PICTURES:
            parts, pictures = self._turns(trial, (0, steps[-1]))
        return Prompt("\n\n".join(parts), pictures=pictures)

    def _turns(self, trial: Trial, shown: Collection[int]) -> tuple[list[str], tuple[bytes, ...]]:
        """List the screens of some steps and the actions of all, with the screens' pictures."""
        actions = [*map(str, trial.actions), *filter(None, [trial.invalid])]
        parts = []
        last: tuple[int, Prompt] = (-1, Prompt())
        for step, screen in enumerate(trial.screens):
            if step in shown:
                text = self.style.show(screen, self.memory.disabled(step), last[1].pictures)
                same = last == (step - 1, text)
                parts.append(f"Screen index={step}" + (" is unchanged." if same else f":\n{text}"))
                last = step, text
            if step < len(actions):
                parts.append(f"Action index={step}: {actions[step]}")
        return parts, last[1].pictures


PLANNERS = {
    "staged": Dialogue.staged,
    "iterative": Dialogue.iterative,
    "plan-then-adapt": Dialogue.plan_then_adapt,
}
"""The values of the parameter `planning`."""
