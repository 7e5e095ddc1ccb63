"""The trace of an episode: events, the place in the episode, errors and limits, pictures."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import NoReturn

from pytest_miniwob_agent.core.actions import Action, AnyAction
from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import LimitReached, MiniwobError, StepLimit
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Ending,
    Event,
    Note,
    Origin,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Observation, Shot, Transition
from pytest_miniwob_agent.core.parsing import BadCall, action_of_call
from pytest_miniwob_agent.core.protocols import HandedOver, Observer, Page, Remarking, Visible
from pytest_miniwob_agent.core.secrets import redact

_PATIENCE = 200
"""How often an agent may go on after errors and limits before it is stopped."""


class Stopped(BaseException):
    """Ends an agent that goes on after errors for ever; no `except Exception` catches it."""


class Trace:
    """Writes down what happens: events, the place in the episode, errors and limits, pictures.

    Attributes:
        error: the first error of page or model; the episode has ended with it.
        broken: True once a model failed with an exception of another kind.
        limit: the limit that ended the present trial, even if the agent ignored it.
        trials: the most trials.
        trial: the present trial, from 1, of which `step` is the number of actions so far.
        last: the last transition of the trial; None before the first trial.
        handed: the page, while it is handed over to a program.
        named: the actions of the tool calls of the last answer that were not taken yet, in order.
    """

    def __init__(
        self, page: Page, observers: Sequence[Observer], trials: int, *, any_reward: bool = False
    ) -> None:
        self.error: MiniwobError | None = None
        self.broken = False
        self.limit: LimitReached | None = None
        self.trial = self.step = 0
        self.trials = trials
        self._any_reward = any_reward
        self.last: Transition | None = None
        self.handed: HandedOver | None = None
        self.named: list[Action] = []
        self._page, self._observers = page, observers
        self._cameras = [observer for observer in observers if observer.wants_pictures]
        self._events: list[Event | None] = []
        self._mutex = threading.RLock()
        self._refusals = 0
        self._ended = True
        self._actions = hashlib.sha256()
        self._seen = hashlib.sha256()

    @property
    def over(self) -> bool:
        """True once the page has judged, and there is no further trial to play."""
        last = self.last
        return last is not None and (last.solved or (last.done and self.trial == self.trials))

    @property
    def events(self) -> tuple[Event, ...]:
        """All events so far; calls stand in the order in which they were begun."""
        return tuple(event for event in self._events if event is not None)

    @contextmanager
    def keeping_errors(self) -> Iterator[None]:
        """Keep the first error of page or model, and raise it again at everything after it.

        A framework may turn an error into anything: a text for the model, a second try, silence.
        """
        if self.error is not None:
            self.refuse(self.error)
        try:
            yield
        except MiniwobError as error:
            self.error = self.error or error
            raise

    def refuse(self, error: MiniwobError | LimitReached) -> NoReturn:
        """Raise an error; end an agent that does not stop trying."""
        if isinstance(error, LimitReached):
            self.limit = error
        self._refusals += 1
        if self._refusals > _PATIENCE:
            raise Stopped(f"the agent went on after: {error}") from error
        raise error

    def start_trial(self, observation: Observation) -> None:
        """Begin the next trial."""
        self.trial += 1
        if isinstance(self.limit, StepLimit):
            self.limit = None
        self.step = 0
        self.last = Transition(observation)
        self._ended = False
        self._actions.update(b"reset\n")
        self._see(self.last)
        self._record(TrialStarted(self.trial, observation))

    def act(self, action: AnyAction, transition: Transition) -> Transition:
        """Write down an action; return what it led to, with the reward that counts."""
        part = transition.reward if self._any_reward and transition.done else 0
        if 0 < part < 1:
            transition = replace(transition, reward=1.0)
        self.last = transition
        self._actions.update(_bytes(f"{action}\n"))
        self._see(transition)
        self._record(Acted(self.trial, self.step, action, transition))
        if 0 < part < 1:
            what = f"the page gave {part:g}; any reward above 0 counts as the full one here"
            self._record(Remark("reward", what, self.trial, self.step))
        self.step += 1
        return transition

    def read(self, html: str) -> None:
        """Note that the agent has read the page."""
        self._seen.update(_bytes(html))

    def _see(self, transition: Transition) -> None:
        data = to_data(transition)
        del data["observation"]["focus"]  # not part of the digests in cassettes
        self._seen.update(_bytes(canonical_json(data)))

    @contextmanager
    def call(
        self, purpose: str, files: Mapping[str, str]
    ) -> Iterator[tuple[Origin, Callable[[Called], None]]]:
        """Make one call; yields its origin, and what writes it down at the place where it began."""
        with self.handed.paused() if self.handed else nullcontext(), self.keeping_errors():
            if self.handed and self.limit is not None:
                self.refuse(self.limit)
            actions, seen = self._actions.hexdigest()[:12], self._seen.hexdigest()[:12]
            origin = Origin(purpose, self.trial, self.step, files, actions, seen)
            with self._mutex:
                place = len(self._events)
                self._events.append(None)
            for observer in self._observers:
                observer.before_call(origin)
            try:
                yield origin, partial(self._record, place=place)
            except (MiniwobError, LimitReached):
                raise
            except Exception:
                self.broken = True
                raise

    def _record(self, event: Event, place: int | None = None) -> None:
        """Write an event down without keys: it is shown and kept, the agent has the original."""
        event = redact(event)
        with self._mutex:
            place = len(self._events) if place is None else place
            self._events[place : place + 1] = [event]
            if isinstance(event, Called):
                self.named[:] = _actions_of(event.completion.tool_calls)
            for observer in self._observers:
                observer.on_event(event)
        if isinstance(event, TrialStarted | Acted) and isinstance(self._page, Remarking):
            for text in self._page.remarks():
                self._record(Remark("page", text, self.trial, self.step))

    def picture(self, action: Action | None = None) -> Shot | None:
        """Return a picture, if an observer wants it and there is something to see."""
        last = self.last
        shown = last is not None and not (last.done or last.observation.dialog)
        if shown and self._cameras and isinstance(self._page, Visible):
            return self._page.look(action)
        return None

    def show(self, shot: Shot, action: AnyAction | None) -> None:
        """Show a picture to the observers that want it."""
        for observer in self._cameras:
            observer.on_picture(shot, self.trial, self.step, action)

    def take_picture(self, action: Action | None = None) -> None:
        """Take a picture for the observers that want it."""
        if shot := self.picture(action):
            self.show(shot, action)

    def note(self, note: Note) -> None:
        """Write down what the agent notes."""
        if not isinstance(note, Note):
            raise TypeError(f"{note!r} is not a Note of pytest_miniwob_agent")
        if isinstance(note, TrialEnded):
            if self._ended:
                return
            self.take_picture()
            self._ended = True
        if isinstance(note, Remark):
            note = replace(note, step=self.step)
        self._record(replace(note, trial=self.trial))

    def end_trial(self, limit: LimitReached | None = None) -> None:
        """Note how the trial ended, if the agent did not."""
        if self.last is None or self._ended:
            return
        ending = Ending.STEP_LIMIT if isinstance(limit, StepLimit) else Ending.INCOMPLETE
        if self.last.done:
            ending = Ending.CORRECT if self.last.solved else Ending.FAILED
        self.note(TrialEnded(ending, str(limit or "")))


def _actions_of(calls: Iterable[ToolCall]) -> Iterator[Action]:
    for call in calls:
        with suppress(BadCall):
            yield action_of_call(call.name, call.arguments)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
