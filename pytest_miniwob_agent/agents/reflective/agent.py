"""The zero-shot agent with structured reflection (`reflective-agent`, sections 3 to 5).

A trial is played in stages: all actions that the present screen allows are planned in one call and
carried out without asking; then comes the next screen, until there is no further plan (4.3). After
a failed trial the model reflects: it names the earliest wrong action and suggests a better one,
which the next trial has to take (5, algorithm 1). The alternatives that the paper compares (4.1,
4.2, 7.1, 7.2), and two improvements that it leaves open (9.4, 9.6), are variants of the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeGuard

from pytest_miniwob_agent.agents.parameters import check_choice
from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.reflective.memory import Memory, Trial
from pytest_miniwob_agent.agents.reflective.replies import (
    parse_id,
    parse_plan,
    without_thoughts,
)
from pytest_miniwob_agent.agents.reflective.suggestions import parse_suggestion
from pytest_miniwob_agent.core.actions import Action, Click, NoVisibleEffect
from pytest_miniwob_agent.core.errors import StepLimit, UsageError
from pytest_miniwob_agent.core.events import Ending, Note, Reflected, TrialEnded
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.parsing import Command, Unreadable, quote
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.screen import render

TRAJECTORY_LIMIT = 16_000
"""Characters of screens and actions in a prompt; of a longer trajectory the first and the last
screen are shown, and all actions."""

PLANNING = ("staged", "iterative", "plan-then-adapt")
MEMORY = ("structured", "plain", "traces")
CONSTRAINT = ("clicks", "none", "all")
ACTIONS = ("paper", "all")
SCREEN = ("compact", "full")


class ReflectiveAgent:
    """Staged planning and structured reflection.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
        planning: `staged`, `iterative` (4.1: one call an action) or `plan-then-adapt` (4.2: a rough
            plan of the whole, then one call an action).
        memory: `structured`, `plain` (7.1: all suggestions are shown to planner and reflector, and
            nothing is enforced or disabled) or `traces` (9.6: also the actions of whole failed
            trials).
        constraint: the mistakes that can't be repeated: `clicks`, whose elements lose their ids,
            `none`, or `all` (9.4: the prompts name mistakes other than clicks). Without effect on
            the memory `plain`, with which it can't be given.
        actions: `paper` for the actions of the paper, `all` for every action of the package.
        screen: `compact` as in the paper, or `full` for everything that shows, with texts of its
            own (`prompts/full-*.txt`): the plan may follow thoughts, and the notes on past actions
            keep what was seen.

    Raises:
        UsageError: an argument is none of these, or the folder of prompts is not right.
    """

    def __init__(
        self,
        prompts: str | Path | None = None,
        *,
        planning: str = "staged",
        memory: str = "structured",
        constraint: str = "clicks",
        actions: str = "paper",
        screen: str = "compact",
    ) -> None:
        self.planning = check_choice("planning", planning, PLANNING)
        self.memory = check_choice("memory", memory, MEMORY)
        self.constraint = check_choice("constraint", constraint, CONSTRAINT)
        if memory == "plain" and constraint != CONSTRAINT[0]:
            raise UsageError(
                f"--miniwob-agent-params: constraint {constraint!r} has no effect on the memory "
                "'plain', which disables nothing; leave it out"
            )
        self.all_actions = check_choice("actions", actions, ACTIONS) == "all"
        self.full_screen = check_choice("screen", screen, SCREEN) == "full"
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        parts = {
            f"{screen}-screen": self.full_screen,
            planning: planning != PLANNING[0],
            f"{memory}-memory": memory != MEMORY[0],
            f"{constraint}-constraint": constraint != CONSTRAINT[0],
            f"{actions}-actions": actions != ACTIONS[0],
        }
        self.name = "-".join(["reflective", *(part for part, differs in parts.items() if differs)])

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play and reflect until the page is solved or the trials are used up."""
        _Solver(self, env, llm, note).run()


class _Solver:
    """One episode of the agent."""

    def __init__(
        self, agent: ReflectiveAgent, env: Environment, llm: LLM, note: Callable[[Note], None]
    ) -> None:
        self._agent = agent
        self._prompts = agent.prompts
        self._env = env
        self._llm = llm
        self._note = note
        self._memory = Memory(agent.memory)
        self._sentences: dict[tuple[str, str], str] = {}
        self._rough_plan = ""

    def run(self) -> None:
        start = self._reset()
        while True:
            trial = Trial([start])
            try:
                self._play(trial)
            except StepLimit as limit:
                trial.ending, trial.detail = Ending.STEP_LIMIT, str(limit)
            except Unreadable as error:
                trial.ending, trial.detail = Ending.EXCEPTION, str(error)
                trial.invalid = trial.invalid or str(error)
            self._note(TrialEnded(trial.ending, trial.detail))
            if trial.ending is Ending.CORRECT:
                return
            start = self._reset()  # ends the episode where no trial is left to reflect for
            self._reflect(trial)

    def _reset(self) -> Observation:
        return self._env.reset(full=True) if self._agent.full_screen else self._env.reset()

    def _play(self, trial: Trial) -> None:
        """Play the trial to its end, and fill it in."""
        for action in self._memory.prefix:
            if self._act(trial, action):
                return
        if (suggestion := self._memory.suggestion) is not None:
            action = self._ground(trial, suggestion)
            avoided = isinstance(action, Click) or self._agent.constraint == "all"
            mistake = avoided and action in self._memory.mistakes_after(tuple(trial.actions))
            if not mistake and self._act(trial, action):
                return
        while plan := self._plan(trial):
            first = len(trial.actions)
            for command in plan:
                if isinstance(command, Unreadable):
                    raise command
                if self._act(trial, self._ground(trial, command)):
                    return
            if self._stuck(trial, first):
                return

    def _act(self, trial: Trial, action: Action) -> bool:
        """Take an action; returns True if it ended the trial."""
        transition = self._env.step(action)
        trial.actions.append(action)
        if transition.error:
            trial.ending, trial.detail = Ending.EXCEPTION, transition.error
        elif transition.done:
            trial.ending = Ending.CORRECT if transition.solved else Ending.FAILED
            trial.detail = "" if transition.solved else f"reward {transition.reward:g}"
        else:
            trial.screens.append(transition.observation)
            return False
        return True

    def _stuck(self, trial: Trial, first: int) -> bool:
        """End the trial, and return True, if a stage led back to one of its own screens (3.4).

        Screens of earlier stages may come again, as where a popup is closed. Actions without a
        visible effect, such as holding a key, need not change the screen.

        Args:
            trial: the trial so far.
            first: the number of the stage's first action.
        """
        if isinstance(trial.actions[-1], NoVisibleEffect):
            return False
        *before, here = ((render(each.elements), each.focus) for each in trial.screens[first:])
        if here not in before:
            return False
        trial.ending = Ending.NO_CHANGE if here == before[-1] else Ending.CYCLE
        return True

    def _screen(self, trial: Trial, step: int) -> str:
        """Render a screen of the trial for the planner and the reflector."""
        return render(trial.screens[step].elements, self._disabled(trial, step))

    def _disabled(self, trial: Trial, step: int) -> set[int]:
        """Return the ids of elements that must not be clicked at a step (5.2)."""
        if self._agent.constraint == "none":
            return set()
        mistakes = self._memory.mistakes_after(tuple(trial.actions[:step]))
        return {action.element for action in mistakes if _is_plain_click(action)}

    def _tried(self, trial: Trial, step: int) -> str:
        """List the mistakes of a step other than clicks, if the variant names them (9.4)."""
        if self._agent.constraint != "all":
            return ""
        mistakes = self._memory.mistakes_after(tuple(trial.actions[:step]))
        return "; ".join(sorted(str(action) for action in mistakes if not _is_plain_click(action)))

    def _plan(self, trial: Trial) -> list[Command | Unreadable]:
        """Ask for the actions on the present screen: for all of a stage, or for one."""
        actions, goal = self._actions(), trial.screens[0].goal
        screen = self._screen(trial, len(trial.actions))
        if self._agent.planning == "staged":
            history = self._remembered(trial, self._history(trial))
            name = "full-plan" if self._agent.full_screen else "plan"
            prompt = self._prompts.fill(
                name, actions=actions, goal=goal, history=history, screen=screen
            )
            return self._read_plan(self._llm.complete(prompt, "plan").text)
        trajectory = self._remembered(trial, self._trajectory(trial))
        if self._agent.planning == "iterative":
            prompt = self._prompts.fill("next", actions=actions, goal=goal, trajectory=trajectory)
            return self._read_plan(self._llm.complete(prompt, "plan").text)[:1]
        if not self._rough_plan:
            prompt = self._prompts.fill("rough-plan", actions=actions, goal=goal, screen=screen)
            self._rough_plan = self._llm.complete(prompt, "plan").text.strip() or "(none)"
        prompt = self._prompts.fill(
            "adapt", actions=actions, goal=goal, plan=self._rough_plan, trajectory=trajectory
        )
        return self._read_plan(self._llm.complete(prompt, "adapt").text)[:1]

    def _actions(self) -> str:
        """Return the text that explains the actions to the model."""
        name = "actions-all" if self._agent.all_actions else "actions"
        if self._agent.full_screen:
            return self._prompts.fill(f"full-{name}", screen=self._prompts.fill("full-screen"))
        return self._prompts.fill(name)

    def _read_plan(self, reply: str) -> list[Command | Unreadable]:
        if self._agent.full_screen:
            reply = without_thoughts(reply)
        return parse_plan(reply, self._agent.all_actions)

    def _remembered(self, trial: Trial, done: str) -> str:
        """Add the lessons of earlier trials to a text, if the variant shows them."""
        step = len(trial.actions)
        if self._memory.notes:
            notes = "\n".join(self._memory.notes)
            done = self._prompts.fill("reflections", done=done, notes=notes, step=str(step))
        if tried := self._tried(trial, step):
            done = self._prompts.fill("tried", done=done, tried=tried)
        return done

    def _history(self, trial: Trial) -> str:
        """Describe each action so far in a sentence, which takes the place of its screen."""
        if not trial.actions:
            return "Nothing yet."
        sentences = (
            self._sentence(trial.screens[0].goal, render(screen.elements), str(action))
            for screen, action in zip(trial.screens, trial.actions, strict=False)
        )
        return "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, start=1))

    def _sentence(self, goal: str, screen: str, action: str) -> str:
        if (screen, action) not in self._sentences:
            if self._agent.full_screen:
                values = {"goal": goal, "screen": screen, "action": action}
                prompt = self._prompts.fill("full-summarise", **values)
            else:
                prompt = self._prompts.fill("summarise", screen=screen, action=action)
            reply = self._llm.complete(prompt, "summarise").text
            self._sentences[screen, action] = " ".join(reply.split())
        return self._sentences[screen, action]

    def _ground(self, trial: Trial, command: Command) -> Action:
        """Return the action of a command; one that names no element costs a call."""
        if command.action is not None:
            return command.action
        trial.invalid = command.line
        prompt = self._prompts.fill(
            "ground", screen=self._screen(trial, len(trial.actions)), action=command.line
        )
        reply = self._llm.complete(prompt, "ground").text
        element = parse_id(reply)
        if element is None:
            raise Unreadable(f"no element for {command.line!r}: {quote(reply)}")
        trial.invalid = ""
        return command.on(element)

    def _reflect(self, trial: Trial) -> None:
        self._memory.keep(trial)
        prompt = self._prompts.fill(
            "reflect",
            actions=self._actions(),
            goal=trial.screens[0].goal,
            trajectory=self._noted(self._trajectory(trial)),
            ending=self._ending(trial),
        )
        if (read := self._suggestion(trial, prompt)) is None:
            self._note(Reflected(None, None))
            return
        step, command = read
        self._memory.update(step, trial, command)
        disabled = tuple(sorted(self._disabled(trial, step)))
        self._note(Reflected(step, str(command.action or command.line), disabled))

    def _noted(self, trajectory: str) -> str:
        """Put the suggestions of earlier trials before a trajectory, if they are kept (Eq. 6)."""
        if not self._memory.notes:
            return trajectory
        notes = "\n".join(self._memory.notes)
        return self._prompts.fill("noted", notes=notes, trajectory=trajectory)

    def _ending(self, trial: Trial) -> Prompt:
        """Say how a trial ended; of an action that could not be carried out also why."""
        if trial.ending is Ending.EXCEPTION:
            return self._prompts.fill("ending-exception", detail=trial.detail)
        return self._prompts.fill(f"ending-{trial.ending}")

    def _suggestion(self, trial: Trial, prompt: Prompt) -> tuple[int, Command] | None:
        """Ask for a suggestion; once more if it can't be read, as all would happen again."""
        try:
            return self._read_suggestion(trial, self._llm.complete(prompt, "reflect").text)
        except Unreadable as error:
            again = self._prompts.fill("reflect-again", prompt=prompt, problem=str(error))
        try:
            return self._read_suggestion(trial, self._llm.complete(again, "reflect").text)
        except Unreadable:
            return None

    def _read_suggestion(self, trial: Trial, reply: str) -> tuple[int, Command]:
        step, command = parse_suggestion(reply, self._agent.all_actions)
        if step >= len(trial.screens):
            raise Unreadable(f"there is no screen for an action {step} among those above")
        return step, command

    def _trajectory(self, trial: Trial) -> str:
        """Show screens and actions in turn; of a long trial the first and the last screen (7.5)."""
        screens: list[str | None] = [self._screen(trial, at) for at in range(len(trial.screens))]
        parts = self._steps(trial, screens)
        if sum(map(len, parts)) > TRAJECTORY_LIMIT:
            screens[1:-1] = [None] * len(screens[1:-1])
            parts = self._steps(trial, screens)
        return "\n\n".join(parts)

    def _steps(self, trial: Trial, screens: Sequence[str | None]) -> list[str]:
        """Show the steps of a trial, without the screens that are None."""
        actions = [str(action) for action in trial.actions]
        if trial.invalid:
            actions.append(trial.invalid)
        parts = []
        for step, screen in enumerate(screens):
            if screen is not None:
                same = step > 0 and screen == screens[step - 1]
                parts.append(
                    f"Screen index={step}" + (" is unchanged." if same else f":\n{screen}")
                )
            if tried := self._tried(trial, step):
                parts.append(f"Tried here before, and wrong: {tried}")
            if step < len(actions):
                parts.append(f"Action index={step}: {actions[step]}")
        return parts


def _is_plain_click(action: Action) -> TypeGuard[Click]:
    """True for a click on an element as a whole; one at a place leaves other places allowed."""
    return isinstance(action, Click) and action.at is None
