"""The run of a shard: how it describes its suite, for the merge of all shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.core.data import canonical_json, digest
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.plugin.options.project_folder import project_folder
from pytest_miniwob_agent.plugin.options.settings import Settings
from pytest_miniwob_agent.plugin.run.state import STATE, State

if TYPE_CHECKING:
    from pytest_miniwob_agent.results.file import Shard


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Note that items may now be split into shards.

    pytest-split splits them last of all, by a plugin that it registers later than this one.
    """
    state = config.stash[STATE]
    state.selection.splitting = state.settings.shard is not None


def shard_of(config: pytest.Config, state: State) -> Shard | None:
    """Return the shard that this run is, None if it runs a whole suite."""
    if state.settings.shard is None:
        return None
    from pytest_miniwob_agent.results.file import Shard
    from pytest_miniwob_agent.results.git import checked_out

    number, of = state.settings.shard
    selection = state.selection
    items = sorted(case.id for case in selection.cases)
    return Shard(
        number=number,
        of=of,
        selected=len(selection.to_run),
        items=len(items),
        deselected=tuple(sorted(case.id for case in selection.cases - selection.wanted)),
        suite={
            "commit": checked_out(project_folder(config)),
            "digest of the items": digest(",".join(items)),
            **_options(state.settings),
        },
    )


def is_empty_shard(session: pytest.Session, state: State) -> bool:
    """Return True if all items went to other shards, which is not a failure."""
    if state.settings.shard is None or session.exitstatus != pytest.ExitCode.NO_TESTS_COLLECTED:
        return False
    return bool(state.selection.wanted)


def _options(settings: Settings) -> dict[str, str]:
    """The options that decide what an item does."""
    prompts = sorted(settings.prompts.glob("*.txt")) if settings.prompts else []
    return {
        "--miniwob-agent": settings.agent,
        "--miniwob-agent-params": redact(canonical_json(settings.agent_params)),
        "--miniwob-model": settings.model or "",
        "--miniwob-llm-params": redact(canonical_json(settings.kept_params)),
        "--miniwob-prompts": ", ".join(f"{p.name} {digest(p.read_text('utf-8'))}" for p in prompts),
        "--miniwob-trials": str(settings.trials or settings.ini["trials"] or ""),
        "--miniwob-steps": str(settings.steps or settings.ini["steps"] or ""),
    }
