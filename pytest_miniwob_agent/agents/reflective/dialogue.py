"""What the reflective agent shows and asks the model in an episode, and how it reads plans."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.core.actions import Action, Click, element_ids
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.parsing import (
    ANY_VERB,
    ID,
    VERB,
    Command,
    ParseError,
    matched_id,
    parse_action,
    quote,
    strip_marks,
)
from pytest_miniwob_agent.core.protocols import LLM, Environment, Visible
from pytest_miniwob_agent.screen import render

ZOOM = 3
"""Magnification of pictures: models see a task's area of 160 x 210 pixels better so."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen of a trial; equal to another one if the same text, focus and picture show."""

    observation: Observation = field(compare=False)
    text: str
    focus: int | None
    picture: bytes | None = None


@dataclass(frozen=True, slots=True)
class ScreenStyle:
    """One way to show screens.

    `asked` is what the page is asked for (`Page.reset`). `prompts` names the files that replace
    common prompts, `explained_by` those that explain the screen.
    """

    asked: str = "full"
    text: bool = True
    picture: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    explained_by: tuple[str, ...] = ()

    def see(self, env: Environment, observation: Observation, disabled: Collection[int]) -> Screen:
        """Make a screen of the latest observation; its picture marks all ids but the disabled.

        Raises:
            UsageError: the page gives no pictures.
        """
        picture = None
        if self.picture:
            if not isinstance(env, Visible):
                raise UsageError(f"{type(env).__name__} gives no pictures: it has no look()")
            ids = [element.id for element in observation.elements if element.id is not None]
            marks = [id_ for id_ in ids if id_ not in disabled]
            picture = env.look(marks=marks, zoom=ZOOM, rulers=True).png
        return Screen(observation, render(observation.elements), observation.focus, picture)

    def show(
        self, screen: Screen, disabled: Collection[int] = (), pictures: tuple[bytes, ...] = ()
    ) -> Prompt:
        """Show a screen without the ids that are disabled.

        `pictures` are those that the prompt already has: an equal one is not sent again.
        """
        parts = [render(screen.observation.elements, disabled)] if self.text else []
        if screen.picture is not None:
            if screen.picture not in pictures:
                pictures = (*pictures, screen.picture)
            parts.append(f"[picture {pictures.index(screen.picture) + 1}]")
        return Prompt("\n".join(parts), pictures=pictures)


def _own(style: str, *names: str) -> dict[str, str]:
    return {name: f"{style}-{name}" for name in names}


_FULL = ScreenStyle(
    prompts=_own("full", "plan", "summarise", "actions", "actions-all"),
    explained_by=("full-screen",),
)

_PICTURE = ScreenStyle(
    text=False,
    picture=True,
    prompts=_own("picture", "plan", "summarise", "ground", "actions", "actions-all", "reflect"),
    explained_by=("picture-screen",),
)

SCREENS = {
    "compact": ScreenStyle(asked="compact"),
    "full": _FULL,
    "tree": ScreenStyle(
        "tree",
        prompts={**_own("full", "plan", "summarise", "actions"), **_own("tree", "actions-all")},
        explained_by=("tree-screen",),
    ),
    "picture": _PICTURE,
    "both": replace(_FULL, picture=True, explained_by=("full-screen", "both-screen")),
}
"""The values of the parameter `screen`."""

_ON_APPS = replace(SCREENS["tree"], explained_by=("tree-screen", "answer"))


def style_for(style: ScreenStyle, start: Observation) -> ScreenStyle:
    """The style in which to show a page: apps have no compact screen, but take an answer."""
    if not start.answers:
        return style
    if style.asked == "compact":
        return _ON_APPS
    return replace(style, explained_by=(*style.explained_by, "answer"))


@dataclass(slots=True)
class Trial:
    """The screens of a trial, the actions between them, and how it ended.

    Action k was taken on `screens[k]`; `errors` has the reasons of those that were impossible.
    `stage` is the first action of the last plan, and `setback` why that plan was left. `invalid` is
    a last line that could not be carried out.
    """

    screens: list[Screen]
    actions: list[Action] = field(default_factory=list)
    ending: Ending = Ending.INCOMPLETE
    detail: str = ""
    invalid: str = ""
    errors: dict[int, str] = field(default_factory=dict)
    stage: int = 0
    setback: Ending | None = None

    @property
    def goal(self) -> str:
        return self.screens[0].observation.goal

    @property
    def pages(self) -> list[tuple[str, frozenset[int]]]:
        """The screens as HTML has them: their text, and what was acted on before.

        MiniWoB's HTML marks elements that were clicked (`data-tampered`), and has no focus.
        """
        touched = [frozenset[int]()]
        for action in self.actions:
            touched.append(touched[-1].union(element_ids(action)))
        return [(screen.text, ids) for screen, ids in zip(self.screens, touched, strict=False)]


class Memory:
    """What was learned in earlier trials: R and D of algorithm 1.

    R is kept as its result: `prefix` are the actions to repeat, `suggestion` is the action after
    them. `mistakes` is D: the wrong clicks of each step. Of the other kinds `unconstrained` leaves
    wrong clicks their ids (7.2), `plain` keeps suggestions as `notes` and does not enforce them
    (7.1). With `later` D gets a wrong click with the next suggestion for its step; with `by_step` a
    plan gets the notes of its step alone.
    """

    def __init__(self, kind: str, *, later: bool = False, by_step: bool = False) -> None:
        self.kind = kind
        self.later, self.by_step = later, by_step
        self.corrected: dict[int, Action | None] = {}
        self.prefix: tuple[Action, ...] = ()
        self.suggestion: Command | None = None
        self.mistakes: dict[int, set[Click]] = {}
        self.notes: list[tuple[int, str]] = []

    def notes_for(self, step: int | None) -> str:
        """The notes that are shown to a plan at a step, or to a reflection, which gets all."""
        some = self.by_step and step is not None
        return "\n".join(note for at, note in self.notes if not some or at == step)

    def correct(self, trial: Trial, step: int, suggestion: Command) -> None:
        """Keep a suggestion for a step of a trial, and forget the mistakes of later steps."""
        wrong = trial.actions[step] if step < len(trial.actions) else None
        self.prefix = tuple(trial.actions[:step])
        if self.kind == "plain":
            instead = f" instead of {wrong}" if wrong else ""
            note = f"For action index={step}, you should {suggestion.line}{instead}."
            self.notes.append((step, note))
            return
        self.suggestion = suggestion
        self.mistakes = {at: clicks for at, clicks in self.mistakes.items() if at <= step}
        if self.later:
            self.corrected = {at: action for at, action in self.corrected.items() if at <= step}
            wrong, self.corrected[step] = self.corrected.get(step), wrong
        if isinstance(wrong, Click):
            better = suggestion.action or suggestion.on(wrong.element)  # it may mean that one
            if better == wrong or wrong.element not in element_ids(better):
                self.mistakes.setdefault(step, set()).add(wrong)

    def disabled(self, step: int) -> set[int]:
        """Return the ids that the screen of a step must not show.

        A wrong click at a place in an element leaves its other places allowed.
        """
        if self.kind == "unconstrained":
            return set()
        return {click.element for click in self.mistakes.get(step, ()) if click.at is None}


_NOTHING = re.compile(
    r"\W*+(?:(?:done|none|nothing|no (?:further |more )?(?:plan|actions?)\b.*)\W*)?", re.I | re.S
)
_PLAN = re.compile(r"^[ \t#*`]{0,20}plan[ \t]{0,20}:[ \t*`]*+", re.I | re.M)
_LONE_ID = re.compile(r"\D{0,20}(\d+)\D{0,20}")

Plan = list[Command | ParseError]
"""Commands, and behind them an error if the next line could not be read."""


def parse_plan(reply: str, all_actions: bool = False) -> Plan:
    """Read the actions of a reply, one per line; prose between them is skipped.

    They follow the last line that begins with `PLAN:`, if there is one. A line that begins like an
    action but can't be read ends the plan, with the error in its place. Empty if the reply says
    that nothing is left to do.

    Raises:
        ParseError: there is no action.
    """
    verb = ANY_VERB if all_actions else VERB
    reply = _PLAN.split(reply)[-1]
    plan: Plan = []
    for line in reply.splitlines():
        if verb.match(strip_marks(line)):
            try:
                plan.append(parse_action(line, all_actions))
            except ParseError as error:
                return [*plan, error]
    if not plan and not _NOTHING.fullmatch(reply):
        raise ParseError(f"no action in the reply: {quote(reply)}")
    return plan


def parse_id(reply: str) -> int | None:
    """Read the id in a reply, in the form `id=4` or as the only number in a few words."""
    match = ID.search(reply) or _LONE_ID.fullmatch(reply.strip())
    return matched_id(match) if match else None


TRAJECTORY_LIMIT = 16_000
"""Characters of a trajectory; a longer one shows its first and last screen, and all actions."""

MOST_PICTURES = 10
"""Pictures of a trajectory; one with more shows its first and last screen, and all actions."""


@dataclass(slots=True)
class Dialogue:
    """The prompts about a trial, and the model's replies.

    A planner returns the actions to take next, empty if nothing is left to do; it raises
    `ParseError` if a reply has no action. `sketch` is the rough plan of `plan_then_adapt`.
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
        history = self._with_notes(trial, self._with_setback(trial, self._history(trial)))
        screen = self.screen(trial, Prompt(parts=[history]).pictures)
        return self._plan("plan", trial, history=history, screen=screen)

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
        if notes := self.memory.notes_for(None):  # Eq. 6
            trajectory = self.fill("noted", notes=notes, trajectory=trajectory)
        why = {"detail": trial.detail} if trial.ending is Ending.EXCEPTION else {}
        ending = self.fill(f"ending-{trial.ending}", **why)
        task = {"actions": self._actions(), "goal": trial.goal}
        return self.fill("reflect", **task, trajectory=trajectory, ending=ending)

    def fill(self, name: str, **values: str) -> Prompt:
        """Fill in a prompt: the one of the screen's style if there is one."""
        return self.prompts.fill(self.style.prompts.get(name, name), **values)

    def ask(self, prompt: Prompt, purpose: str) -> str:
        if prompt.pictures:
            return self.llm.chat([{"role": "user", "content": prompt.content}], purpose).text
        return self.llm.complete(prompt, purpose).text

    def screen(self, trial: Trial, pictures: tuple[bytes, ...] = ()) -> Prompt:
        """Show the present screen, in a prompt that already has some pictures."""
        disabled = self.memory.disabled(len(trial.actions))
        return self.style.show(trial.screens[-1], disabled, pictures)

    def _plan(self, name: str, trial: Trial, **values: str) -> Plan:
        prompt = self.fill(name, actions=self._actions(), goal=trial.goal, **values)
        reply = self.ask(prompt, "adapt" if name == "adapt" else "plan")
        return parse_plan(reply, self.all_actions)

    def _with_notes(self, trial: Trial, done: str) -> str:
        """Add the notes of earlier trials to what was done in this one (Eq. 5)."""
        step = len(trial.actions)
        if notes := self.memory.notes_for(step):
            return self.fill("reflections", done=done, notes=notes, step=str(step))
        return done

    def _with_setback(self, trial: Trial, done: str) -> str:
        if trial.setback is None:
            return done
        if trial.setback is not Ending.EXCEPTION:
            return self.fill("led-back", done=done)
        return self.fill(
            "impossible", done=done, screen=self.style.show(trial.screens[trial.stage])
        )

    def _actions(self) -> Prompt:
        name = "actions-all" if self.all_actions else "actions"
        if not self.style.explained_by:
            return self.fill(name)
        return self.fill(name, screen=Prompt.joined(map(self.fill, self.style.explained_by)))

    def _history(self, trial: Trial) -> str:
        """Tell each action so far in a sentence, which the model is asked for once."""
        lines: list[str] = []
        goal = {"goal": trial.goal} if self.style.asked != "compact" else {}
        for step, action in enumerate(trial.actions):
            if step in trial.errors:
                not_done = self._not_done(trial, step)
                lines.append(Prompt(f"{step + 1}. {not_done}", [not_done]))
                continue
            shown = self.style.show(trial.screens[step])
            key = (str(shown), str(action), *shown.pictures)
            if key not in self._sentences:
                prompt = self.fill("summarise", screen=shown, action=str(action), **goal)
                self._sentences[key] = " ".join(self.ask(prompt, "summarise").split())
            lines.append(f"{step + 1}. {self._sentences[key]}")
        return Prompt("\n".join(lines) or "Nothing yet.", lines)

    def _not_done(self, trial: Trial, step: int) -> str:
        return self.fill("not-done", action=str(trial.actions[step]), error=trial.errors[step])

    def _trajectory(self, trial: Trial) -> Prompt:
        steps = range(len(trial.screens))
        parts, pictures = self._turns(trial, steps)
        if sum(map(len, parts)) > TRAJECTORY_LIMIT or len(pictures) > MOST_PICTURES:
            parts, pictures = self._turns(trial, (0, steps[-1]))
        return Prompt("\n\n".join(parts), pictures=pictures)

    def _turns(self, trial: Trial, shown: Collection[int]) -> tuple[list[str], tuple[bytes, ...]]:
        actions = [*map(str, trial.actions), *filter(None, [trial.invalid])]
        for step in trial.errors:
            actions[step] = self._not_done(trial, step)
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
