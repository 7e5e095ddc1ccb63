"""The model of an item: behind its cassette, and with the limits on what a run may ask for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.builtin import why_blocked
from pytest_miniwob_agent.cassettes.folder import find_family, model_folder, stem
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.protocols import Agent, Normalizer
from pytest_miniwob_agent.models.apis import find_plugin
from pytest_miniwob_agent.models.budget import Budget, check_price
from pytest_miniwob_agent.plugin.collection import Problem
from pytest_miniwob_agent.plugin.state import STATE

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.files import ItemFiles
    from pytest_miniwob_agent.cassettes.recording import RecordedModel, Server
    from pytest_miniwob_agent.models.client import LiveModel, OnUnusable


@contextmanager
def open_recording(item: pytest.Item, problem: Problem, agent: Agent) -> Iterator[RecordedModel]:
    """Open the tape of an item, yield the model behind it, and close its files.

    Raises:
        UsageError: no model is named.
        CassetteError: see `RecordedModel` and `ItemFiles`.
    """
    from pytest_miniwob_agent.cassettes.files import ItemFiles
    from pytest_miniwob_agent.cassettes.modes import Record
    from pytest_miniwob_agent.cassettes.recording import RecordedModel
    from pytest_miniwob_agent.cassettes.varying import propose_method

    state, case, model = item.config.stash[STATE], problem.case, problem.setup.model
    settings = state.settings
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
        family=find_family(agent),
        state=settings.pending.parent,
        run=state.shared,
        allow=app.allow if (app := problem.page.app) else (),
        on_wait=partial(_say, item.config),
    )

    def check_path(path: str) -> None:
        if (plugin := find_plugin(path)) and item.config.pluginmanager.is_blocked(plugin):
            raise UsageError(f"API of {path}: {why_blocked(plugin)}")

    normalize = agent.normalize if isinstance(agent, Normalizer) else None
    propose = getattr(agent, "propose_normalize", partial(propose_method, agent=agent))
    server = _make_server(
        item.config, files, model, settings.llm_params, settings.base_url, settings.key_variable
    )
    with closing(files), closing(server):
        yield RecordedModel(
            files, server, model, settings.kept_params, normalize, propose, check_path
        )


@contextmanager
def open_grader_model(
    config: pytest.Config,
    llm: RecordedModel | None,
    model: str,
    base_url: str | None,
    key_variable: str | None,
) -> Iterator[RecordedModel]:
    """Yield a model for a grader, whose calls are on the item's tape but not the agent's.

    Args:
        config: the run's.
        llm: the item's model; None if it has no tape.
        model: the id of the grader's.
        base_url: its server; None for that of the run.
        key_variable: the environment variable with its key; None for that of the run.

    Raises:
        UsageError: the item has no tape, or the model no price that a limit of cost needs.
    """
    settings = config.stash[STATE].settings
    if llm is None:
        raise UsageError(
            "a grader's model is recorded with the item's calls, but the fixture miniwob_llm "
            "gives a model of your own: ask a model in a function of yours instead"
        )
    if settings.max_cost is not None:
        check_price(model, settings.prices)
    server = _make_server(
        config,
        llm.files,
        model,
        {} if base_url else settings.llm_params,  # of these, what is sent beside a call
        base_url or settings.base_url,
        key_variable or settings.key_variable,
    )
    server.unusable = llm.server.unusable
    with closing(server):
        yield llm.for_grader(model, server)


def _make_server(
    config: pytest.Config,
    files: ItemFiles,
    model: str,
    params: Mapping[str, Any],
    base_url: str | None,
    key_variable: str | None,
) -> Server:
    """Return the server that answers what is not on an item's tape.

    Args:
        config: the run's.
        files: the item's.
        model: the model's id.
        params: the parameters of each call; of these, its client takes what is sent beside it.
        base_url: the server's address; None for the provider's of each API.
        key_variable: the environment variable with the key; None for that of the API.
    """
    from pytest_miniwob_agent.cassettes.recording import Server

    state = config.stash[STATE]
    budget = _budget(config, model) if files.mode.live else None

    def connect(on_unusable: OnUnusable) -> LiveModel:
        from pytest_miniwob_agent.models.client import LiveModel

        # A recorded item calls a live model only once it has drifted.
        if files.existed and (forecast := state.take_drift_forecast()):
            _say(config, forecast)
        return LiveModel(
            model,
            params,
            base_url=base_url,
            key_variable=key_variable,
            upstreams=state.settings.upstream,
            budget=budget,
            on_unusable=on_unusable,
            past_mocks=state.past_mocks,
        )

    return Server(connect, budget)


def _budget(config: pytest.Config, model: str) -> Budget | None:
    state = config.stash[STATE]
    if state.shared is None:
        return None
    # What is under way when the cost is reached adds to it.
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    settings = state.settings
    return Budget(
        state.shared,
        calls=settings.max_calls,
        cost=settings.max_cost,
        price=settings.find_price(model),
        concurrency=settings.concurrency or (workers if settings.max_cost else None),
        controller=state.controller,
    )


def _say(config: pytest.Config, text: str) -> None:
    # The output of an item is captured while it runs.
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        print(f"\n{text}", file=sys.stderr, flush=True)
