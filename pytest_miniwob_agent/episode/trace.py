"""The trace of an episode: events, the place in the episode, errors and limits, pictures."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NoReturn

from pytest_miniwob_agent.core.actions import Action, AnyAction
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import (
    CallRefused,
    LimitReached,
    MiniwobError,
    StepLimit,
    UsageError,
)
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
from pytest_miniwob_agent.core.protocols import Observer, Page, Remarking, Visible
from pytest_miniwob_agent.core.secrets import mask

# How often an agent may go on after errors and limits before it is stopped.
_PATIENCE = 200


class Stopped(BaseException):
    """Ends an agent that goes on after errors forever; no `except Exception` catches it."""


class Log:
    """The events of an episode, in order, and their observers; without keys, as it is kept."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._events: list[Event | None] = []
        self._mutex = threading.RLock()

    @property
    def events(self) -> tuple[Event, ...]:
        """All events so far; calls are in the order in which they were begun."""
        return tuple(event for event in self._events if event is not None)

    def write(self, event: Event, place: int | None = None) -> None:
        """Write an event down, at the end or at a place that was kept for it."""
        event = mask(event)
        with self._mutex:
            place = len(self._events) if place is None else place
            self._events[place : place + 1] = [event]
            for observer in self._observers:
                observer.on_event(event)

    def begin_call(self, origin: Origin) -> int:
        """Tell the observers of a call that begins, and keep a place for it, which is returned."""
        with self._mutex:
            self._events.append(None)
            place = len(self._events) - 1
        for observer in self._observers:
            observer.before_call(origin)
        return place


class Halt:
    """What ends an episode or a trial: errors of page and model, limits, an agent that goes on.

    Attributes:
        error: the first error of page or model; the episode has ended with it.
        broken: True once a model failed with an exception of another kind.
        limit: the limit that ended the present trial, even if the agent ignored it.
        ended: the error of whatever comes after the episode, from a thread of the agent.
    """

    def __init__(self) -> None:
        self.error: MiniwobError | None = None
        self.broken = False
        self.limit: LimitReached | None = None
        self.ended: UsageError | None = None
        self._refusals = 0

    @property
    def reason(self) -> MiniwobError | LimitReached | None:
        """The error or the limit, if there is one."""
        return self.ended or self.error or self.limit

    def check(self) -> None:
        """Raise the error that has ended the episode, or that it has ended."""
        if error := self.ended or self.error:
            self.refuse(error)

    @contextmanager
    def keeping_errors(self) -> Iterator[None]:
        """Keep the first error of page or model, and raise it again at everything after it."""
        # A framework may turn it into anything: a message to the model, a second try, silence.
        self.check()
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


class Trace:
    """Writes down what happens in an episode, and knows the place in it.

    Attributes:
        log: the events.
        halt: errors and limits.
        limits: the episode's.
        trial: the present trial, from 1; `step` is its number of actions so far.
        last: the last transition of the trial; None before the first trial.
    """

    def __init__(self, page: Page, observers: Sequence[Observer], limits: Limits) -> None:
        self.log = Log(observers)
        self.halt = Halt()
        self.trial = self.step = 0
        self.limits = limits
        self.last: Transition | None = None
        self._page = page
        self._watching = [observer for observer in observers if observer.wants_pictures]
        self._ended = True
        self._actions = hashlib.sha256()
        self._seen = hashlib.sha256()

    @property
    def over(self) -> bool:
        """True once the page has judged, and there is no further trial to play."""
        last = self.last
        most = self.limits.trials
        return last is not None and (last.solved or (last.done and self.trial == most))

    @property
    def refused(self) -> CallRefused | None:
        """The error of a call that the server refused, if the agent has done nothing since."""
        done = (event for event in reversed(self.log.events) if not isinstance(event, Note))
        last = next(done, None)
        if not isinstance(last, Called) or last.completion.status is None:
            return None
        return CallRefused(f"{last.purpose} call: the server refused it: {last.completion.refusal}")

    def start_trial(self, observation: Observation) -> None:
        self.trial += 1
        if isinstance(self.halt.limit, StepLimit):
            self.halt.limit = None
        self.step = 0
        self.last = Transition(observation)
        self._ended = False
        self._actions.update(b"reset\n")
        self._see(self.last)
        self._write(TrialStarted(self.trial, observation))

    def act(self, action: AnyAction, transition: Transition) -> Transition:
        """Write down an action; return what it led to, with the reward that counts."""
        part = transition.reward if self.limits.any_reward and transition.done else 0
        if 0 < part < 1:
            transition = replace(transition, reward=1.0)
        self.last = transition
        self._actions.update(_bytes(f"{action}\n"))
        self._see(transition)
        self._write(Acted(self.trial, self.step, action, transition))
        if 0 < part < 1:
            what = f"the page gave {part:g}; any reward above 0 counts as the full one here"
            self.log.write(Remark("reward", what, self.trial, self.step))
        self.step += 1
        return transition

    def read(self, html: str) -> None:
        """Note that the agent has read the page."""
        self._seen.update(_bytes(html))

    def _see(self, transition: Transition) -> None:
        data = to_data(transition)
        del data["observation"]["focus"]  # not part of the digests in cassettes
        self._seen.update(_bytes(canonical_json(data)))

    def _write(self, event: TrialStarted | Acted) -> None:
        self.log.write(event)
        if isinstance(self._page, Remarking):
            for text in self._page.remarks():
                self.log.write(Remark("page", text, self.trial, self.step))

    @contextmanager
    def call(
        self, purpose: str, files: Mapping[str, str]
    ) -> Iterator[tuple[Origin, Callable[[Called], None]]]:
        """Make one call; yields its origin, and what writes it down at the place where it began."""
        with self.halt.keeping_errors():
            actions, seen = self._actions.hexdigest()[:12], self._seen.hexdigest()[:12]
            origin = Origin(purpose, self.trial, self.step, files, actions, seen)
            place = self.log.begin_call(origin)
            try:
                yield origin, partial(self.log.write, place=place)
            except LimitReached as limit:
                self.halt.refuse(limit)
            except MiniwobError:
                raise
            except Exception:
                self.halt.broken = True
                raise

    def look(self, action: Action | None = None) -> Shot | None:
        """Return a picture, if an observer wants it and there is something to see."""
        last, page = self.last, self._page
        shown = last is not None and not (last.done or last.observation.dialog)
        return page.look(action) if shown and self._watching and isinstance(page, Visible) else None

    def show(self, shot: Shot, action: AnyAction | None) -> None:
        for observer in self._watching:
            observer.on_picture(shot, self.trial, self.step, action)

    def take_picture(self, action: Action | None = None) -> None:
        if shot := self.look(action):
            self.show(shot, action)

    def note(self, note: Note) -> None:
        if not isinstance(note, Note):
            raise TypeError(f"{note!r} is not a Note of pytest_miniwob_agent")
        if isinstance(note, TrialEnded):
            if not isinstance(note.ending, Ending):
                raise TypeError(f"{note.ending!r} is not an Ending, such as Ending.INCOMPLETE")
            if self._ended:
                return
            self.take_picture()
            self._ended = True
            judged = self.last is None or self.last.done or note.ending is Ending.EXCEPTION
            if self.limits.graded and not judged:
                note = replace(note, ending=Ending.CORRECT, graded=True)
            elif note.graded:  # which only this place may say
                note = replace(note, graded=False)
        if isinstance(note, Remark):
            note = replace(note, step=self.step)
        self.log.write(replace(note, trial=self.trial))

    def end_trial(self, limit: LimitReached | None = None) -> None:
        """Note how the trial ended, if the agent did not."""
        if self.last is None or self._ended:
            return
        ending = Ending.STEP_LIMIT if isinstance(limit, StepLimit) else Ending.INCOMPLETE
        if self.last.done:
            ending = Ending.CORRECT if self.last.solved else Ending.FAILED
        self.note(TrialEnded(ending, str(limit or "")))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
