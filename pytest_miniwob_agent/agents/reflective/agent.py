"""The zero-shot agent with structured reflection (`reflective-agent`, sections 3 to 5).

A trial is played in stages: all actions that the present screen allows are planned in one call and
carried out without asking; then comes the next screen, until there is no further plan (4.3). After
a failed trial the model reflects: it names the earliest wrong action and suggests a better one,
which the next trial has to take (5, algorithm 1). The alternatives that the paper compares (4.1,
4.2, 7.1, 7.2), and two improvements that it leaves open (9.4, 9.6), are variants of the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
from pytest_miniwob_agent.core.protocols import LLM, Environment, Visible
from pytest_miniwob_agent.screen import render

TRAJECTORY_LIMIT = 16_000
"""Characters of screens and actions in a prompt; of a longer trajectory the first and the last
screen are shown, and all actions."""

MOST_PICTURES = 10
"""Pictures of screens in a prompt; of a longer trajectory the first and the last one are shown."""

ZOOM = 3
"""Enlargement of pictures: the task's area of 160 x 210 pixels gets a size that models see well."""

PLANNING = ("staged", "iterative", "plan-then-adapt")
MEMORY = ("structured", "plain", "traces")
CONSTRAINT = ("clicks", "none", "all")
ACTIONS = ("paper", "all")
SCREEN = ("compact", "full", "picture", "both")
TEXTS = {"compact": (), "full": ("full",), "picture": ("picture",), "both": ("both", "full")}
"""First words of the prompts that are a screen's own, in the order in which they are looked for."""


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
            keep what was seen. `picture` for a picture of it instead, with the ids of the elements
            drawn on it (`prompts/picture-*.txt`), `both` for the text and the picture.

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
        self.screen = check_choice("screen", screen, SCREEN)
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        parts = {
            f"{screen}-screen": screen != SCREEN[0],
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
        self._full = agent.screen != "compact"
        self._has_text = agent.screen != "picture"
        self._env = env
        self._camera: Visible | None = None
        if agent.screen in ("picture", "both"):
            if not isinstance(env, Visible):
                raise UsageError(
                    f"--miniwob-agent-params: screen {agent.screen!r} needs a page that gives "
                    f"pictures: {type(env).__name__} has no look()"
                )
            self._camera = env
        self._llm = llm
        self._note = note
        self._memory = Memory(agent.memory)
        self._sentences: dict[tuple[object, ...], str] = {}
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
        return self._env.reset(full=True) if self._full else self._env.reset()

    def _play(self, trial: Trial) -> None:
        """Play the trial to its end, and fill it in."""
        self._look(trial)
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
            self._look(trial)
            return False
        return True

    def _look(self, trial: Trial) -> None:
        """Take a picture of the present screen, if the variant shows pictures."""
        if self._camera is None:
            return
        disabled = self._disabled(trial, len(trial.actions))
        named = [each.id for each in trial.screens[-1].elements if each.id is not None]
        ids = [id_ for id_ in named if id_ not in disabled]
        trial.pictures.append(self._camera.look(marks=ids, zoom=ZOOM, rulers=True).png)

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
        pictures = trial.pictures[first:] or [b""] * len(trial.screens[first:])
        *before, here = (
            (render(each.elements), each.focus, picture)
            for each, picture in zip(trial.screens[first:], pictures, strict=True)
        )
        if here not in before:
            return False
        trial.ending = Ending.NO_CHANGE if here == before[-1] else Ending.CYCLE
        return True

    def _screen(self, trial: Trial, step: int) -> Prompt:
        """Show a screen of the trial to the planner or the reflector."""
        return self._shown(trial, step, self._disabled(trial, step))

    def _shown(
        self,
        trial: Trial,
        step: int,
        disabled: Collection[int] = (),
        pictures: Sequence[bytes] = (),
    ) -> Prompt:
        """Show a screen as the variant does: its text, its picture, or both.

        Args:
            trial: the trial.
            step: the number of the screen.
            disabled: the ids that its text leaves out; its picture has no marks of them.
            pictures: those that the prompt has already, each of them once.
        """
        parts = [render(trial.screens[step].elements, disabled)] if self._has_text else []
        if trial.pictures:
            picture = trial.pictures[step]
            pictures = pictures if picture in pictures else (*pictures, picture)
            parts.append(f"[picture {pictures.index(picture) + 1}]")
        return Prompt.of("\n".join(parts), pictures)

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
            prompt = self._fill("plan", actions=actions, goal=goal, history=history, screen=screen)
            return self._read_plan(self._ask(prompt, "plan"))
        trajectory = self._remembered(trial, self._trajectory(trial))
        if self._agent.planning == "iterative":
            prompt = self._fill("next", actions=actions, goal=goal, trajectory=trajectory)
            return self._read_plan(self._ask(prompt, "plan"))[:1]
        if not self._rough_plan:
            prompt = self._fill("rough-plan", actions=actions, goal=goal, screen=screen)
            self._rough_plan = self._ask(prompt, "plan").strip() or "(none)"
        prompt = self._fill(
            "adapt", actions=actions, goal=goal, plan=self._rough_plan, trajectory=trajectory
        )
        return self._read_plan(self._ask(prompt, "adapt"))[:1]

    def _fill(self, name: str, **values: str) -> Prompt:
        """Fill in a prompt: that of the variant's screen if it has one, else the common one."""
        names = [f"{word}-{name}" for word in TEXTS[self._agent.screen]]
        own = next(filter(self._prompts.has, names), name)
        return self._prompts.fill(own, **values)

    def _ask(self, prompt: Prompt, purpose: str) -> str:
        """Return the model's reply to a prompt."""
        if not prompt.pictures:
            return self._llm.complete(prompt, purpose).text
        return self._llm.chat([{"role": "user", "content": prompt.content}], purpose).text

    def _actions(self) -> str:
        """Return the text that explains the actions to the model."""
        name = "actions-all" if self._agent.all_actions else "actions"
        if self._agent.screen == "compact":
            return self._prompts.fill(name)
        parts = [f"{word}-screen" for word in TEXTS[self._agent.screen]]
        screen = Prompt.joined(map(self._prompts.fill, reversed(parts)))
        return self._fill(name, screen=screen)

    def _read_plan(self, reply: str) -> list[Command | Unreadable]:
        if self._full:
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
            self._sentence(trial.screens[0].goal, self._shown(trial, step), str(action))
            for step, action in enumerate(trial.actions)
        )
        return "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, start=1))

    def _sentence(self, goal: str, screen: Prompt, action: str) -> str:
        key = (str(screen), action, *screen.pictures)
        if key not in self._sentences:
            values = {"goal": goal} if self._full else {}
            prompt = self._fill("summarise", screen=screen, action=action, **values)
            self._sentences[key] = " ".join(self._ask(prompt, "summarise").split())
        return self._sentences[key]

    def _ground(self, trial: Trial, command: Command) -> Action:
        """Return the action of a command; one that names no element costs a call."""
        if command.action is not None:
            return command.action
        trial.invalid = command.line
        prompt = self._fill(
            "ground", screen=self._screen(trial, len(trial.actions)), action=command.line
        )
        reply = self._ask(prompt, "ground")
        element = parse_id(reply)
        if element is None:
            raise Unreadable(f"no element for {command.line!r}: {quote(reply)}")
        trial.invalid = ""
        return command.on(element)

    def _reflect(self, trial: Trial) -> None:
        self._memory.keep(trial)
        prompt = self._fill(
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

    def _noted(self, trajectory: Prompt) -> Prompt:
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
            return self._read_suggestion(trial, self._ask(prompt, "reflect"))
        except Unreadable as error:
            again = self._prompts.fill("reflect-again", prompt=prompt, problem=str(error))
        try:
            return self._read_suggestion(trial, self._ask(again, "reflect"))
        except Unreadable:
            return None

    def _read_suggestion(self, trial: Trial, reply: str) -> tuple[int, Command]:
        step, command = parse_suggestion(reply, self._agent.all_actions)
        if step >= len(trial.screens):
            raise Unreadable(f"there is no screen for an action {step} among those above")
        return step, command

    def _trajectory(self, trial: Trial) -> Prompt:
        """Show screens and actions in turn; of a long trial the first and the last screen (7.5)."""
        shown = range(len(trial.screens))
        parts, pictures = self._steps(trial, shown)
        if sum(map(len, parts)) > TRAJECTORY_LIMIT or len(pictures) > MOST_PICTURES:
            parts, pictures = self._steps(trial, [0, shown[-1]])
        return Prompt.of("\n\n".join(parts), pictures)

    def _steps(self, trial: Trial, shown: Collection[int]) -> tuple[list[str], Sequence[bytes]]:
        """Show the steps of a trial, with the screens of some of them and their pictures."""
        actions = [str(action) for action in trial.actions]
        if trial.invalid:
            actions.append(trial.invalid)
        parts = []
        before: tuple[int, Prompt] = (-1, Prompt.of(""))
        for step in range(len(trial.screens)):
            if step in shown:
                pictures = before[1].pictures
                screen = self._shown(trial, step, self._disabled(trial, step), pictures)
                same = before == (step - 1, screen)
                parts.append(
                    f"Screen index={step}" + (" is unchanged." if same else f":\n{screen}")
                )
                before = step, screen
            if tried := self._tried(trial, step):
                parts.append(f"Tried here before, and wrong: {tried}")
            if step < len(actions):
                parts.append(f"Action index={step}: {actions[step]}")
        return parts, before[1].pictures


def _is_plain_click(action: Action) -> TypeGuard[Click]:
    """True for a click on an element as a whole; one at a place leaves other places allowed."""
    return isinstance(action, Click) and action.at is None
