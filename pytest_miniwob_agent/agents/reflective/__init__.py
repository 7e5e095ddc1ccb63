"""The zero-shot agent with structured reflection (Li et al., 2023, sections 3 to 5).

A trial plans all actions that the present screen allows in one call, takes them, and plans again on
the next screen until nothing is left to do (4.3). After a failed trial the model names the earliest
wrong action and suggests a better one, which the next trial has to take (5, algorithm 1).

`dialogue` is what the model is shown and asked, with the three planners, how plans are read, and
what is kept between trials.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_miniwob_agent.agents.prompts import Prompts
from pytest_miniwob_agent.agents.reflective.dialogue import (
    PLANNERS,
    SCREENS,
    Dialogue,
    Memory,
    Screen,
    Trial,
    parse_id,
    style_for,
)
from pytest_miniwob_agent.agents.registry import check_choice, check_flag, variant_name
from pytest_miniwob_agent.core.actions import Action, Click, NoVisibleEffect
from pytest_miniwob_agent.core.errors import StepLimit
from pytest_miniwob_agent.core.events import Ending, Note, Reflected, TrialEnded
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.parsing import (
    ANY_VERB,
    VERB,
    Command,
    ParseError,
    parse_action,
    quote,
)
from pytest_miniwob_agent.core.protocols import LLM, Environment

MEMORIES = ("structured", "unconstrained", "plain", "none", "retry", "retry-then-plan")
"""The values of the parameter `memory`."""


class ReflectiveAgent:
    """Staged planning and structured reflection.

    Args:
        prompts: a folder of prompts that replace the built-in ones, file by file.
        planning: `staged`, `iterative` (4.1: one call per action) or `plan-then-adapt` (4.2: a
            rough plan of the whole, then one call per action).
        memory: `structured`, `unconstrained` (7.2: wrong clicks keep their ids) or `plain` (7.1:
            all suggestions are shown to planner and reflector, and not enforced). Three controls do
            without reflection: `none` plans each trial anew, `retry` repeats the last trial
            with another click, drawn at random, without a model call, and `retry-then-plan` repeats
            it up to that click, and plans on from there.
        actions: `paper` for the actions of the paper, `all` for every action of the package.
        screen: `compact` as in the paper; `full` for everything that shows: a plan may follow
            thoughts and notes on past actions keep what was seen; `tree` likewise for roles, names
            and states; `picture` for a picture with the
            ids drawn on it; `both` for full text and picture.
        endings: `stage`, or `action`: `no-change` and `cycle` are looked for after every action,
            by the page's HTML (3.4).
        disabling: `at-once`, or `later`: a wrong click goes into D with the next suggestion for its
            step (algorithm 1).
        grounding: `call`, or `none`: an action that names no element can't be carried out.
        notes: `all`, or `own-step`: a plan is shown the plain memory's notes of its step alone
            (footnote 7).
        stuck: `end`: an impossible action, or a stage that leads back to a screen of its own, ends
            the trial (3.4); `replan`: a plan is shown it, and goes on. By default `end` on the
            compact screen, and `replan` on others.
        as_published: `action`, `later`, `none`, `own-step` and `end`, as in the paper.
    """

    answers_dialogs = False  # the paper's pages have none

    def __init__(
        self,
        prompts: str | Path | None = None,
        *,
        planning: str = "staged",
        memory: str = "structured",
        actions: str = "paper",
        screen: str = "compact",
        endings: str = "stage",
        disabling: str = "at-once",
        grounding: str = "call",
        notes: str = "all",
        stuck: str | None = None,
        as_published: bool = False,
    ) -> None:
        self.planner = PLANNERS[check_choice("planning", planning, tuple(PLANNERS))]
        self.memory = check_choice("memory", memory, MEMORIES)
        self.all_actions = check_choice("actions", actions, ("paper", "all")) == "all"
        self.style = SCREENS[check_choice("screen", screen, tuple(SCREENS))]
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        published = check_flag("as_published", as_published)
        by_action = check_choice("endings", endings, ("stage", "action")) == "action"
        later = check_choice("disabling", disabling, ("at-once", "later")) == "later"
        no_call = check_choice("grounding", grounding, ("call", "none")) == "none"
        self.ends_by_action, self.disables_later = by_action or published, later or published
        own_step = check_choice("notes", notes, ("all", "own-step")) == "own-step"
        self.notes_by_step = own_step or published
        self.asks_for_elements = not (no_call or published)
        usual = "end" if published or screen == "compact" else "replan"
        when_stuck = check_choice("stuck", stuck or usual, ("end", "replan"))
        self.replans = when_stuck == "replan"
        self.variant_of = "reflective"
        self.name = variant_name(
            self.variant_of,
            screen != "compact" and f"{screen}-screen",
            planning != "staged" and planning,
            memory != "structured" and f"{memory}-memory",
            self.all_actions and "all-actions",
            published and "as-published",
            by_action and not published and "action-endings",
            later and not published and "later-disabling",
            no_call and not published and "no-grounding",
            own_step and not published and "own-step-notes",
            when_stuck != usual and f"stuck-{when_stuck}",
        )

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        _Solver(self, env, llm, note).run()


class _Solver:
    """One episode of the agent."""

    def __init__(
        self, agent: ReflectiveAgent, env: Environment, llm: LLM, note: Callable[[Note], None]
    ) -> None:
        self._agent = agent
        self._env = env
        self._note = note
        self._memory = Memory(agent.memory, later=agent.disables_later, by_step=agent.notes_by_step)
        self._dialogue = Dialogue(llm, agent.prompts, agent.style, agent.all_actions, self._memory)

    def run(self) -> None:
        start = self._env.reset(screen=self._agent.style.asked)
        self._dialogue.style = style_for(self._agent.style, start)
        while True:
            trial = Trial([self._see(start, 0)])
            try:
                self._play(trial)
            except StepLimit as limit:
                trial.ending, trial.detail = Ending.STEP_LIMIT, str(limit)
            except ParseError as error:
                trial.ending, trial.detail = Ending.EXCEPTION, str(error)
                trial.invalid = trial.invalid or str(error)
            self._note(TrialEnded(trial.ending, trial.detail))
            if trial.ending is Ending.CORRECT:
                return
            start = self._env.reset(screen=self._agent.style.asked)  # no trial left: LimitReached
            if self._agent.memory in ("retry", "retry-then-plan"):
                self._memory.prefix = _varied(trial, whole=self._agent.memory == "retry")
            elif self._agent.memory != "none":
                self._reflect(trial)

    def _play(self, trial: Trial) -> None:
        for action in self._memory.prefix:
            if self._act(trial, action):
                return
        if trial.actions and self._agent.memory == "retry":
            return
        if suggestion := self._memory.suggestion:
            action = self._ground(trial, suggestion)
            mistakes = self._memory.mistakes.get(len(trial.actions), ())
            if action not in mistakes and self._act(trial, action):
                return
        while plan := self._agent.planner(self._dialogue, trial):
            trial.stage = len(trial.actions)
            for command in plan:
                if isinstance(command, ParseError):
                    raise command
                if self._act(trial, self._ground(trial, command)):
                    return
                if trial.setback:
                    break
            *before, here = trial.screens[trial.stage :]
            if self._agent.ends_by_action or trial.setback:
                continue
            if here in before and not isinstance(trial.actions[-1], NoVisibleEffect):
                # The stage led back to a screen of its own; those of earlier stages may come again.
                ending = Ending.NO_CHANGE if here == before[-1] else Ending.CYCLE
                if not self._agent.replans:
                    trial.ending = ending
                    return
                trial.setback = ending

    def _act(self, trial: Trial, action: Action) -> bool:
        """Take an action; returns True if it ended the trial."""
        transition = self._env.step(action)
        trial.actions.append(action)
        trial.setback = None
        if transition.error and self._agent.replans and not transition.done:
            trial.setback, trial.errors[len(trial.actions) - 1] = Ending.EXCEPTION, transition.error
            trial.screens.append(self._see(transition.observation, len(trial.actions)))
            return False
        if transition.error:
            trial.ending, trial.detail = Ending.EXCEPTION, transition.error
        elif transition.done:
            end = TrialEnded.judged(transition)
            trial.ending, trial.detail = end.ending, end.detail
        else:
            trial.screens.append(self._see(transition.observation, len(trial.actions)))
            return self._led_back(trial)
        return True

    def _led_back(self, trial: Trial) -> bool:
        """True if endings are looked for after every action, and the trial had this page before."""
        if not self._agent.ends_by_action:
            return False
        *before, here = trial.pages
        if here not in before or isinstance(trial.actions[-1], NoVisibleEffect):
            return False
        trial.ending = Ending.NO_CHANGE if here == before[-1] else Ending.CYCLE
        return True

    def _reflect(self, trial: Trial) -> None:
        prompt = self._dialogue.reflection(trial)
        for _ in range(2):  # asked once more, as the next trial would otherwise be the same
            reply = self._dialogue.ask(prompt, "reflect")
            try:
                step, command = parse_suggestion(reply, self._agent.all_actions, len(trial.screens))
            except ParseError as error:
                prompt = self._dialogue.fill("reflect-again", prompt=prompt, problem=str(error))
                continue
            self._memory.correct(trial, step, command)
            disabled = tuple(sorted(self._memory.disabled(step)))
            self._note(Reflected(step, str(command.action or command.line), disabled))
            return
        self._note(Reflected(None, None))

    def _see(self, observation: Observation, step: int) -> Screen:
        return self._agent.style.see(self._env, observation, self._memory.disabled(step))

    def _ground(self, trial: Trial, command: Command) -> Action:
        """Return the action of a command; one that names no element costs a call."""
        if command.action is not None:
            return command.action
        trial.invalid = command.line
        if not self._agent.asks_for_elements:
            raise ParseError(f"no element in {command.line!r}")
        screen = self._dialogue.screen(trial)
        prompt = self._dialogue.fill("ground", screen=screen, action=command.line)
        reply = self._dialogue.ask(prompt, "ground")
        element = parse_id(reply)
        if element is None:
            raise ParseError(f"no element for {command.line!r}: {quote(reply)}")
        trial.invalid = ""
        return command.on(element)


_INDEX = re.compile(r"action\W{0,9}index\W{0,9}(\d++)\W", re.I)
_QUOTED = re.compile(r'"[^"\n]*"|(?<!\w)\'[^\'\n]*\'(?!\w)|\u201c[^\u201d\n]*\u201d')
_STORED = re.compile("\ue000(\\d+)\ue001")
_WARNED_OF = re.compile(
    r"(?:\b(?:instead of|rather than|avoid(?:ing)?|not|never|without)|n['\u2019]t)\b[^,;.:\n]*",
    re.I,
)
_NEXT = re.compile(r"[;\n]|,?\s(?:and\s)?(?:then|afterwards|after that)\b|\.\s", re.I)

MAX_SENTENCE = 2_500
"""Characters of a suggestion that are read: more than the longest text that can be typed."""

MAX_WORDS = 40
"""Words that are tried as an action."""


def parse_suggestion(reply: str, all_actions: bool, screens: int) -> tuple[int, Command]:
    """Read step and action of `For action index=A, you should B.`.

    Of several suggestions the last is meant, of several actions in one the first. Actions that a
    sentence warns of are skipped: those after words such as `instead of` and `not`.

    Raises:
        ParseError: no action is suggested, or one for a step beyond the number of screens.
    """
    verb = ANY_VERB if all_actions else VERB
    _, *pieces = _INDEX.split(reply)
    parts = list(zip(pieces[::2], pieces[1::2], strict=True))  # a number and what follows it
    advice = [part for part in parts if re.search(r"\bshould\b", part[1], re.I)]
    for number, sentence in reversed(advice or parts):
        for actions in _clauses(sentence[:MAX_SENTENCE], verb):
            commands = list(filter(None, (_parse_start(text, all_actions) for text in actions)))
            if not commands:
                continue
            if (step := int(number[:100])) >= screens:
                raise ParseError(f"there is no screen for an action {step} among those above")
            whole = (command for command in commands if command.action is not None)
            return step, next(whole, commands[0])  # preferably one that names its element
    raise ParseError(f"no suggestion in the reply: {quote(reply)}")


def _clauses(sentence: str, verb: re.Pattern[str]) -> Iterator[list[str]]:
    """Yield for each clause its strings from the verb of an action to the end of the clause.

    Quoted strings are put aside meanwhile: what is typed may contain `then` or `not`.
    """
    stored = _QUOTED.findall(sentence)
    numbers = iter(range(len(stored)))
    plain = _QUOTED.sub(
        lambda _: f"\ue000{next(numbers)}\ue001", re.sub("[\ue000\ue001]", "\ufffd", sentence)
    )
    plain = _WARNED_OF.sub(" ", plain)
    for clause in _NEXT.split(plain):
        yield [
            _STORED.sub(lambda match: stored[int(match[1])], clause[found.start() :])
            for found in verb.finditer(clause)
        ]


def _parse_start(text: str, all_actions: bool) -> Command | None:
    """Parse the longest beginning of a string that is an action: reasons may follow it."""
    words = text.split(" ")[:MAX_WORDS]
    for end in range(len(words), 0, -1):
        try:
            command = parse_action(" ".join(words[:end]), all_actions)
        except ParseError:
            continue
        return command if command.action is not None or end > 1 else None  # not a bare `click`
    return None


def _varied(trial: Trial, *, whole: bool) -> tuple[Action, ...]:
    """Return the actions of a trial with another click, `whole` or up to that click."""
    others = {}
    for step, (action, screen) in enumerate(zip(trial.actions, trial.screens, strict=False)):
        if isinstance(action, Click):
            tags = {one.id: one.tag for one in screen.observation.elements if one.id is not None}
            tag = tags.pop(action.element, "")
            others[step] = [Click(id_) for id_, other in tags.items() if other == tag]
    varied = list(trial.actions)
    steps = [step for step, clicks in others.items() if clicks]
    if not steps:
        return tuple(varied) if whole else ()
    chance = random.Random(f"{trial.goal} {[*map(str, varied)]}")
    step = chance.choice(steps)
    varied[step] = chance.choice(others[step])
    return tuple(varied if whole else varied[: step + 1])
