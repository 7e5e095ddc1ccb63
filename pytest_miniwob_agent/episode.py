"""One episode: an agent on an environment with a model, recorded and kept within limits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import (
    CallLimit,
    CassetteError,
    LimitReached,
    StepLimit,
    TrialLimit,
)
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Event,
    Note,
    Origin,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.protocols import (
    LLM,
    ActionCounter,
    Agent,
    Observer,
    Page,
    Visible,
)
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.tools import carry_out_call


def run_episode(
    case: Case,
    agent: Agent,
    env: Page,
    llm: LLM,
    limits: Limits,
    *,
    model: str,
    observers: Sequence[Observer] = (),
) -> Episode:
    """Let the agent work on the case until it returns or a limit is reached.

    Args:
        case: the problem, for the episode's record.
        agent: what works on it.
        env: the page.
        llm: the model.
        limits: trials, actions and model calls that are allowed.
        model: the model's id, for the episode's record.
        observers: called as the episode goes on.

    Raises:
        MiniwobError: whatever the environment or the model raises.
    """
    counts = agent.counts if isinstance(agent, ActionCounter) else None
    recorder = _Recorder(env, llm, limits, observers, counts)
    for observer in observers:
        observer.before_episode(case)
    try:
        agent.solve(recorder, recorder, recorder.note)
    except LimitReached as limit:
        recorder.end_trial(limit)
    except CassetteError:
        recorder.take_picture()  # of what led to a call that is not recorded
        raise
    else:
        recorder.end_trial()
    return Episode(case, agent.name, model, tuple(recorder.events))


class _Recorder:
    """The environment and the model as the agent sees them: counted, limited, written down."""

    def __init__(
        self,
        env: Page,
        llm: LLM,
        limits: Limits,
        observers: Sequence[Observer],
        counts: Callable[[Action], bool] | None,
    ) -> None:
        self.events: list[Event] = []
        self._observers = observers
        self._cameras = [observer for observer in observers if observer.wants_pictures]
        self._env = env
        self._llm = llm
        self._limits = limits
        self._counts = counts
        self._actions = hashlib.sha256()
        self._page = hashlib.sha256()
        self._trial = 0
        self._step = 0
        self._counted = 0
        self._calls = 0
        self._last: Transition | None = None
        self._ended = True

    def reset(self, *, full: bool = False) -> Observation:
        self.end_trial()
        if self._trial == self._limits.trials:
            raise TrialLimit(f"{self._limits.trials} trials are used up")
        observation = self._env.reset(full=True) if full else self._env.reset()
        self._trial += 1
        self._step = self._counted = 0
        self._last = Transition(observation)
        self._ended = False
        self._actions.update(b"reset\n")
        self._see(self._last)
        self._record(TrialStarted(self._trial, observation))
        return observation

    def step(self, action: Action) -> Transition:
        if self._last is None:
            raise RuntimeError("the agent must reset() the environment before its first step()")
        if self._last.done:
            raise RuntimeError("the page has judged this trial: reset() begins another")
        if self._counts is None or self._counts(action):
            if self._counted == self._limits.steps:
                raise StepLimit(f"{self._limits.steps} actions are used up")
            self._counted += 1
        self.take_picture(action)
        self._last = self._env.step(action)
        self._actions.update(f"{action}\n".encode("utf-8", "surrogatepass"))
        self._see(self._last)
        self._record(Acted(self._trial, self._step, action, self._last))
        self._step += 1
        return self._last

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        return carry_out_call(name, arguments, self._last, self.step)

    def html(self) -> str:
        if self._last is None:
            raise RuntimeError("the agent must reset() the environment before it reads its html()")
        html = self._env.html()
        self._page.update(html.encode("utf-8", "surrogatepass"))
        return html

    def complete(self, prompt: str, purpose: str) -> Completion:
        if self._calls == self._limits.calls:
            raise CallLimit(f"{self._limits.calls} model calls are used up")
        origin = Origin(
            purpose,
            self._trial,
            self._step,
            getattr(prompt, "files", {}),
            self._actions.hexdigest()[:12],
            self._page.hexdigest()[:12],
        )
        for observer in self._observers:
            observer.before_call(origin)
        prompt = str(prompt)
        completion = self._llm.complete(prompt, purpose)
        self._calls += 1
        self._record(Called(self._trial, self._step, purpose, prompt, completion))
        return completion

    def take_picture(self, action: Action | None = None) -> None:
        """Take a picture, if an observer wants it and there is something to see."""
        if not self._cameras or not isinstance(self._env, Visible):
            return
        if self._last is not None and not self._last.done:
            shot = self._env.look(action)
            for observer in self._cameras:
                observer.on_picture(shot, self._trial, self._step, action)

    def _record(self, event: Event) -> None:
        """Write an event down without keys: it is shown and kept, the agent has the original."""
        event = redact(event)
        self.events.append(event)
        for observer in self._observers:
            observer.on_event(event)

    def _see(self, transition: Transition) -> None:
        data = to_data(transition)
        del data["observation"]["focus"]  # not part of what digests in today's cassettes are of
        text = canonical_json(data)
        self._page.update(text.encode("utf-8", "surrogatepass"))

    def note(self, note: Note) -> None:
        match note:
            case TrialEnded(ending, detail):
                if not self._ended:
                    self.take_picture()
                    self._ended = True
                    self._record(TrialEnded(ending, detail, self._trial))
            case Reflected(step, action, disabled):
                self._record(Reflected(step, action, disabled, self._trial))
            case Remark(what, text):
                self._record(Remark(what, text, self._trial, self._step))

    def end_trial(self, limit: LimitReached | None = None) -> None:
        """Say how the trial ended where the agent did not."""
        if self._last is None or self._ended:
            return
        if self._last.done:
            ending = Ending.CORRECT if self._last.solved else Ending.FAILED
        else:
            ending = Ending.STEP_LIMIT if isinstance(limit, StepLimit) else Ending.INCOMPLETE
        self.note(TrialEnded(ending, str(limit or "")))
