"""One run of an item: its recording, its episode, and the outcome, which is made here and once."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.agents.registry import source_of
from pytest_miniwob_agent.builtin import joined
from pytest_miniwob_agent.cassettes.drift import diff
from pytest_miniwob_agent.cassettes.folder import family_of, model_folder, stem
from pytest_miniwob_agent.cassettes.tape import Request, sent_parts
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import (
    BrowserLost,
    BudgetReached,
    CallRefused,
    Drift,
    MiniwobError,
    ModelError,
    NotRecorded,
    Pending,
    PermanentError,
    RecordingStopped,
    UsageError,
)
from pytest_miniwob_agent.core.events import Episode, Event, Origin
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
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
    Normalizer,
    Observer,
    Page,
    Versioned,
)
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_line, sanitize_lines
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.models.budget import ENDED, Budget
from pytest_miniwob_agent.plugin.collection import Problem
from pytest_miniwob_agent.plugin.reading import id_of_test, record_item_command
from pytest_miniwob_agent.plugin.state import STATE

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.recorded_app import RecordedApp
    from pytest_miniwob_agent.cassettes.recording import RecordedModel
    from pytest_miniwob_agent.models.client import LiveModel, OnUnusable


REMARK = "miniwob_remark"
"""Name of the property of an item with a remark on its cassette, shown at the end of the run."""

IN_VAIN = 3
"""So many items in a row without an answer of the server end the run."""

IF_RANDOM = (
    "If that is a time or a random value, name it in AppTask(scrub=...),",
    "or freeze the app's clock and set AppTask(clock=...)",
)

NO_CALLS = (
    "an item was recorded without a single model call, so there is nothing to replay "
    "elsewhere: do the agent's calls go through `llm`, and is its framework's own cache off?"
)


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
        app: its app, if the task is on one.
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
        self.app: RecordedApp | None = None
        self.status: Status | None = None
        self.drift: DriftDetails | None = None
        self._log = _Log()
        self._source: dict[str, str] = {}
        self._play_again: Callable[..., Episode] | None = None

    @contextmanager
    def open_model(self, agent: Agent, limits: Limits) -> Iterator[Model]:
        """Open the item's tape and yield the model behind it; at the end, close the item.

        Raises:
            UsageError: no model is named.
            CassetteError: see `RecordedModel` and `ItemFiles`.
        """
        from pytest_miniwob_agent.cassettes.files import ItemFiles, Record
        from pytest_miniwob_agent.cassettes.recording import RecordedModel, Server

        settings, case, model = self._settings, self.problem.case, self.problem.setup.model
        if model is None:
            raise UsageError(
                "no model is named: give --miniwob-model, or miniwob_model in the ini file. "
                f"Recorded ones are folders of {settings.cassettes / agent.name}"
            )
        folder = model_folder(agent.name, model)
        if case.setup not in ("", folder):
            raise UsageError(
                f"the miniwob marker names {case.setup}, but the fixture miniwob_agent gives the "
                f"agent {agent.name!r}: leave out the fixture, or the marker's agents"
            )
        files = ItemFiles(
            settings.cassettes,
            stem(folder, case),
            Record(settings.record),
            family=family_of(agent),
            state=settings.pending.parent,
            run=self._state.shared,
            allow=app.allow if (app := self.problem.page.app) else (),
            on_wait=self._say,
        )
        budget = self._budget(model) if files.mode.live else None

        def connect(on_unusable: OnUnusable) -> LiveModel:
            from pytest_miniwob_agent.models.client import LiveModel

            if files.existed and (forecast := self._state.take_drift_forecast()):
                self._say(forecast)
            return LiveModel(
                model,
                settings.llm_params,
                base_url=settings.base_url,
                key_variable=settings.key_variable,
                budget=budget,
                on_unusable=on_unusable,
                past_mocks=self._state.past_mocks,
            )

        normalize = agent.normalize if isinstance(agent, Normalizer) else None
        with closing(files), closing(Server(connect, budget)) as server:
            llm = RecordedModel(files, server, model, settings.kept_params, normalize)
            self._recorded = llm
            self._item.user_properties += [(REMARK, remark) for remark in files.remarks]
            yield llm
            llm.finish(limits, passed=self.passed)

    def _budget(self, model: str) -> Budget | None:
        """Return the limits on the run's live calls, for those of a model."""
        if self._state.shared is None:
            return None
        # What is under way when the cost is reached adds to it.
        workers = getattr(self._item.config, "workerinput", {}).get("workercount", 1)
        settings = self._settings
        return Budget(
            self._state.shared,
            calls=settings.max_calls,
            cost=settings.max_cost,
            price=settings.price_of(model),
            concurrency=settings.concurrency or (workers if settings.max_cost else None),
            controller=self._state.controller,
        )

    def _say(self, text: str) -> None:
        """Show a line while an item runs, whose output is captured."""
        capture: Any = self._item.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            print(f"\n{text}", file=sys.stderr, flush=True)

    def play(self, agent: Agent, llm: Model, page: Page, limits: Limits) -> Episode:
        """Play the episode, and make the outcome.

        If the browser is lost, the episode begins again in a new one, once, and the calls that were
        recorded until then are replayed.

        Raises:
            pytest.fail.Exception: the run does not show whether the agent solves the item.
            pytest.skip.Exception: the item waits for a completion or for a larger budget.
        """
        __tracebackhide__ = True  # a text of the agent's exception begins in its own file
        name = getattr(llm, "model", type(llm).__name__)
        case, raising = self.problem.case, self._item.config.getoption("usepdb", False)
        self._source = source_of(agent)

        def episode_of(llm: Model, *observers: Observer) -> Episode:
            __tracebackhide__ = True
            with self._state.loops.running(agent):
                return run_episode(
                    case, agent, page, llm, limits, model=name, observers=observers, raising=raising
                )

        self._choose_screens(page)
        self._play_again = episode_of
        observers = self._observers(agent.name, name, page)
        result: dict[str, Any] = {}

        try:
            episode = self._play(partial(episode_of, llm, self._log, *observers))
            if self._recorded is not None:
                self._recorded.end_episode(limits)
                if self._recorded.live and not episode.calls and self.app is None:
                    self._item.user_properties.append((REMARK, NO_CALLS))
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

    def _choose_screens(self, page: Page) -> None:
        """Have the page show the screens of the recording, at its time; without one, of today."""
        tapes = [each for each in (self._recorded and self._recorded.files, self.app) if each]
        recorded = [each.screen_version for each in tapes if each.screen_version]
        version = recorded[0] if recorded else SCREEN_VERSION
        for each in [*tapes, *([page] if isinstance(page, Versioned) else [])]:
            each.screen_version = version
        if self._recorded is not None and self.app is not None:
            files = self._recorded.files
            self.app.clock = self.app.clock if files.clock is None else files.clock
            files.clock = self.app.clock

    def _play(self, play: Callable[[], Episode]) -> Episode:
        """Play an episode; again in a new browser if it is lost, or with an app after its tape."""
        __tracebackhide__ = True
        recorded, app, lost = self._recorded, self.app, False
        if recorded is not None and app is not None:
            recorded.on_other_page = self._tell_other_page

        def attempt() -> Episode:
            __tracebackhide__ = True
            if app is None:
                return play()
            replay: AbstractContextManager[None] = nullcontext()
            if recorded is not None:
                recorded.checks_app = app.checked
                if app.checked or app.can_go_live:
                    replay = recorded.replaying()
            with replay:
                episode = self._check_app(app, play) if app.checked else play()
                app.finish(episode.calls, solved=episode.solved)
            if app.remark:
                self._item.user_properties.append((REMARK, app.remark))
            return episode

        while True:
            try:
                return attempt()
            except BrowserLost:
                if recorded is None or lost:  # your own model can't be asked the same again
                    raise
                lost = True
            except NotRecorded:
                if app is None or not app.can_go_live:
                    raise
                app.go_live()
            for one in (recorded, app):
                if one is not None:
                    one.rewind()

    def _check_app(self, app: RecordedApp, play: Callable[[], Episode]) -> Episode:
        """Play an episode on the app as it is now, and say how its requests have changed."""
        __tracebackhide__ = True
        try:
            return play()
        except Drift as drift:
            said = [str(drift)]
            if app.last_request:
                said.append(f"The last request before it: {app.last_request}")
            if "page" in [cause.kind for cause in drift.causes]:
                said += IF_RANDOM
            raise Drift("\n".join(said), drift.causes, drift.changes, drift.pictures) from None
        finally:
            if changed := app.changed_requests():
                shown = sanitize_line(mask("; ".join(changed[:4])))
                remark = f"{self.problem.case}: the app was asked otherwise than recorded: {shown}"
                self._item.user_properties.append((REMARK, remark))

    def _tell_other_page(self, then: Request, now: Request) -> None:
        """Say what an app shows otherwise than at the recording before."""
        case, task = self.problem.case, self.problem.page.app
        if task is None or task.goal_of(case.seed) not in then.text:
            return  # the task is another one
        changed = [line for line in diff(then.text, now.text) if line[:2] in ("- ", "+ ")]
        text = sanitize_line(mask(" ".join(changed[:2])))
        remark = (
            f"{case}: after the same actions, the app shows something else than when "
            f"the item was recorded before: {text}. {' '.join(IF_RANDOM)}"
        )
        self._item.user_properties.append((REMARK, remark))

    def fail_without_episode(self, error: BaseException) -> None:
        """Make the outcome of an item that failed before its episode, or that has none."""
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
        return self.app is not None and self.app.checked

    def replay(self, *observers: Observer, as_recorded: bool = False) -> None:
        """Play the item again for observers alone (`PlayedItem`)."""
        assert self._recorded is not None
        assert self._play_again is not None
        context: AbstractContextManager[None] = nullcontext()
        if self.app is not None:
            context = self.app.as_recorded() if as_recorded else context
            if not as_recorded:
                self.app.rewind()
        with context:
            self._play_again(self._recorded.for_replay(), *observers)

    def _make_outcome(self, agent: str, model: str, limits: Limits, **parts: Any) -> Outcome:
        """Make the outcome without keys; its events were masked as they happened."""
        llm, params, sent = self._recorded, self._settings.kept_params, {}
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
        outcome = mask(
            Outcome(
                result=Result.of(
                    played,
                    parts.pop("status", Status.ERROR),
                    parts.pop("payload", ""),
                    test=id_of_test(self._item),
                    params=params,
                    prompts=self._log.prompts,
                    sent=sent,
                    limits=to_data(limits),
                    app="live" if self.app and self.app.checked else "",
                    reason=causes or parts.get("error", ""),
                ),
                message=mask(parts.pop("message", ""), self._settings.sent_only_texts),
                app_replayed=self.app is not None and self.app.replayed,
                **parts,
            )
        )
        self.outcome = replace(outcome, episode=episode, events=() if episode else events)
        return self.outcome

    def _inconclusive(self, error: MiniwobError) -> tuple[dict[str, Any], BaseException]:
        """Return the parts of the outcome that an error decides, and pytest's skip or failure."""
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
                return result, pytest.skip.Exception(f"{error}; run again to continue from here")
            case ModelError() if reason := self._reason_to_stop(error):
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

    def _reason_to_stop(self, error: ModelError) -> str:
        """Return why an error ends the run, empty if not; the workers then make no more calls."""
        if self._state.shared is None:
            return ""

        budget, reason = Budget(self._state.shared), ""
        if isinstance(error, CallRefused):
            return ""
        if isinstance(error, PermanentError):
            if not (error.of_call and budget.recorded().calls):
                reason = "every model call would fail"
        elif budget.count_unanswered() >= IN_VAIN:
            reason = (
                f"the server answered no call of {IN_VAIN} items in a row, each of which was sent "
                "several times"
            )
        if reason:
            budget.stop(str(error))
        return reason


def _failure(error: BaseException) -> dict[str, Any]:
    """Return the parts of the outcome that an error of another kind decides."""
    lines = traceback.format_exception_only(error)
    return {"error": type(error).__name__, "message": "".join(lines).strip()}


RUN = pytest.StashKey[ItemRun]()
"""Key of the present run in an item's stash."""
