"""What the reflective agent shows and asks the model in an episode."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.reflective.memory import Memory, Trial
from pytest_miniwob_agent.agents.reflective.screens import ScreenStyle
from pytest_miniwob_agent.core.protocols import LLM

TRAJECTORY_LIMIT = 16_000
"""Characters of a trajectory; a longer one shows its first and last screen, and all actions."""

MOST_PICTURES = 10
"""Pictures of a trajectory; one with more shows its first and last screen, and all actions."""


@dataclass(slots=True)
class Dialogue:
    """The prompts about a trial, and the model's replies; `sketch` is for plan-then-adapt."""

    llm: LLM
    prompts: Prompts
    style: ScreenStyle
    all_actions: bool
    memory: Memory
    sketch: str = ""
    _sentences: dict[tuple[object, ...], str] = field(default_factory=dict)

    def fill(self, name: str, **values: str) -> Prompt:
        """Fill in a prompt: the one of the screen's style if there is one."""
        return self.prompts.fill(self.style.prompts.get(name, name), **values)

    def ask(self, prompt: Prompt, purpose: str) -> str:
        """Return the model's reply to a prompt."""
        if not prompt.pictures:
            return self.llm.complete(prompt, purpose).text
        return self.llm.chat([{"role": "user", "content": prompt.content}], purpose).text

    def actions(self) -> Prompt:
        """Explain the actions, and the screen if it is not the paper's."""
        name = "actions-all" if self.all_actions else "actions"
        if not self.style.explained_by:
            return self.fill(name)
        return self.fill(name, screen=Prompt.joined(map(self.fill, self.style.explained_by)))

    def screen(self, trial: Trial) -> Prompt:
        """Show the present screen."""
        return self.style.show(trial.screens[-1], self.memory.disabled(len(trial.actions)))

    def history(self, trial: Trial) -> str:
        """Tell each action so far in a sentence, which the model is asked for once."""
        lines = []
        goal = {"goal": trial.goal} if self.style.full else {}
        for step, action in enumerate(trial.actions):
            shown = self.style.show(trial.screens[step])
            key = (str(shown), str(action), *shown.pictures)
            if key not in self._sentences:
                prompt = self.fill("summarise", screen=shown, action=str(action), **goal)
                self._sentences[key] = " ".join(self.ask(prompt, "summarise").split())
            lines.append(f"{step + 1}. {self._sentences[key]}")
        return "\n".join(lines) or "Nothing yet."

    def trajectory(self, trial: Trial) -> Prompt:
        """Show screens and actions in turn."""
        steps = range(len(trial.screens))
        parts, pictures = self._turns(trial, steps)
        if sum(map(len, parts)) > TRAJECTORY_LIMIT or len(pictures) > MOST_PICTURES:
            parts, pictures = self._turns(trial, (0, steps[-1]))
        trajectory = Prompt("\n\n".join(parts))
        trajectory.pictures = pictures
        return trajectory

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
