"""One run of an item: its recording, its episode, and the outcome, which is made here and once."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.agents.registry import source_digest
from pytest_miniwob_agent.builtin import joined
from pytest_miniwob_agent.cassettes.files import Record
from pytest_miniwob_agent.cassettes.tape import sent_parts
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import (
    BudgetReached,
    Drift,
    MiniwobError,
    ModelError,
    NotRecorded,
    Pending,
    RecordingStopped,
)
from pytest_miniwob_agent.core.events import Episode, Event, Origin
from pytest_miniwob_agent.core.outcome import (
    RECORD_IT,
    DriftDetails,
    Outcome,
    Result,
    Status,
)
from pytest_miniwob_agent.core.protocols import (
    Agent,
    Model,
    Observer,
    Page,
)
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_lines
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.models.budget import ENDED, Budget
from pytest_miniwob_agent.plugin.collection import Problem
from pytest_miniwob_agent.plugin.models import open_recording
from pytest_miniwob_agent.plugin.reading import get_test_id, known_secrets, record_item_command
from pytest_miniwob_agent.plugin.state import STATE
from pytest_miniwob_agent.plugin.tapes import Tapes

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.recording import RecordedModel


REMARK = "miniwob_remark"
"""Name of the property of an item with a remark on its cassette, shown at the end of the run."""


class _Log(Observer):
    """Keeps the prompt files that the calls were made of, and the events of the latest episode."""

    def __init__(self) -> None:
        self.prompts: dict[str, str] = {}
        self.events: list[Event] = []

    def before_episode(self, case: Case) -> None:
        self.events = []

    def before_call(self, origin: Origin) -> None:
        self.prompts.update(origin.prompts)

    def on_event(self, event: Event) -> None:
        self.events.append(event)


class ItemRun:
    """One run of an item; plugins may run an item several times.

    Attributes:
        problem: the item's case, limits, page, agent and model.
        passed: True if the body of the test passed, False if a check failed, None if it broke off.
        raised: what `play` raised.
        outcome: the outcome, once the episode is over or the item has failed without one.
        reported: True once a report of pytest has the outcome.
    """

    def __init__(self, item: pytest.Item, problem: Problem) -> None:
        self.problem = problem
        self.passed: bool | None = None
        self.raised: BaseException | None = None
        self.outcome: Outcome | None = None
        self.reported = False
        self._item = item
        self._state = item.config.stash[STATE]
        self._settings = self._state.settings
        self._recorded: RecordedModel | None = None
        self.status: Status | None = None
        self.drift: DriftDetails | None = None
        self._log = _Log()
        self._source: dict[str, str] = {}
        self._play_again: Callable[..., Episode] | None = None
        self._tapes: Tapes | None = None

    @contextmanager
    def open_model(self, agent: Agent, limits: Limits) -> Iterator[Model]:
        """Open the item's tape and yield the model behind it; at the end, close the item.

        Raises:
            UsageError, CassetteError: see `open_recording`.
        """
        with open_recording(self._item, self.problem, agent) as llm:
            self._recorded = llm
            self._item.user_properties += [(REMARK, remark) for remark in llm.files.remarks]
            yield llm
            llm.finish(limits, passed=self.passed)

    def play(self, agent: Agent, llm: Model, page: Page, limits: Limits) -> Episode:
        """Play the episode, and make the outcome.

        If the browser is lost, the episode begins again in a new one, once, and the calls that were
        recorded until then are replayed.

        Raises:
            pytest.fail.Exception: the run does not show whether the agent solves the item.
            pytest.skip.Exception: the item waits for a completion or for a larger budget.
        """
        __tracebackhide__ = True  # a traceback of the agent's exception begins in its own file
        name = getattr(llm, "model", type(llm).__name__)
        case, raising = self.problem.case, self._item.config.getoption("usepdb", False)
        self._source = source_digest(agent)

        def play_episode(llm: Model, *observers: Observer) -> Episode:
            __tracebackhide__ = True
            with self._state.loops.running(agent):
                return run_episode(
                    case, agent, page, llm, limits, model=name, observers=observers, raising=raising
                )

        self._play_again = play_episode
        tapes = self._tapes = Tapes(case, self._recorded, page, self._remark)
        observers = self._observers(agent.name, name, page)
        result: dict[str, Any] = {}

        try:
            episode = tapes.play(partial(play_episode, llm, self._log, *observers), limits)
            status = Status.SOLVED if episode.solved else Status.UNSOLVED
            result = {"status": status, "episode": episode, "payload": getattr(page, "payload", "")}
            return episode
        except MiniwobError as error:
            result, self.raised = self._inconclusive(error)
            raise self.raised from None
        except Exception as error:
            result, self.raised = _failure(error), error
            raise
        finally:
            self.status, self.drift = result.get("status"), result.get("drift")
            for observer in observers:
                result |= observer.before_outcome(self)
            outcome = self._make_outcome(agent.name, name, limits, **result)
            for observer in observers:
                observer.after_item(outcome)

    def fail_without_episode(self, error: BaseException) -> None:
        """Make the outcome of an item that failed before its episode, or that has no episode."""
        agent, model = self.problem.setup.agent, self.problem.setup.model or ""
        outcome = self._make_outcome(agent, model, self.problem.limits, **_failure(error))
        for observer in self._observers(agent, model, None):
            observer.after_item(outcome)

    def _observers(self, agent: str, model: str, page: Page | None) -> list[Observer]:
        observe = self._item.config.hook.pytest_miniwob_observer
        return joined(observe(item=self._item, agent=agent, model=model, page=page))

    @property
    def replayable(self) -> bool:
        """True if the model is behind the item's cassette."""
        return self._recorded is not None

    @property
    def on_live_app(self) -> bool:
        """True if recorded answers are played on the app as it is now."""
        return self._tapes is not None and self._tapes.checked

    def replay(self, *observers: Observer, as_recorded: bool = False) -> None:
        """Play the item again for observers alone (`PlayedItem`)."""
        assert self._tapes is not None
        assert self._play_again is not None
        with self._tapes.replaying(as_recorded=as_recorded) as llm:
            self._play_again(llm, *observers)

    def _remark(self, text: str) -> None:
        self._item.user_properties.append((REMARK, text))

    def _make_outcome(self, agent: str, model: str, limits: Limits, **parts: Any) -> Outcome:
        """Make the outcome without keys; its events were masked as they happened.

        A request that waits was searched for keys, and is sent as it is.
        """
        llm, params, sent = self._recorded, self._settings.kept_params, {}
        page = self._tapes and self._tapes.page
        episode, drift = parts.pop("episode", None), parts.get("drift")
        events = tuple(self._log.events)
        played = episode or Episode(self.problem.case, agent, model, events)
        causes = ", ".join(cause.kind for cause in drift.causes) if drift else ""
        if llm is not None:
            sent = {**sent_parts(llm.tape.made, params), **self._source}
            parts |= {
                "cassette": llm.files.stem,
                "unusable": llm.server.unusable,
                **llm.tape.usage,
            }
        request = parts.pop("request", None)
        outcome = mask(
            Outcome(
                result=Result.of(
                    played,
                    parts.pop("status", Status.ERROR),
                    parts.pop("payload", ""),
                    test=get_test_id(self._item),
                    params=params,
                    prompts=self._log.prompts,
                    sent=sent,
                    limits=limits,
                    app="live" if self.on_live_app else "",
                    reason=causes or parts.get("error", ""),
                ),
                message=mask(parts.pop("message", ""), known_secrets(self._item.config)),
                app_replayed=bool(page and page.replayed),
                **parts,
            )
        )
        events = () if episode else events
        self.outcome = replace(outcome, episode=episode, events=events, request=request)
        return self.outcome

    def _inconclusive(self, error: MiniwobError) -> tuple[dict[str, Any], BaseException]:
        result: dict[str, Any] = {}
        match error:
            case Pending():
                result = {"request": error.request, "group": error.group}
                result |= {"status": Status.WAITING}
                return result, pytest.skip.Exception("waiting for a completion")
            case BudgetReached():
                if str(error) == ENDED:
                    self._item.session.shouldstop = ENDED
                result = {"status": Status.BUDGET, "message": str(error)}
                again = Record(self._settings.record).again
                return result, pytest.skip.Exception(f"{error}; {again} to continue from here")
            case ModelError() if self._state.shared and (
                reason := Budget(self._state.shared).stop_after(error)
            ):
                self._item.session.shouldstop = reason
            case RecordingStopped():
                self._item.session.shouldstop = str(error).splitlines()[0]
            case Drift():
                drift = DriftDetails(str(error), error.causes, error.changes, error.pictures)
                result = {"status": Status.DRIFTED, "drift": drift}
        message = str(error)
        if isinstance(error, NotRecorded):
            message = f"{message}{RECORD_IT}{record_item_command(self._item)}"
        message = sanitize_lines(mask(message))
        result |= {"error": type(error).__name__, "message": message}
        return result, pytest.fail.Exception(message, pytrace=False)


def _failure(error: BaseException) -> dict[str, Any]:
    lines = traceback.format_exception_only(error)
    return {"error": type(error).__name__, "message": "".join(lines).strip()}


RUN = pytest.StashKey[ItemRun]()
"""Key of the present run in an item's stash."""
