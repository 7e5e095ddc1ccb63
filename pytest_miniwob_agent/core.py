"""The types that every other module speaks: cases, screens, actions, events, episodes, protocols.

Standard library only.

Errors of this package::

    MiniwobError              could not tell whether the agent solves the task (pytest: E)
    ├── UsageError            an option, marker, file or name that makes no sense
    ├── BrowserError          no browser, or none that starts
    │   └── BrowserLost       it crashed or hangs in the middle of an item
    ├── CassetteError         there is no cassette, or none that can be read or written
    │   ├── NotRecorded       the item was never recorded
    │   │   └── Drift         the calls are not those that are recorded (pytest: D)
    │   └── Pending           deferred recording: the call waits for a completion (pytest: w)
    ├── ModelError            the model's server could not be reached or refused the call
    └── BudgetReached         the run may make no more model calls (pytest: b)

    LimitReached              the run's own limits; ends a trial or the episode, never an error
    ├── StepLimit             the trial has used its actions
    ├── TrialLimit            the episode has used its trials
    └── CallLimit             the episode has used its model calls
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable


class MiniwobError(Exception):
    """The run could not show whether the agent solves the task."""


class UsageError(MiniwobError):
    """An option, a marker's argument, a prompt file or a name is wrong; the message says which."""


class BrowserError(MiniwobError):
    """There is no browser to open the page in."""


class BrowserLost(BrowserError):
    """The browser crashed, or its page does not answer; the next page gets a new one."""


class CassetteError(MiniwobError):
    """The item's cassette is not there, can't be read, or may not be written."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why calls are not those that are recorded.

    `kind` is one of `prompt`, `page`, `agent`, `model`, `rest` (recorded calls were not made) and
    `unknown`; `what` names the prompt files, the elements, the parameters or the calls.
    """

    kind: str
    what: str


class NotRecorded(CassetteError):
    """A call can't be replayed, and recording it would mend that."""


class Drift(NotRecorded):
    """The item's model calls are not, or not all, those of its cassette.

    Args:
        report: what differs, for people.
        causes: why, most telling first.
        changes: the lines that differ; items with equal ones have the same drift.
    """

    def __init__(self, report: str, causes: Sequence[Cause], changes: Sequence[str] = ()) -> None:
        super().__init__(report)
        self.causes = tuple(causes)
        self.changes = tuple(changes)


class Pending(CassetteError):
    """Deferred recording: this call has no completion yet.

    `request` is the call as one line of a Batch API input file.
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        super().__init__("waiting for a completion")
        self.request = dict(request)


class ModelError(MiniwobError):
    """The model's server gave no usable completion."""


class BudgetReached(MiniwobError):
    """The run may make no more model calls, or spend no more on them."""


class LimitReached(Exception):
    """One of the run's `Limits` is used up."""


class StepLimit(LimitReached):
    """The trial has used its actions; a new trial may begin."""


class TrialLimit(LimitReached):
    """The episode has used its trials."""


class CallLimit(LimitReached):
    """The episode has used its model calls."""


@dataclass(frozen=True, slots=True)
class Case:
    """One problem: a task of a category, generated from a seed.

    `repeat` counts from 1 the samples that are recorded of the same problem.
    """

    task: str
    category: str
    seed: int
    repeat: int = 1

    @property
    def sample(self) -> str:
        """Seed and repeat: `1000`, and `1000-2` for the second sample."""
        return str(self.seed) if self.repeat == 1 else f"{self.seed}-{self.repeat}"

    @property
    def id(self) -> str:
        """The pytest item's id, for instance `n-screen-n-step/click-menu-2/1000`."""
        return f"{self.category}/{self.task}/{self.sample}"

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Element:
    """A visible leaf of the page.

    `id` numbers the elements of a trial from 1 in the order in which they were first seen; text
    that stands beside other elements has none. `value` is what a form field holds, for check
    boxes and radio buttons whether they are checked, for options whether they are selected.
    `x` and `y` are the centre in CSS pixels from the page's top left corner.
    """

    id: int | None
    tag: str
    text: str = ""
    classes: str = ""
    dom_id: str = ""
    placeholder: str = ""
    value: str | bool | None = None
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """What a person would see: the goal as the page words it, and the visible elements."""

    goal: str
    elements: tuple[Element, ...] = ()


KEYS = (
    "ENTER", "TAB", "SPACE", "ESCAPE", "BACKSPACE", "DELETE", "HOME", "END", "PAGEUP", "PAGEDOWN",
    "ARROWUP", "ARROWDOWN", "ARROWLEFT", "ARROWRIGHT",
)  # fmt: skip
"""Names of the keys that `Press` knows."""

MODIFIERS = ("CTRL", "SHIFT", "ALT")
"""Names of the keys that `Hold` and `Release` know."""


Place = tuple[float, float]
"""A place in an element: how far right of its top left corner and how far below, in CSS pixels."""


def _at(element: int, place: Place | None) -> str:
    return f"id={element}" if place is None else f"id={element} at {_pixels(place)}"


def _pixels(place: Place) -> str:
    return ",".join(str(number).removesuffix(".0") for number in place)


@dataclass(frozen=True, slots=True)
class Click:
    """Move the mouse to the middle of an element, or to a place in it, and click."""

    element: int
    at: Place | None = None

    def __str__(self) -> str:
        return f"click {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Enter:
    """Click an element, then type the text, key by key."""

    text: str
    element: int

    def __str__(self) -> str:
        return f'enter "{self.text}" to id={self.element}'


@dataclass(frozen=True, slots=True)
class Type:
    """Type the text, key by key, wherever the focus is."""

    text: str

    def __str__(self) -> str:
        return f'type "{self.text}"'


@dataclass(frozen=True, slots=True)
class Press:
    """Press and release one of `KEYS`, `times` times, wherever the focus is."""

    key: str
    times: int = 1

    def __str__(self) -> str:
        return f"press {self.key}" + (f" x {self.times}" if self.times > 1 else "")


@dataclass(frozen=True, slots=True)
class Hold:
    """Press one of `MODIFIERS` and keep it down."""

    key: str

    def __str__(self) -> str:
        return f"hold {self.key}"


@dataclass(frozen=True, slots=True)
class Release:
    """Let go of one of `MODIFIERS`."""

    key: str

    def __str__(self) -> str:
        return f"release {self.key}"


@dataclass(frozen=True, slots=True)
class DoubleClick:
    """Click twice at the same point."""

    element: int
    at: Place | None = None

    def __str__(self) -> str:
        return f"double click {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Hover:
    """Move the mouse onto an element and leave it there."""

    element: int
    at: Place | None = None

    def __str__(self) -> str:
        return f"hover {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Drag:
    """Press the mouse on an element, move it in a straight line and let go.

    `end` is the place in the element `to` where it lets go, the middle if there is none; without
    `to` it is how far right and down of its beginning.
    """

    element: int
    to: int | None = None
    at: Place | None = None
    end: Place | None = None

    def __str__(self) -> str:
        if self.to is not None:
            way = f"to {_at(self.to, self.end)}"
        else:
            way = f"by {_pixels(self.end or (0, 0))}"
        return f"drag {_at(self.element, self.at)} {way}"


@dataclass(frozen=True, slots=True)
class Select:
    """Mark an element's text, all of it or a part: in a field by keys, elsewhere by the mouse."""

    element: int
    text: str | None = None

    def __str__(self) -> str:
        if self.text is None:
            return f"select id={self.element}"
        return f'select "{self.text}" in id={self.element}'


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the mouse's wheel over an element, down by so many CSS pixels or up where negative."""

    element: int
    pixels: int

    def __str__(self) -> str:
        return f"scroll id={self.element} by {self.pixels}"


@dataclass(frozen=True, slots=True)
class Choose:
    """Take the option with this text from a drop-down list, by its keys."""

    option: str
    element: int

    def __str__(self) -> str:
        return f'choose "{self.option}" in id={self.element}'


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy what is marked with CTRL+C; no other page and no other program gets it."""

    def __str__(self) -> str:
        return "copy"


@dataclass(frozen=True, slots=True)
class Paste:
    """Put in what was copied, with CTRL+V, wherever the focus is."""

    def __str__(self) -> str:
        return "paste"


Action = (
    Click | Enter | Press | Hold | Release | Type
    | DoubleClick | Hover | Drag | Select | Scroll | Choose | Copy | Paste
)  # fmt: skip
"""The first five are those of the reflective agent's paper; agents may opt into the others."""

Silent = Hold | Release | Hover | Select | Scroll | Copy
"""Actions that do their work without a change of what is seen."""


def elements_of(action: Action) -> tuple[int, ...]:
    """The ids of the elements that an action names."""
    ids = (getattr(action, name, None) for name in ("element", "to"))
    return tuple(each for each in ids if each is not None)


@dataclass(frozen=True, slots=True)
class Transition:
    """What an action did.

    `reward` is the page's raw reward, from -1 to 1, and 0 until the page is `done`. `error` says
    why the action was impossible; nothing was done then.
    """

    observation: Observation
    reward: float = 0.0
    done: bool = False
    error: str | None = None

    @property
    def solved(self) -> bool:
        """Whether the page paid its full reward."""
        return self.done and self.reward >= 1.0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. Token counts are None where the server did not say."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Ending(StrEnum):
    """How a trial ended (section 3.4 of the reflective agent's paper)."""

    CORRECT = "correct"
    CYCLE = "cycle"
    NO_CHANGE = "no-change"
    INCOMPLETE = "incomplete"
    EXCEPTION = "exception"
    FAILED = "failed"
    STEP_LIMIT = "step-limit"


@dataclass(frozen=True, slots=True)
class Limits:
    """Counts, never clocks: trials an episode, actions a trial, model calls an episode."""

    trials: int = 5
    steps: int = 30
    calls: int = 500

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) < 1:
                raise UsageError(f"{each.name} must be at least 1, not {getattr(self, each.name)}")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a model call comes from.

    `trial` and `step` are those of `Called`. `prompts` are the digests of the prompt files that its
    text was made of, by file name; `actions` and `page` digest all actions of the episode so far,
    and all that was seen of the page.
    """

    purpose: str
    trial: int
    step: int
    prompts: Mapping[str, str]
    actions: str
    page: str

    def __str__(self) -> str:
        return f"{self.purpose}, trial {self.trial}, step {self.step}"


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A fresh page. `trial` counts from 1, here and in every event."""

    kind: ClassVar[str] = "trial"
    trial: int
    observation: Observation


@dataclass(frozen=True, slots=True)
class Called:
    """A model call, made when the trial had taken `step` actions."""

    kind: ClassVar[str] = "call"
    trial: int
    step: int
    purpose: str
    prompt: str
    completion: Completion


@dataclass(frozen=True, slots=True)
class Acted:
    """An action and what it did. `step` counts from 0 within the trial."""

    kind: ClassVar[str] = "act"
    trial: int
    step: int
    action: Action
    transition: Transition


@dataclass(frozen=True, slots=True)
class Reflected:
    """What a reflection changed.

    `step` is the action to correct and `action` what is enforced there, both None where the reply
    could not be read. `disabled` are the ids that may not be clicked at that step any more.
    """

    kind: ClassVar[str] = "reflect"
    step: int | None
    action: str | None
    disabled: tuple[int, ...] = ()
    trial: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """What an agent says that is worth keeping; `what` names what `text` is."""

    kind: ClassVar[str] = "remark"
    what: str
    text: str
    trial: int = 0
    step: int = 0


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """How the trial ended; `detail` has the reason of an exception."""

    kind: ClassVar[str] = "end"
    ending: Ending
    detail: str = ""
    trial: int = 0


Event = TrialStarted | Called | Acted | Reflected | Remark | TrialEnded
Note = Reflected | Remark | TrialEnded


class Environment(Protocol):
    """A page that judges. A new trial is a `reset`."""

    def reset(self) -> Observation:
        """Load the page afresh and generate the case's problem."""
        ...

    def step(self, action: Action) -> Transition:
        """Carry out one action; an impossible one is a `Transition` with an `error`."""
        ...

    def html(self) -> str:
        """The visible page as HTML, for agents that read that; empty once the page has judged.

        Only what shows, and of attributes what tells something; `value`, `checked` and `selected`
        are those of now. The `data-ref` of an element is the id that actions take.
        """
        ...


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of a page, PNG, `size` CSS pixels wide and high.

    `points` are where in it an action points, in order, and `boxes` the elements there: left, top,
    width, height.
    """

    png: bytes = field(repr=False)
    size: tuple[int, int]
    points: tuple[tuple[int, int], ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = ()


@runtime_checkable
class Visible(Protocol):
    """What an `Environment` has beside its own methods if pictures can be taken of it."""

    def look(self, action: Action | None = None) -> Shot:
        """A picture of the page as it is, and where the action points that is to come.

        What the page does must not depend on whether anybody looks.
        """
        ...


class LLM(Protocol):
    """A language model behind one chat message."""

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Answer a prompt; `purpose` says what the call is for (`plan`, `reflect`, ...)."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Something that works on a page through a model. `name` is the folder of its cassettes."""

    name: str

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play trials until the page is solved or a limit is reached.

        Begin each trial with `env.reset()`. `note` is for what only the agent knows: how a trial
        ended, what a reflection changed, and what else is worth keeping. `LimitReached` may be
        caught (a `StepLimit`, to reflect on the trial) or left to the caller.
        """
        ...


def to_data(value: Any) -> Any:
    """Turn events and what they hold into plain JSON types; dataclasses gain their `kind`."""
    if hasattr(value, "__dataclass_fields__"):
        data = {each.name: to_data(getattr(value, each.name)) for each in fields(value)}
        if isinstance(value, Action):  # without those of its parts that were left out
            data = {name: part for name, part in data.items() if part is not None}
            data["kind"] = type(value).__name__.lower()
        elif hasattr(value, "kind"):
            data["kind"] = value.kind
        return data
    if isinstance(value, tuple | list):
        return [to_data(each) for each in value]
    if isinstance(value, Mapping):
        return {key: to_data(value[key]) for key in sorted(value)}
    return str(value) if isinstance(value, StrEnum) else value


@dataclass(frozen=True, slots=True)
class Episode:
    """Everything that happened on one case, as one linear list of events."""

    case: Case
    agent: str
    model: str
    events: tuple[Event, ...] = field(repr=False)

    def _of(self, kind: type[Any]) -> Iterator[Any]:
        return (event for event in self.events if isinstance(event, kind))

    @property
    def trials(self) -> int:
        """Trials begun."""
        return sum(1 for _ in self._of(TrialStarted))

    @property
    def solved_at(self) -> int | None:
        """The trial that got the full reward, counting from 1, or None."""
        return next((e.trial for e in self._of(Acted) if e.transition.solved), None)

    @property
    def solved(self) -> bool:
        """Whether a trial got the full reward of 1."""
        return self.solved_at is not None

    @property
    def reward(self) -> float:
        """The best raw reward of any trial; above 0 is what the paper's code counted as correct."""
        return max((e.transition.reward for e in self._of(Acted) if e.transition.done), default=0.0)

    @property
    def steps(self) -> int:
        """Actions taken, over all trials."""
        return sum(1 for _ in self._of(Acted))

    @property
    def calls(self) -> int:
        """Model calls, over all trials."""
        return sum(1 for _ in self._of(Called))

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens; None where the server of any call did not say."""
        counts = [
            count
            for event in self._of(Called)
            for count in (event.completion.prompt_tokens, event.completion.completion_tokens)
        ]
        return None if None in counts else sum(counts)

    @property
    def endings(self) -> tuple[Ending, ...]:
        """How each trial ended."""
        return tuple(event.ending for event in self._of(TrialEnded))

    def to_data(self) -> dict[str, Any]:
        """The episode in plain JSON types; equal episodes give equal data."""
        return {
            "case": self.case.id,
            "agent": self.agent,
            "model": self.model,
            "solved": self.solved,
            "solved_at": self.solved_at,
            "reward": self.reward,
            "trials": self.trials,
            "steps": self.steps,
            "calls": self.calls,
            "tokens": self.tokens,
            "endings": [str(ending) for ending in self.endings],
            "events": to_data(self.events),
        }

    def explain(self) -> str:
        """Tell the episode in a few lines: the verdict, the goal, the actions of the last trial.

        The trials before it are told by how they ended and what was learnt. Long texts lack their
        middle, and nothing of a page or a model is in it that could move a terminal's cursor.
        """
        if self.solved:
            verdict = f"solved in trial {self.solved_at}"
        elif self.endings:
            verdict = f"{self.endings[-1].name} in trial {self.trials}, best reward {self.reward:g}"
        else:
            verdict = "no trial was begun"
        lines = [verdict, f"item: {plain(f'{self.case.id}, {self.agent} with {self.model}')}"]
        steps: list[str] = []
        for event in self.events:
            match event:
                case TrialStarted(trial=trial, observation=observation):
                    if trial == 1:
                        lines.append(f"goal: {brief(observation.goal)}")
                    steps = []
                case Acted(step=step, action=action, transition=transition):
                    result = f"  -> {brief(transition.error)}" if transition.error else ""
                    if transition.done:
                        result = f"  -> reward {transition.reward:g}"
                    steps.append(f"  {step}. {brief(action)}{result}")
                case TrialEnded(trial=trial, ending=ending, detail=detail):
                    said = f"trial {trial}: {ending.name}" + (
                        f", {brief(detail)}" if detail else ""
                    )
                    lines += [said, *(shortened(steps) if trial == self.trials else ())]
                case Reflected(step=step, action=action):
                    said = (
                        "could not be read" if step is None else f"action {step} is to be {action}"
                    )
                    lines.append(f"  reflection: {brief(said)}")
        return "\n".join(lines)


LONG = 160
"""Characters of a text that are shown of it where a person is to read on."""

MANY = 20
"""Lines of a list that are shown of it, likewise."""


def harmless(line: object) -> str:
    """Foreign text that leaves a terminal and a workflow runner alone: no control characters."""
    shown = "".join(c if c.isprintable() else " " for c in str(line))
    return re.sub(r"(?<!\S)::", ": :", shown).replace("##[", "## [")


def plain(text: object) -> str:
    """Foreign text in one harmless line, with single spaces."""
    return harmless(" ".join(harmless(text).split()))


def legible(text: str) -> str:
    """Foreign text in harmless lines, which keep their indentation."""
    return "\n".join(map(harmless, text.splitlines()))


def brief(text: object) -> str:
    """The same, of long texts the two ends, and how many characters were left out between."""
    line = plain(text)
    if len(line) <= LONG:
        return line
    half = LONG // 2
    return f"{line[:half]} … {len(line) - 2 * half:,} characters … {line[-half:]}"


def shortened(lines: Sequence[str]) -> list[str]:
    """A list of lines; of a long one the two ends, and how many lines were left out between."""
    if len(lines) <= MANY:
        return list(lines)
    half = MANY // 2
    return [*lines[:half], f"  … {len(lines) - 2 * half} more …", *lines[-half:]]


def canonical_json(data: Any) -> str:
    """JSON with sorted keys and no spaces: equal data gives equal text."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def write_atomically(path: Path, text: str) -> None:
    """Write beside, then rename, so that no reader and no crash meets half a file.

    Half of a surrogate pair, which a page may hold, is written as JSON and Python escape it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(text.encode("utf-8", errors="backslashreplace"))
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def shown(path: Path) -> Path:
    """The path as it is written from the working directory."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def counted(number: int, noun: str, plural: str = "s") -> str:
    """A number of things: `1 item`, `2 items`."""
    return f"{number} {noun}{plural if number != 1 else ''}"


def digest(text: str) -> str:
    """Enough of a text's hash to tell it from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def nearest(name: str, names: Sequence[str], limit: int = 3) -> str:
    """Name what was probably meant: ` (did you mean a, b?)`, or nothing."""
    import difflib

    close = difflib.get_close_matches(name, names, n=limit, cutoff=0.5)
    return f" (did you mean {', '.join(close)}?)" if close else ""


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """An agent's parameter, checked.

    Raises:
        UsageError: it is none of the choices.
    """
    if value not in choices:
        raise UsageError(
            f"--miniwob-agent-params: {name} {value!r} is not one of {', '.join(choices)}"
            + nearest(str(value), choices)
        )
    return value
