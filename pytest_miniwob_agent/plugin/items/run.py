"""One item's run: the episode, a second try after a lost browser, and the outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import (
    BrowserLost,
    BudgetReached,
    Drift,
    MiniwobError,
    NotRecorded,
    Pending,
    PermanentError,
    RecordingStopped,
)
from pytest_miniwob_agent.core.events import Episode, Event, Origin
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.outcome import RECORD_IT, DriftDetails, Outcome, Status
from pytest_miniwob_agent.core.protocols import Agent, Model, Observer, Page
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import sanitize_lines
from pytest_miniwob_agent.plugin.items.collection import limits_of
from pytest_miniwob_agent.plugin.items.pictures import PictureTaker
from pytest_miniwob_agent.plugin.options.commands import record_item_command
from pytest_miniwob_agent.plugin.run.state import STATE, settings_of

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.tape.item import ItemCassette

CASSETTE: pytest.StashKey[ItemCassette] = pytest.StashKey()
"""Key of the cassette in an item's stash."""

REMARK = "miniwob_remark"
"""Name of the property of an item with a remark on its cassette, shown at the end of the run."""

BODY_PASSED = pytest.StashKey[bool]()
"""Key in an item's stash: True if the test passed, False if it failed, unset if it broke off."""

OUTCOME = pytest.StashKey[Outcome]()
"""Key of the outcome in an item's stash."""


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
    """Runs an agent on an item's page, and keeps the outcome in the item's stash.

    Args:
        item: the pytest item.
        case: its case.
        limits: the trials, actions and model calls that are allowed.
        agent: the agent.
        llm: the model, behind the item's cassette or the user's own.
        environment: the page.
    """

    def __init__(
        self,
        item: pytest.Item,
        case: Case,
        limits: Limits,
        agent: Agent,
        llm: Model,
        environment: Page,
    ) -> None:
        state = item.config.stash[STATE]
        self._item = item
        self._case = case
        self._limits = limits
        self._agent = agent
        self._llm = llm
        self._environment = environment
        self._cassette = item.stash.get(CASSETTE, None)
        self._log = _Log()
        self._pictures = PictureTaker(state.settings, environment)
        self._watcher = state.observe(environment) if state.observe else Observer()
        self._outcome = Outcome(
            case=case,
            agent=agent.name,
            model=getattr(llm, "model", type(llm).__name__),
            status=Status.ERROR,
            params=state.settings.kept_params,
            limits=limits,
        )

    def play(self) -> Episode:
        """Play the episode; a second time, in a new browser, if the browser is lost.

        Raises:
            MiniwobError: the episode broke off, or the cassette has calls that were not made.
        """
        observers = [self._log, self._pictures, self._watcher]
        try:
            episode = self._play(observers)
        except BrowserLost:
            if self._cassette is None:  # a model of the user's own can't be asked the same again
                raise
            # The page starts a new browser; calls that were recorded until now are replayed.
            episode = self._play(observers)
        if self._cassette is not None:
            self._cassette.end_episode(self._limits)
        self._outcome = replace(
            self._outcome,
            status=Status.SOLVED if episode.solved else Status.UNSOLVED,
            episode=episode,
        )
        return episode

    def _play(self, observers: list[Observer]) -> Episode:
        from pytest_miniwob_agent.episode import run_episode

        return run_episode(
            self._case,
            self._agent,
            self._environment,
            self._llm,
            self._limits,
            model=self._outcome.model,
            observers=[*observers, *([self._cassette] if self._cassette is not None else [])],
        )

    def fail(self, error: MiniwobError) -> NoReturn:
        """Turn an error into the item's outcome, and into pytest's skip or error."""
        match error:
            case Pending():
                request = error.request
                self._outcome = replace(self._outcome, request=request, status=Status.WAITING)
                pytest.skip("waiting for a completion")
            case BudgetReached():
                self._outcome = replace(self._outcome, status=Status.BUDGET, message=str(error))
                pytest.skip(f"{error}; run again to continue from here")
            case PermanentError() if self._stops_run(error):
                self._stop_run("every model call would fail")
            case RecordingStopped():
                self._stop_run(str(error).splitlines()[0])
            case Drift():
                self._outcome = replace(
                    self._outcome,
                    status=Status.DRIFTED,
                    drift=DriftDetails(str(error), error.causes, error.changes, error.pictures),
                )
        message = str(error)
        if isinstance(error, NotRecorded):
            message = f"{message}{RECORD_IT}{record_item_command(self._item)}"
        message = sanitize_lines(redact(message))
        self._outcome = replace(self._outcome, error=type(error).__name__, message=message)
        raise pytest.fail.Exception(message, pytrace=False) from None

    def _stops_run(self, error: PermanentError) -> bool:
        """Return True if an error ends the run; the workers then make no more calls."""
        state = self._item.config.stash[STATE]
        if state.shared is None:
            return False
        from pytest_miniwob_agent.models.budget import Budget

        budget = Budget(state.shared)
        if error.of_call and budget.has_succeeded():
            return False
        budget.stop(str(error))
        return True

    def _stop_run(self, reason: str) -> None:
        """Let this process run no further item, and with pytest-xdist no other one either."""
        self._item.session.shouldstop = reason

    def close(self) -> None:
        """Complete the outcome with calls, events and pictures, and keep it."""
        outcome, cassette = self._outcome, self._cassette
        outcome = replace(outcome, prompts=self._log.prompts)
        if outcome.episode is None:
            outcome = replace(outcome, events=tuple(self._log.events))
        if cassette is not None:
            outcome = replace(
                outcome,
                cassette=cassette.stem,
                replayed=cassette.replayed,
                recorded=cassette.recorded,
                unusable=cassette.unusable,
                left=cassette.left,
            )
        if self._pictures.wanted(outcome):
            self._retake_pictures()
        self._item.stash[OUTCOME] = replace(
            outcome, pictures=tuple(self._pictures.pictures), pictures_note=self._pictures.note
        )
        self._watcher.after_item(outcome)

    def _retake_pictures(self) -> None:
        """Replay the item for its pictures alone.

        No error of the replay may become the item's, not even one of a user's own agent or page.
        """
        pictures = self._pictures
        if self._cassette is None:
            pictures.note = (
                "There are no pictures: this model is not behind a cassette, so that the item "
                "can't be replayed for them. Run it with --miniwob-trace=on"
            )
            return
        pictures.wants_pictures = True
        replayed = _Log()
        reason = ""
        try:
            with self._cassette.replaying():
                self._play([replayed, pictures])
        except MiniwobError as error:
            reason = f": {error}"
        except Exception as error:  # noqa: BLE001 - agents and pages may be anybody's
            reason = f": {type(error).__name__}: {error}"
        if replayed.events != self._log.events:
            pictures.note = (
                "The item was run again for its pictures and did something else, so that they may "
                f"not show what is described here{reason}"
            )


def outcome_without_run(item: pytest.Item, case: Case) -> Outcome:
    """Return the outcome of an item that failed before its run began."""
    settings = settings_of(item.config)
    return Outcome(
        case=case,
        agent=settings.agent,
        model=settings.model or "",
        status=Status.ERROR,
        params=settings.kept_params,
        limits=limits_of(item),
    )
