"""Programs in any language as agents: `--miniwob-agent='node agent.mjs'`, `miniwob-agent capture`.

`agent` runs the program on the item's page, `tools` serves that as tools, `environment` has the
variables that a program gets, and `capture` makes a test of a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miniwob_agent.hookspec import Check, Subcommand

if TYPE_CHECKING:
    import pytest


def pytest_miniwob_agents() -> dict[str, str]:
    return {"program": f"{__name__}.agent:ProgramAgent"}


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "turn a run of a program on an app into a test"
    return [Subcommand("capture", text, f"{__name__}.capture:add_capture")]


def pytest_miniwob_checks(config: pytest.Config) -> list[Check]:
    from pytest_miniwob_agent.plugin.state import STATE
    from pytest_miniwob_agent.plugins.program.agent import check_programs

    return check_programs(config.stash[STATE])
