"""A run of a shard: what it notes of its items and its set-up, for the merge of all shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.core.data import canonical_json, digest
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.plugin.options.project_folder import project_folder
from pytest_miniwob_agent.plugin.options.settings import Settings
from pytest_miniwob_agent.plugin.run.state import STATE, State

if TYPE_CHECKING:
    from pytest_miniwob_agent.results.shard import Shard


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Note that items may now be split into shards.

    pytest-split splits them last of all, by a plugin that it registers later than this one.
    """
    state = config.stash[STATE]
    state.selection.splitting = state.settings.shard is not None


def shard_of(config: pytest.Config, state: State, outcomes: Sequence[Outcome]) -> Shard | None:
    """Return what a run notes of itself as a shard, None if it is the run of a whole suite."""
    if state.settings.shard is None:
        return None
    from pytest_miniwob_agent.results.git import checked_out
    from pytest_miniwob_agent.results.shard import Shard

    number, of = state.settings.shard
    ran = {outcome.case for outcome in outcomes}
    selection = state.selection
    return Shard(
        number=number,
        of=of,
        commit=checked_out(project_folder(config)),
        setup=_setup(state.settings),
        collected=frozenset(case.id for case in selection.cases),
        deselected=frozenset(case.id for case in selection.cases - selection.wanted),
        not_run=frozenset(case.id for case in selection.to_run - ran),
    )


def is_empty_shard(session: pytest.Session, state: State) -> bool:
    """Return True if all items went to other shards, which is not a failure."""
    if state.settings.shard is None or session.exitstatus != pytest.ExitCode.NO_TESTS_COLLECTED:
        return False
    return bool(state.selection.wanted)


def _setup(settings: Settings) -> dict[str, str]:
    """Return the options that decide what items do, for those that are the same at every shard."""
    from pytest_miniwob_agent.results.shard import seed_ranges

    prompts = sorted(settings.prompts.glob("*.txt")) if settings.prompts else []
    values = {
        "agent": settings.agent,
        "agent-params": redact(canonical_json(settings.agent_params)),
        "model": settings.model or "",
        "llm-params": redact(canonical_json(settings.kept_params)),
        "prompts": ", ".join(f"{path.name} {digest(path.read_text('utf-8'))}" for path in prompts),
        "seeds": seed_ranges(settings.seeds or settings.ini["seeds"] or ()),
    }
    for name in ("trials", "steps", "repeats"):
        values[name] = str(getattr(settings, name) or settings.ini[name] or "")
    return {f"--miniwob-{name}": value for name, value in values.items()}
