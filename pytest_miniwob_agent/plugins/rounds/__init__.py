"""The gate `until-decided`: the run ends with the round of items that decides.

- `run`: the order of the items, the look after each round, and the items that are not needed
- `plan`: what a gate takes to find a loss, `--miniwob-plan`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miniwob_agent.plugin.options import option

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this plugin."""

    plan: bool = option(
        "run nothing, and show how many items and how much money the gates paired and "
        "until-decided take to find a loss, by the items and prices of the baseline",
        ini_type=bool,
        whole_run=True,
        group="Plan",
    )


def pytest_miniwob_options() -> type:
    return Options


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.getoption("miniwob_plan", False):
        return None
    from pytest_miniwob_agent.plugins.rounds.plan import show_plan

    return show_plan(config)


def pytest_miniwob_begin(session: pytest.Session) -> None:
    from pytest_miniwob_agent.plugin.results import BASELINE

    baseline = session.config.stash.get(BASELINE, None)
    if baseline is not None and baseline.gate.kind == "until-decided":
        from pytest_miniwob_agent.plugins.rounds.run import Rounds

        session.config.pluginmanager.register(Rounds(session.config, baseline), Rounds.name)
