"""Events of an episode, and the episode as one linear list of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_miniwob_agent.core.actions import AnyAction, Enter
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.chat import Message, ToolCall, Usage, new_messages
from pytest_miniwob_agent.core.data import Count, to_data
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.text import (
    listed,
    sanitize,
    sanitize_line,
    shorten,
    shorten_lines,
)

if TYPE_CHECKING:
    from pytest_miniwob_agent.core.app import PageRequest

# Metadata of a field that `core.data.to_data` leaves out if it is empty.
_OPTIONAL = {"optional": True}

# Finish reasons of the APIs that add nothing to what an answer says.
_ORDINARY_ENDS = ("stop", "tool_calls", "function_call", "completed", "end_turn", "tool_use")


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. What the server did not say is None.

    `model` and `system_fingerprint` name the version and the configuration that answered. `text` is
    empty if the model only calls tools. `finish_reason` is the server's word for why the answer
    ends, `reasoning` are the model's thoughts, `refusal` is its reason not to answer, and `others`
    are further choices, if more than one was asked for. Of the prompt's tokens the provider had
    `cached_tokens` in its cache, and wrote `written_tokens` into it. `original` is the message of a
    chat completion as it can be sent back, if it has more than these fields. `status` is that
    of a call that the server refused, and `refusal` then its reason.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    tool_calls: tuple[ToolCall, ...] = field(default=(), metadata=_OPTIONAL)
    finish_reason: str | None = field(default=None, metadata=_OPTIONAL)
    reasoning: str | None = field(default=None, metadata=_OPTIONAL)
    refusal: str | None = field(default=None, metadata=_OPTIONAL)
    others: tuple[Completion, ...] = field(default=(), metadata=_OPTIONAL)
    cached_tokens: int = field(default=0, metadata=_OPTIONAL)
    written_tokens: int = field(default=0, metadata=_OPTIONAL)
    original: Mapping[str, Any] | None = field(default=None, hash=False, metadata=_OPTIONAL)
    status: int | None = field(default=None, metadata=_OPTIONAL)

    @property
    def usage(self) -> Usage:
        """The answer's call and its tokens."""
        if self.tokens is None:
            return Usage(1, uncounted=1)
        return Usage(1, *self.tokens, cached=self.cached_tokens, written=self.written_tokens)

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Prompt and completion tokens; None if the server did not give both."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens, self.completion_tokens

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message in the Chat Completions form, to go on with the conversation.

        It has all that the provider added, such as signatures of thoughts, but nulls, empty lists,
        the data of audio and the numbers of calls, which servers refuse to be sent back.
        """
        if self.original is not None:
            return deepcopy(dict(self.original))
        if not self.tool_calls:
            return {"role": "assistant", "content": self.text}
        calls = []
        for call in self.tool_calls:
            function = {"name": call.name, "arguments": call.arguments}
            calls.append({"id": call.id, "type": "function", "function": function})
        return {"role": "assistant", "content": self.text or None, "tool_calls": calls}

    @property
    def sections(self) -> list[tuple[str, str]]:
        """The parts of the answer for people to read: pairs of a name and text."""
        parts = {
            "reasoning": self.reasoning,
            "text": self.text,
            "calls": "\n".join(map(str, self.tool_calls)),
            "refusal": self.refusal,
            "finish reason": None if self.finish_reason in _ORDINARY_ENDS else self.finish_reason,
        }
        found = [(name, text) for name, text in parts.items() if text]
        for number, other in enumerate(self.others, start=2):
            for name, text in other.sections:
                shown = "" if name in ("text", "calls") else f", {name}"
                found.append((f"choice {number}{shown}", text))
        return found

    def unseen(self, messages: Sequence[Message], before: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages that are neither in the request before this answer nor in it."""
        new = new_messages(messages, before)
        return tuple(message for message in new if not self._includes(message))

    def _includes(self, message: Message) -> bool:
        if message.role == "reasoning":
            return message.text == self.reasoning
        said, repeated = (
            # Without the ids, which may differ.
            {(call.name, call.arguments) for call in part.tool_calls}
            for part in (self, message)
        )
        return message.role == "assistant" and message.text in ("", self.text) and repeated <= said


class Ending(StrEnum):
    """The ending of a trial (section 3.4 of the reflective agent's paper)."""

    CORRECT = "correct"
    CYCLE = "cycle"
    NO_CHANGE = "no-change"
    INCOMPLETE = "incomplete"
    EXCEPTION = "exception"
    FAILED = "failed"
    STEP_LIMIT = "step-limit"


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a model call in its episode, and what its prompt was made of.

    `prompts` are the digests of the prompt files of its text, by file name; `actions` and `page`
    digest all actions of the episode so far, and all that was seen of the page. `actions` is empty
    for a call outside of the episode: one of the test, or a grader's.
    """

    purpose: str
    trial: Count
    step: Count
    prompts: Mapping[str, str]
    actions: str
    page: str

    @property
    def outside(self) -> bool:
        """True if the agent did not make the call."""
        return not self.actions

    @property
    def of_grader(self) -> bool:
        """True if a grader made the call."""
        return self.outside and self.purpose != OF_TEST.purpose

    def __str__(self) -> str:
        where = "" if self.outside else f", trial {self.trial}, step {self.step}"
        return f"{self.purpose}{where}"


OF_TEST = Origin("test", 0, 0, {}, "", "")
"""The origin of a call that a test makes outside of its episode."""


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A fresh page. `trial` counts from 1, here and in every event."""

    kind: ClassVar[str] = "trial"
    trial: int
    observation: Observation


@dataclass(frozen=True, slots=True)
class Called:
    """A model call, made when the trial had taken `step` actions.

    In a conversation `messages` has all messages of the request, `prompt` is the text of those
    that are new since the call before, and `tools` are the names of the tools that are offered.
    `path` is that of the request; empty for a model that takes strings alone.
    """

    kind: ClassVar[str] = "call"
    trial: int
    step: int
    purpose: str
    prompt: str
    completion: Completion
    messages: tuple[Message, ...] = field(default=(), metadata=_OPTIONAL)
    tools: tuple[str, ...] = field(default=(), metadata=_OPTIONAL)
    path: str = field(default="", metadata=_OPTIONAL)

    def new_since(self, before: Called | None) -> tuple[Message, ...]:
        """Return the messages that the call before did not have, without its answer."""
        return before.completion.unseen(self.messages, before.messages) if before else self.messages


@dataclass(frozen=True, slots=True)
class Acted:
    """An action and what it did. `step` counts from 0 within the trial."""

    kind: ClassVar[str] = "act"
    trial: int
    step: int
    action: AnyAction
    transition: Transition


@dataclass(frozen=True, slots=True)
class Reflected:
    """A change that a reflection made.

    `step` is the action to correct and `action` what is enforced there, both None if the reply
    could not be read. `disabled` are the ids that may not be clicked at that step any more.
    """

    kind: ClassVar[str] = "reflect"
    step: int | None
    action: str | None
    disabled: tuple[int, ...] = ()
    trial: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark of the agent that is worth keeping; `what` names what `text` is."""

    kind: ClassVar[str] = "remark"
    what: str
    text: str
    trial: int = 0
    step: int = 0


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """The end of a trial; `detail` has the reason of an exception.

    A trial that is `graded` has no other judge than graders (`Limits.graded`).
    """

    kind: ClassVar[str] = "end"
    ending: Ending
    detail: str = ""
    trial: int = 0
    graded: bool = field(default=False, metadata=_OPTIONAL)

    @classmethod
    def judged(cls, transition: Transition) -> TrialEnded:
        """The end of a trial by the page's judgement."""
        if transition.solved:
            return cls(Ending.CORRECT)
        return cls(Ending.FAILED, f"reward {transition.reward:g}")


Event = TrialStarted | Called | Acted | Reflected | Remark | TrialEnded

Note = Reflected | Remark | TrialEnded


@dataclass(frozen=True, slots=True)
class Episode:
    """Everything that happened on one case, as one linear list of events.

    `requests` are those of an app or of pages of your own, and `downloads` the digests (SHA-256,
    hexadecimal) of downloaded files by their names. Graders and tests have both, outcomes do not.
    """

    case: Case
    agent: str
    model: str
    events: tuple[Event, ...] = field(repr=False)
    grades: tuple[Grade, ...] = field(default=(), repr=False)
    requests: tuple[PageRequest, ...] = field(default=(), repr=False, metadata=_OPTIONAL)
    downloads: Mapping[str, str] = field(default_factory=dict, repr=False, metadata=_OPTIONAL)

    def _events(self, kind: type[Any]) -> Iterator[Any]:
        return (event for event in self.events if isinstance(event, kind))

    def asked(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> bool:
        """True if a page has made a request of this method and path, as `AppTrial.asked` says."""
        from pytest_miniwob_agent.core.app import asked

        return asked(self.requests, method, path, fields)

    @property
    def trials(self) -> int:
        """Trials begun."""
        return sum(1 for _ in self._events(TrialStarted))

    @property
    def failed_grades(self) -> tuple[Grade, ...]:
        """The grades that make it unsolved."""
        return tuple(grade for grade in self.grades if not grade.passed)

    @property
    def solved_at(self) -> int | None:
        """The trial that got the full reward, counting from 1; None if no grader lets it pass."""
        if self.failed_grades:
            return None
        return next((trial for trial, reward in self._rewards.items() if reward >= 1), None)

    @property
    def solved(self) -> bool:
        """True if a trial got the full reward of 1, and all graders pass it."""
        return self.solved_at is not None

    @property
    def _rewards(self) -> dict[int, float]:
        judged = {
            e.trial: float(e.transition.reward) for e in self._events(Acted) if e.transition.done
        }
        return judged | {e.trial: 1.0 for e in self._events(TrialEnded) if e.graded}

    @property
    def rewards(self) -> tuple[float, ...]:
        """The raw reward of each trial; 0 if the page did not judge."""
        return tuple(self._rewards.get(trial, 0.0) for trial in range(1, self.trials + 1))

    @property
    def reward(self) -> float:
        """The best raw reward of a trial that the page judged, or 0."""
        return max(self._rewards.values(), default=0.0)

    @property
    def steps(self) -> int:
        """Actions taken, over all trials."""
        return sum(1 for _ in self._events(Acted))

    @property
    def typings(self) -> int:
        """Actions that entered text, over all trials."""
        return sum(isinstance(event.action, Enter) for event in self._events(Acted))

    @property
    def calls(self) -> int:
        """Model calls, over all trials."""
        return sum(1 for _ in self._events(Called))

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens; None if any call has no count."""
        total = 0
        for call in self._events(Called):
            if (tokens := call.completion.tokens) is None:
                return None
            total += sum(tokens)
        return total

    @property
    def endings(self) -> tuple[Ending, ...]:
        """The ending of each trial."""
        return tuple(event.ending for event in self._events(TrialEnded))

    def to_data(self) -> dict[str, Any]:
        """The episode in plain JSON types; equal episodes give equal data."""
        counts = ("solved", "solved_at", "reward", "trials", "steps", "calls", "tokens", "endings")
        names = ("agent", "model", *counts, "events")
        data = {"case": self.case.id, **{name: to_data(getattr(self, name)) for name in names}}
        return data | ({"grades": to_data(self.grades)} if self.grades else {})

    def explain(self) -> str:
        """Describe the episode in a few lines: the verdict, the goal, the last trial's actions.

        Of earlier trials there are the endings and the reflections. Long text is shortened.
        """
        if self.solved:
            verdict = f"solved in trial {self.solved_at}"
        elif self.failed_grades and self.reward >= 1:
            verdict = f"not solved, by {listed([grade.grader for grade in self.failed_grades])}"
        elif self.endings:
            verdict = f"{self.endings[-1].name} in trial {self.trials}, best reward {self.reward:g}"
        else:
            verdict = "no trial was begun"
        item = sanitize_line(f"{self.case.id}, {self.agent} with {self.model}")
        lines = [verdict, f"item: {item}"]
        lines += [f"grader {shorten(grade)}" for grade in self.grades]
        for event in self.events:
            match event:
                case TrialStarted(trial=1, observation=observation):
                    lines.append(f"goal: {shorten(observation.goal)}")
                case TrialEnded(trial=trial, ending=ending, detail=detail):
                    reason = f", {shorten(detail)}" if detail else ""
                    lines.append(f"trial {trial}: {ending.name}{reason}")
                    if trial == self.trials:
                        acts = (act for act in self._events(Acted) if act.trial == trial)
                        lines += shorten_lines([_act_line(act) for act in acts])
                        lines += shorten_lines(self._trouble_lines(trial))
                case Remark(what="page" | "program" | "exception" as what, text=text):
                    first, *others = text.splitlines() or [""]
                    lines += [f"{what}: {shorten(first)}", *map(sanitize, shorten_lines(others))]
                case Reflected(step=None):
                    lines.append("  reflection: could not be read")
                case Reflected(step=step, action=action):
                    lines.append(f"  reflection: {shorten(f'action {step} should be {action}')}")
        return "\n".join(lines)

    def _trouble_lines(self, trial: int) -> list[str]:
        found: Counter[str] = Counter()
        for event in self.events:
            match event:
                case Called(trial=at, purpose=purpose, completion=said) if at == trial:
                    parts = [part for part in said.sections if part[0] in _TROUBLES]
                    found.update(f"{purpose} call, {name}: {shorten(text)}" for name, text in parts)
                case Remark(what="refused call" as what, text=text, trial=at) if at == trial:
                    found[f"{what}: {shorten(text)}"] += 1
        return [f"  {line}{f' ({n} times)' * (n > 1)}" for line, n in found.items()]


# The sections of an answer that say why it is of no use.
_TROUBLES = ("refusal", "finish reason")


def _act_line(act: Acted) -> str:
    result = shorten(act.transition.error) if act.transition.error else ""
    if act.transition.done:
        result = f"reward {act.transition.reward:g}"
    return f"  {act.step}. {shorten(act.action)}" + (f"  -> {result}" if result else "")
