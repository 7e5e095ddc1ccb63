"""One run of an item: its recording, its episode, and the outcome, which is made here and once."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import (
    BrowserLost,
    BudgetReached,
    Drift,
    MiniwobError,
    NotRecorded,
    Pending,
    PermanentError,
    RecordingStopped,
    UsageError,
)
from pytest_miniwob_agent.core.events import Episode, Event, Origin
from pytest_miniwob_agent.core.outcome import RECORD_IT, DriftDetails, Outcome, Status
from pytest_miniwob_agent.core.protocols import Agent, Model, Normalizer, Observer, Page
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import sanitize_lines
from pytest_miniwob_agent.plugin.items.collection import limits_of, test_of
from pytest_miniwob_agent.plugin.items.pictures import PictureTaker
from pytest_miniwob_agent.plugin.options.commands import record_item_command
from pytest_miniwob_agent.plugin.run.state import STATE

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.tape.recording import Recording
    from pytest_miniwob_agent.models.budget import Budget
    from pytest_miniwob_agent.models.client import LiveModel

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
        passed: True if the body of the test passed, False if a check failed, None if it broke off.
        outcome: the outcome, once the episode is over or the item has failed without one.
    """

    def __init__(self, item: pytest.Item, case: Case) -> None:
        self.passed: bool | None = None
        self.outcome: Outcome | None = None
        self._item = item
        self._case = case
        self._state = item.config.stash[STATE]
        self._settings = self._state.settings
        self._recording: Recording | None = None
        self._log = _Log()

    @contextmanager
    def open_model(self, agent: Agent, limits: Limits) -> Iterator[Model]:
        """Open the item's recording and yield the model behind it; at the end, close the item.

        Raises:
            UsageError: no model is named.
            CassetteError: see `Recording`.
        """
        from pytest_miniwob_agent.cassettes.folder.stems import stem
        from pytest_miniwob_agent.cassettes.tape.model import RecordedModel
        from pytest_miniwob_agent.cassettes.tape.recording import Record, Recording

        settings = self._settings
        if settings.model is None:
            raise UsageError(
                "no model is named: give --miniwob-model, or miniwob_model in the ini file. "
                f"Recorded ones are folders of {settings.cassettes / agent.name}"
            )
        recording = self._recording = Recording(
            settings.cassettes,
            stem(agent.name, settings.model, self._case),
            Record(settings.record),
            state=settings.pending.parent,
            run=self._state.shared,
            normalize=agent.normalize if isinstance(agent, Normalizer) else None,
        )
        self._item.user_properties += [(REMARK, remark) for remark in recording.remarks]
        with closing(recording):
            budget = self._budget() if recording.live else None

            def connect() -> LiveModel:
                from pytest_miniwob_agent.models.client import LiveModel

                return LiveModel(
                    settings.model or "",
                    settings.llm_params,
                    base_url=settings.base_url,
                    key_variable=settings.key_variable,
                    budget=budget,
                    on_unusable=recording.add_unusable,
                )

            params = settings.kept_params
            with closing(RecordedModel(recording, settings.model, params, connect, budget)) as llm:
                yield llm
            recording.finish(limits, passed=self.passed)

    def _budget(self) -> Budget:
        from pytest_miniwob_agent.models.budget import Budget

        settings = self._settings
        assert self._state.shared is not None
        return Budget(
            self._state.shared,
            calls=settings.max_calls,
            cost=settings.max_cost,
            price=settings.price,
            concurrency=settings.concurrency,
        )

    def play(self, agent: Agent, llm: Model, page: Page, limits: Limits) -> Episode:
        """Play the episode, and make the outcome.

        If the browser is lost, the episode begins again in a new one, once, and the calls that were
        recorded until then are replayed.

        Raises:
            pytest.fail.Exception: the run does not show whether the agent solves the item.
            pytest.skip.Exception: the item waits for a completion or for a larger budget.
        """
        from pytest_miniwob_agent.episode import run_episode

        name = getattr(llm, "model", type(llm).__name__)

        def episode_of(llm: Model, *observers: Observer) -> Episode:
            return run_episode(
                self._case, agent, page, llm, limits, model=name, observers=observers
            )

        pictures = PictureTaker(self._settings, page)
        observe = self._state.observe
        watcher = observe(page) if observe else Observer()
        result: dict[str, Any] = {}
        try:
            try:
                episode = episode_of(llm, self._log, pictures, watcher)
            except BrowserLost:
                if self._recording is None:  # your own model can't be asked the same again
                    raise
                self._recording.rewind()
                episode = episode_of(llm, self._log, pictures, watcher)
            if self._recording is not None:
                self._recording.end_episode(limits)
            status = Status.SOLVED if episode.solved else Status.UNSOLVED
            result = {"status": status, "episode": episode}
            return episode
        except MiniwobError as error:
            result, raised = self._inconclusive(error)
            raise raised from None
        except Exception as error:
            result = _failure(error)
            raise
        finally:
            if pictures.wanted(result.get("status")):
                self._retake_pictures(pictures, llm, episode_of)
            result |= {"pictures": tuple(pictures.pictures), "pictures_note": pictures.note}
            watcher.after_item(self._make_outcome(agent.name, name, limits, **result))

    def fail_without_episode(self, error: BaseException) -> None:
        """Make the outcome of an item that failed before its episode, or that has none."""
        settings = self._settings
        self._make_outcome(
            settings.agent, settings.model or "", limits_of(self._item), **_failure(error)
        )

    def _make_outcome(self, agent: str, model: str, limits: Limits, **result: Any) -> Outcome:
        """Make the outcome without keys; its events were redacted as they happened."""
        episode = result.pop("episode", None)
        recording = self._recording
        if recording is not None:
            result |= {
                "cassette": recording.stem,
                "replayed": recording.replayed,
                "recorded": recording.recorded,
                "unusable": recording.unusable,
                "left": recording.left,
            }
        outcome = redact(
            Outcome(
                case=self._case,
                agent=agent,
                model=model,
                status=result.pop("status", Status.ERROR),
                test=test_of(self._item),
                params=self._settings.kept_params,
                prompts=self._log.prompts,
                limits=limits,
                message=redact(result.pop("message", ""), self._settings.sent_only_texts),
                **result,
            )
        )
        events = () if episode is not None else tuple(self._log.events)
        self.outcome = replace(outcome, episode=episode, events=events)
        return self.outcome

    def _inconclusive(self, error: MiniwobError) -> tuple[dict[str, Any], BaseException]:
        """Return the parts of the outcome that an error decides, and pytest's skip or failure."""
        result: dict[str, Any] = {}
        match error:
            case Pending():
                result = {"status": Status.WAITING, "request": error.request}
                return result, pytest.skip.Exception("waiting for a completion")
            case BudgetReached():
                result = {"status": Status.BUDGET, "message": str(error)}
                return result, pytest.skip.Exception(f"{error}; run again to continue from here")
            case PermanentError() if self._stops_run(error):
                self._item.session.shouldstop = "every model call would fail"
            case RecordingStopped():
                self._item.session.shouldstop = str(error).splitlines()[0]
            case Drift():
                drift = DriftDetails(str(error), error.causes, error.changes, error.pictures)
                result = {"status": Status.DRIFTED, "drift": drift}
        message = str(error)
        if isinstance(error, NotRecorded):
            message = f"{message}{RECORD_IT}{record_item_command(self._item)}"
        message = sanitize_lines(redact(message))
        result |= {"error": type(error).__name__, "message": message}
        return result, pytest.fail.Exception(message, pytrace=False)

    def _stops_run(self, error: PermanentError) -> bool:
        """Return True if an error ends the run; the workers then make no more calls."""
        if self._state.shared is None:
            return False
        from pytest_miniwob_agent.models.budget import Budget

        budget = Budget(self._state.shared)
        if error.of_call and budget.recorded().calls:
            return False
        budget.stop(str(error))
        return True

    def _retake_pictures(
        self, pictures: PictureTaker, llm: Model, episode_of: Callable[..., Episode]
    ) -> None:
        """Replay the item for its pictures alone; no error of the replay becomes the item's."""
        from pytest_miniwob_agent.cassettes.tape.model import RecordedModel

        if not isinstance(llm, RecordedModel):
            pictures.note = (
                "There are no pictures: this model is not behind a cassette, so that the item "
                "can't be replayed for them. Run it with --miniwob-trace=on"
            )
            return
        pictures.wants_pictures = True
        replayed = _Log()
        reason = ""
        try:
            episode_of(llm.for_replay(), replayed, pictures)
        except MiniwobError as error:
            reason = f": {error}"
        except Exception as error:  # noqa: BLE001 - agents and pages may be anybody's
            reason = f": {type(error).__name__}: {error}"
        if replayed.events != self._log.events:
            pictures.note = (
                "The item was run again for its pictures and did something else, so that they may "
                f"not show what is described here{reason}"
            )


def _failure(error: BaseException) -> dict[str, Any]:
    """Return the parts of the outcome that an error of another kind decides."""
    lines = traceback.format_exception_only(error)
    return {"error": type(error).__name__, "message": "".join(lines).strip()}


RUN = pytest.StashKey[ItemRun]()
"""Key of the present run in an item's stash."""
