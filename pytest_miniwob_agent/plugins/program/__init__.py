"""Programs in any language as agents: `--miniwob-agent='node agent.mjs'`, `miniwob-agent capture`.

`agent` runs the program on the item's page, `tools` serves that as tools, `environment` has the
variables that a program gets, and `capture` makes a test of a run.
"""

from __future__ import annotations

from pytest_miniwob_agent.hookspec import Subcommand


def pytest_miniwob_agents() -> dict[str, str]:
    return {"program": f"{__name__}.agent:ProgramAgent"}


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "turn a run of a program on an app into a test"
    return [Subcommand("capture", text, f"{__name__}.capture:add_capture")]
