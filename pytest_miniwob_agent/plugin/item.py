"""One run of an item: its recording, its episode, and the outcome, which is made here and once."""

from __future__ import annotations

import json
import traceback
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.agents.registry import source_digest
from pytest_miniwob_agent.builtin import joined
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.tape import sent_parts
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import (
    BudgetReached,
    Drift,
    MiniwobError,
    ModelError,
    NotRecorded,
    Pending,
    RecordingStopped,
    UsageError,
)
from pytest_miniwob_agent.core.events import Called, Episode, Event, Origin
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
    Requesting,
)
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_line, sanitize_lines
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.models.budget import ENDED, Budget
from pytest_miniwob_agent.plugin.collection import Problem
from pytest_miniwob_agent.plugin.models import open_grader_model, open_recording
from pytest_miniwob_agent.plugin.reading import get_test_id, known_secrets, record_item_command
from pytest_miniwob_agent.plugin.state import STATE
from pytest_miniwob_agent.plugin.tapes import Tapes

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.recording import RecordedModel


FAILED_CHECK = (AssertionError, pytest.fail.Exception)
"""What a check of a test raises if it fails."""

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
        in_body: True while that runs.
        raised: what `play` raised.
        outcome: the outcome, once the item has come to its end.
    """

    def __init__(self, item: pytest.Item, problem: Problem) -> None:
        self.problem = problem
        self.passed: bool | None = None
        self.in_body = False
        self.raised: BaseException | None = None
        self.outcome: Outcome | None = None
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
        self._observers: list[Observer] = []
        self._end: dict[str, Any] = {}  # what the outcome is made of
        self._failed: dict[str, Any] = {}  # what replaces that, as the test's body failed

    @contextmanager
    def open_model(self, agent: Agent, limits: Limits) -> Iterator[Model]:
        """Open the item's tape and yield the model behind it; at the end, close the item.

        Raises:
            UsageError, CassetteError: see `open_recording`.
        """
        with open_recording(self._item, self.problem, agent) as llm:
            self._recorded = llm
            remarks = llm.files.remarks
            try:
                yield llm
                llm.finish(limits, passed=self.passed)
                if llm.tape.added or llm.tape.deferred:
                    seen = [event for event in self._log.events if not isinstance(event, Called)]
                    remarks += llm.find_made_up(
                        agent.name,
                        seen=canonical_json(to_data(seen)),
                        live_clock=self.problem.page.app is not None,
                    )
            finally:
                self._item.user_properties += [(REMARK, remark) for remark in remarks]

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
        self._observe(agent.name, name, page)
        result: dict[str, Any] = {}

        try:
            episode = tapes.play(partial(play_episode, llm, self._log, *self._observers), limits)
            if isinstance(page, Requesting):
                made = tuple(page.requests)
                episode = replace(episode, requests=made, downloads=page.downloads)
            grade = self._item.config.hook.pytest_miniwob_grade
            grades = joined(grade(item=self._item, problem=self.problem, episode=episode))
            episode = replace(episode, grades=tuple(chain.from_iterable(grades)))
            if limits.graded and not episode.grades:
                raise UsageError(f"{case} has neither a judge nor graders: name some")
            status = Status.SOLVED if episode.solved else Status.UNSOLVED
            fields = self._item.config.hook.pytest_miniwob_fields
            added = joined(fields(item=self._item, problem=self.problem, episode=episode))
            extra = json.loads(canonical_json(dict(ChainMap(*added))))
            kept = replace(episode, requests=(), downloads={})
            result = {"status": status, "episode": kept, "payload": getattr(page, "payload", "")}
            result["extra"] = extra
            return episode
        except MiniwobError as error:
            result, self.raised = _inconclusive(self._item, error)
            raise self.raised from None
        except SystemExit as error:  # which would keep pytest from tearing the item down
            said = f"the code of the item ends the process: exit({error.code!r})"
            self.raised = RuntimeError(said).with_traceback(error.__traceback__)
            result = _failure(self.raised)
            raise self.raised from None
        except Exception as error:
            result, self.raised = _failure(error), error
            raise
        finally:
            self.status, self.drift = result.get("status"), result.get("drift")
            for observer in self._observers:
                result |= observer.before_outcome(self)
            self._end = {"agent": agent.name, "model": name, "limits": limits, **result}

    @contextmanager
    def run_body(self) -> Iterator[None]:
        """Run the body of the item's test, which decides on an item that its page calls solved.

        If a check fails, the item is unsolved. A model call that can't be answered makes it
        inconclusive, as one of the agent does, and any other exception an error.

        Raises:
            pytest.fail.Exception, pytest.skip.Exception: see `play`.
        """
        __tracebackhide__ = True
        self.passed, self._failed, self.in_body = None, {}, True  # a plugin may repeat the body
        try:
            yield
            if self.passed is None and not self._failed:  # by a subtest
                self.passed = True
        except BaseException as error:
            if (raised := self.note(error)) is error:
                raise
            raise raised from None
        finally:
            self.in_body = False

    def note(self, error: BaseException) -> BaseException:
        """Take note of what the body has raised, or a subtest of it; return what to raise."""
        match error:
            case pytest.xfail.Exception():  # a failed check that is expected
                self.passed = False
            case _ if isinstance(error, FAILED_CHECK):
                self.passed = False
                first = {"status": Status.UNSOLVED, "assertion": _failed_line(error)}
                self._failed = self._failed or first
            case MiniwobError():
                self._failed, self.raised = _inconclusive(self._item, error)
                self._failed |= {"episode": None}
                return self.raised
            case Exception():
                self._failed = {"status": Status.ERROR, "episode": None, **_failure(error)}
        return error

    def end(self, error: BaseException | None) -> Outcome | None:
        """Tell observers the outcome and return it; None of an item that was skipped.

        One that failed without an episode has an outcome of its error.
        """
        parts = self._end
        if not parts and error is not None:
            agent, model = self.problem.setup.agent, self.problem.setup.model or ""
            self._observe(agent, model, None)
            parts = {"agent": agent, "model": model, "limits": self.problem.limits}
            parts |= self._failed if error is self.raised else _failure(error)
        if parts:
            failed = self._failed if self.status is Status.SOLVED else {}
            self.outcome = self._make_outcome(**parts | failed)
            for observer in self._observers:
                observer.after_item(self.outcome)
        return self.outcome

    def open_grader_model(
        self, model: str, base_url: str | None, key_variable: str | None
    ) -> AbstractContextManager[RecordedModel]:
        """Return a model for a grader (`models.open_grader_model`)."""
        config = self._item.config
        return open_grader_model(config, self._recorded, model, base_url, key_variable)

    def _observe(self, agent: str, model: str, page: Page | None) -> None:
        observe = self._item.config.hook.pytest_miniwob_observer
        found = observe(item=self._item, agent=agent, model=model, page=page)
        self._observers = joined(found)

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
            agents = [call for call in llm.tape.made if not call.of_grader]
            sent = {**sent_parts(agents, params), **self._source}
            parts |= {
                "cassette": llm.files.stem,
                "unusable": llm.server.unusable,
                "graders": llm.tape.graders,
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
                    assertion=parts.pop("assertion", ""),
                    extra=parts.pop("extra", {}),
                    reason=causes or parts.get("error", ""),
                ),
                message=mask(parts.pop("message", ""), known_secrets(self._item.config)),
                app_replayed=bool(page and page.replayed),
                **parts,
            )
        )
        events = () if episode else events
        return replace(outcome, episode=episode, events=events, request=request)


def _inconclusive(item: pytest.Item, error: MiniwobError) -> tuple[dict[str, Any], BaseException]:
    """Return what the outcome has of an error of ours, and what to raise for it."""
    result: dict[str, Any] = {}
    state = item.config.stash[STATE]
    match error:
        case Pending():
            result = {"request": error.request, "group": error.group}
            result |= {"status": Status.WAITING}
            return result, pytest.skip.Exception("waiting for a completion")
        case BudgetReached():
            if str(error) == ENDED:
                item.session.shouldstop = ENDED
            result = {"status": Status.BUDGET, "message": str(error)}
            again = Record(state.settings.record).again
            return result, pytest.skip.Exception(f"{error}; {again} to continue from here")
        case ModelError() if state.shared and (reason := Budget(state.shared).stop_after(error)):
            item.session.shouldstop = reason
        case RecordingStopped():
            item.session.shouldstop = str(error).splitlines()[0]
        case Drift():
            drift = DriftDetails(str(error), error.causes, error.changes, error.pictures)
            result = {"status": Status.DRIFTED, "drift": drift}
    message = str(error)
    if isinstance(error, NotRecorded):
        message = f"{message}{RECORD_IT}{record_item_command(item)}"
    message = sanitize_lines(mask(message))
    result |= {"error": type(error).__name__, "message": message}
    return result, pytest.fail.Exception(message, pytrace=False)


def _failure(error: BaseException) -> dict[str, Any]:
    lines = traceback.format_exception_only(error)
    return {"error": type(error).__name__, "message": "".join(lines).strip()}


def _failed_line(error: BaseException) -> str:
    failed = pytest.ExceptionInfo.from_exception(error)
    shown = failed.traceback.filter(failed) or failed.traceback
    return sanitize_line(str(shown[-1].statement).strip())


RUN = pytest.StashKey[ItemRun]()
"""Key of the present run in an item's stash."""
