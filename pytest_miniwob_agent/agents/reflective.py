"""The zero-shot agent with structured reflection (`reflective-agent`, sections 3 to 5).

A trial is played in stages: all actions that the present screen allows are planned in one call and
followed without asking; then comes the next screen, until there is no further plan (4.3). A trial
that fails is reflected upon: the earliest wrong action is named and a better one suggested, which
the next trial is made to take (5, algorithm 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pytest_miniwob_agent.core import (
    KEYS,
    LLM,
    MODIFIERS,
    Action,
    Click,
    Ending,
    Enter,
    Environment,
    Hold,
    Note,
    Observation,
    Press,
    Reflected,
    Release,
    StepLimit,
    TrialEnded,
)
from pytest_miniwob_agent.prompts import Prompts
from pytest_miniwob_agent.screen import render

TRAJECTORY_LIMIT = 16_000
"""Characters of screens and actions that a reflection is shown; a longer trajectory is cut to the
first screen and the actions (7.5)."""


class Unreadable(Exception):
    """A reply that holds no action, or half of one."""


@dataclass(frozen=True, slots=True)
class Command:
    """One line of a plan: an action, or a click or entry that does not say on which element."""

    line: str
    action: Action | None = None
    text: str | None = None

    def on(self, element: int) -> Action:
        """The action with the element that it lacked."""
        return Click(element) if self.text is None else Enter(self.text, element)


_QUOTES = str.maketrans("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019", '""""""\'\'')
_LEAD = re.compile(
    r"(?:[\s\-*\u2022>`#]|\(?\d+\s*[.):](?=\s)|(?:step|action)\s*\d+\s*[:.)-])+", re.I
)
_VERB = re.compile(r"\b(click|enter|type|press|hold|release)\b", re.I)
_NOTHING = re.compile(
    r"\W*(done|none|nothing|no (further |more )?(plan|actions?)\b.*)?\W*", re.I | re.S
)
_ID = re.compile(r"\bid\s*(?:[=:]|is|\s)\s*[\"'#]?(\d+)|#(\d+)\b", re.I)
_BARE_ID = re.compile(r"click(?:\s+on)?\s+(\d+)\s*", re.I)
_ENTER = re.compile(r"(?:enter|type)\s+(?:the\s+text\s+)?([\"'])(.*)\1(.*)", re.I)
_PRESS = re.compile(
    r"press\s+(?:the\s+)?[\"']?([a-z_ ]+?)[\"']?(?:\s+keys?)?"
    r"(?:\s*(?:[x\u00d7*]\s*)?(\d+)(?:\s*times)?)?",
    re.I,
)
_MODIFY = re.compile(
    r"(hold|release)\s+(?:down\s+)?(?:the\s+)?[\"']?([a-z]+)[\"']?(?:\s+key)?", re.I
)
_SUGGESTION = re.compile(r"action\s*\W{0,3}index\s*\W?\s*=?\s*(\d+)\W+(.*)", re.I)
_KEY_NAMES = {"RETURN": "ENTER", "ESC": "ESCAPE", "DEL": "DELETE", "SPACEBAR": "SPACE"} | {
    name: f"ARROW{way}"
    for way in ("UP", "DOWN", "LEFT", "RIGHT")
    for name in (way, f"{way}ARROW")
}  # fmt: skip


def parse_command(line: str) -> Command:
    """Read one action, leniently about case, numbering, code marks, quotes and a final stop.

    Raises:
        Unreadable: the line begins no action, or leaves out what one needs.
    """
    plain = _bare(line.translate(_QUOTES)).rstrip(" .,;!`*")
    verb = plain.partition(" ")[0].lower()
    if verb == "click":
        match = _ID.search(plain) or _BARE_ID.fullmatch(plain)
        return Command(plain, Click(_number(match)) if match else None)
    if match := _ENTER.match(plain):
        text, rest = match[2], match[3]
        where = _ID.search(rest)
        return Command(plain, Enter(text, _number(where)) if where else None, text)
    if match := _PRESS.fullmatch(plain):
        key = re.sub(r"[\s_]", "", match[1]).upper()
        key = _KEY_NAMES.get(key, key)
        if key in KEYS:
            return Command(plain, Press(key, int(match[2] or 1)))
    if match := _MODIFY.fullmatch(plain):
        key = match[2].upper().replace("CONTROL", "CTRL")
        if key in MODIFIERS:
            return Command(plain, (Hold if match[1].lower() == "hold" else Release)(key))
    raise Unreadable(f"not an action: {_short(line)}")


def parse_plan(reply: str) -> list[Command]:
    """The actions of a reply, one a line; prose between them is passed over.

    Empty where the reply says that there is nothing left to do.

    Raises:
        Unreadable: a line begins an action but is none, or no line does.
    """
    lines = reply.splitlines()
    commands = [parse_command(line) for line in lines if _VERB.match(_bare(line))]
    if not commands and not _NOTHING.fullmatch(reply):
        raise Unreadable(f"no action in the reply: {_short(reply)}")
    return commands


def parse_suggestion(reply: str) -> tuple[int, Command]:
    """Step and action of `For action index=A, you should B.`.

    Raises:
        Unreadable: the reply is not of that form.
    """
    for match in _SUGGESTION.finditer(reply.translate(_QUOTES)):
        if verb := _VERB.search(match[2]):
            return int(match[1]), parse_command(match[2][verb.start() :])
    raise Unreadable(f"no suggestion in the reply: {_short(reply)}")


def _bare(line: str) -> str:
    """The line without what stands before an action: bullets, numbers, code marks."""
    lead = _LEAD.match(line)
    return line[lead.end() :] if lead else line


def _number(match: re.Match[str]) -> int:
    return int(next(group for group in match.groups() if group))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 200 else text[:200] + "...")


@dataclass(slots=True)
class Memory:
    """Algorithm 1's R and D, between trials.

    The suggestions R are kept as what they lead to: `prefix` are the actions to repeat without
    asking, earlier suggestions among them, and `suggestion` is what to do after them. `disabled`
    is D: the ids that must not be clicked, by step.
    """

    prefix: tuple[Action, ...] = ()
    suggestion: Command | None = None
    disabled: dict[int, set[int]] = field(default_factory=dict)

    def update(self, step: int, taken: tuple[Action, ...], suggestion: Command) -> None:
        """Correct a step of a trial that took these actions; what was known after it is void."""
        wrong = taken[step] if step < len(taken) else None
        if isinstance(wrong, Click):
            self.disabled.setdefault(step, set()).add(wrong.element)
        self.prefix = taken[:step]
        self.suggestion = suggestion
        self.disabled = {at: ids for at, ids in self.disabled.items() if at <= step}


@dataclass(slots=True)
class Trial:
    """The screens of a trial, the actions between them, and how it ended.

    `screens[k]` is what action k was taken on. Where the page has not judged there is one screen
    more than actions. `invalid` is a last line that could not be carried out.
    """

    screens: list[Observation]
    actions: list[Action] = field(default_factory=list)
    ending: Ending = Ending.INCOMPLETE
    detail: str = ""
    invalid: str = ""


class ReflectiveAgent:
    """Staged planning and structured reflection.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
    """

    name = "reflective"

    def __init__(self, prompts: str | Path | None = None) -> None:
        self._prompts = Prompts(self.name, prompts)

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play and reflect until the page is solved or the trials are used up."""
        _Solver(self._prompts, env, llm, note).run()


class _Solver:
    """One episode of the agent."""

    def __init__(
        self, prompts: Prompts, env: Environment, llm: LLM, note: Callable[[Note], None]
    ) -> None:
        self._prompts = prompts
        self._env = env
        self._llm = llm
        self._note = note
        self._memory = Memory()
        self._sentences: dict[tuple[str, str], str] = {}

    def run(self) -> None:
        start = self._env.reset()
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
            start = self._env.reset()  # ends the episode where no trial is left to reflect for
            self._reflect(trial)

    def _play(self, trial: Trial) -> None:
        """Play the trial to its end; fills it in."""
        for action in self._memory.prefix:
            if self._act(trial, action):
                return
        if (suggestion := self._memory.suggestion) is not None:
            action = self._ground(trial, suggestion)
            banned = self._memory.disabled.get(len(trial.actions), set())
            if not (isinstance(action, Click) and action.element in banned) and (
                self._act(trial, action) or self._stuck(trial)
            ):
                return
        while plan := self._plan(trial):
            for command in plan:
                if self._act(trial, self._ground(trial, command)):
                    return
            if self._stuck(trial):
                return

    def _act(self, trial: Trial, action: Action) -> bool:
        """Take an action; whether it ended the trial."""
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

    def _stuck(self, trial: Trial) -> bool:
        """Whether a finished stage led to a screen that was there before; ends the trial.

        Holding or releasing a key shows nothing, so no change is expected of it.
        """
        if isinstance(trial.actions[-1], Hold | Release):
            return False
        here = render(trial.screens[-1].elements)
        before = [render(screen.elements) for screen in trial.screens[:-1]]
        if here not in before:
            return False
        trial.ending = Ending.NO_CHANGE if here == before[-1] else Ending.CYCLE
        return True

    def _screen(self, trial: Trial, step: int) -> str:
        """A screen of the trial as the planner and the reflector see it."""
        return render(trial.screens[step].elements, self._memory.disabled.get(step, ()))

    def _plan(self, trial: Trial) -> list[Command]:
        prompt = self._prompts.fill(
            "plan",
            actions=self._prompts.fill("actions"),
            goal=trial.screens[0].goal,
            history=self._history(trial),
            screen=self._screen(trial, len(trial.actions)),
        )
        return parse_plan(self._llm.complete(prompt, "plan").text)

    def _history(self, trial: Trial) -> str:
        """One sentence for each action so far, in place of the screen that it was taken on."""
        if not trial.actions:
            return "Nothing yet."
        sentences = (
            self._sentence(render(screen.elements), str(action))
            for screen, action in zip(trial.screens, trial.actions, strict=False)
        )
        return "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, start=1))

    def _sentence(self, screen: str, action: str) -> str:
        if (screen, action) not in self._sentences:
            prompt = self._prompts.fill("summarise", screen=screen, action=action)
            reply = self._llm.complete(prompt, "summarise").text
            self._sentences[screen, action] = " ".join(reply.split())
        return self._sentences[screen, action]

    def _ground(self, trial: Trial, command: Command) -> Action:
        """The command's action; one that names no element costs a call."""
        if command.action is not None:
            return command.action
        trial.invalid = command.line
        prompt = self._prompts.fill(
            "ground", screen=self._screen(trial, len(trial.actions)), action=command.line
        )
        reply = self._llm.complete(prompt, "ground").text
        match = _ID.search(reply) or re.fullmatch(r"\D{0,20}(\d+)\D{0,20}", reply.strip())
        if not match:
            raise Unreadable(f"no element for {command.line!r}: {_short(reply)}")
        trial.invalid = ""
        return command.on(_number(match))

    def _reflect(self, trial: Trial) -> None:
        prompt = self._prompts.fill(
            "reflect",
            actions=self._prompts.fill("actions"),
            goal=trial.screens[0].goal,
            trajectory=self._trajectory(trial),
            ending=self._prompts.fill(f"ending-{trial.ending}"),
        )
        reply = self._llm.complete(prompt, "reflect").text
        try:
            step, command = parse_suggestion(reply)
            if step >= len(trial.screens):
                raise Unreadable(f"the trial had no screen for an action {step}")
        except Unreadable:
            self._note(Reflected(None, None))
            return
        self._memory.update(step, tuple(trial.actions), command)
        disabled = tuple(sorted(self._memory.disabled.get(step, ())))
        self._note(Reflected(step, str(command.action or command.line), disabled))

    def _trajectory(self, trial: Trial) -> str:
        """Screens and actions in turn, or the first screen and all actions if that is too long."""
        actions = [str(action) for action in trial.actions]
        if trial.invalid:
            actions.append(trial.invalid)
        parts, shown = [], ""
        for step, screen in enumerate(self._screen(trial, at) for at in range(len(trial.screens))):
            same = " is unchanged." if screen == shown else f":\n{screen}"
            parts.append(f"Screen index={step}{same}")
            shown = screen
            if step < len(actions):
                parts.append(f"Action index={step}: {actions[step]}")
        if sum(map(len, parts)) > TRAJECTORY_LIMIT:
            parts = parts[:1] + [f"Action index={at}: {line}" for at, line in enumerate(actions)]
        return "\n\n".join(parts)
